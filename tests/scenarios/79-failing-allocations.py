#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: uml-kasan
# timeout: 600
"""Every verb, and the making of the device, with each of its allocations and user copies failing once
(tests/tools/verbs_failing.c), then packets that find no memory under verified traffic. Nothing is lost:
`rdma resource` shows what was there before, and kmemleak finds nothing."""

import pathlib
import time

import lib
import robustness
from lib import case, expect, note
from one_device import OneDevice
from robustness import figure, traffic

DEBUG = pathlib.Path("/sys/kernel/debug")
SKBS = ("skbuff_head_cache", "skbuff_small_head", "skbuff_fclone_cache")


def write(path, value):
    path.write_text(f"{value}\n", encoding="ascii")


def setting(name, **values):
    """Of failslab or fail_page_alloc; a kernel without them skips."""
    base = DEBUG / name
    if not base.exists():
        raise lib.Skip("no fault injection in this kernel")
    for key, value in values.items():
        path = base / key.replace("_", "-")
        if path.exists():
            write(path, value)


def leaks():
    """What kmemleak finds that is ours."""
    scan = DEBUG / "kmemleak"
    try:
        for _ in range(2):      # an object must be seen unreferenced and old
            time.sleep(5)
            write(scan, "scan")
    except OSError:             # not built in, or off: it is on with kmemleak=on
        note("kmemleak is off")
        return ""
    found = [block for block in scan.read_text(errors="replace").split("unreferenced object")
             if "rxe_ooo" in block or "rxo_" in block]
    return found[0][:1500] if found else ""


@case
def each_allocation_fails_once():
    with figure("each allocation and user copy of each verb fails once") as row, \
         OneDevice() as one:
        node = one.a
        setting("failslab", ignore_gfp_wait="N", verbose=0)
        setting("fail_page_alloc", ignore_gfp_wait="N", ignore_gfp_highmem="N", min_order=0,
                verbose=0)
        setting("fail_usercopy", verbose=0)
        before = node.resources()
        node.sh("ip link add dfail type dummy && ip link set dfail up")
        process = node.popen(["verbs_failing", node.dev, node.gid(), "dfail"])
        output = robustness.finish(process, 120)
        print(output.strip(), flush=True)
        result = lib.last_json(output)
        node.sh("ip link del dfail")
        expect(result, "no result")
        row.update(inputs=result["faults"], verbs=result["verbs"])
        expect(process.returncode == 0, "some verb does not bear it")
        left = lib.changed(before, node.resources())
        expect(not left, f"left: {left}")
    found = leaks()
    expect(not found, f"kmemleak: {found}")


@case
def packets_find_no_memory():
    """One allocation of packets in a hundred fails, in every context."""
    caches = [pathlib.Path("/sys/kernel/slab", name, "failslab") for name in SKBS]
    caches = [path for path in caches if path.exists()]
    if not caches:
        raise lib.Skip("no failslab by cache in this kernel")
    with figure("one packet in a hundred finds no memory") as row, lib.Pair() as pair:
        base = robustness.resources(pair)
        with traffic(pair, "--op", "mix", "--vary", "-q", "8", "--size", "16384",
                     "--timeout", "17") as there:
            try:
                for path in caches:
                    write(path, 1)
                setting("failslab", cache_filter="Y", ignore_gfp_wait="N", interval=1, times=-1,
                        verbose=0, probability=1)
                time.sleep(10)
            finally:
                setting("failslab", probability=0, cache_filter="N")
                for path in caches:
                    write(path, 0)
            row["inputs"] = there.stop()["messages"]
        counted = pair.counters()
        row.update(tx_no_memory=counted["tx_no_memory"], rx_no_memory=counted["rx_no_memory"])
        note(str(row))
        robustness.nothing_left(pair, base)


case(lib.the_module_unloads)


if __name__ == "__main__":
    lib.main()
