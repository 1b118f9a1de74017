#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 600
# brief: -mix-reorder-placement-on|noticed-write
"""Each operation of RC and of XRC, 64 KiB messages, 16 or more in flight, every byte checked, while
lo reorders and duplicates, with placement off and on by the device's `ooo_default`.

It is what the pyverbs suite (75) does not do: that one has one small message under way."""

import lib
from lib import add_case, expect, note
from one_device import OneDevice

OPS = ("write", "write_imm", "send", "send_imm", "read", "cmp_swap", "fetch_add", "mix")
NETEM = {
    "none": None,
    "reorder": "delay 1ms reorder 75% limit 100000",
    "duplicate": "delay 1ms reorder 75% duplicate 2% limit 100000",
}
COUNT = "96"


def transfer(transport, op, fault, on):
    with OneDevice() as pair:
        node = pair.a
        node.sh(f"echo {int(on)} > /sys/class/infiniband/{node.dev}/ooo_default")
        pair.netem(NETEM[fault])
        before = pair.counters()
        result = lib.xfer(pair, "--op", op, "-n", COUNT, "-s", "65536", "-q", "16",
                          *(["--xrc"] if transport == "xrc" else []))
        delta = lib.changed(before, pair.counters())
        lib.verified(result)
        note(f"{result['MB_s']:.1f} MB/s, {delta.get('placed_out_of_order', 0)} placed out of order, "
             f"{delta.get('retransmitted_packets', 0)} sent again")
        if fault != "none" and op not in ("cmp_swap", "fetch_add"):
            expect(delta.get("out_of_sequence"), f"nothing was out of sequence: {delta}")
        # Data alone is placed early: SENDs and atomics wait their turn.
        if fault != "none" and op in ("write", "write_imm", "read"):
            placed = delta.get("placed_out_of_order", 0)
            expect(bool(placed) == on, f"{placed} placed out of order with placement {on}")


def noticed(op):
    """The verifier's own test over XRC: one wrong bit is seen."""
    with OneDevice() as pair:
        result = lib.xfer(pair, "--op", op, "-n", "40", "-s", "3000", "--spoil", "17", "--xrc")
        errors = result["errors"] + result["server"]["errors"]
        expect(errors >= 1, f"{errors} errors: {result}")


for _op in ("write", "send", "read"):
    add_case(f"xrc-a-wrong-bit-is-noticed-{_op}", noticed, _op)
for _transport in ("rc", "xrc"):
    for _fault in NETEM:
        for _on in (True, False):
            for _op in OPS:
                add_case(f"{_transport}-{_op}-{_fault}-placement-{'on' if _on else 'off'}",
                         transfer, _transport, _op, _fault, _on)

if __name__ == "__main__":
    lib.main()
