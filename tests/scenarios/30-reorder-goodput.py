#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 1800
# when: named
"""Goodput under reordering: against our own in order, and against stock rxe in order.

The demo's measurement, judged: `make check-goodput`. Not part of `make check`, whose verdict must not
depend on how busy the machine is; what can be proved without a clock (no needless packet on a network
that only reorders) the simulator proves there.  SCENARIO_ROUNDS is the number of rounds (default
10).  An emulated machine's speed doubles and halves from one run to the next, so each round compares
two runs that follow each other, and the verdict is over the median of these ratios: too low when its
95 % interval lies below the limit.  Fewer than six rounds have no such interval and no verdict.
Beside stock rxe on Debian's kernel only: that of 7.3 hits a WARNING of its own (rxe_task.c) in a
reordered run, which would fail it.
"""

import os
import pathlib
import sys

import lib
from lib import add_case, expect, note

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "demo"))
import demo  # noqa: E402  pylint: disable=wrong-import-position

# Of its own goodput in order, by placement on / off.
OWN = {True: 0.9, False: 0.7}
# Of all packets, what may be sent again, or be a NAK.
RESENT = 0.001
VERDICT_ROUNDS = 6
DRIVERS = demo.DRIVERS if lib.MACHINE == "qemu" else demo.DRIVERS[1:]
ROWS = []


def rows():
    if not ROWS:
        ROWS.extend(demo.measure(int(os.environ.get("SCENARIO_ROUNDS", "10")), DRIVERS))
        demo.table(ROWS, DRIVERS)
    return ROWS


def own_ratio(op, ooo):
    plain, mixed = (demo.find(rows(), "rxe_ooo", ooo, op, q).speed for q in demo.QDISCS)
    ratio = lib.interval(demo.pair_ratios(rows(), "rxe_ooo", ooo, op))
    expect(ratio, "nothing was measured")
    text = (f"{mixed:.2f} of {plain:.2f} MB/s; of {ratio['pairs']} pairs {ratio['median']:.2f} "
            f"({ratio['low']:.2f} to {ratio['high']:.2f})")
    note(text)
    if ratio["pairs"] < VERDICT_ROUNDS:
        raise lib.Skip(f"{ratio['pairs']} rounds are too few: {text}")
    expect(ratio["high"] >= OWN[ooo], f"{text} < {OWN[ooo]}")


def needs_stock():
    if DRIVERS != demo.DRIVERS:
        raise lib.Skip("stock rxe is not measured on this kernel")


def stock_ratio(op, ooo):
    needs_stock()
    stock = demo.find(rows(), "rxe", None, op, "delay").speed
    mixed = demo.find(rows(), "rxe_ooo", ooo, op, "reorder").speed
    note(f"{mixed:.2f} MB/s reordered, stock in order {stock:.2f}: {mixed / stock:.2f}")
    expect(mixed >= stock, f"{mixed:.2f} MB/s reordered, stock in order {stock:.2f}")


def resent_share(delta):
    """Of all packets of a round, those that were sent again, or the NAKs if they are more."""
    counts = lib.summary("rxe_ooo", delta)
    return max(counts["retransmitted"], counts["naks"]) / counts["packets"]


def resent(op, ooo):
    """The median round: in a round in which the machine stood still, packets were late by that."""
    for qdisc in demo.QDISCS:
        row = demo.find(rows(), "rxe_ooo", ooo, op, qdisc)
        shares = [resent_share(delta) for delta in row.deltas]
        bad = lib.median(shares)
        note(f"{qdisc}: {lib.summary('rxe_ooo', row.delta)}, of each round "
             + " ".join(f"{100 * share:.3f} %" for share in shares))
        expect(bad <= RESENT, f"{qdisc}: {100 * bad:.3f} % > {100 * RESENT} %")


def stock_collapses(op):
    """The rows that show the problem are really measured, and the network does reorder."""
    needs_stock()
    plain, mixed = (demo.find(rows(), "rxe", None, op, q).speed for q in demo.QDISCS)
    note(f"stock: {plain:.2f} in order, {mixed:.2f} MB/s reordered")
    expect(0 < mixed < 0.5 * plain, f"stock rxe does not suffer: {mixed:.2f} of {plain:.2f} MB/s")


def content(op):
    expect(all(r.verified for r in rows() if r.op == op), "not verified")


for _op in demo.OPS:
    for _ooo in (True, False):
        _how = "on" if _ooo else "off"
        add_case(f"{_op}-placement-{_how}-of-own-in-order", own_ratio, _op, _ooo)
        add_case(f"{_op}-placement-{_how}-of-stock-in-order", stock_ratio, _op, _ooo)
        add_case(f"{_op}-placement-{_how}-resent", resent, _op, _ooo)
    add_case(f"{_op}-stock-collapses", stock_collapses, _op)
    add_case(f"{_op}-content", content, _op)

if __name__ == "__main__":
    lib.main()
