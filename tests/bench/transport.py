#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Goodput against delay, loss and reordering: stock rdma_rxe, siw, and rxe_ooo with placement off and on.

Runs in a guest as root (`make bench-transport`).  perftest, 64 KiB messages, MTU 1024, its default
depth; netem on both ends.  For each row the drivers alternate with rxe_ooo's own run without loss or
reordering, so each round gives one pair ratio; reported are the median and its 95 % interval (from
the order statistics of the rounds: it needs six of them, before that the whole range is printed).
MB/s is 2^20 bytes.  Segmentation offloads are off, so that siw's TCP puts MTU-sized packets on the
wire as the others do.  Writes build/results/transport.json and .png.
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

SIZE, MTU, SECONDS = 65536, 1024, 4
# (netem, the row that it is compared with)
QDISCS = {
    "delay 1ms": None,
    "delay 1ms loss 0.1%": "delay 1ms",
    "delay 1ms loss 1%": "delay 1ms",
    "delay 1ms loss 5%": "delay 1ms",
    "delay 10ms": None,
    "delay 10ms loss 1%": "delay 10ms",
    "delay 1ms reorder 75%": "delay 1ms",
    "delay 1ms 500us 25%": "delay 1ms",
    "delay 1ms reorder 50% gap 5": "delay 1ms",
    "delay 1ms duplicate 5%": "delay 1ms",
    "delay 1ms corrupt 0.1%": "delay 1ms",
    "delay 1ms 500us 25% loss 1% duplicate 5% corrupt 0.1% reorder 25%": "delay 1ms",
    "delay 1ms rate 100mbit": None,
    "delay 1ms rate 100mbit loss 1%": "delay 1ms rate 100mbit",
}
SERIES = {"rxe": "stock rxe", "siw": "siw (TCP)", "off": "rxe_ooo, placement off",
          "on": "rxe_ooo, placement on"}
DRIVER_OF = {"rxe": "rxe", "siw": "siw", "off": "rxe_ooo", "on": "rxe_ooo"}


class Row:
    """One driver (or placement), operation and qdisc."""

    def __init__(self, series, op, qdisc):
        self.series, self.op, self.qdisc = series, op, qdisc
        self.speeds, self.base, self.delta = [], [], {}
        self.verified, self.note = None, ""

    @property
    def name(self):
        return f"{SERIES[self.series]}, {self.op}, {self.qdisc}"

    def env(self):
        return lib.placement(self.series == "on") if self.series in ("on", "off") else {}

    def measure(self, pairs, limit):
        pair = pairs.get(DRIVER_OF[self.series])
        pair.netem(f"{self.qdisc} limit {limit}")
        before = pair.counters() if self.series != "siw" else {}
        cm = ["-R"] if self.series == "siw" else []
        try:
            speed, _ = lib.goodput(pair, f"ib_{self.op.lower()}_bw", SIZE, SECONDS, "-m", str(MTU),
                                   *cm, env=self.env())
        except lib.Failure as reason:
            speed, self.note = 0.0, str(reason)[:200]
        if before:
            for name, value in lib.changed(before, pair.counters()).items():
                self.delta[name] = self.delta.get(name, 0) + value
        self.speeds.append(speed)
        return speed

    def verify(self, pairs, limit):
        """Every byte of a run of its own."""
        pair = pairs.get("rxe_ooo")
        pair.netem(f"{self.qdisc} limit {limit}")
        try:
            lib.verified(lib.xfer(pair, "--op", self.op.lower(), "--size", str(SIZE), "--mtu",
                                  str(MTU), "-n", "100", "-q", "16", env=self.env(), timeout=60))
            self.verified = True
        except lib.Failure as reason:
            self.verified, self.note = False, str(reason)[:200]

    def json(self, rows):
        counts = lib.summary(DRIVER_OF[self.series], self.delta) if self.delta else {}
        own = find(rows, self.series, self.op, QDISCS[self.qdisc]) if QDISCS[self.qdisc] else None
        stock = find(rows, "rxe", self.op, self.qdisc) if self.series != "rxe" else None
        row = {"case": self.qdisc, "driver": DRIVER_OF[self.series],
               "placement": {"on": True, "off": False}.get(self.series), "op": self.op,
               "size": SIZE, "MB_s": round(lib.median(self.speeds), 3),
               "rounds": [round(s, 3) for s in self.speeds], **counts,
               "spurious": self.delta.get("spurious_retransmissions"), "verified": self.verified}
        for name, other in (("ratio", own), ("ratio_to_stock", stock)):
            if other:
                row[name] = lib.interval([a / b for a, b in zip(self.speeds, other.speeds) if b])
        if self.note:
            row["note"] = self.note
        return row


