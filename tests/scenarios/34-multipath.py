#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 900
# brief: both-routes|content-is-right
"""Packets of a queue pair over several UDP source ports (ooo_paths): ECMP by port spreads them over
two routes, and what is sent arrives.

The speeds are reported (build/results/multipath.json), not judged."""

import json
import os
import threading
import time

import lib
from lib import case, expect, note

PATHS = 16      # ports; that the hash puts all of them on one route happens once in 2^15 times
RATE = "40mbit"
FAST = f"delay 1ms rate {RATE} limit 20000"
SLOW = f"delay 3ms rate {RATE} limit 20000"
TABLE = 200
FIGURES = {"rate": RATE, "paths": PATHS}


class Routes(lib.Pair):
    """A pair with a second pair of netdevs, and two routes for RoCE; TCP stays on the first."""

    def set_up(self):
        super().set_up()
        names = [f"{n.netdev}x" for n in self.nodes]
        lib.sh(f"ip link add {names[0]} type veth peer name {names[1]}")
        for node, name in zip(self.nodes, names):
            lib.sh(f"ip link set {name} netns {node.ns}")
            node.other = name
            # The same address on both: the kernel (6.15 and later) prefers the one that has it.
            node.sh(f"sysctl -q -e -w net.ipv4.conf.{name}.rp_filter=0 && "
                    f"sysctl -q -w net.ipv4.fib_multipath_hash_policy=1 && "
                    f"ip addr add {node.ip4}/32 dev {name} && ip link set {name} up")
        for node, peer in (self.nodes, self.nodes[::-1]):
            mac = peer.sh(f"cat /sys/class/net/{peer.other}/address").stdout.strip()
            node.sh(f"ip neigh replace {peer.ip4} lladdr {mac} nud permanent dev {node.other} && "
                    f"ip route add {peer.ip4}/32 table {TABLE} src {node.ip4} "
                    f"nexthop dev {node.netdev} nexthop dev {node.other} && "
                    f"ip rule add pref 50 ipproto udp dport 4791 lookup {TABLE}")

    def paths(self, number):
        for node in self.nodes:
            node.sh(f"echo {number} > /sys/class/infiniband/{node.dev}/ooo_paths")

    def shape(self, first, second):
        for node in self.nodes:
            for name, spec in ((node.netdev, first), (node.other, second)):
                node.sh(f"tc qdisc replace dev {name} root netem {spec}")

    def cut_second(self):
        """Nobody is told: the link stays up."""
        for node in self.nodes:
            node.sh(f"tc qdisc replace dev {node.other} root netem loss 100% limit 20000")

    def sent(self):
        """Packets that node a has sent on either route."""
        text = self.a.sh(f"cat /sys/class/net/{{{self.a.netdev},{self.a.other}}}"
                         "/statistics/tx_packets").stdout
        return [int(n) for n in text.split()]


def run(pair, *options):
    """A verified run; the packets that a sent on each route, and the result.

    A timeout of 1.07 s: a guest that gets no CPU for a while is not the subject."""
    before = pair.sent()
    result = lib.verified(lib.xfer(pair, "--timeout", "18", *options, env=lib.placement(True),
                                   timeout=150))
    return [n - m for n, m in zip(pair.sent(), before)], result


@case
def one_path_is_the_default():
    with Routes() as pair:
        for node in pair.nodes:
            found = node.sh(f"cat /sys/class/infiniband/{node.dev}/ooo_paths").stdout
            expect(int(found) == 1, f"ooo_paths is {found}")
        (first, second), _ = run(pair, "--op", "write", "-n", "50", "--size", "65536")
        expect(first > 1000 and 20 * second < first, f"{first} and {second} packets")


@case
def the_attribute_has_limits():
    with lib.Pair() as pair:
        path = f"/sys/class/infiniband/{pair.a.dev}/ooo_paths"
        for value in ("0", "17", "x"):
            done = pair.a.sh(f"echo {value} > {path}", check=False)
            expect(done.returncode, f"{value} is taken")
        pair.a.sh(f"echo {PATHS} > {path}")


@case
def both_routes_carry_packets():
    with Routes() as pair:
        pair.paths(PATHS)
        pair.shape(FAST, SLOW)
        for op in ("write", "send"):
            sent, _ = run(pair, "--op", op, "-n", "100", "--size", "65536")
            note(f"{op}: {sent[0]} and {sent[1]} packets")
            expect(min(sent) > sum(sent) / 50, f"{op}: {sent[0]} and {sent[1]} packets")


