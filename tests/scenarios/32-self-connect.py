#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 180
# brief: ^write-netem|^mix-|reordering|loss
"""Both ends on one device: works, and passes lo's qdisc, so that netem on lo is seen."""

import json

import lib
from lib import add_case, case, expect, note
from one_device import OneDevice


def verified(op, ip6):
    with OneDevice() as pair:
        lib.verified(lib.xfer(pair, "--op", op, "-n", "300", "--vary", ip6=ip6))


def netem_is_seen(op):
    """20 ms of delay on lo: no more than a window each 40 ms, and every packet passes it."""
    with OneDevice() as pair:
        free, _ = lib.goodput(pair, f"ib_{op}_bw", 65536, 3, "-t", "4")
        pair.netem("delay 20ms limit 100000")
        before = pair.counters()
        delayed, _ = lib.goodput(pair, f"ib_{op}_bw", 65536, 5, "-t", "4")
        sent = lib.changed(before, pair.counters())["tx_packets"]
        note(f"{free:.2f} MB/s, with 20 ms each way {delayed:.2f} MB/s")
        # 4 messages of 64 KiB each 40 ms are 6.25 MB/s
        expect(0 < delayed <= 6.3, f"{delayed:.2f} MB/s through 20 ms each way")
        # How fast it is without depends on the machine; what the qdisc has seen does not.
        seen = json.loads(pair.a.sh("tc -s -j qdisc show dev lo").stdout)[0]["packets"]
        expect(sent and seen >= sent, f"{sent} packets sent, {seen} through the qdisc")


@case
def reordering_on_lo_is_counted():
    with OneDevice() as pair:
        pair.netem("delay 1ms reorder 75% limit 100000")
        before = pair.counters()
        lib.verified(lib.xfer(pair, "--op", "mix", "-n", "300", "--vary", env=lib.placement(True)))
        delta = lib.changed(before, pair.counters())
        expect(delta.get("out_of_sequence"), f"nothing was out of sequence: {delta}")


@case
def loss_on_lo_is_repaired():
    with OneDevice() as pair:
        pair.netem("loss 1% limit 100000")
        before = pair.counters()
        lib.verified(lib.xfer(pair, "--op", "mix", "-n", "200", "--vary"))
        delta = lib.changed(before, pair.counters())
        expect(delta.get("retransmitted_packets"), f"nothing was lost: {delta}")


for _op in ("write", "read", "send"):
    add_case(f"{_op}-netem-on-lo-is-seen", netem_is_seen, _op)
for _op in ("mix", "write_imm", "fetch_add"):
    for _ip6 in (False, True):
        add_case(f"{_op}-ipv{6 if _ip6 else 4}", verified, _op, _ip6)

if __name__ == "__main__":
    lib.main()
