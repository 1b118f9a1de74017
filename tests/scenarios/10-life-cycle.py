#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 600
"""A device is born, follows its netdev, and goes; the module comes and goes with it."""

import contextlib
import json
import re
import time

import lib
from lib import case, expect, note, sh, wait_for

DRIVER = "rxe_ooo"


@contextlib.contextmanager
def netdev(name="d0", ns=None, kind="dummy"):
    """A dummy interface with an address, in a namespace of its own when told so."""
    node = lib.Node(ns, name, 1, DRIVER)
    if ns:
        sh(f"ip netns add {ns} && ip -n {ns} link set lo up")
    try:
        node.sh(f"ip link add {name} type {kind} && ip addr add {node.ip4}/24 dev {name} && "
                f"ip addr add {node.ip6}/64 dev {name} nodad && ip link set {name} up")
        yield node
    finally:
        node.link_del()
        node.sh(f"ip link del {name}", check=False)
        if ns:
            sh(f"ip netns del {ns}", check=False)


def add(node, name=None):
    """`rdma link add` alone, without loading the module first."""
    return node.sh(["rdma", "link", "add", name or node.dev, "type", DRIVER, "netdev",
                    node.netdev], check=False)


def links(node):
    found = json.loads(node.sh(["rdma", "-j", "link"]).stdout or "[]")
    return {link["ifname"]: link for link in found}


def socket_there(node):
    return bool(node.sh(["ss", "-Hlun", "sport = :4791"]).stdout.strip())


def devinfo(node, name=None):
    return node.sh(["ibv_devinfo", "-v", "-d", name or node.dev]).stdout


@case
def autoload_by_alias():
    lib.unload()
    with netdev() as node:
        expect(not lib.module_loaded(DRIVER), "the module is still loaded")
        done = add(node)
        expect(done.returncode == 0, f"rdma link add: {done.stderr}")
        expect(lib.module_loaded(DRIVER), "the module is not loaded")
        link = links(node)[node.dev]
        expect(link["state"] == "ACTIVE" and link["netdev"] == node.netdev, f"rdma link: {link}")


@case
def devinfo_is_complete():
    with netdev() as node:
        add(node)
        text = devinfo(node)
        for wanted in ("state:\t\t\tPORT_ACTIVE", "link_layer:\t\tEthernet", "max_msg_sz:",
                       "GID[", "RoCE v2"):
            expect(wanted in text, f"ibv_devinfo -v has no {wanted!r}: {text[:2000]}")
        expect("RoCE v1" not in text, "a RoCE v1 GID is listed")


@case
def names_other_than_rxe():
    with netdev() as node:
        for name in ("banana7", "rxe7", "mlx5_0", "a-b.c"):
            done = add(node, name)
            expect(done.returncode == 0, f"{name}: {done.stderr}")
            expect("PORT_ACTIVE" in devinfo(node, name), f"ibv_devinfo does not take {name}")
            expect(node.sh(["rdma", "link", "del", name]).returncode == 0, f"{name}: del")


@case
def second_device_on_one_netdev_is_refused():
    with netdev() as node:
        add(node)
        done = add(node, "second")
        expect(done.returncode != 0, "two devices on one netdev")
        expect("File exists" in done.stderr, f"not EEXIST: {done.stderr}")
        expect(list(links(node)) == [node.dev], f"rdma link: {links(node)}")


@case
def name_in_use_is_refused_and_leaves_nothing():
    with netdev() as node, netdev("d1") as other:
        add(node)
        done = add(other, node.dev)
        expect(done.returncode != 0, "two devices of one name")
        expect(add(other).returncode == 0, "the netdev is unusable after a refused add")


@case
def unknown_netdev_is_refused():
    done = sh(["rdma", "link", "add", "x", "type", DRIVER, "netdev", "nosuch"], check=False)
    expect(done.returncode != 0, "a device without a netdev")


