#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: uml
# timeout: 600
"""What happens to a machine, happens under verified traffic: interfaces flap, addresses go and come
back, the clock jumps, a program is stopped, memory runs out. Traffic goes on and is right, or ends in
bounded time, as each case says. 71-kill has the cases where the device goes for good."""

import contextlib
import os
import pathlib
import signal
import threading
import time

import lib
import robustness
from lib import add_case, case, expect, wait_for
from robustness import MIXED, figure, traffic

# Retries for 8 seconds at least: longer than any of these faults.
TIMES = 10 if robustness.LONG else 1


def flows(pair, packets=300):
    """Both ends send, now."""
    for node in pair.nodes:
        before = node.counters()["tx_packets"]
        wait_for(lambda n=node, b=before: n.counters()["tx_packets"] > b + packets, 30,
                 f"{node.dev} sends")


def under_traffic(name, fault, **how):
    """Verified traffic in both directions before, during and after the fault."""
    with figure(f"fault under traffic: {name}") as row, lib.Pair(**how) as pair:
        base = robustness.resources(pair)
        with traffic(pair, *MIXED, env=lib.placement(True)) as there, \
             traffic(pair, *MIXED, env=lib.placement(False), reverse=True, ip6=True) as back:
            flows(pair)
            for _ in range(TIMES):
                fault(pair, (there, back))
                row["inputs"] += 1
                flows(pair)
            real = [run.stop() for run in (there, back)]
        row["real_messages"] = sum(r["messages"] for r in real)
        robustness.nothing_left(pair, base)


def fault(function):
    """Register a fault, named after its function."""
    name = function.__name__.replace("_", "-")
    add_case(name, under_traffic, name, function)
    return function


# ----------------------------------------------------------------------
# The netdev

def restore(node):
    """IPv6 addresses go when the interface goes down."""
    node.sh(f"ip link set {node.netdev} up && "
            f"ip addr replace {node.ip6}/64 dev {node.netdev} nodad")


@fault
def link_down_and_up(pair, _):
    for node in pair.nodes:
        node.sh(f"ip link set {node.netdev} down")
        time.sleep(0.3)
        restore(node)


@fault
def link_flaps(pair, _):
    node = pair.a
    for _ in range(20):
        node.sh(f"ip link set {node.netdev} down && ip link set {node.netdev} up")
    restore(node)


@fault
def mtu_changes(pair, _):
    """Below the path MTU as well: packets are lost until it is back."""
    for mtu in (4200, 1500, 700, 1500, 9000, 1500):
        for node in pair.nodes:
            node.sh(f"ip link set {node.netdev} mtu {mtu}")
        time.sleep(0.1)
    for node in pair.nodes:     # IPv6 goes below its smallest MTU
        restore(node)


@fault
def renamed(pair, _):
    node = pair.a
    for old, new in ((node.netdev, "moved0"), ("moved0", node.netdev)):
        node.sh(f"ip link set {old} down && ip link set {old} name {new} && ip link set {new} up")
    restore(node)


@fault
def addresses_go_and_come_back(pair, _):
    for node in pair.nodes:
        node.sh(f"ip addr del {node.ip4}/24 dev {node.netdev}; "
                f"ip addr del {node.ip6}/64 dev {node.netdev}")
        time.sleep(0.2)
        node.sh(f"ip addr add {node.ip4}/24 dev {node.netdev} && "
                f"ip addr add {node.ip6}/64 dev {node.netdev} nodad")


@fault
def a_hundred_addresses_more(pair, _):
    node = pair.b
    batch = "\n".join(f"addr add 10.8.{i}.1/24 dev {node.netdev}" for i in range(100))
    node.sh(f"ip -batch - <<'E'\n{batch}\nE\n")
    node.sh("ip -batch - <<'E'\n" + batch.replace("addr add", "addr del") + "\nE\n")


@fault
def neighbours_are_forgotten(pair, _):
    for node in pair.nodes:
        node.sh(f"ip neigh flush nud permanent dev {node.netdev}; ip neigh flush dev {node.netdev}")


@fault
def the_route_goes_and_comes_back(pair, _):
    node = pair.a
    route = f"10.9.0.0/24 dev {node.netdev} proto kernel scope link src {node.ip4}"
    node.sh(f"ip route del {route}")
    time.sleep(0.3)
    node.sh(f"ip route add {route}")


@fault
def another_interface_comes_and_goes(pair, _):
    node = pair.b
    for _ in range(5):
        node.sh("ip link add dx0 type dummy && ip addr add 10.7.0.1/24 dev dx0 && "
                "ip link set dx0 up && rdma link add ooo_dx0 type rxe_ooo netdev dx0 && "
                "rdma link del ooo_dx0; ip link del dx0")


@fault
def qdiscs_come_and_go(pair, _):
    for spec in ("delay 1ms reorder 50% limit 10000", "loss 2% limit 10000",
                 "rate 20mbit limit 20", "corrupt 1% limit 10000"):
        pair.netem(spec)
        time.sleep(0.3)
    pair.netem(None)


# ----------------------------------------------------------------------
# The machine

@fault
def the_clock_jumps(_, __):
    """CLOCK_REALTIME: nothing of ours lives by it."""
    for seconds in (3600, -7200, 86400 * 400, -86400 * 400, 3600):
        time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)
        time.sleep(0.1)


@fault
def programs_are_stopped(pair, runs):
    """The kernel goes on alone; then it has no receive requests left, and the peer waits."""
    for run in runs:
        for process in (run.server, run.client):
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.5)
            process.send_signal(signal.SIGCONT)
    flows(pair)


