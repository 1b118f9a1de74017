#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 180
"""What an administrator sees and does with `rdma`: resource, statistic, monitor, dev set netns."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import lib
from lib import Skip, case, expect, sh, wait_for
from one_device import OneDevice

# Holds one object of each kind until it is killed.
HOLDER = """
import sys, time
from pyverbs import cq, device, enums, mr, pd, qp, srq
ctx = device.Context(name=sys.argv[1])
p = pd.PD(ctx)
m = mr.MR(p, 12345, enums.IBV_ACCESS_LOCAL_WRITE | enums.IBV_ACCESS_REMOTE_READ)
c = cq.CQ(ctx, 100)
s = srq.SRQ(p, srq.SrqInitAttr(srq.SrqAttr(max_wr=50, max_sge=2, srq_limit=0)))
q = qp.QP(p, qp.QPInitAttr(qp_type=enums.IBV_QPT_RC, scq=c, rcq=c, srq=s, cap=qp.QPCap(10, 0, 1, 0)))
print(q.qp_num, m.lkey, flush=True)
time.sleep(1000)
"""

# Makes queues, changes their size and destroys them until it is killed.
COMER = """
import sys
from pyverbs import cq, device, pd, srq
from pyverbs.enums import IBV_SRQ_MAX_WR
ctx = device.Context(name=sys.argv[1])
p = pd.PD(ctx)
while True:
    c = cq.CQ(ctx, 100)
    c.resize(1000)
    s = srq.SRQ(p, srq.SrqInitAttr(srq.SrqAttr(max_wr=50, max_sge=2, srq_limit=0)))
    s.modify(srq.SrqAttr(max_wr=500), IBV_SRQ_MAX_WR)
    s.close()
    c.close()