@case
def port_4791_is_open_while_a_device_exists():
    sh(["modprobe", DRIVER])
    with netdev() as node, netdev("d1") as other:
        expect(not socket_there(node), "a socket before the first device")
        add(node)
        expect(socket_there(node), "no socket")
        add(other)
        node.link_del()
        expect(socket_there(node), "no socket after one of two devices went")
        other.link_del()
        wait_for(lambda: not socket_there(node), 2, "socket gone after the last device")


@case
def port_4791_taken_is_a_clear_error():
    """By the stock driver in the same namespace, or by a program."""
    with netdev() as node, netdev("d1") as other:
        sh(["modprobe", "rdma_rxe"])
        sh(["rdma", "link", "add", "rxe_d1", "type", "rxe", "netdev", other.netdev])
        try:
            done = add(node)
            expect(done.returncode != 0 and "Address already in use" in done.stderr,
                   f"beside stock rxe: status {done.returncode}, {done.stderr}")
            expect(node.dev not in links(node), "a device without a socket")
        finally:
            sh(["rdma", "link", "del", "rxe_d1"], check=False)
            lib.unload("rxe")
        done = add(node)
        expect(done.returncode == 0, f"after stock rxe went: {done.stderr}")


@case
def gids_are_there_when_the_command_returns():
    with netdev() as node:
        wanted = {lib.gid_of(node.ip4), lib.gid_of(node.ip6)}
        for number in range(50):
            done = add(node)
            expect(done.returncode == 0, f"add {number}: {done.stderr}")
            missing = wanted - set(node.gid_table())
            expect(not missing, f"add {number}: no GID {missing}")
            expect(node.sh(["rdma", "link", "del", node.dev], check=False).returncode == 0,
                   f"del {number}")


@case
def in_a_namespace_shared_mode():
    expect("shared" in sh(["rdma", "system"]).stdout, "the machine is in exclusive mode")
    with netdev(ns="ns1") as node:
        done = add(node)
        expect(done.returncode == 0, done.stderr)
        expect("PORT_ACTIVE" in devinfo(node), "not usable in its namespace")
        expect(lib.gid_of(node.ip4) in node.gid_table(), "no GID")
        expect(socket_there(node), "no socket in the namespace")
        here = lib.Node(None, "lo", 1, DRIVER)
        expect(not socket_there(here), "a socket in the initial namespace")


@case
def in_a_namespace_exclusive_mode():
    lib.netns_mode("exclusive")
    try:
        with netdev(ns="ns1") as node, netdev("d1", ns="ns2") as other:
            for n in (node, other):
                done = add(n)
                expect(done.returncode == 0, done.stderr)
            expect(list(links(node)) == [node.dev], f"visible in ns1: {links(node)}")
            expect(list(links(other)) == [other.dev], f"visible in ns2: {links(other)}")
            expect("PORT_ACTIVE" in devinfo(node), "not usable in its namespace")
            for outside in (other, lib.Node(None, "lo", 1, DRIVER)):
                used = outside.sh(["ibv_devinfo", "-d", node.dev], check=False)
                expect(used.returncode != 0, "usable from another namespace")
            expect("PORT_ACTIVE" in devinfo(node), "gone after a failed use from elsewhere")
    finally:
        lib.netns_mode("shared")


@case
def namespace_with_a_device_goes():
    sh(["ip", "netns", "add", "ns3"])
    node = lib.Node("ns3", "d3", 1, DRIVER)
    node.sh("ip link add d3 type dummy && ip addr add 10.9.0.1/24 dev d3 && ip link set d3 up")
    add(node)
    sh(["ip", "netns", "del", "ns3"])
    wait_for(lambda: "ooo_d3" not in sh(["rdma", "link"]).stdout, 10, "device gone")
    wait_for(lambda: not sh(["modprobe", "-r", DRIVER], check=False).returncode, 10,
             "module unloads")


@case
def netdev_goes():
    with netdev() as node:
        add(node)
        node.sh(f"ip link del {node.netdev}")
        wait_for(lambda: node.dev not in links(node), 5, "device gone with its netdev")


