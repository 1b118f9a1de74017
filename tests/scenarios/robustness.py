# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What the scenarios that attack the device share: verified traffic in the background, what is left
afterwards, and figures in build/results/robustness.json.

RXE_OOO_LONG=1 in the environment: ten times as much of everything, for hours instead of seconds.
"""

import contextlib
import json
import os
import signal
import time

import lib
from figures import Figures
from lib import expect, wait_for

LONG = bool(int(os.environ.get("RXE_OOO_LONG", "0")))
FIGURES = Figures("robustness")
# Verified traffic of every kind, for traffic() below.
MIXED = ("--op", "mix", "--vary", "--sges", "2", "-q", "8", "--size", "16384", "--timeout", "18")


def amount(short):
    """So many inputs: ten times as many in the long form, fewer where machines are slow."""
    if LONG:
        return short * 10
    return short // (10 if lib.DEBUG_KERNEL else 5 if lib.KIND == "qemu" else 1)


@contextlib.contextmanager
def figure(check, seed=None):
    """A row of robustness.json: what the block puts into the dictionary, time and outcome."""
    row = {"check": check, "inputs": 0}
    if seed is not None:
        row["seed"] = seed
    begin = time.monotonic()
    outcome = "failed"
    try:
        yield row
        outcome = "passed"
    except lib.Skip as reason:
        outcome = f"skipped: {reason}"
        raise
    except lib.Failure as reason:
        outcome = f"failed: {reason}"
        raise
    finally:
        FIGURES.add(**row, seconds=round(time.monotonic() - begin, 1), outcome=outcome)


# ----------------------------------------------------------------------
# Traffic

class Traffic:
    """xfer between the two nodes of a pair until stop(), which verifies what went through."""

    def __init__(self, pair, *options, reverse=False, ip6=False, env=None, limit=300):
        self.client_node, self.server_node = (pair.b, pair.a) if reverse else (pair.a, pair.b)
        self.port = str(next(lib.PORTS))

        def argv(node):
            address = node.ip6 if ip6 else node.ip4
            return ["xfer", "--dev", node.dev, "--gid", node.gid(address), "--port", self.port,
                    "--limit", str(limit * lib.PATIENCE)]

        server = self.server_node
        self.server = server.popen(argv(server), env)
        self.client = self.client_node.popen(
            [*argv(self.client_node), "--seconds", "100000", *options,
             server.ip6 if ip6 else server.ip4], env)

    def qpns(self):
        """{node: [QPNs of it]}, once both ends are connected."""
        pids = {self.server_node: self.server.pid, self.client_node: self.client.pid}

        def found():
            self.alive()
            qps = {n: [q for q in queue_pairs(n) if q.get("pid") == pid]
                   for n, pid in pids.items()}
            return qps if all(any(q["state"] == "RTS" for q in found) for found in qps.values()) \
                else None

        return {node: [q["lqpn"] for q in qps]
                for node, qps in wait_for(found, 20, "xfer connects").items()}

    def running(self):
        return self.client.poll() is None and self.server.poll() is None

    def alive(self):
        if not self.running():
            said = " / ".join(lib.stop(p)[0].strip()[-200:] for p in (self.client, self.server))
            raise lib.Failure(f"xfer has ended: {said}")

    def stop(self, timeout=60):
        """The client's verified result."""
        self.alive()
        self.client.send_signal(signal.SIGUSR1)
        output = [finish(p, timeout) for p in (self.client, self.server)]
        result = lib.last_json(output[0])
        expect(result, f"xfer: {' '.join(output[0].split())[-300:]}")
        result["server"] = lib.last_json(output[1]) or {"errors": -1, "first_error": output[1]}
        return lib.verified(result)

    def kill(self):
        for process in (self.client, self.server):
            lib.stop(process)


def finish(process, timeout):
    try:
        return process.communicate(timeout=timeout * lib.PATIENCE)[0]
    except Exception as error:      # pylint: disable=broad-except
        lib.stop(process)
        raise lib.Failure(f"{process.args[-1]}: no end within {timeout * lib.PATIENCE} s") from error


@contextlib.contextmanager
def traffic(pair, *options, **how):
    run = Traffic(pair, *options, **how)
    try:
        run.qpns()
        yield run
    finally:
        run.kill()


# ----------------------------------------------------------------------
# What is there

def queue_pairs(node):
    text = node.sh(["rdma", "-j", "resource", "show", "qp", "link", f"{node.dev}/1"],
                   check=False).stdout
    try:
        rows = json.loads(text or "[]")
    except json.JSONDecodeError:
        return []
    return [row for row in rows if isinstance(row, dict) and "lqpn" in row]


def nothing_left(pair, base, seconds=20):
    """What `rdma resource` counts is what it was in the beginning."""
    for node in pair.nodes:
        wait_for(lambda n=node: n.resources() == base[n.dev], seconds,
                 f"objects gone, {base[node.dev]}, not {node.resources()}")


def resources(pair):
    return {node.dev: node.resources() for node in pair.nodes}


# ----------------------------------------------------------------------
# Programs

def as_user(who):
    """What stands before a command to run it as root or nobody, who may open the device, too."""
    if who == "root":
        return []
    lib.sh("chmod 666 /dev/infiniband/uverbs*")
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def result_of(process, timeout):
    """The line of JSON that a program ends with."""
    output = finish(process, timeout)
    result = lib.last_json(output)
    expect(process.returncode == 0 and result,
           f"exit status {process.returncode}: {' '.join(output.split())[-300:]}")
    return result