"""


def resource(node, kind, *options):
    text = node.sh(["rdma", "-j", *options, "resource", "show", kind]).stdout
    return [r for r in json.loads(text or "[]") if r.get("ifname") == node.dev]


def holder(node):
    process = node.popen(["python3", "-c", HOLDER, node.dev])
    line = process.stdout.readline().split()
    if len(line) != 2:
        raise lib.Failure(f"no objects: {line} {lib.stop(process)[0][-300:]}")
    return process, [int(x) for x in line]


def of(found, process):
    return [r for r in found if r.get("pid") == process.pid]


@case
def resources_of_a_program():
    with OneDevice() as one:
        node = one.a
        before = node.resources()
        process, (qpn, lkey) = holder(node)
        try:
            delta = lib.changed(before, node.resources())
            expect(delta == {"pd": 1, "cq": 1, "qp": 1, "mr": 1, "ctx": 1, "srq": 1}, f"{delta}")
            qps = of(resource(node, "qp"), process)
            expect([q["lqpn"] for q in qps] == [qpn] and qps[0]["type"] == "RC"
                   and qps[0]["state"] == "RESET" and "comm" in qps[0], f"{qps}")
            cqs = of(resource(node, "cq"), process)
            expect(len(cqs) == 1 and cqs[0]["cqe"] >= 100, f"{cqs}")
            mrs = of(resource(node, "mr"), process)
            expect(len(mrs) == 1 and mrs[0]["mrlen"] == 12345, f"{mrs}")
            expect(len(of(resource(node, "pd"), process)) == 1, "PD")
            expect(len(of(resource(node, "ctx"), process)) == 1, "context")
            srqs = of(resource(node, "srq"), process)
            expect(len(srqs) == 1 and str(qpn) in str(srqs[0].get("qpn", srqs[0].get("lqpn"))), f"{srqs}")
        finally:
            lib.stop(process)
        wait_for(lambda: not lib.changed(before, node.resources()), 3, "all is gone with the program")


@case
def details_of_the_driver():
    with OneDevice() as one:
        node = one.a
        process, _ = holder(node)
        try:
            for kind, fields in (("qp", ("drv_ooo", "drv_held_bytes", "drv_path_mtu")),
                                 ("cq", ("drv_unpolled", "drv_overrun")),
                                 ("mr", ("drv_type", "drv_access", "drv_windows")),
                                 ("srq", ("drv_depth", "drv_posted", "drv_limit"))):
                found = of(resource(node, kind, "-dd"), process)
                text = node.sh(["rdma", "-dd", "resource", "show", kind]).stdout
                missing = [f for f in fields if f not in text]
                expect(found and not missing, f"{kind}: no {missing} in {text[-300:]}")
        finally:
            lib.stop(process)


@case
def details_of_what_is_just_going():
    """The rings of queues that are destroyed and resized meanwhile are not looked into."""
    with OneDevice() as one:
        node = one.a
        process = node.popen(["python3", "-c", COMER, node.dev])
        try:
            for _ in range(8):
                for kind in ("cq", "srq"):
                    node.sh(["rdma", "-dd", "resource", "show", kind])
                expect(process.poll() is None, "the program has ended")
        finally:
            lib.stop(process)


@case
def listener_of_the_connection_manager():
    with OneDevice() as one:
        node = one.a
        process = node.popen(["rping", "-s", "-a", node.ip4, "-p", "7777"])
        try:
            def found():
                return [c for c in of(resource(node, "cm_id"), process) if c.get("state") == "LISTEN"]
            wait_for(found, 5, "a cm_id that listens")
            expect("7777" in json.dumps(found()), f"no port: {found()}")
        finally:
            lib.stop(process)
        wait_for(lambda: not of(resource(node, "cm_id"), process), 3, "it is gone")


@case
def statistic():
    with lib.Pair() as pair:
        before = pair.a.counters()
        output = lib.perftest(pair, "ib_write_bw", "-n", "100", "-s", "4096")
        expect(output is not None, "ib_write_bw hangs")
        delta = lib.changed(before, pair.a.counters())
        expect(delta.get("tx_packets", 0) >= 400, f"{delta}")
        base = f"/sys/class/infiniband/{pair.a.dev}/ports/1/hw_counters"
        # The core shows them in one namespace only; which one depends on its version.
        names = set((pair.a.sh(["ls", base], check=False).stdout or sh(["ls", base]).stdout).split())
        names -= {"lifespan"}
        expect(names == set(pair.a.counters()), f"{names ^ set(pair.a.counters())}")


def listens_to_rdma_events(pid):
    """Whether PID has a socket that has joined a group of NETLINK_RDMA (20)."""
    try:
        links = [os.readlink(fd) for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return False        # it has just closed one: the caller looks again
    inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
    rows = pathlib.Path("/proc/net/netlink").read_text(encoding="ascii").splitlines()[1:]
    # Columns: address, protocol, port, groups, ..., inode.
    return any(row[1] == "20" and int(row[3], 16) and row[-1] in inodes for row in map(str.split, rows))


@case
def monitor():
    if "monitor" not in sh(["rdma", "system"]).stdout:
        raise Skip("this kernel has no events for rdma monitor (6.13 has)")
    wanted = ("UNREGISTER", "REGISTER", "NETDEV_ATTACH", "NETDEV_RENAME")
    with OneDevice() as one, tempfile.TemporaryFile() as output:
        node = one.a

        def printed():
            # Not read(): the program writes at the offset that it shares with us.
            return os.pread(output.fileno(), 1 << 16, 0).decode()

        with subprocess.Popen(["rdma", "monitor"], stdout=output,
                              stderr=subprocess.STDOUT) as process:
            try:
                wait_for(lambda: listens_to_rdma_events(process.pid), 20, "the monitor listens")
                node.link_del()
                node.link_add()
                node.sh(f"ip link set {node.netdev} name other0")
                node.sh(f"ip link set other0 name {node.netdev}")
                wait_for(lambda: set(wanted + (node.dev,)) <= set(re.findall(r"\w+", printed())), 20,
                         f"all of {wanted} printed")
            except lib.Failure as failure:
                if lib.MACHINE != "qemu":
                    raise
                # Open: on 6.12 some runs show all events, others not. UML judges.
                raise Skip(f"6.12: {failure}; printed: {printed()[-300:]!r}") from failure
            finally:
                process.terminate()


@case
def device_goes_to_another_namespace():
    """In exclusive mode a device can be given away; its netdev stays, and carries its packets."""
    lib.netns_mode("exclusive")
    try:
        with OneDevice() as one:
            node = one.a
            sh("ip netns add ns_to && ip -n ns_to link set lo up")
            other = lib.Node("ns_to", node.netdev, 1, lib.DRIVER)
            process, _ = holder(node)
            try:
                node.sh(["rdma", "dev", "set", node.dev, "netns", "ns_to"])
                expect(node.dev not in node.sh(["rdma", "dev"]).stdout, "it is still there")
                expect(node.dev in other.sh(["rdma", "dev"]).stdout, "it is not where it went")
                info = other.sh(["ibv_devinfo", "-v", "-d", node.dev]).stdout
                expect("PORT_ACTIVE" in info, "not usable there")
                # The program's objects are gone, and so is nothing else.
                lib.stop(process)
                expect(other.resources().get("mr", 0) == 0, f"{other.resources()}")
                index = other.gid()
                served = other.popen(["ibv_rc_pingpong", "-d", node.dev, "-g", index, "-n", "20",
                                      "-p", "21999"])
                try:
                    wait_for(lambda: lib.listening(other, "21999"), 10, "the server listens")
                    other.sh(["ibv_rc_pingpong", "-d", node.dev, "-g", index, "-n", "20", "-p", "21999",
                              "127.0.0.1"], timeout=20)
                finally:
                    lib.stop(served)
                # And it can go and be made again.
                other.sh(["rdma", "link", "del", node.dev])
                node.link_add()
                expect(node.dev in node.sh(["rdma", "dev"]).stdout, "not made again")
            finally:
                lib.stop(process)
                sh(["ip", "netns", "del", "ns_to"])
    finally:
        lib.netns_mode("shared")


@case
def link_add_while_a_device_is_given_away():
    """The device is hidden for a moment: `rdma link add` must neither take that for a free
    netdev, nor take the device away."""
    lib.netns_mode("exclusive")
    try:
        with OneDevice() as one:
            node = one.a
            sh("ip netns add ns_to && ip -n ns_to link set lo up")
            other = lib.Node("ns_to", node.netdev, 1, lib.DRIVER)
            adds = node.popen(f"while :; do rdma link add second type {lib.DRIVER} netdev "
                              f"{node.netdev} 2>/dev/null && echo added; done")
            try:
                for _ in range(2):
                    node.sh(["rdma", "dev", "set", node.dev, "netns", "ns_to"])
                    expect(node.dev in other.sh(["rdma", "dev"]).stdout, "it is not where it went")
                    other.sh(["rdma", "dev", "set", node.dev, "netns", node.ns])
                    expect(node.dev in node.sh(["rdma", "dev"]).stdout, "it did not come back")
            finally:
                said = lib.stop(adds)[0]
                sh(["ip", "netns", "del", "ns_to"])
            expect("added" not in said, f"a second device on one netdev: {said[-300:]}")
    finally:
        lib.netns_mode("shared")


@case
def giving_a_device_away_in_shared_mode_is_refused():
    with OneDevice() as one:
        node = one.a
        sh(["ip", "netns", "add", "ns_to"])
        try:
            done = node.sh(["rdma", "dev", "set", node.dev, "netns", "ns_to"], check=False)
            expect(done.returncode != 0 and "not supported" in done.stderr.lower(), f"{done}")
            expect(node.dev in node.sh(["rdma", "dev"]).stdout, "a refused move changed something")
        finally:
            sh(["ip", "netns", "del", "ns_to"])


case(lib.the_module_unloads)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    lib.main()
