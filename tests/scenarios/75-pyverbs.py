#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 1200
"""rdma-core's own pyverbs suite, unmodified: all modules that are not one vendor's, on one device.

Each module runs in a process of its own; when one dies, its other tests run in another.  Only the
skips of SKIPS are skips, any other is a failure.  Then the same while netem on lo reorders and
duplicates what goes between the tests' two players, with out-of-order placement off and on.
Writes build/results/pyverbs.json: per machine and variant what passed, failed, was skipped and why.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import lib
from lib import DEBUG_KERNEL, KIND, MACHINE, RESULTS, SLOW, note
from one_device import OneDevice

SUITE = "/opt/rdma-core/tests"
RUNNER = pathlib.Path(__file__).with_name("pyverbs_module.py")
REPORT = RESULTS / "pyverbs.json"
MODULES = ("addr", "atomic", "cq", "cq_events", "cqex", "device", "flow", "fork", "mr", "odp",
           "parent_domain", "pd", "qp", "qpex", "rdmacm", "relaxed_ordering", "rss_traffic",
           "shared_pd", "srq", "tag_matching")
# The suite itself waits 10 s for a completion, 30 s for a test that has forked.
PATIENCE = 4 if DEBUG_KERNEL or KIND == "qemu" else 1
TEST_SECONDS = 45 * PATIENCE
POLL_SECONDS = 10 * SLOW
POLL_SECONDS_ALONE = 60 * SLOW

REORDER = "delay 1ms reorder 75% limit 100000"
DUPLICATE = "delay 1ms reorder 75% duplicate 2% limit 100000"
# name: (netem on lo, out-of-order placement)
VARIANTS = {
    "plain": (None, False),
    "reorder-placement-on": (REORDER, True),
    "reorder-placement-off": (REORDER, False),
    "duplicate-placement-on": (DUPLICATE, True),
    "duplicate-placement-off": (DUPLICATE, False),
}
# Emulated and sanitized machines take the two that differ most.
FEW = ("plain", "reorder-placement-on")

# (test, the reason that it prints, on which machines, why that is all right)
SKIPS = (
    (r"test_flow\.", r"Create QP type 8 is not supported", "qemu uml",
     "raw packet QPs: a software RoCE device leaves those to packet sockets"),
    (r"test_rss_traffic\.", r"Create QP type 8 is not supported", "qemu uml",
     "raw packet QPs"),
    (r"test_qp\.\w+\.test_\w+_raw_qp", r"Raw Packet QP", "qemu uml", "raw packet QPs"),
    (r"test_tag_matching\.", r"Extended CQ is not supported|Tag matching is not supported",
     "qemu uml", "tag matching is a feature of some hardware"),
    (r"test_mr\.DmaBuf", r"Device /dev/dri/\w+ is not present", "qemu uml",
     "a GPU's dma-buf; 72-memory.py registers udmabuf's"),
    (r"huge", r"Huge pages of size 2M is not supported in this platform", "uml",
     "UML has no huge pages"),
)

# Tests that may fail while netem duplicates: nothing says that a datagram comes once, and each of
# these has a receive for every one that it sends, so that a duplicate takes the next one's and the
# test waits for a datagram that found none.  (The suite has no UC traffic.)
UD_TESTS = (
    r"test_cq_events\.\w+\.test_cq_events_ud",
    r"test_cqex\.\w+\.test_ud_traffic_cq_ex",
    r"test_odp\.\w+\.test_odp_ud_traffic",
    r"test_parent_domain\.\w+\.test_mem_align_ud_traffic",
    r"test_qpex\.\w+\.test_qp_ex_ud_(send|send_imm|zero_size)",
    r"test_relaxed_ordering\.\w+\.test_ro_ud_traffic",
    r"test_rdmacm\.\w+\.test_rdmacm_async_udp_traffic",
    r"test_rdmacm\.\w+\.test_rdmacm_async_(multicast|ex_multicast|ex_leave_multicast)_traffic",
)


def skip_is_fine(test, reason):
    return any(re.search(name, test) and re.search(text, reason)
               and KIND in machines.split()
               for name, text, machines, _ in SKIPS)


def may_fail(variant, test):
    """Is its service free to do what makes the test fail?"""
    return variant.startswith("duplicate") and any(re.fullmatch(name, test) for name in UD_TESTS)


class Runner:
    """pyverbs_module.py, which has the suite loaded and forks a process for each module."""

    def __init__(self, node):
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            node.argv([sys.executable, RUNNER, SUITE, node.dev]), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def once(self, module, poll_limit=POLL_SECONDS, test_limit=TEST_SECONDS, **how):
        """One process: (records, how it died or None, its output)."""
        with tempfile.TemporaryDirectory() as folder:
            results, output = pathlib.Path(folder, "results"), pathlib.Path(folder, "output")
            results.touch()
            request = {"module": f"test_{module}", "results": str(results), "output": str(output),
                       "poll_limit": poll_limit, "test_limit": test_limit, **how}
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            status = int(self.process.stdout.readline())
            records = [json.loads(line) for line in results.read_text("utf-8").splitlines()]
            text = output.read_text("utf-8", errors="replace") if output.exists() else ""
        ended = bool(records) and "end" in records[-1]
        if ended:
            records.pop()
        if status == 0 and ended:
            return records, None, text
        died = f"signal {-status}" if status < 0 else f"exit status {status}"
        if "Timeout (" in text:
            died = f"no end after {test_limit} s"
        return records, died, text


def run_module(runner, module):
    """[{test, outcome, reason, seconds}] of all tests of a module, in as many processes as it takes."""
    found, how = [], {}
    while True:
        records, died, text = runner.once(module, **how)
        found += [r for r in records if "outcome" in r]
        if died or any(r["outcome"] == "not ok" for r in records if "outcome" in r):
            print("\n".join(f"  | {line[:200]}" for line in text.splitlines()[-60:]))
        if not died:
            return found
        begun = [r["test"] for r in records if "begin" in r]
        last = begun[-1] if begun else None
        if not last or any(r["test"] == last for r in found):
            # Before its first or after a test: there is nothing to go on with.
            found.append({"test": f"test_{module}", "outcome": "not ok", "seconds": 0,
                          "reason": f"the process died between tests: {died}"})
            return found
        found.append({"test": last, "outcome": "not ok", "seconds": 0,
                      "reason": f"the process died in it: {died}"})
        how = {"after": last}


def passes_alone(runner, record):
    """A test that failed while netem was on, by itself and with more time: its own time limit?"""
    module = record["test"].split(".")[0].removeprefix("test_")
    records, died, _ = runner.once(module, POLL_SECONDS_ALONE, TEST_SECONDS + POLL_SECONDS_ALONE,
                                   only=record["test"])
    return not died and [r["outcome"] for r in records if "outcome" in r] == ["ok"]


def judge(runner, variant, record):
    """Print a test's line, and say so in its record."""
    test, outcome, reason = record["test"], record["outcome"], record["reason"]
    reason = " ".join(reason.split())
    if outcome == "skip" and not skip_is_fine(test, reason):
        outcome, reason = "not ok", f"skipped: {reason}"
    elif outcome == "not ok" and variant != "plain":
        if may_fail(variant, test):
            outcome, reason = "skip", f"exempt: UD, a duplicate took a receive ({reason})"
        elif re.search("time|stuck|no end", reason, re.I) and passes_alone(runner, record):
            outcome, reason = "ok", ""
            record["own_time_limit"] = record["reason"]
            note(f"{test}: {record['reason']}; by itself with {POLL_SECONDS_ALONE} s it passes")
    record["outcome"], record["reason"] = outcome, reason
    print(f"{outcome} {variant} {test}" + (f" - {reason}" if reason else ""), flush=True)