def find(rows, series, op, qdisc):
    return next((r for r in rows if (r.series, r.op, r.qdisc) == (series, op, qdisc)), None)


class Pairs:
    """One pair of nodes for each driver, made when it is first asked for."""

    def __init__(self):
        self.open = {}

    def get(self, driver):
        if driver not in self.open:
            if driver == "siw":
                lib.MODULES["siw"] = "siw"
            # Stock rxe and ours both bind UDP 4791: each pair has namespaces of its own.
            pair = lib.Pair(driver, tag={"rxe": "s", "siw": "w"}.get(driver, "o"))
            pair.__enter__()
            for node in pair.nodes:
                node.sh(f"ethtool -K {node.netdev} tso off gso off gro off", check=False)
            self.open[driver] = pair
        return self.open[driver]

    def close(self):
        for pair in self.open.values():
            pair.tear_down()


def table(rows):
    print(f"\n{SIZE >> 10} KiB messages, MTU {MTU}; MB/s, medians; ratios [95 %]\n")
    for row in rows:
        ratios = "  ".join(
            f"{label} {row[key]['median']:.2f} [{row[key]['low']:.2f}-{row[key]['high']:.2f}]"
            for key, label in (("ratio", "own"), ("ratio_to_stock", "stock")) if row.get(key))
        who = row["driver"] + {True: " on", False: " off"}.get(row["placement"], "")
        resent = (f"{100 * row['retransmitted'] / row['packets']:.2f} % resent"
                  if row.get("packets") else "")
        print(f"{row['case']:34} {row['op']:5} {who:12} {row['MB_s']:8.2f}  {ratios:46} {resent}"
              f"{'' if row['verified'] is not False else '  NOT VERIFIED'}")


def plot(rows, target):
    pyplot = plotting.pyplot()
    if not pyplot:
        return
    cases = [c for c in QDISCS if any(r["case"] == c for r in rows)]
    ops = [op for op in demo.OPS if any(r["op"] == op for r in rows)]
    figure, axes = pyplot.subplots(len(ops), 1, figsize=(12, 4 * len(ops)), squeeze=False)
    for axis, op in zip(axes[:, 0], ops):
        for number, (series, label) in enumerate(SERIES.items()):
            heights = [next((r["MB_s"] for r in rows if (r["case"], r["op"], r["driver"],
                        {True: "on", False: "off"}.get(r["placement"], r["driver"]))
                        == (c, op, DRIVER_OF[series], series)), 0) for c in cases]
            if any(heights):
                axis.bar([i + 0.2 * number for i in range(len(cases))], heights, 0.2, label=label)
        axis.set_yscale("log")
        axis.set_ylabel(f"{op}, MB/s")
        axis.set_xticks([i + 0.3 for i in range(len(cases))], cases, rotation=20, ha="right",
                        fontsize=7)
    axes[0, 0].legend()
    figure.tight_layout()
    figure.savefig(target)
    print(f"plot: {target}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--limit", type=int, default=100000, help="netem's limit, packets")
    parser.add_argument("--series", default="rxe,siw,off,on")
    parser.add_argument("--ops", default=",".join(demo.OPS))
    parser.add_argument("--cases", default="", help="only qdiscs that are named, ; between them")
    args = parser.parse_args()
    cases = [c for c in QDISCS if not args.cases or c in args.cases.split(";")]
    series = args.series.split(",")
    rows = [Row(s, op, case) for op in args.ops.split(",") for case in cases for s in series]
    pairs = Pairs()
    progress = demo.Progress(args.rounds * len(rows))
    try:
        for _ in range(args.rounds):
            for row in rows:
                progress.line(f"{row.name}: {row.measure(pairs, args.limit):.2f} MB/s {row.note}")
        for row in rows:
            if DRIVER_OF[row.series] == "rxe_ooo":
                row.verify(pairs, args.limit)
    finally:
        pairs.close()
    found = [row.json(rows) for row in rows]
    table(found)
    lib.RESULTS.mkdir(parents=True, exist_ok=True)
    (lib.RESULTS / "transport.json").write_text(
        json.dumps({"limit": args.limit, "rows": found}, indent=1) + "\n", encoding="ascii")
    plot(found, lib.RESULTS / "transport.png")
    if any(row.verified is False for row in rows):
        sys.exit("content was not verified in a row above")


if __name__ == "__main__":
    main()
