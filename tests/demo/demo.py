#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What reordering does to soft RoCE: stock rdma_rxe beside rxe_ooo with placement off and on.

Runs in a guest as root.  Unmodified perftest programs transfer 64 KiB messages (path MTU 1024,
perftest's depth of 128) over a veth pair while netem delays every packet by 1 ms, in order, or
sends three packets in four ahead of the others.  The content of each kind of transfer is verified
with tests/tools/xfer in a run of its own under the same qdisc, since perftest does not look.

Rounds alternate over all rows, and the median of a row counts.  MB/s is 2^20 bytes, as perftest's.
Writes build/results/demo.json, a list of rows.
"""

import argparse
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scenarios"))
import lib  # noqa: E402  pylint: disable=wrong-import-position

SIZE = 65536
MTU = 1024
QDISCS = {"delay": "delay 1ms limit 100000",
          "reorder": "delay 1ms reorder 75% limit 100000"}
OPS = ("WRITE", "READ", "SEND")
RUN_SECONDS = 4         # the first and the last are not measured
STOCK_SECONDS = 12      # of stock rxe under reordering: a message takes a second
DRIVERS = (("rxe", None), ("rxe_ooo", False), ("rxe_ooo", True))


class Row:
    """One line of the table."""

    def __init__(self, pair, driver, ooo, op, qdisc):
        self.pair, self.driver, self.ooo, self.op, self.qdisc = pair, driver, ooo, op, qdisc
        self.slow = driver == "rxe" and qdisc == "reorder"
        self.speeds, self.delta, self.deltas = [], {}, []
        self.messages, self.verified, self.note, self.failed = 0, False, "", False

    @property
    def name(self):
        return f"{label(self.driver, self.ooo)}, {self.op}, {self.qdisc}"

    @property
    def env(self):
        return {} if self.ooo is None else lib.placement(self.ooo)

    def attempt(self, step):
        """measure() or verify(); what goes wrong is said in the row, and the others go on."""
        try:
            return step()
        except lib.Failure as reason:
            self.failed = self.failed or step == self.measure
            self.note = "; ".join(filter(None, (self.note, str(reason))))
            return None

    def measure(self):
        self.pair.netem(QDISCS[self.qdisc])
        seconds = STOCK_SECONDS if self.slow else RUN_SECONDS
        before = self.pair.counters()
        speed, messages = lib.goodput(self.pair, f"ib_{self.op.lower()}_bw", SIZE, seconds,
                                      "-m", str(MTU), env=self.env)
        self.deltas.append(lib.changed(before, self.pair.counters()))
        for name, value in self.deltas[-1].items():
            self.delta[name] = self.delta.get(name, 0) + value
        self.speeds.append(speed)
        self.messages += messages
        if self.slow:
            self.note = (f"bounded: {messages} messages completed in the {seconds - 2} s measured, "
                         "one round")
        return speed

    def verify(self):
        """Every byte of a separate run, by a program of ours; the slow row sends few."""
        self.pair.netem(QDISCS[self.qdisc])
        count = ["-n", "4", "-q", "2"] if self.slow else ["-n", "200", "-q", "16"]
        result = lib.xfer(self.pair, "--op", self.op.lower(), "--size", str(SIZE),
                          "--mtu", str(MTU), *count, env=self.env, timeout=60)
        lib.verified(result)
        self.verified = True

    def json(self):
        row = {"driver": self.driver, "ooo": self.ooo, "op": self.op, "size": SIZE,
               "qdisc": QDISCS[self.qdisc], "MB_s": round(self.speed, 3),
               **lib.summary(self.driver, self.delta), "verified": self.verified,
               "rounds": [round(s, 3) for s in self.speeds], "messages": self.messages}
        if self.note:
            row["note"] = self.note
        return row

    @property
    def speed(self):
        return lib.median(self.speeds) if self.speeds and not self.failed else 0.0


def label(driver, ooo):
    return {None: "stock rxe", False: "rxe_ooo, placement off", True: "rxe_ooo, placement on"}[ooo]


class Progress:
    """Lines like `[ 73 s] 12/48 rxe_ooo ...`."""

    def __init__(self, total):
        self.total, self.done, self.begin = total, 0, time.monotonic()

    def line(self, text):
        self.done += 1
        print(f"[{time.monotonic() - self.begin:4.0f} s] {self.done:3}/{self.total} {text}",
              flush=True)


def measure(rounds, drivers=DRIVERS, verify=True):
    """All rows, measured in alternating rounds, then verified."""
    pairs = {}
    try:
        for driver in dict.fromkeys(d for d, _ in drivers):
            pairs[driver] = lib.Pair(driver, tag=driver[4:5] or "s")
            pairs[driver].__enter__()
        rows = [Row(pairs[driver], driver, ooo, op, qdisc)
                for op in OPS for driver, ooo in drivers for qdisc in QDISCS]
        steps = sum(1 if row.slow else rounds for row in rows) + (len(rows) if verify else 0)
        progress = Progress(steps)
        for number in range(rounds):
            # The one that is measured first is the other each time.
            for row in rows if number % 2 == 0 else reversed(rows):
                if not (row.slow and number):
                    speed = row.attempt(row.measure)
                    progress.line(f"{row.name}: "
                                  + (row.note if speed is None else f"{speed:.2f} MB/s"))
        for row in rows if verify else ():
            row.attempt(row.verify)
            progress.line(f"{row.name}: content "
                          + ("verified" if row.verified else f"not verified: {row.note}"))
        return rows
    finally:
        for pair in pairs.values():
            pair.tear_down()


def pair_ratios(rows, driver, ooo, op):
    """Reordered to in order, of runs that followed each other."""
    plain, mixed = (find(rows, driver, ooo, op, q).speeds for q in QDISCS)
    return [b / a for a, b in zip(plain, mixed) if a]


def find(rows, driver, ooo, op, qdisc):
    return next(r for r in rows
                if (r.driver, r.ooo, r.op, r.qdisc) == (driver, ooo, op, qdisc))


def table(rows, drivers=DRIVERS):
    head = f"{'':24} {'':6} {'in order':>9} {'reordered':>9} {'ratio':>6}  " \
           f"{'packets':>8} {'resent':>7} {'NAKs':>6}  content"
    print("\n64 KiB messages, MTU 1024, 1 ms delay each way; MB/s (2^20 bytes), medians. Packets,")
    print("resent and NAKs are those of the reordered runs, both ends.\n")
    print(head)
    for op in OPS:
        for driver, ooo in drivers:
            plain, mixed = (find(rows, driver, ooo, op, q) for q in QDISCS)
            counts = lib.summary(driver, mixed.delta)
            print(f"{label(driver, ooo):24} {op:6} {plain.speed:9.2f} {mixed.speed:9.2f} "
                  f"{mixed.speed / plain.speed if plain.speed else 0:6.2f}  "
                  f"{counts['packets']:8} {counts['retransmitted']:7} {counts['naks']:6}  "
                  f"{'verified' if plain.verified and mixed.verified else 'NOT VERIFIED'}")
    for row in rows:
        if row.note:
            print(f"* {row.name}: {row.note}")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    begin = time.monotonic()
    rows = measure(args.rounds)
    table(rows)
    lib.RESULTS.mkdir(parents=True, exist_ok=True)
    target = lib.RESULTS / "demo.json"
    target.write_text(json.dumps([row.json() for row in rows], indent=1) + "\n", encoding="ascii")
    print(f"{len(rows)} rows in {target}, {time.monotonic() - begin:.0f} s")
    if any(row.failed or not row.verified for row in rows if row.driver == "rxe_ooo"):
        sys.exit("rxe_ooo failed in a row above")


if __name__ == "__main__":
    main()
