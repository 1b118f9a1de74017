#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Run the host tests of the core: unit tests, simulation, fuzzers. Ends with
"N passed, N failed, N skipped"; writes build/results/core.json."""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE / "../../build/core"
RESULTS = HERE / "../../build/results"
# Counters of the core that a run of all profiles has moved, or it does not test what it should.
MOVED = ("placed_out_of_order held_packets dropped_outside_window dropped_for_memory gaps "
         "duplicate_request duplicate_response sent_seq_err_naks sent_rnr_naks rnr_nak_retry_err "
         "sent_sacks rcvd_sacks holes_resent spurious_retransmissions tail_probes "
         "needless_requests paths_left paths_back np_ecn_marked_roce_packets rp_ecn_echoed "
         "retransmitted_packets local_ack_timeout_err implied_nak_seq_err req_remote_errors").split()
PYTHON = "/usr/bin/python3"  # the one that Debian's python3-scapy is for


class Tally:
    """Counts, and the record that goes to core.json."""

    def __init__(self):
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.record = {}

    def test(self, name, good, why=""):
        self.counts["passed" if good else "failed"] += 1
        print(f"{'ok' if good else 'FAILED':8} {name}{': ' + why if why else ''}", flush=True)

    def skip(self, name, why):
        self.counts["skipped"] += 1
        print(f"skipped  {name}: {why}", flush=True)


def vectors():
    """Fresh packets with scapy's ICRCs; None without scapy."""
    seed = random.randrange(1 << 30)
    done = subprocess.run([PYTHON, HERE / "icrc_vectors.py", "400", str(seed)],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        print("icrc: no scapy (Debian: apt install python3-scapy)")
        return None
    path = BUILD / "icrc_vectors.txt"
    path.write_text(done.stdout, encoding="utf-8")
    print(f"icrc: 400 packets from scapy, seed {seed}")
    return path


def unit(tally):
    env = dict(os.environ)
    path = vectors()
    if path:
        env["ICRC_VECTORS"] = str(path)
    counts = BUILD / "unit-counts"
    counts.unlink(missing_ok=True)
    done = subprocess.run([HERE / "unit", "--counts", counts], cwd=HERE, env=env, check=False)
    if not counts.exists():
        tally.test("unit tests", False, f"ended with {done.returncode}")
        return
    numbers = [int(n) for n in counts.read_text(encoding="utf-8").split()]
    for key, n in zip(tally.counts, numbers):
        tally.counts[key] += n
    tally.record["unit"] = dict(zip(tally.counts, numbers))


def replays(tally):
    """The same seed, traced twice, is the same to the last byte."""
    traces = [subprocess.run([HERE / "sim", "--seed", "19", "--verbose"], capture_output=True,
                             check=False).stdout for _ in range(2)]
    tally.test("simulation: a seed replays exactly", traces[0] == traces[1] and len(traces[0]) > 1e5,
               f"{len(traces[0])} bytes of trace")


def simulate(tally, args):
    path = RESULTS / "core-sim.json"
    path.unlink(missing_ok=True)
    begin = time.monotonic()
    subprocess.run([HERE / "sim", "--list", "seeds.txt", "--seeds", str(args.seeds),
                    "--packets", str(args.packets), "--seconds", str(args.seconds),
                    "--jobs", str(args.jobs), "--first", str(args.first), "--json", path],
                   cwd=HERE, check=False)
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        path.unlink()
    except (OSError, ValueError):
        tally.test("simulation", False, "no result")
        return
    tally.record.update(result)
    tally.test("simulation: no rule broken", result["failures"] == 0,
               f"{result['failures']} of {result['seeds']} seeds failed")
    still = [name for name in MOVED if not result["core"].get(name)]
    tally.test("simulation: reaches what it is about", not still, " ".join(still))
    replays(tally)
    done = result["seeds"] >= args.seeds and result["packets"] >= args.packets
    tally.test(f"simulation: {args.seeds} seeds and {args.packets} packets", done,
               f"{result['seeds']} seeds, {result['packets']} packets, "
               f"{time.monotonic() - begin:.0f} s, sanitizers {result['sanitizers']}")
    if args.seeds <= 2000 and done:
        cost = result["cpu_seconds"]
        tally.test("simulation: under two minutes on two idle CPUs", cost < 240,
                   f"{cost:.0f} s of CPU")


def rates(tally):
    """Goodput in virtual time: the transport's own, the same on every machine."""
    path = RESULTS / "core-rates.json"
    done = subprocess.run([HERE / "sim", "--rates", "", "--json", path], capture_output=True,
                          text=True, check=False)
    print(done.stdout)
    bad = re.findall(r"^RATE FAILED: (.*)$", done.stdout, re.M)
    tally.test("rates: goodput under loss, reordering, queues", done.returncode == 0,
               "; ".join(bad) or f"{done.stdout.count('of the link')} cases")


def fuzz_one(tally, name, seconds):
    binary, kept = HERE / f"fuzz_{name}", HERE / "corpus" / name
    found = BUILD / f"corpus-{name}"
    found.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([binary, f"-max_total_time={seconds}", "-timeout=25", "-verbosity=0",
                           "-print_final_stats=1", f"-artifact_prefix={BUILD}/{name}-", found, kept],
                          capture_output=True, text=True, errors="replace", check=False)
    runs = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    runs = int(runs.group(1)) if runs else 0
    if done.returncode:
        print(done.stderr[-3000:])
    tally.test(f"fuzz {name}", done.returncode == 0, f"{runs} inputs in {seconds} s")
    tally.record.setdefault("fuzz", {})[name] = {"inputs": runs, "seconds": seconds}


def fuzz(tally, seconds):
    for name in ("parse", "ep"):
        if (HERE / f"fuzz_{name}").exists():
            fuzz_one(tally, name, seconds)
        else:
            tally.skip(f"fuzz {name}", "no clang with libFuzzer")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--packets", type=int, default=20_000_000)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=1500, help="of simulation, at most")
    parser.add_argument("--fuzz", type=int, default=5, help="seconds, each")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("parts", nargs="*", default=["unit", "sim", "rates", "fuzz"])
    return parser.parse_args()


def main():
    args, tally = arguments(), Tally()
    RESULTS.mkdir(parents=True, exist_ok=True)
    BUILD.mkdir(parents=True, exist_ok=True)
    if "unit" in args.parts:
        unit(tally)
    if "sim" in args.parts:
        simulate(tally, args)
    if "rates" in args.parts:
        rates(tally)
    if "fuzz" in args.parts:
        fuzz(tally, args.fuzz)
    coverage = RESULTS / "core-coverage.json"
    if coverage.exists():
        tally.record["coverage"] = json.loads(coverage.read_text(encoding="utf-8"))
    tally.record.update(tally.counts)
    (RESULTS / "core.json").write_text(json.dumps(tally.record, indent=1) + "\n", encoding="utf-8")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**tally.counts), flush=True)
    return 1 if tally.counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
