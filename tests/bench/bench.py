#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""rxe_ooo beside stock rdma_rxe when nothing goes wrong: bandwidth of perftest, no qdisc.

Runs in a guest as root (`make bench`).  Rounds alternate over all rows, so that a change in the
machine's load hits each driver; the ratio is the median of the rounds' own ratios.  MB/s is 2^20
bytes.  Writes build/results/bench.json, a list of rows, and build/results/bench.png.
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scenarios"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "demo"))
import demo  # noqa: E402  pylint: disable=wrong-import-position
import lib  # noqa: E402  pylint: disable=wrong-import-position
import plotting  # noqa: E402  pylint: disable=wrong-import-position

MTU = 1024
SIZES = (64, 4096, 65536, 1 << 20)
SECONDS = 4             # the first and the last are not measured


class Row:
    """One driver, operation and size."""

    def __init__(self, pair, driver, ooo, op, size):
        self.pair, self.driver, self.ooo, self.op, self.size = pair, driver, ooo, op, size
        self.speeds = []

    def measure(self):
        env = {} if self.ooo is None else lib.placement(self.ooo)
        speed, _ = lib.goodput(self.pair, f"ib_{self.op.lower()}_bw", self.size, SECONDS,
                               "-m", str(MTU), env=env)
        self.speeds.append(speed)
        return speed

    def ratios(self, rows):
        """Of each round, to stock's."""
        stock = next(r for r in rows
                     if (r.driver, r.op, r.size) == ("rxe", self.op, self.size))
        return [mine / theirs for mine, theirs in zip(self.speeds, stock.speeds) if theirs]

    def json(self, rows):
        ratios = self.ratios(rows)
        return {"driver": self.driver, "ooo": self.ooo, "op": self.op, "size": self.size,
                "mtu": MTU, "MB_s": round(lib.median(self.speeds), 3),
                "ratio_to_stock": round(lib.median(ratios), 3) if ratios else None,
                "rounds": [round(s, 3) for s in self.speeds]}


def measure(rounds):
    pairs = {}
    try:
        for driver in dict.fromkeys(d for d, _ in demo.DRIVERS):
            pairs[driver] = lib.Pair(driver, tag=driver[4:5] or "s")
            pairs[driver].__enter__()
        rows = [Row(pairs[driver], driver, ooo, op, size)
                for op in demo.OPS for size in SIZES for driver, ooo in demo.DRIVERS]
        progress = demo.Progress(rounds * len(rows))
        for _ in range(rounds):
            for row in rows:
                progress.line(f"{demo.label(row.driver, row.ooo)}, {row.op}, {row.size} B: "
                              f"{row.measure():.2f} MB/s")
        return [row.json(rows) for row in rows]
    finally:
        for pair in pairs.values():
            pair.tear_down()


def table(rows):
    print(f"\nMTU {MTU}, perftest's depth, no qdisc\n")
    print(f"{'':24} {'':6} {'size':>8} {'MB/s':>9} {'to stock':>9}")
    for row in rows:
        print(f"{demo.label(row['driver'], row['ooo']):24} {row['op']:6} {row['size']:8} "
              f"{row['MB_s']:9.2f} {row['ratio_to_stock'] or 0:9.2f}")


def plot(rows, target):
    pyplot = plotting.pyplot()
    if not pyplot:
        return
    figure, axes = pyplot.subplots(1, len(demo.OPS), figsize=(12, 4), sharey=True)
    for axis, op in zip(axes, demo.OPS):
        for driver, ooo in demo.DRIVERS:
            mine = [r for r in rows if (r["driver"], r["ooo"], r["op"]) == (driver, ooo, op)]
            axis.loglog([r["size"] for r in mine], [max(r["MB_s"], 0.01) for r in mine],
                        marker="o", base=2, label=demo.label(driver, ooo))
        axis.set_title(op)
        axis.set_xlabel("message, bytes")
    axes[0].set_ylabel("MB/s")
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(target)
    print(f"plot: {target}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    rows = measure(parser.parse_args().rounds)
    table(rows)
    lib.RESULTS.mkdir(parents=True, exist_ok=True)
    (lib.RESULTS / "bench.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="ascii")
    plot(rows, lib.RESULTS / "bench.png")


if __name__ == "__main__":
    main()
