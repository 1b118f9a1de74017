#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 180
# brief: ^mix-|lo-joins|qdisc|capture|held|end$
"""Packets that go through the stack together (ooo_gso, and lo always): the same bytes arrive, and
nobody who works on packets - a qdisc, a tc filter, a capture, netem - ever sees a list of them."""

import json
import pathlib
import re
import sys
import tempfile

import lib
import verbs
from lib import add_case, case, expect, note
from one_device import OneDevice

MTU = 1500
WORK = pathlib.Path(tempfile.mkdtemp())
OPS = ("write", "write_imm", "read", "send", "fetch_add", "mix")


def gso(pair, on):
    for node in pair.nodes:
        node.sh(f"echo {int(on)} > /sys/class/infiniband/{node.dev}/ooo_gso")


def run(pair, *options, op="mix", on=True, **how):
    """What the counters did in a verified run."""
    before = pair.counters()
    lib.verified(lib.xfer(pair, "--op", op, "-n", "80", "--size", "65536", "--vary", *options,
                          env=lib.placement(on), **how))
    return lib.changed(before, pair.counters())


JOINING = lib.SharedPair(mtu=MTU)
SPOILED = {"rx_icrc_encapsulated", "rx_malformed", "rx_wrong_length"}


def joined(op, ip6):
    pair = JOINING.get()
    gso(pair, True)
    for on in (False, True):
        delta = run(pair, op=op, on=on, ip6=ip6)
        if op != "fetch_add":       # whose packets go one by one
            expect(delta.get("tx_joined", 0) > delta["tx_packets"] / 4,
                   f"hardly anything was joined: {delta}")
        expect(not SPOILED & set(delta), f"spoiled: {delta}")


def check_frames(path):
    """Path MTU 1024 and headers; a list would be longer."""
    data, at, longest, number = path.read_bytes(), 24, 0, 0
    while at + 16 <= len(data):
        longest = max(longest, int.from_bytes(data[at + 12:at + 16], sys.byteorder))
        at += 16 + int.from_bytes(data[at + 8:at + 12], sys.byteorder)
        number += 1
    note(f"{number} frames, the longest has {longest} bytes")
    expect(number > 100 and longest <= 1024 + 150, f"{number} frames, one of {longest} bytes")


@case
def lo_joins_by_itself():
    with OneDevice() as one:
        for ip6 in (False, True):
            delta = run(one, ip6=ip6)
            expect(delta.get("tx_joined"), f"nothing was joined: {delta}")


@case
def veth_does_not_unless_asked():
    with lib.Pair(mtu=MTU) as pair:
        delta = run(pair)
        expect("tx_joined" not in delta, f"joined: {delta}")


@case
def a_qdisc_sees_packets():
    with lib.Pair(mtu=MTU) as pair:
        gso(pair, True)
        pair.netem("delay 1ms limit 100000")
        delta = run(pair)
        expect("tx_joined" not in delta, f"joined in front of netem: {delta}")
        seen = sum(json.loads(node.sh(f"tc -s -j qdisc show dev {node.netdev}").stdout)[0]["packets"]
                   for node in pair.nodes)
        note(f"{delta['tx_packets']} packets sent, {seen} through netem")
        # TCP of the program itself goes the same way.
        expect(seen >= delta["tx_packets"], f"{seen} of {delta['tx_packets']} packets")


@case
def a_filter_sees_packets():
    with lib.Pair(mtu=MTU) as pair:
        gso(pair, True)
        for node in pair.nodes:
            node.sh(f"tc qdisc add dev {node.netdev} clsact && tc filter add dev {node.netdev} egress "
                    "matchall action pass")
        delta = run(pair)
        expect("tx_joined" not in delta, f"joined in front of a filter: {delta}")


@case
def a_capture_sees_packets():
    with OneDevice() as one:
        path = WORK / "lo.pcap"
        process = one.a.popen(["tcpdump", "-i", "lo", "-w", path, "-U", "-Z", "root", "udp", "port",
                               "4791"])
        lib.wait_for(path.exists, 15, "tcpdump writes")
        delta = run(one, "--mtu", "1024")
        process.terminate()
        process.communicate(timeout=20 * lib.PATIENCE)
        expect("tx_joined" not in delta, f"joined under a capture: {delta}")
        check_frames(path)
        expect("tx_joined" in run(one), "not joined again after the capture")


@case
def ethtool_forbids_it():
    with lib.Pair(mtu=MTU) as pair:
        gso(pair, True)
        for node in pair.nodes:
            node.sh(f"ethtool -K {node.netdev} tx-udp-segmentation off")
        delta = run(pair)
        expect("tx_joined" not in delta, f"joined: {delta}")


def held_bytes(node):
    text = node.sh(["rdma", "-dd", "resource", "show", "qp"]).stdout
    return sum(int(n) for n in re.findall(r"drv_held_bytes (\d+)", text))


@case
def held_packets_count_their_own_memory():
    """The first of a list keeps the list's size in some kernels. A WRITE of 8 bytes (an IP packet of
    68) never arrives, so everything behind it is held."""
    with lib.Pair(mtu=MTU) as pair:
        gso(pair, True)
        with verbs.connected(pair) as (a, _):
            pair.b.sh(f"tc qdisc add dev {pair.b.netdev} clsact && tc filter add dev {pair.b.netdev} "
                      "ingress protocol ip u32 match u16 68 0xffff at 2 action drop")
            before = pair.counters()
            for number, size in enumerate((8, 65536, 65536)):
                a.write(0, size, wr_id=number)
            lib.wait_for(lambda: lib.changed(before, pair.counters()).get("held_packets", 0) >= 128, 10,
                         "128 packets are held")
            size = held_bytes(pair.b)
            delta = lib.changed(before, pair.counters())
            note(f"{size} bytes")
            expect(delta.get("tx_joined"), f"nothing was joined: {delta}")
            expect(0 < size <= 128 * 3072, f"{size} bytes for 128 packets of 1 KiB")
            pair.b.sh(f"tc qdisc del dev {pair.b.netdev} clsact")
            expect(len(a.wait(3)) == 3, "not all WRITEs completed")
            expect(not held_bytes(pair.b), "some are still held")


@case
def switched_under_traffic():
    with lib.Pair(mtu=MTU) as pair:
        process = pair.a.popen(f"while :; do for on in 1 0; do echo $on > "
                               f"/sys/class/infiniband/{pair.a.dev}/ooo_gso; sleep 0.02; done; done")
        try:
            for _ in range(3):
                run(pair)
        finally:
            lib.stop(process)


for _op in OPS:
    for _ip6 in (False, True):
        add_case(f"{_op}-ipv{6 if _ip6 else 4}-joined", joined, _op, _ip6)

add_case("joined-packets-end", JOINING.close)

if __name__ == "__main__":
    lib.main()
