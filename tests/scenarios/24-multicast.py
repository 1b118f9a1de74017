#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 240
"""UD multicast: who gets a copy (tests/tools/verbs_mcast.c), on one device and over a wire; what the
netdev joins, and what is left when a program is killed or the netdev goes."""

import re
import sys

import lib
from lib import case, expect, wait_for
from one_device import OneDevice

GROUPS = {4: "::ffff:239.1.2.3", 6: "ff15::42:3"}
ON_NETDEV = {4: "239.1.2.3", 6: "ff15::42:3"}


def joined(node, family):
    text = node.sh(["ip", "maddr", "show", "dev", node.netdev]).stdout
    return ON_NETDEV[family] in text and {4: "01:00:5e:01:02:03", 6: "33:33:00:42:00:03"}[family] in text


def gid(node, family):
    return node.gid(node.ip4 if family == 4 else node.ip6)


def listener(node, family, count):
    process = node.popen(["verbs_mcast", node.dev, gid(node, family), GROUPS[family], "listen",
                          str(count)])
    expect("listening" in process.stdout.readline(), "the listener does not start")
    return process


def send(node, family, count):
    node.sh(["verbs_mcast", node.dev, gid(node, family), GROUPS[family], "send", str(count)])


def heard(process):
    output = process.communicate(timeout=20 * lib.PATIENCE)[0]
    expect(process.returncode == 0, f"listener: {output.strip()}")


def over_a_wire(family, netem=None):
    with lib.Pair() as pair:
        pair.netem(netem)
        listeners = [listener(pair.b, family, 20), listener(pair.b, family, 20),
                     listener(pair.a, family, 20)]
        try:
            expect(joined(pair.b, family), "the netdev is not in the group")
            send(pair.a, family, 20)
            for process in listeners:
                heard(process)
            wait_for(lambda: not joined(pair.b, family), 3, "the netdev leaves the group")
        finally:
            for process in listeners:
                lib.stop(process)


for _family in (4, 6):
    lib.add_case(f"over-a-wire-ipv{_family}", over_a_wire, _family)
    lib.add_case(f"over-a-wire-ipv{_family}-reordered", over_a_wire, _family,
                 "delay 1ms reorder 75% limit 10000")


@case
def killed_listener_leaves_nothing():
    with OneDevice() as one:
        node = one.a
        for family in (4, 6):
            process = listener(node, family, 1)
            expect(joined(node, family), f"IPv{family}: not joined")
            lib.stop(process)
            wait_for(lambda f=family: not joined(node, f), 3, f"IPv{family}: left")
        wait_for(lambda: node.resources().get("ctx", 0) == 0, 3, "no context is left")


@case
def somebody_elses_membership_stays():
    with OneDevice() as one:
        node = one.a
        node.sh(f"ip addr add 239.1.2.3/32 dev {node.netdev} autojoin")
        process = listener(node, 4, 1)
        lib.stop(process)
        wait_for(lambda: node.resources().get("ctx", 0) == 0, 3, "no context is left")
        expect(joined(node, 4), "the host's own membership is gone")


@case
def device_is_removed_under_a_listener():
    with OneDevice() as one:
        node = one.a
        process = listener(node, 4, 1)
        node.link_del()
        wait_for(lambda: node.dev not in lib.sh(["rdma", "link"]).stdout, 5, "device gone")
        wait_for(lambda: not joined(node, 4), 3, "left")
        lib.stop(process)
        node.link_add()


@case
def netdev_is_removed_under_a_listener():
    with OneDevice() as one:
        node = one.a
        processes = [listener(node, 4, 1), listener(node, 6, 1)]
        node.sh(f"ip link del {node.netdev}", timeout=20)
        wait_for(lambda: node.dev not in lib.sh(["rdma", "link"]).stdout, 5, "device gone")
        for process in processes:
            lib.stop(process)


@case
def membership_comes_back_with_the_mtu():
    """Below 1280 bytes there is no IPv6 on an interface, below 68 no IPv4."""
    with OneDevice() as one:
        node = one.a
        for family, mtu in ((6, 1200), (4, 60)):
            process = listener(node, family, 5)
            node.sh(f"ip link set {node.netdev} mtu {mtu}")
            expect(not joined(node, family), f"IPv{family}: still joined with an MTU of {mtu}")
            node.sh(f"ip link set {node.netdev} mtu 1500")
            wait_for(lambda f=family: joined(node, f), 5, f"IPv{family}: joined again")
            lib.stop(process)
            wait_for(lambda f=family: not joined(node, f), 5, f"IPv{family}: left in the end")


@case
def netdev_moves_under_a_listener():
    """What has the address in its new namespace is not ours to leave."""
    lib.sh(["ip", "netns", "add", "ns_mc"])
    try:
        with OneDevice() as one:
            node = one.a
            process = listener(node, 4, 1)
            node.sh(f"ip link set {node.netdev} netns ns_mc", timeout=20)
            moved = lib.Node("ns_mc", node.netdev, 1, lib.DRIVER)
            moved.sh(f"ip link set {node.netdev} up && "
                     f"ip addr add 239.1.2.3/32 dev {node.netdev} autojoin")
            wait_for(lambda: node.dev not in lib.sh(["rdma", "link"]).stdout, 5, "device gone")
            lib.stop(process)
            expect(joined(moved, 4), "the new namespace's membership is gone")
    finally:
        lib.sh(["ip", "netns", "del", "ns_mc"])


@case
def broken_packets_to_a_group():
    """Truncated and wrong multicast packets are counted and dropped."""
    with lib.Pair() as pair:
        process = listener(pair.b, 4, 1)
        try:
            before = pair.b.counters()
            pair.a.sh(["python3", "-c", (
                "import os, socket\n"
                "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                f"s.bind(('{pair.a.ip4}', 0))\n"
                f"s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton('{pair.a.ip4}'))\n"
                "head = bytes([0x64, 0, 0xff, 0xff, 0, 0xff, 0xff, 0xff, 0, 0, 0, 1])\n"
                "for op in (0x64, 0x04, 0x0a, 0x65, 0xff, 0x81):\n"
                "    for n in (0, 3, 12, 16, 20, 24, 32, 300):\n"
                "        s.sendto((bytes([op]) + head[1:] + os.urandom(300))[:n], ('239.1.2.3', 4791))\n")])
            wait_for(lambda: sum(v for k, v in lib.changed(before, pair.b.counters()).items()
                                 if k.startswith("rx_")) >= 48, 3,
                     "48 packets counted, one way or another")
            expect(process.poll() is None, "the listener took one of them")
        finally:
            lib.stop(process)


case(lib.the_module_unloads)


def one_device(family):
    """verbs_mcast's own cases."""
    with OneDevice() as one:
        node = one.a
        before = node.resources()
        done = node.sh(["verbs_mcast", node.dev, gid(node, family)], check=False, timeout=60)
        for line in done.stdout.splitlines():
            print(re.sub(r"^(not ok|ok) ", rf"\1 ipv{family}-", line), flush=True)
        expect(done.returncode == 0, f"{done.stderr.strip()} {done.returncode}")
        left = lib.changed(before, node.resources())
        expect(not left, f"left: {left}")


for _family in (6, 4):
    lib.CASES.insert(0, (f"one-device-ipv{_family}", lambda f=_family: one_device(f)))

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    lib.main()