@case
def content_is_right_with_loss_as_well():
    with Routes() as pair:
        pair.paths(PATHS)
        for spec in ("delay 1ms limit 20000", "delay 1ms 500us loss 1% limit 20000"):
            pair.shape(spec, "delay 8ms loss 1% limit 20000")
            sent, _ = run(pair, "--op", "mix", "-n", "150", "--vary", "--sges", "3", "-q", "16")
            note(f"{sent[0]} and {sent[1]} packets")


@case
def peer_that_cannot_gets_one_path():
    with Routes() as pair:
        pair.paths(PATHS)
        pair.b.sh(f"echo 0 > /sys/class/infiniband/{pair.b.dev}/ooo_sack")
        sent, _ = run(pair, "--op", "write", "-n", "50", "--size", "65536")
        # IPv6 makes itself known on either interface, with some dozens.
        expect(20 * min(sent) < max(sent), f"{sent[0]} and {sent[1]} packets")


def write_figures():
    lib.RESULTS.mkdir(parents=True, exist_ok=True)
    (lib.RESULTS / "multipath.json").write_text(json.dumps(FIGURES, indent=1) + "\n",
                                                encoding="utf-8")


def speed(pair):
    _, result = run(pair, "--op", "write", "--size", "65536", "-q", "64", "--seconds", "4")
    return result["MB_s"]


@case
def two_routes_are_faster_than_one():
    with Routes() as pair:
        pair.shape(FAST, SLOW)
        one = speed(pair)
        pair.paths(PATHS)
        before = pair.counters()
        two = speed(pair)
        delta = lib.changed(before, pair.counters())
        again = delta.get("retransmitted_packets", 0) / delta["tx_packets"]
        note(f"one route {one:.2f} MB/s, two {two:.2f} MB/s: {two / one:.2f} times; "
             f"{100 * again:.2f} % sent again")
        FIGURES.update(one_MB_s=one, two_MB_s=two, ratio=two / one, sent_again=again)
        write_figures()


def cut_case(function):
    """Only with MULTIPATH_CUT=1: what follows a silent cut is not reliable yet (docs/status.md)."""
    return case(function) if os.environ.get("MULTIPATH_CUT") else function


class Transfer(threading.Thread):
    """xfer beside the case."""

    def __init__(self, pair, *options):
        super().__init__()
        self.pair, self.options = pair, options
        self.sent, self.failure = None, None
        self.start()

    def run(self):
        try:
            self.sent, _ = run(self.pair, *self.options)
        except lib.Failure as failure:
            self.failure = failure


def arrived(pair):
    return pair.b.counters().get("rx_write_requests", 0)


def rate_over(pair, seconds):
    """Packets a second that arrive at b."""
    begin, then = arrived(pair), time.monotonic()
    time.sleep(seconds)
    return (arrived(pair) - begin) / (time.monotonic() - then)


@cut_case
def route_that_is_cut_is_left():
    with Routes() as pair:
        pair.paths(PATHS)
        pair.shape(FAST, SLOW)
        transfer = Transfer(pair, "--op", "write", "--size", "65536", "-q", "64",
                            "--seconds", 10 * lib.SLOW)
        try:
            lib.wait_for(lambda: arrived(pair) > 200 or not transfer.is_alive(), 60,
                         "packets arrive")
            before = rate_over(pair, 1)
            pair.cut_second()
            at_once, after = rate_over(pair, 2), rate_over(pair, 2)
        finally:
            transfer.join()
        if transfer.failure:
            raise transfer.failure
        left = pair.a.counters().get("paths_left", 0)
        note(f"{before:.0f} packets/s before the cut, {at_once:.0f} in the first two seconds, "
             f"{after:.0f} after; {left} paths left")
        expect(left, "no path was left")
        FIGURES.update(before_cut=before, first_two_seconds=at_once, after_cut=after)
        write_figures()


@cut_case
def every_operation_survives_a_cut():
    for op in ("read", "mix"):
        with Routes() as pair:
            pair.paths(PATHS)
            pair.shape(FAST, SLOW)
            transfer = Transfer(pair, "--op", op, "--size", "16384", "-q", "16",
                                "--seconds", 5 * lib.SLOW)
            try:
                # Before the first answer there is one path only, perhaps the one to be cut.
                lib.wait_for(lambda run=transfer, node=pair.a: node.counters()["rx_packets"] > 20
                             or not run.is_alive(), 60, "answers arrive")
                pair.cut_second()
            finally:
                transfer.join()
            if transfer.failure:
                raise lib.Failure(f"{op}: {transfer.failure}")
            note(f"{op}: {transfer.sent[0]} and {transfer.sent[1]} packets")


if __name__ == "__main__":
    lib.main()
