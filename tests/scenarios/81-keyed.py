#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: uml
# timeout: 600
"""The keyed-transmission example: a block device whose data the target moves by READ and WRITE.

Every way that a request and its answer may travel, in order and reordered, placement on and off, all
data verified; the same over stock rxe. The way that the rules forbid is refused, and goes wrong if it
insists. A capture shows how many round trips a request takes. Figures go to storage.json.
"""

import os
import pathlib
import struct
import tempfile
import time

import lib
import storage
from lib import add_case, case, expect, note

WORK = pathlib.Path(tempfile.mkdtemp())
VARIANTS = ("send", "imm", "ring-imm", "ring-atomic")
QDISCS = {"delay": "delay 1ms limit 10000", "reorder": "delay 1ms reorder 75% limit 10000"}
# size, depth, requests
SHAPES = {"4k": (4096, 1, 40), "64k": (65536, 16, 48)}
SHARED = lib.SharedPair()
STOCK = lib.SharedPair("rxe")


def build():
    """As its users do: with make, against what is installed."""
    if not (WORK / "keyed-target").exists():
        lib.sh(["make", "-C", lib.REPO / "examples/keyed", f"OUT={WORK}"], timeout=120)


def run(pair, variant, *options, placement=None, target=None, timeout=60):
    """(the initiator's status, its JSON or None, what it said); placement and target's own."""
    build()
    port = str(next(lib.PORTS))
    common = ["--port", port]
    mine = ["--placement", placement] if placement else []
    theirs = target or placement
    server = pair.b.popen([WORK / "keyed-target", "--once", *common,
                           *(["--placement", theirs] if theirs else []),
                           *(["--break-rules"] if "--break-rules" in options else [])])
    try:
        expect(server.stdout.readline().strip() == "listening", "the target does not listen")
        done = pair.a.sh([WORK / "keyed-initiator", "--variant", variant, *common, *mine,
                          "--limit", str(int(timeout * lib.PATIENCE)), "--source", pair.a.ip4, *options,
                          pair.b.ip4], check=False, timeout=timeout + 10)
    finally:
        output, _ = lib.stop(server) if server.poll() is None else server.communicate()
    return done.returncode, lib.last_json(done.stdout), f"{done.stderr} target: {output}"


def shape(size, depth, requests):
    return ["--size", str(size), "--depth", str(depth), "--requests", str(requests)]


def verified(pair, variant, options, qdisc, name, placement=None, timeout=60):
    pair.netem(QDISCS[qdisc])
    status, result, said = run(pair, variant, *options, placement=placement, timeout=timeout)
    driver = pair.a.driver + (f", placement {placement}" if placement else "")
    if result:
        for op in ("write", "read"):
            f = result[op]
            note(f"{op} {f['p50_us']:.0f} us (p99 {f['p99_us']:.0f}), {f['round_trips']:.2f} of a "
                 f"ping's {result['ping_p50_us']:.0f} us, {f['MB_s']:.2f} MB/s")
            storage.record(f"keyed {variant} {name} {op}", driver, QDISCS[qdisc],
                           result["verified"], MB_s=f["MB_s"], IOPS=f["iops"], p50_us=f["p50_us"],
                           p99_us=f["p99_us"], ping_p50_us=result["ping_p50_us"],
                           depth=result["depth"])
    expect(status == 0 and result and result["verified"], f"status {status}: {result} {said}")
    if placement:
        expect(result["placement"] == placement, f"placement is {result['placement']}")


def ours(variant, name, qdisc, placement):
    verified(SHARED.get(), variant, shape(*SHAPES[name]), qdisc, name, placement)


def stock(variant, name, qdisc):
    """Fewer requests: what takes a timeout each is seen in ten of them."""
    if qdisc == "reorder" and lib.MACHINE != "qemu" and not os.environ.get("KEYED_STOCK"):
        raise lib.Skip("stock rxe of 7.3 can hit a WARNING of its own (rxe_task.c); KEYED_STOCK=1")
    SHARED.close()      # both drivers bind UDP 4791 in one namespace
    size, depth, requests = SHAPES[name]
    if qdisc == "reorder":
        requests = 16
    verified(STOCK.get(), variant, shape(size, depth, requests), qdisc, name, timeout=100)


for _placement in ("on", "off"):
    for _variant in VARIANTS:
        for _qdisc in QDISCS:
            add_case(f"{_variant}-4k-{_qdisc}-placement-{_placement}", ours, _variant, "4k", _qdisc,
                     _placement)
        if _placement == "on" or _variant == "send":
            add_case(f"{_variant}-64k-reorder-placement-{_placement}", ours, _variant, "64k",
                     "reorder", _placement)
    add_case(f"send-64k-delay-placement-{_placement}", ours, "send", "64k", "delay", _placement)


