#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Tests of the test system: a kernel's complaint is seen, a scenario's output is counted right.

A checker that never fails checks nothing, so what must fail is tried here.
"""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
VM = pathlib.Path(__file__).resolve().parent
REPO = VM.parent.parent
sys.path.insert(0, str(VM))
import kernel_log  # noqa: E402


def program(name):
    """A program of ours without .py, as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(VM / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


suite = program("suite")
guests = program("suite-guests")
run = program("run")

BAD = """
WARNING: CPU: 0 PID: 1 at drivers/infiniband/sw/x.c:12 f+0x1/0x2
BUG: KASAN: slab-use-after-free in f+0x1/0x2
BUG: unable to handle page fault for address: 0000000000000010
BUG: sleeping function called from invalid context at kernel/locking/mutex.c:1
WARNING: possible circular locking dependency detected
WARNING: suspicious RCU usage
UBSAN: array-index-out-of-bounds in x.c:3:4
INFO: task rping:12 blocked for more than 60 seconds.
rcu: INFO: rcu_sched self-detected stall on CPU
watchdog: BUG: soft lockup - CPU#1 stuck for 22s!
refcount_t: underflow; use-after-free.
unregister_netdevice: waiting for v0 to become free. Usage count = 2
kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
Oops: general protection fault, probably for non-canonical address 0xdead
Kernel panic - not syncing: Attempted to kill init!
list_del corruption. prev->next should be x, but was y
BUG rxe_ooo_qp (Not tainted): Objects remaining on __kmem_cache_shutdown()
""".strip().splitlines()

GOOD = """
rxe_ooo: loading out-of-tree module taints kernel.
tsc: Unable to calibrate against PIT
kasan: KernelAddressSanitizer initialized
rcu: Preemptible hierarchical RCU implementation.
v0: renamed from veth0
""".strip().splitlines()


class KernelLog(unittest.TestCase):
    def test_bad(self):
        for line in BAD:
            with self.subTest(line):
                self.assertEqual(len(kernel_log.reports(f"[    1.0] {line}\n")), 1)

    def test_good(self):
        for line in GOOD:
            with self.subTest(line):
                self.assertEqual(kernel_log.reports(f"[    1.0] {line}\n"), [])

    def test_one_report_each(self):
        log = "\n".join([BAD[0], "Call Trace:", " f+0x1", "---[ end trace ]---", "fine", BAD[1]])
        first, second = kernel_log.reports(log)
        self.assertTrue(first.endswith("end trace ]---"))
        self.assertTrue(second.startswith("BUG: KASAN"))


    def test_only_what_comes_after_the_boot(self):
        log = f"{BAD[1]}\n[    0.9] {kernel_log.START}\nfine\n"
        self.assertEqual(kernel_log.reports(kernel_log.since_the_start(log)), [])
        self.assertEqual(len(kernel_log.reports(kernel_log.since_the_start(log + BAD[0]))), 1)
        self.assertEqual(len(kernel_log.reports(kernel_log.since_the_start(BAD[1]))), 1)

    def test_every_debug_kernel_has_a_configuration(self):
        for machine in run.BOOT_SECONDS:
            kind, _, flavour = machine.partition("-")
            if flavour:
                self.assertTrue((VM / kind / f"config.{flavour}").exists(), machine)


class Judge(unittest.TestCase):
    def judge(self, status, *lines):
        return [(t["name"], t["status"], t["reason"])
                for t in suite.judge(pathlib.Path("10-x.sh"), status, list(lines), 9)]

    def test_lines(self):
        self.assertEqual(
            self.judge(1, "ok a", "noise", "not ok b - it broke", "skip c - no room"),
            [("a", "passed", ""), ("b", "failed", "it broke"), ("c", "skipped", "no room")])

    def test_status_alone(self):
        self.assertEqual(self.judge(0, "hello"), [("10-x", "passed", "")])
        self.assertEqual(self.judge(77, "no netem"), [("10-x", "skipped", "no netem")])
        self.assertEqual(self.judge(3, "oh"), [("10-x", "failed", "exit status 3: oh")])

    def test_failure_after_ok(self):
        self.assertEqual(self.judge(-11, "ok a")[1], ("10-x", "failed", "exit status -11: ok a"))

    def test_no_end(self):
        self.assertEqual(self.judge(None, "ok a")[1], ("10-x", "failed", "no end after 9 s"))

    def test_a_skip_line_does_not_hide_a_failure(self):
        self.assertEqual(self.judge(1, "skip a - x")[1][1], "failed")


def found(scenario, name, status, reason=""):
    return {"scenario": scenario, "name": name, "status": status, "reason": reason, "seconds": 1}


class Alone(unittest.TestCase):
    """What runs once more by itself, and what that proves."""

    def test_only_time_limits_get_a_second_run(self):
        self.assertEqual(guests.only_late([
            found("1.py", "a", "failed", "the monitor listens: not within 60 s"),
            found("1.py", "b", "passed"),
            found("2.py", "a", "failed", "no end within a minute"),
            found("2.py", "2: kernel log", "failed", "WARNING: possible recursive locking"),
            found("3.py", "a", "failed", "7 errors, expected none"),
            found("4.py", "4", "failed", "no end after 900 s"),
            found("5.py", "a", "skipped", "no end within a minute")]), ["1.py", "4.py"])

    def test_second_run_replaces_the_first_and_says_so(self):
        first = [found("1.py", "a", "failed", "x: not within 6 s"), found("1.py", "b", "passed"),
                 found("2.py", "a", "passed")]
        got = guests.replace(first, [found("1.py", "a", "passed"), found("1.py", "b", "passed")])
        self.assertEqual([(t["scenario"], t["name"], t["status"], t.get("alone")) for t in got],
                         [("1.py", "a", "passed", "x: not within 6 s"),
                          ("1.py", "b", "passed", None), ("2.py", "a", "passed", None)])

    def test_a_complaint_or_a_dead_machine_is_final(self):
        self.assertTrue(guests.ended_well({1: 0, 2: 1}))
        for status in (guests.COMPLAINED, 124, 125, -9):
            self.assertFalse(guests.ended_well({1: 1, 2: status}))
        self.assertIn("the kernel complained", (VM / "run").read_text(encoding="utf-8"))

    def test_what_fails_again_has_failed(self):
        first = [found("1.py", "a", "failed", "x: not within 6 s")]
        got = guests.replace(first, [found("1.py", "a", "failed", "x: not within 6 s")])
        self.assertEqual([(t["status"], t.get("alone")) for t in got], [("failed", None)])


class Time(unittest.TestCase):
    """A job that is ended after a time begins nothing that it cannot finish, and says so."""

    def test_seconds_left(self):
        self.assertIsNone(guests.seconds_left({}, 1000))
        self.assertIsNone(guests.seconds_left({"RXE_OOO_BEGUN": "1"}, 1000))
        self.assertEqual(guests.seconds_left({"RXE_OOO_MINUTES": "2"}, 1000), 120)
        both = {"RXE_OOO_MINUTES": "2", "RXE_OOO_BEGUN": "930"}
        self.assertEqual(guests.seconds_left(both, 1000), 50)
        self.assertEqual(guests.seconds_left(both, 2000), 0)

    def test_what_has_not_begun_is_a_skip_with_its_reason(self):
        test = suite.no_time_left(pathlib.Path("10-x.py"), 50)
        self.assertEqual((test["status"], test["scenario"]), ("skipped", "10-x.py"))
        self.assertIn("not begun: 50 s were over", test["reason"])
        self.assertFalse(guests.TIME_LIMIT.search(test["reason"]))

    def test_a_guest_is_told(self):
        self.assertEqual(guests.passed_on({"HOME": "/", "RXE_OOO_FULL": "1"}),
                         ["env", "RXE_OOO_FULL=1"])


class Interval(unittest.TestCase):
    """The distribution-free 95 % interval of a median (binomial tables: 2nd to 9th of ten)."""

    def test_ranks(self):
        code = ("import sys; sys.path.insert(0, 'tests/scenarios'); import lib; "
                "print([tuple(lib.interval(range(1, n + 1)).values()) for n in (2, 6, 10, 20)])")
        done = subprocess.run([sys.executable, "-B", "-c", code], text=True, cwd=REPO,
                              capture_output=True, check=True)
        self.assertEqual(done.stdout.strip(),
                         "[(1.5, 1, 2, 2), (3.5, 1, 6, 6), (5.5, 2, 9, 10), (10.5, 6, 15, 20)]")


class Brief(unittest.TestCase):
    """What an emulated machine runs of a scenario is what its header names."""

    def test_each_pattern_chooses_some_cases_and_leaves_some(self):
        code = ("import runpy, sys; sys.path.insert(0, 'tests/scenarios'); import lib; "
                "runpy.run_path(sys.argv[1], run_name='x'); "
                "del sys.argv[0]; print(len(lib.brief_cases()), len(lib.CASES))")
        for path in sorted((REPO / "tests/scenarios").glob("[0-9]*.py")):
            if "\n# brief: " not in path.read_text(encoding="utf-8"):
                continue
            done = subprocess.run([sys.executable, "-B", "-c", code, str(path)], text=True, cwd=REPO,
                                  capture_output=True, check=True)
            chosen, every = (int(n) for n in done.stdout.splitlines()[-1].split())
            self.assertTrue(0 < chosen < every, f"{path.name}: {chosen} of {every}")


def main():
    result = unittest.TextTestRunner(stream=sys.stdout).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]))
    failed = len(result.failures) + len(result.errors)
    print(f"vm: {result.testsRun - failed} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