def run_variant(variant, modules):
    netem, on = VARIANTS[variant]
    begin = time.monotonic()
    with OneDevice(mtu=4200) as one:
        node = one.a
        node.sh(f"echo {int(on)} > /sys/class/infiniband/{node.dev}/ooo_default")
        one.netem(netem)
        before, counters = node.resources(), node.counters()
        records = []
        with Runner(node) as runner:
            for module in modules:
                new = run_module(runner, module)
                for record in new:
                    judge(runner, variant, record)
                records += new
        delta = lib.changed(counters, node.counters())
        note(f"{variant}: {delta}")
        left = lib.changed(before, node.resources())
        extra = [("no-object-is-left", not left, str(left))]
        if netem and modules == MODULES:
            extra.append(("netem-was-seen", delta.get("out_of_sequence"), str(delta)))
        for name, fine, reason in extra:
            records.append({"test": name, "outcome": "ok" if fine else "not ok", "seconds": 0,
                            "reason": "" if fine else reason})
            print(f"ok {variant} {name}" if fine else f"not ok {variant} {name} - {reason}",
                  flush=True)
    seconds = time.monotonic() - begin
    note(f"{variant} took {seconds:.1f} s")
    return records, seconds


def report(done):
    """This machine's part of the report; the other machines' parts stay."""
    try:
        whole = json.loads(REPORT.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        whole = {}
    whole[MACHINE] = {"kernel": os.uname().release, "variants": {
        variant: {
            "netem_on_lo": VARIANTS[variant][0], "placement": VARIANTS[variant][1],
            "seconds": round(seconds, 1),
            "passed": [r["test"] for r in records if r["outcome"] == "ok"],
            "passed_with_more_time": {r["test"]: r["own_time_limit"] for r in records
                                      if "own_time_limit" in r},
            "failed": {r["test"]: r["reason"] for r in records if r["outcome"] == "not ok"},
            "skipped": {r["test"]: r["reason"] for r in records if r["outcome"] == "skip"},
        } for variant, (records, seconds) in done.items()}}
    REPORT.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


def huge_pages():
    path = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
    if path.exists():
        path.write_text("64", encoding="utf-8")


def main():
    huge_pages()
    done = {}
    names = FEW if DEBUG_KERNEL or KIND == "qemu" else VARIANTS
    if lib.BRIEF:
        names = FEW[:1]     # what netem does to the suite does not depend on the kernel's version
    # Arguments choose among both.
    names = [name for name in sys.argv[1:] if name in VARIANTS] or names
    modules = [name for name in sys.argv[1:] if name in MODULES] or MODULES
    for variant in names:
        done[variant] = run_variant(variant, modules)
        report(done)
    for variant, (records, seconds) in done.items():
        count = {o: sum(r["outcome"] == o for r in records) for o in ("ok", "not ok", "skip")}
        note(f"{variant}: {count['ok']} passed, {count['not ok']} failed, {count['skip']} skipped, "
             f"{seconds:.0f} s")
    lib.unload(lib.DRIVER)
    failed = any(r["outcome"] == "not ok" for records, _ in done.values() for r in records)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