@fault
def device_attributes_change(pair, _):
    values = {"ooo_window": (1, 8192, 256), "ooo_window_max": (1, 8192),
              "ooo_recv_window": (1, 8192, 4096), "ooo_budget": (1, 4096, 64),
              "ooo_gso": (1, 0), "ooo_sack": (0, 1), "ooo_reorder_min_us": (0, 1000),
              "ooo_default": (1, 0)}
    for node in pair.nodes:
        base = pathlib.Path("/sys/class/infiniband", node.dev)
        for name, series in values.items():
            for value in series:
                node.sh(f"echo {value} > {base}/{name}")
                time.sleep(0.02)


@fault
def everybody_asks(pair, _):
    """Observers in a loop: what they read changes under them."""
    enough = threading.Event()

    def ask(command):
        while not enough.is_set():
            lib.sh(command, check=False)

    node = pair.a
    commands = [node.argv(c) for c in (
        "rdma statistic", "rdma resource show qp -dd; rdma resource show mr -dd",
        "rdma resource show cq -dd; rdma resource show srq -dd; rdma link",
        f"ibv_devinfo -v -d {node.dev}")]
    threads = [threading.Thread(target=ask, args=(c,)) for c in commands]
    for thread in threads:
        thread.start()
    time.sleep(2)
    enough.set()
    for thread in threads:
        thread.join()


@case
def cpus_go_and_come_back():
    control = pathlib.Path("/sys/devices/system/cpu/cpu1/online")
    if not control.exists():
        raise lib.Skip("this machine's CPUs cannot be switched off")

    def flip(_, __):
        for _ in range(5):
            control.write_text("0", encoding="ascii")
            time.sleep(0.2)
            control.write_text("1", encoding="ascii")
            time.sleep(0.2)

    under_traffic("a CPU goes and comes back", flip)


# ----------------------------------------------------------------------
# Programs that end, and that are not the owner only

@case
def out_of_memory_killer():
    """It takes the program with the most to gain; what it had is gone, the others go on."""
    trigger = pathlib.Path("/proc/sysrq-trigger")
    if not trigger.exists():
        raise lib.Skip("no SysRq in this kernel")
    with figure("fault under traffic: out of memory") as row, lib.Pair() as pair:
        base = robustness.resources(pair)
        with traffic(pair, *MIXED) as there, traffic(pair, *MIXED, reverse=True) as victim:
            pathlib.Path(f"/proc/{victim.client.pid}/oom_score_adj").write_text("1000",
                                                                                 encoding="ascii")
            flows(pair)
            trigger.write_text("f", encoding="ascii")
            wait_for(lambda: victim.client.poll() is not None, 20, "the victim is killed")
            expect(victim.client.returncode == -signal.SIGKILL, f"{victim.client.returncode}")
            victim.kill()
            row["inputs"] = 1
            there.stop()
        robustness.nothing_left(pair, base)


@case
def connects_and_disconnects():
    """Programs come and go beside the traffic."""
    with figure("connects and disconnects under traffic") as row, lib.Pair() as pair:
        base = robustness.resources(pair)
        with traffic(pair, *MIXED) as there:
            end = time.monotonic() + (60 if robustness.LONG else 5) * lib.SLOW
            while time.monotonic() < end:
                lib.verified(lib.xfer(pair, "--op", "mix", "-n", "32", "--vary", "--settle", "0"))
                row["inputs"] += 1
            there.stop()
        robustness.nothing_left(pair, base)


def device_goes(how):
    """Removed, added again, used again: programs that had it see their queue pairs fail."""
    with figure(f"fault under traffic: {how}") as row, lib.Pair() as pair, \
         contextlib.ExitStack() as stack:
        node = pair.a
        for _ in range(3 * TIMES):
            with traffic(pair, *MIXED) as there, traffic(pair, *MIXED, reverse=True) as back:
                flows(pair)
                begin = time.monotonic()
                if how == "link del and add":
                    node.sh(["rdma", "link", "del", node.dev], timeout=20)
                    node.link_add()
                elif how == "rmmod":
                    lib.sh(["modprobe", "-r", lib.MODULES[lib.DRIVER]], timeout=20)
                    expect(not lib.module_loaded("rxe_ooo"), "the module is still there")
                    for end in pair.nodes:
                        end.link_add()
                else:
                    lib.sh("ip netns del moved", check=False)
                    lib.sh("ip netns add moved")
                    stack.callback(lib.sh, "ip netns del moved", check=False)
                    node.sh(f"ip link set {node.netdev} netns moved", timeout=20)
                    lib.sh(f"ip -n moved link set {node.netdev} netns {os.getpid()}")
                    lib.sh(f"ip link set {node.netdev} netns {node.ns}")
                    node.sh(f"ip addr replace {node.ip4}/24 dev {node.netdev}")
                    restore(node)
                    pair.neighbours()
                    wait_for(lambda: node.dev not in lib.sh(["rdma", "link"]).stdout, 10, "gone")
                    node.link_add()
                expect(time.monotonic() - begin < 10 * lib.PATIENCE, "it takes too long")
                for run in (there, back):
                    wait_for(lambda r=run: r.client.poll() is not None or r.server.poll() is not None,
                             40, "the program sees it and ends")
            row["inputs"] += 1
        lib.verified(lib.xfer(pair, "--op", "mix", "-n", "200", "--vary"))


add_case("device-is-removed-and-added", device_goes, "link del and add")
add_case("module-is-removed-and-loaded", device_goes, "rmmod")
add_case("netdev-visits-another-namespace", device_goes, "netdev visits another namespace")


case(lib.the_module_unloads)


if __name__ == "__main__":
    lib.main()
