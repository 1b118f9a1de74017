#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: uml
# timeout: 600
"""Packets that nobody asked for, injected into a device in use (tests/tools/inject.c).

With each rule broken by itself, and the live queue pairs' numbers: every packet is counted where
docs/counters.md says, and the real traffic's content is right. Then without rules: copies of real
packets with fields changed and a right ICRC. Whoever can send those can break the connection that
they name; no other one, and nothing else. RXE_OOO_LONG=1: a million packets.
"""

import json
import time

import lib
import robustness
from lib import add_case, case, expect, note, wait_for
from robustness import amount, figure, traffic

SEED = 20240901
PSN = 0xfffff0
SPEC = ("--op", "mix", "--vary", "--sges", "2", "-q", "8", "--size", "16384", "--psn", str(PSN),
        "--timeout", "18")
VICTIM = (*SPEC, "--timeout", "10", "--retry", "2", "--rnr-retry", "2")


def mac(node):
    return node.sh(["cat", f"/sys/class/net/{node.netdev}/address"]).stdout.strip()


def start(source, sink, qpns, count, seed, *options, family=4):
    """An injector beside @source: its packets look as if they came from there."""
    live = {q["lqpn"] for q in robustness.queue_pairs(sink)} | set(qpns)
    return source.popen(
        ["inject", "--dev", source.netdev, "--mac", mac(sink), "--src4", source.ip4,
         "--dst4", sink.ip4, "--src6", source.ip6, "--dst6", sink.ip6,
         "--live", ",".join(map(str, sorted(live))), "--family", str(family), "--psn", str(PSN),
         "--count", str(count), "--seed", str(seed), *options])


class WideBacklog:
    """What the kernel would drop before anybody sees it could not be counted by anybody."""

    FILE = "/proc/sys/net/core/netdev_max_backlog"

    def __enter__(self):
        with open(self.FILE, encoding="ascii") as file:
            self.before = file.read()
        self.write("1000000")

    def __exit__(self, *_):
        self.write(self.before)

    def write(self, value):
        with open(self.FILE, "w", encoding="ascii") as file:
            file.write(value)


def counted(node, before, expected):
    """Exactly what was injected has been dropped, each where it belongs."""
    def difference():
        delta = lib.changed(before, node.counters())
        return {k: (delta.get(k, 0), v) for k, v in expected.items() if delta.get(k, 0) != v}

    end = time.monotonic() + 20 * lib.PATIENCE
    while difference() and time.monotonic() < end:
        time.sleep(0.2)
    wrong = difference()
    expect(not wrong, f"{node.dev}: counted and expected differ: {wrong}")


def one_rule_broken(on, family, seed):
    """Both directions at once, each at two live queue pairs: a responder and a requester."""
    count = amount(26000)
    ip6 = family == 6
    env = lib.placement(on)
    name = f"injection, one rule broken, placement {'on' if on else 'off'}, IPv{family}"
    with figure(name, seed) as row, WideBacklog(), lib.Pair() as pair:
        base = robustness.resources(pair)
        with traffic(pair, *SPEC, ip6=ip6, env=env) as there, \
             traffic(pair, *SPEC, ip6=ip6, env=env, reverse=True) as back:
            qpns = {node: there.qpns()[node] + back.qpns()[node] for node in pair.nodes}
            before = {node: node.counters() for node in pair.nodes}
            runs = {sink: start(source, sink, qpns[sink], count, seed + number,
                                "--qpn", ",".join(map(str, qpns[sink])), family=family)
                    for number, (source, sink) in enumerate(((pair.a, pair.b), (pair.b, pair.a)))}
            results = {sink: robustness.result_of(process, 200) for sink, process in runs.items()}
            for sink, result in results.items():
                counted(sink, before[sink], result["expect"])
            row["inputs"] = sum(r["packets"] for r in results.values())
            row["frames"] = sum(r["frames"] for r in results.values())
            row["kinds"] = results[pair.b]["kinds"]
            real = [run.stop() for run in (there, back)]
        row["real_messages"] = sum(r["messages"] for r in real)
        note(f"{row['inputs']} packets in {results[pair.b]['seconds']:.1f} s, meanwhile "
             f"{row['real_messages']} verified messages")
        robustness.nothing_left(pair, base)


