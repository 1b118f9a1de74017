#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: uml
# timeout: 600
"""How much there can be of everything (tests/tools/limits.c): connected queue pairs that carry data,
memory regions, long messages; and what an idle queue pair costs. RXE_OOO_LONG=1: 10,000 queue pairs,
100,000 regions, messages of 1 GiB and of 2 GiB, and that one longer than that is refused."""

import json

import lib
import robustness
from lib import add_case, case, expect, note
from one_device import OneDevice
from robustness import figure

LONG = robustness.LONG
QEMU = lib.MACHINE == "qemu"
QPS = 10000 if LONG else 200 if QEMU else 1000
MRS = 100000 if LONG else 1000 if QEMU else 10000
BYTES = (1 << 30, 1 << 31) if LONG else (1 << 22,) if QEMU else (1 << 26,)
# A QP has two rings and a copy of the send ring of a page or two each, and its own state.
BYTES_PER_QP = 64 * 1024
SECONDS = 1200 if LONG else 120


def limit(what, number):
    with figure(f"limits: {number} {what}") as row, OneDevice() as one:
        node = one.a
        before = node.resources()
        process = node.popen(["limits", node.dev, node.gid(), what, str(number)])
        try:
            row.update(robustness.result_of(process, SECONDS))
        finally:
            lib.stop(process)
        row["inputs"] = 3 if what == "message" else number
        note(json.dumps(row))
        lib.wait_for(lambda: node.resources() == before, SECONDS, "all is gone")
        return row


@case
def queue_pairs():
    row = limit("qps", QPS)
    expect(lib.SLOW > 1 or row["bytes_per_qp"] < BYTES_PER_QP,
           f"an idle queue pair takes {row['bytes_per_qp']} bytes")


@case
def memory_regions():
    limit("mrs", MRS)


for _bytes in BYTES:
    add_case(f"message-of-{_bytes >> 20}-MiB", limit, "message", _bytes)


def longer_than_the_longest():
    """2^31 bytes are the limit of IBTA 9.7.8."""
    with OneDevice() as one:
        node = one.a
        done = node.sh(["limits", node.dev, node.gid(), "message", str((1 << 31) + 4096)],
                       check=False, timeout=SECONDS)
        expect(done.returncode and "error" in done.stdout, f"{done.stdout} {done.stderr}")


if LONG:    # it pins two million pages
    add_case("more-than-the-longest-message-is-refused", longer_than_the_longest)


case(lib.the_module_unloads)


if __name__ == "__main__":
    lib.main()