# ----------------------------------------------------------------------
# Polling an index that a WRITE sets

@case
def ring_write_is_refused_with_placement_on():
    for mine, theirs in (("on", "off"), ("off", "on")):
        SHARED.get().netem(None)
        status, _, said = run(SHARED.get(), "ring-write", *shape(4096, 1, 10), placement=mine,
                              target=theirs, timeout=20)
        expect(status != 0 and "does not promise" in said, f"{mine}, {theirs}: {status} {said}")


@case
def ring_write_is_right_with_placement_off():
    verified(SHARED.get(), "ring-write", shape(4096, 8, 200), "reorder", "4k", "off")


@case
def ring_write_goes_wrong_with_placement_on():
    """What the README tells: and so the verification can fail."""
    pair = SHARED.get()
    pair.netem(QDISCS["reorder"])
    status, result, said = run(pair, "ring-write", *shape(4096, 4, 200), "--break-rules",
                               placement="on")
    expect(result, f"status {status}: {said}")
    note(f"{result['stale']} stale ring entries, {result['read']['wrong']} reads of wrong data")
    expect(status == 1 and result["stale"] and result["read"]["wrong"], f"all was right: {result}")


# ----------------------------------------------------------------------
# Round trips on the wire

RESPONSES = (0x0d, 0x0e, 0x0f, 0x10)    # of READs: with the PSNs of the other direction
ACKS = (0x11, 0x12)     # acknowledge, atomic acknowledge: nobody waits for them


def turns(path, address):
    """How often the direction of what carries requests or data changed, and the opcodes seen.

    What was sent again counts once: a busy machine makes a timer see a loss that is none."""
    data = path.read_bytes()
    at, last, number, opcodes, seen = 24, None, 0, {}, set()
    while at + 16 <= len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        frame = data[at + 16:at + 16 + length]
        at += 16 + length
        opcode, qpn = frame[42], int.from_bytes(frame[47:50], "big")
        if qpn == 1 or opcode in ACKS:      # the connection manager's
            continue
        sender = frame[26:30] == address
        packet = sender, qpn, frame[51:54], opcode in RESPONSES
        if packet in seen:
            continue
        seen.add(packet)
        opcodes[opcode] = opcodes.get(opcode, 0) + 1
        if sender != last:
            number, last = number + 1, sender
    return number, opcodes


def captured(variant, placement):
    """A ping is 1 round trip, a read 1, a write 2 (command and READ, data and answer)."""
    pair, count = SHARED.get(), 10
    pair.netem(QDISCS["delay"])
    build()
    path = WORK / f"{variant}-{placement}.pcap"
    dump = pair.a.popen(["tcpdump", "-i", pair.a.netdev, "-w", path, "-U", "-s", "0", "-Z", "root",
                         "--immediate-mode", "-B", "32768", "udp", "port", "4791"])
    lib.wait_for(lambda: path.exists() and path.stat().st_size >= 24, 20, "tcpdump writes")
    try:
        status, result, said = run(pair, variant, *shape(4096, 1, count), placement=placement)
        time.sleep(1)                       # tcpdump is behind the packets
    finally:
        dump.terminate()
        output, _ = dump.communicate(timeout=20 * lib.PATIENCE)
    expect(status == 0 and result["verified"], f"{status}: {result} {said}")
    expect("0 packets dropped by kernel" in output, f"incomplete capture: {output[-200:]}")
    number, opcodes = turns(path, bytes(int(b) for b in pair.a.ip4.split(".")))
    others = count + 1 + count              # pings, statistics, reads
    note(f"{number / 2} round trips for {count} writes, {count} reads, {count + 1} others; opcodes "
         + str({hex(k): v for k, v in sorted(opcodes.items())}))
    expect(opcodes.get(0x0c, 0) >= count, "no READ of each written buffer")
    expect(number <= 2 * (2 * count + others), f"{number / 2} round trips > {2 * count + others}")
    expect(number >= 2 * (count + others), f"only {number / 2}: the capture is not whole")


for _variant in VARIANTS:
    for _placement in ("off", "on"):
        add_case(f"two-round-trips-{_variant}-placement-{_placement}", captured, _variant, _placement)

for _qdisc in QDISCS:
    for _variant in VARIANTS:
        add_case(f"stock-{_variant}-4k-{_qdisc}", stock, _variant, "4k", _qdisc)
    add_case(f"stock-send-64k-{_qdisc}", stock, "send", "64k", _qdisc)

if __name__ == "__main__":
    try:
        lib.main()
    finally:
        SHARED.close()
        STOCK.close()
