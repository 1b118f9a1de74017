# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Run modules of rdma-core's pyverbs suite, unmodified, and tell what became of each test.

    pyverbs_module.py SUITE DEVICE

Does what the suite's own run_tests.py does, for a program instead of for people.  Each line of the
standard input is a request, in JSON:

    {"module": NAME, "results": FILE, "output": FILE, "poll_limit": SEC, "test_limit": SEC,
     "after": TEST, "only": TEST}

It is run in a forked process, and answered with that one's exit status (negative: the signal).  To
import the suite takes longer than to run most of its modules: this way it is done once.  Each test
writes two lines of JSON to "results", one before it ("begin") and one after it ("outcome": ok, not
ok, skip), so that a reader knows in which test the process died.  "after" goes on behind such a
one, "only" runs a single test.
"""

import contextlib
import faulthandler
import importlib
import importlib.util
import json
import os
import signal
import sys
import time
import unittest


class Result(unittest.TestResult):
    """What became of each test, to the results file as it happens."""

    def __init__(self, file, limit, stderr):
        super().__init__()
        self.file = file
        self.limit = limit
        self.stderr = stderr
        self.owner = os.getpid()
        self.began = 0
        self.told = False

    def tell(self, test, **what):
        # Some tests fork: a child that comes here is no test.
        if os.getpid() == self.owner:
            self.file.write(json.dumps({"test": test.id().removeprefix("tests."), **what}) + "\n")
            self.file.flush()

    def outcome(self, test, outcome, reason=""):
        self.told = True
        self.tell(test, outcome=outcome, reason=reason,
                  seconds=round(time.monotonic() - self.began, 2))

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()
        self.told = False
        self.tell(test, begin=True)
        # A test that hangs says where, and ends the process.
        faulthandler.dump_traceback_later(self.limit, exit=True, file=self.stderr)

    def stopTest(self, test):
        super().stopTest(test)
        faulthandler.cancel_dump_traceback_later()

    def addSuccess(self, test):
        self.outcome(test, "ok")

    def addSkip(self, test, reason):
        self.outcome(test, "skip", reason)

    def failed(self, test, error):
        # A test that fails may fail again while it clears up: the first reason counts.
        text = self._exc_info_to_string(error, test)
        print(text, file=sys.stderr, flush=True)
        if not self.told:
            self.outcome(test, "not ok", f"{error[0].__name__}: {error[1]}")

    def addFailure(self, test, err):
        self.failed(test, err)

    def addError(self, test, err):
        self.failed(test, err)

    def addSubTest(self, test, subtest, err):
        if err:
            self.failed(test, err)

    def addExpectedFailure(self, test, err):
        self.outcome(test, "ok")

    def addUnexpectedSuccess(self, test):
        self.outcome(test, "not ok", "it was expected to fail")


def load_suite(folder, device):
    """The suite as the package `tests`, as its run_tests.py makes it."""
    sys.path.insert(0, folder)
    sys.argv[1:] = ["--dev", device]
    arguments = importlib.import_module("args_parser")
    spec = importlib.util.spec_from_file_location("tests", f"{folder}/__init__.py",
                                                  submodule_search_locations=[folder])
    package = importlib.util.module_from_spec(spec)
    sys.modules["tests"] = package
    spec.loader.exec_module(package)
    arguments.parser.parse_args()


def tests_of(module):
    """In the suite's order."""
    found = []

    def flatten(suite):
        for item in suite:
            if isinstance(item, unittest.TestSuite):
                flatten(item)
            else:
                found.append(item)

    flatten(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[f"tests.{module}"]))
    return found


def run(request):
    """In the forked process."""
    os.setsid()
    output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    faulthandler.enable()
    sys.modules["tests.utils"].POLL_CQ_TIMEOUT = request["poll_limit"]
    tests = tests_of(request["module"])
    names = [test.id().removeprefix("tests.") for test in tests]
    if request.get("after"):
        tests = tests[names.index(request["after"]) + 1:]
    if request.get("only"):
        tests = [tests[names.index(request["only"])]]
    with open(request["results"], "a", encoding="utf-8") as file:
        unittest.TestSuite(tests).run(Result(file, request["test_limit"], sys.stderr))
        file.write(json.dumps({"end": True}) + "\n")


def main():
    load_suite(*sys.argv[1:3])
    for line in sys.stdin:
        child = os.fork()
        if not child:
            run(json.loads(line))
            sys.exit(0)         # and not at once: what the interpreter tears down may crash, too
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)    # what a test has forked and left
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
