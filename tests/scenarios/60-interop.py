#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 600
# brief: ^mix-|^(write|send|read|fetch_add)-ours-is-\w+-placement-on|^ib_(write|read)_bw|^(write|read)-loss-ours-is-server-placement-on
"""An rxe_ooo end talks to a stock rdma_rxe end: both roles, all RC operations, content verified.

Before 7.x the stock driver works in the initial namespace only: it stays there, ours goes into one.
No READ is empty: the stock responder's replay of a READ that follows an empty one uses a region that
it no longer has (WARN_ON(!mr) in rxe_mr_copy) and fails.
"""

import lib
from lib import add_case, expect, note

OPS = ("write", "write_imm", "send", "send_imm", "read", "cmp_swap", "fetch_add", "mix")

SHARED = lib.SharedPair(("rxe_ooo", "rxe"))


def transfer(op, ours_is_client, on, *options, netem=None, ip6=False):
    pair = SHARED.get()
    pair.netem(netem)
    before = pair.a.counters()
    result = lib.xfer(pair, "--op", op, "--vary", "--min", "1", *options, env=lib.placement(on),
                      reverse=not ours_is_client, ip6=ip6)
    delta = lib.changed(before, pair.a.counters())
    note(f"{result['messages']} messages, {result['MB_s']:.2f} MB/s, "
         f"our side: {delta.get('tx_packets', 0)} sent, {delta.get('rx_packets', 0)} received")
    lib.verified(result)
    expect(delta.get("tx_packets"), "nothing went through our device")


def perftest(op, ours_is_client):
    SHARED.get().netem(None)
    output = lib.perftest(SHARED.get(), f"ib_{op}_bw", "-n", "300", reverse=not ours_is_client)
    expect(output is not None, "no end within a minute")
    note(f"ib_{op}_bw: {lib.bandwidth(output)} MB/s")


for _ours in (True, False):
    _role = "client" if _ours else "server"
    for _op in OPS:
        for _on in (False, True):
            add_case(f"{_op}-ours-is-{_role}-placement-{'on' if _on else 'off'}", transfer, _op,
                     _ours, _on, "-n", "300", "--sges", "2")
    add_case(f"mix-psn-wraps-ours-is-{_role}", transfer, "mix", _ours, True, "-n", "300",
             "--psn", "0xffffff")
    add_case(f"mix-ipv6-ours-is-{_role}", lambda o=_ours: transfer(
        "mix", o, True, "-n", "300", ip6=True))
    # A peer that goes back N: few messages, no speed expected.  Loss on both directions.  The stock
    # requester takes an ACK that repeats an ATOMIC's PSN for the ATOMIC's own and completes it without
    # a result (2 in 12 lossy runs of stock against stock as well): it gets no ATOMICs here.
    for _op in ("mix",) if _ours else ("write", "write_imm", "send_imm", "read"):
        for _on in (False, True):
            for _fault, _netem in (("loss", "delay 100us loss 1% limit 100000"),
                                   ("reorder", "delay 1ms reorder 75% limit 100000")):
                add_case(f"{_op}-{_fault}-ours-is-{_role}-placement-{'on' if _on else 'off'}",
                         lambda op=_op, o=_ours, on=_on, netem=_netem: transfer(
                             op, o, on, "-n", "40", "-q", "2", "-s", "4000", netem=netem))
    for _op in ("write", "read", "send", "atomic"):
        add_case(f"ib_{_op}_bw-ours-is-{_role}", perftest, _op, _ours)

if __name__ == "__main__":
    try:
        lib.main()
    finally:
        SHARED.close()