for _number, (_on, _family) in enumerate(((True, 4), (False, 6))):
    add_case(f"one-rule-broken-placement-{'on' if _on else 'off'}-ipv{_family}", one_rule_broken,
             _on, _family, SEED + 10 * _number)


# ----------------------------------------------------------------------

class Victims:
    """Queue pairs of each kind that may be broken, and are made anew."""

    def __init__(self, pair, on):
        self.pair, self.env, self.made = pair, lib.placement(on), 0
        self.runs = {}

    def kinds(self):
        pair = self.pair
        yield "rc", lambda: robustness.Traffic(pair, *VICTIM, env=self.env, limit=20)
        yield "back", lambda: robustness.Traffic(pair, *VICTIM, env=self.env, limit=20,
                                                 reverse=True, ip6=True)
        yield "xrc", lambda: robustness.Traffic(pair, *VICTIM[2:], "--op", "write_imm", "--xrc",
                                                env=self.env, limit=20)
        yield "uc", lambda: Perftest(pair, "ib_write_bw", "-c", "UC")
        yield "ud", lambda: Perftest(pair, "ib_send_bw", "-c", "UD", "-s", "1024")

    def tend(self):
        """Makes anew what has come to its end."""
        for name, make in self.kinds():
            run = self.runs.get(name)
            if run and run.running():
                continue
            if run:
                run.kill()
            self.runs[name] = make()
            self.made += 1

    def kill(self):
        for run in self.runs.values():
            run.kill()


class Perftest:
    """Like Traffic, for what xfer does not do; nothing is verified."""

    def __init__(self, pair, program, *options):
        port = str(next(lib.PORTS))

        def argv(node):
            return [program, "-d", node.dev, "-x", node.gid(), "-p", port, "-F", "-D", "20",
                    *options]

        self.server = pair.b.popen(argv(pair.b))
        wait_for(lambda: lib.listening(pair.b, port) or self.server.poll() is not None, 20,
                 "perftest listens")
        self.client = pair.a.popen([*argv(pair.a), pair.b.ip4])

    def running(self):
        return self.client.poll() is None and self.server.poll() is None

    def kill(self):
        for process in (self.client, self.server):
            lib.stop(process)


def no_rules(on, seed):
    """Bystanders on the same devices are verified; victims die and are made anew."""
    count = amount(15000)
    name = f"injection, copies changed at will, placement {'on' if on else 'off'}"
    with figure(name, seed) as row, lib.Pair() as pair:
        base = robustness.resources(pair)
        victims = Victims(pair, on)
        with traffic(pair, *SPEC, env=lib.placement(on)) as there, \
             traffic(pair, *SPEC, env=lib.placement(on), reverse=True) as back:
            try:
                qpns = {node: there.qpns()[node] + back.qpns()[node] for node in pair.nodes}
                victims.tend()
                runs = [source.popen(
                    ["inject", "--wild", "--dev", source.netdev, "--mac", mac(sink),
                     "--src4", source.ip4, "--dst4", sink.ip4, "--src6", source.ip6,
                     "--dst6", sink.ip6, "--live", ",".join(map(str, qpns[sink])),
                     "--count", str(count), "--seed", str(seed + number)])
                        for number, (source, sink) in enumerate(((pair.a, pair.b),
                                                                 (pair.b, pair.a)))]
                while any(run.poll() is None for run in runs):
                    victims.tend()
                    there.alive()
                    back.alive()
                    time.sleep(0.1)
                results = [robustness.result_of(run, 200) for run in runs]
            finally:
                victims.kill()
            real = [run.stop() for run in (there, back)]
        row.update(inputs=sum(r["packets"] for r in results), victims=victims.made,
                   real_messages=sum(r["messages"] for r in real))
        note(json.dumps({k: row[k] for k in ("inputs", "victims", "real_messages")}))
        robustness.nothing_left(pair, base)


add_case("no-rules-placement-on", no_rules, True, SEED + 100)
add_case("no-rules-placement-off", no_rules, False, SEED + 200)


case(lib.the_module_unloads)


if __name__ == "__main__":
    lib.main()