@case
def netdev_moves_to_another_namespace():
    sh(["ip", "netns", "add", "ns4"])
    try:
        with netdev() as node:
            add(node)
            sh(["ip", "link", "set", node.netdev, "netns", "ns4"])
            wait_for(lambda: node.dev not in sh(["rdma", "link"]).stdout, 5, "device gone")
            moved = lib.Node("ns4", node.netdev, 1, DRIVER)
            moved.sh(f"ip addr add {node.ip4}/24 dev {node.netdev} && "
                     f"ip link set {node.netdev} up")
            done = add(moved)
            expect(done.returncode == 0, f"cannot be added in its new namespace: {done.stderr}")
            moved.link_del()
    finally:
        sh(["ip", "netns", "del", "ns4"])


@case
def mtu_change_is_followed():
    def active(node):
        return int(re.search(r"active_mtu:\s+(\d+)", devinfo(node)).group(1))

    with netdev() as node:
        add(node)
        for mtu, wanted in ((1500, 1024), (4200, 4096), (2200, 2048), (9000, 4096), (700, 512),
                            (1500, 1024)):
            node.sh(f"ip link set {node.netdev} mtu {mtu}")
            wait_for(lambda w=wanted: active(node) == w, 3,
                     f"netdev MTU {mtu} gives path MTU {wanted}, not {active(node)}")


@case
def addresses_are_followed():
    with netdev() as node:
        add(node)
        for address, prefix in (("10.9.7.7", 24), ("fd09:7::7", 64)):
            node.sh(f"ip addr add {address}/{prefix} dev {node.netdev}"
                    + (" nodad" if ":" in address else ""))
            wait_for(lambda a=address: lib.gid_of(a) in node.gid_table(), 3, f"GID of {address}")
            node.sh(f"ip addr del {address}/{prefix} dev {node.netdev}")
            wait_for(lambda a=address: lib.gid_of(a) not in node.gid_table(), 3,
                     f"GID of {address} gone")


@case
def port_state_follows_the_netdev():
    with netdev() as node:
        add(node)
        node.sh(f"ip link set {node.netdev} down")
        wait_for(lambda: "PORT_DOWN" in devinfo(node), 3, "port down")
        node.sh(f"ip link set {node.netdev} up")
        wait_for(lambda: "PORT_ACTIVE" in devinfo(node), 3, "port active")


@case
def netdev_is_renamed():
    with netdev() as node:
        add(node)
        node.sh(f"ip link set {node.netdev} down && ip link set {node.netdev} name renamed0 && "
                "ip link set renamed0 up")
        try:
            expect(links(node)[node.dev]["netdev"] == "renamed0", f"rdma link: {links(node)}")
        finally:
            node.link_del()
            node.sh("ip link del renamed0")


@case
def vlan_and_macvlan_addresses_are_gids():
    with netdev() as node:
        add(node)
        d = node.netdev
        node.sh(f"ip link add link {d} name {d}.7 type vlan id 7 && "
                f"ip addr add 10.77.0.1/24 dev {d}.7 && ip link set {d}.7 up")
        wait_for(lambda: lib.gid_of("10.77.0.1") in node.gid_table(), 3, "GID of the VLAN")
        node.sh(f"ip link add link {d} name mv0 type macvlan mode bridge && "
                "ip addr add 10.78.0.1/24 dev mv0 && ip link set mv0 up")
        wait_for(lambda: lib.gid_of("10.78.0.1") in node.gid_table(), 3, "GID of the macvlan")
        node.sh(f"ip link del mv0 && ip link del {d}.7")
        wait_for(lambda: not {lib.gid_of("10.77.0.1"), lib.gid_of("10.78.0.1")}
                 & set(node.gid_table()), 3, "their GIDs gone")


@case
def unload_after_everything():
    begin = time.monotonic()
    sh(["modprobe", "-r", DRIVER], timeout=30)
    note(f"modprobe -r took {time.monotonic() - begin:.2f} s")
    expect(not lib.module_loaded(DRIVER), "the module is still there")


if __name__ == "__main__":
    lib.main()
