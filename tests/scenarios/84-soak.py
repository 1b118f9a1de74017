#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: uml
# timeout: 600
"""Everything at once, at random, for SOAK_SECONDS (20 unless the environment says otherwise; `make soak`
says 1800): RC, XRC, UC and UD with random operations, sizes, depths and fences, placement on and off,
IPv4 and IPv6, while a fault follows the other. Every byte is verified; at the end nothing is left and
the kernel's memory has not grown. The seed is printed, SOAK_SEED repeats it."""

import json
import os
import random
import re
import signal
import time

import lib
import robustness
from lib import case, expect, note, wait_for
from robustness import Traffic, figure

SECONDS = int(os.environ.get("SOAK_SECONDS", "20"))
SEED = int(os.environ.get("SOAK_SEED", "84"))
QDISCS = (None, "delay 1ms limit 10000", "delay 1ms reorder 75% limit 10000", "loss 1% limit 10000",
          "duplicate 5% limit 10000", "corrupt 1% limit 10000", "rate 50mbit limit 100",
          "delay 1ms 500us reorder 50% loss 0.5% duplicate 2% corrupt 0.2% limit 10000")
ROUND = 15      # seconds; then all is verified and something else begins
KERNEL_MB = 24  # what a guest's caches may grow by


# ----------------------------------------------------------------------
# Who talks

class Datagrams:
    """UC or UD (tests/tools/dgram.c): like Traffic, but messages may get lost."""

    def __init__(self, pair, service, seed, reverse):
        sender, receiver = (pair.b, pair.a) if reverse else (pair.a, pair.b)
        self.receiver = self.start(receiver, service, "recv", str(seed), lib.gid_of(sender.ip6))
        line = self.receiver.stdout.readline()
        expect(line.startswith("qpn "), f"dgram: {line}")
        self.sender = self.start(sender, service, "send", str(seed), lib.gid_of(receiver.ip6),
                                 line.split()[1])

    @staticmethod
    def start(node, service, *how):
        return node.popen(["dgram", node.dev, node.gid(node.ip6), service, *how])

    def stop(self):
        sent, received = (self.end(p) for p in (self.sender, self.receiver))
        for side in (sent, received):
            expect(not side["wrong"], f"dgram: {side['first_wrong']}")
        return received

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.send_signal(signal.SIGUSR1)
        output = robustness.finish(process, 30)
        result = lib.last_json(output)
        expect(result, f"dgram: {output.strip()[-200:]}")
        return result

    def kill(self):
        for process in (self.sender, self.receiver):
            lib.stop(process)


def reliable(pair, chance):
    """An xfer of some kind."""
    options = ["-q", chance.choice(["1", "4", "16", "32"]), "--size",
               chance.choice(["64", "1024", "5000", "65536", "300000"]), "--vary", "--fence",
               "--sges", str(chance.randint(1, 4)), "--seed", str(chance.randrange(1 << 30)),
               "--psn", str(chance.randrange(1 << 24)), "--timeout", "17",
               "--rd-atomic", chance.choice(["1", "4", "16"]),
               "--mtu", chance.choice(["256", "1024", "1024", "1024"])]
    if chance.random() < 0.3:
        options += ["--xrc", "--op", chance.choice(["write_imm", "send", "send_imm"])]
    else:
        options += ["--op", chance.choice(["mix", "mix", "write", "read", "send_imm"])]
    return Traffic(pair, *options, reverse=chance.random() < 0.5, ip6=chance.random() < 0.5,
                   env=lib.placement(chance.random() < 0.5), limit=SECONDS + 300)


def speakers(pair, chance):
    """One round's traffic: it is made one by one, so that a failure leaves nothing running."""
    for _ in range(3):
        yield reliable(pair, chance)
    for service in ("uc", "ud"):
        yield Datagrams(pair, service, chance.randrange(1 << 30), chance.random() < 0.5)


# ----------------------------------------------------------------------
# What happens to them

def flap(pair, chance):
    node = chance.choice(pair.nodes)
    node.sh(f"ip link set {node.netdev} down; sleep {chance.random() / 2:.2f}; "
            f"ip link set {node.netdev} up; ip addr replace {node.ip6}/64 dev {node.netdev} nodad")
    pair.neighbours()


def other_qdisc(pair, chance):
    pair.netem(chance.choice(QDISCS))


def mtu(pair, chance):
    for node in pair.nodes:
        node.sh(f"ip link set {node.netdev} mtu {chance.choice((1500, 4200, 9000))}")


def addresses(pair, chance):
    node = chance.choice(pair.nodes)
    node.sh(f"ip addr del {node.ip4}/24 dev {node.netdev}; sleep 0.2; "
            f"ip addr add {node.ip4}/24 dev {node.netdev}")


def passer_by(pair, chance):
    """A short transfer of its own, killed half of the time."""
    run = Traffic(pair, "--op", "mix", "--vary", "-q", "8", reverse=chance.random() < 0.5)
    run.qpns()
    if chance.random() < 0.5:
        run.stop()
    run.kill()


def tune(pair, chance):
    name, values = chance.choice((("ooo_window", (16, 256, 1000)), ("ooo_recv_window", (64, 4096)),
                                  ("ooo_gso", (0, 1)), ("ooo_sack", (0, 1)),
                                  ("ooo_budget", (2, 64))))
    node = chance.choice(pair.nodes)
    node.sh(f"echo {chance.choice(values)} > /sys/class/infiniband/{node.dev}/{name}")


FAULTS = (flap, other_qdisc, other_qdisc, mtu, addresses, passer_by, tune)


# ----------------------------------------------------------------------

def kernel_memory():
    """What the kernel itself has, in bytes: everything but free memory, caches, and programs'."""
    with open("/proc/meminfo", encoding="ascii") as file:
        found = {k: int(v) * 1024 for k, v in re.findall(r"^(\w+):\s+(\d+) kB", file.read(), re.M)}
    return sum(found.get(k, 0) for k in ("SUnreclaim", "VmallocUsed", "Percpu", "KernelStack"))


def one_round(pair, chance, row, seconds):
    running = []
    try:
        for speaker in speakers(pair, chance):
            running.append(speaker)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(chance.uniform(0.3, 2))
            fault = chance.choice(FAULTS)
            fault(pair, chance)
            row["faults"] += 1
        # What a fault has slowed down gets the time that it needs to end.
        pair.netem(None)
        for speaker in running:
            row["inputs"] += speaker.stop()["messages"]
    finally:
        for speaker in running:
            speaker.kill()


@case
def soak():
    note(f"seed {SEED}, {SECONDS} s")
    chance = random.Random(SEED)
    with figure("soak", SEED) as row, lib.Pair() as pair:
        row.update(faults=0, rounds=0)
        base = robustness.resources(pair)
        memory = []
        end = time.monotonic() + SECONDS
        while time.monotonic() < end or row["rounds"] < 2:
            one_round(pair, chance, row, min(ROUND, SECONDS / 2))
            robustness.nothing_left(pair, base)
            memory.append(kernel_memory())
            row["rounds"] += 1
        # The first round fills caches.
        growth = (memory[-1] - memory[0]) / 2**20
        row["kernel_MB"] = [round(m / 2**20, 1) for m in memory[::max(1, len(memory) // 20)]]
        note(json.dumps(row))
        expect(growth < KERNEL_MB, f"the kernel's memory has grown by {growth:.1f} MB: "
               f"{row['kernel_MB']}")


case(lib.the_module_unloads)


if __name__ == "__main__":
    lib.main()
