#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 600
# brief: reordered
"""The bytes on the wire in the eyes of others: scapy computes every ICRC anew, tshark dissects.

A run of all RC operations is captured at both ends of a veth pair, over IPv4 and IPv6, with
placement off and on, in order and reordered.  The last case spoils a byte of a good capture, and
both judges must object: they can.
"""

import pathlib
import struct
import tempfile
import time
import zlib

import lib
from lib import add_case, case, expect, note

# Messages of each kind. The judges are programs in Python, slow where the machine is emulated.
MESSAGES = "12" if lib.MACHINE == "qemu" else "60"
WORK = pathlib.Path(tempfile.mkdtemp())


def capture(pair, node, path):
    # Not in a capture: TCP.  -Z root, since tcpdump drops privileges and then cannot write.
    process = node.popen(["tcpdump", "-i", node.netdev, "-w", path, "-U", "-s", "0", "-B", "32768",
                          "-Z", "root", "udp", "port", "4791"])
    lib.wait_for(path.exists, 15, "tcpdump writes")
    return process


def let_it_write(path):
    """tcpdump is behind the packets: its buffers go out each second, until the file rests."""
    size = -1
    while size != path.stat().st_size:
        size = path.stat().st_size
        time.sleep(2)


def captured_run(name, on, ip6, netem=None):
    """A file with one end's packets of a run of everything."""
    path = WORK / f"{name}.pcap"
    with lib.Pair() as pair:
        if netem:
            pair.netem(netem)
        process = capture(pair, pair.a, path)
        try:
            for op in ("mix", "write", "write_imm", "send", "send_imm", "read", "cmp_swap",
                       "fetch_add"):
                lib.verified(lib.xfer(pair, "--op", op, "-n", MESSAGES, "-s", "20000", "--vary",
                                      env=lib.placement(on), ip6=ip6))
            let_it_write(path)
        finally:
            process.terminate()
            output, _ = process.communicate(timeout=20 * lib.PATIENCE)
    expect("0 packets dropped by kernel" in output, f"incomplete capture: {output[-200:]}")
    return path


def frames(path):
    data = path.read_bytes()
    order = "<" if data[:4] == b"\xd4\xc3\xb2\xa1" else ">"
    at = 24
    while at + 16 <= len(data):
        length = struct.unpack_from(order + "I", data, at + 8)[0]
        yield data[at + 16:at + 16 + length]
        at += 16 + length


def scapy_icrc(path):
    """(packets, those whose ICRC scapy computes differently)."""
    # pylint: disable=import-outside-toplevel
    from scapy.contrib.roce import BTH
    from scapy.layers.l2 import Ether
    number, bad = 0, []
    for number, frame in enumerate(frames(path), 1):
        packet = Ether(frame)
        expect(BTH in packet, f"scapy sees no BTH in packet {number}: {packet.summary()}")
        # compute_icrc() looks at the layers around, not at its argument
        if packet[BTH].compute_icrc(b"") != frame[-4:]:
            bad.append(number)
    return number, bad


def own_icrc(frame):
    """The ICRC as IBTA A17.3.3 says, without scapy: masked fields are all ones."""
    if frame[12:14] == b"\x08\x00":
        head = bytearray(frame[14:14 + 28])
        head[1], head[8], head[10:12] = 0xff, 0xff, b"\xff\xff"
        head[26:28] = b"\xff\xff"
        rest = bytearray(frame[42:-4])
    else:
        head = bytearray(frame[14:14 + 48])
        head[0] |= 0x0f
        head[1:4] = b"\xff\xff\xff"
        head[7] = 0xff
        head[46:48] = b"\xff\xff"
        rest = bytearray(frame[62:-4])
    rest[4] = 0xff
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(head) + bytes(rest)))


def check_icrc(path):
    """scapy's layer for IPv4 and IPv6 (where this scapy knows how), and the text of the standard."""
    number, bad = 0, []
    for number, frame in enumerate(frames(path), 1):
        if own_icrc(frame) != frame[-4:]:
            bad.append(number)
    expect(not bad, f"ICRC of packets {bad[:5]} of {number} differs from the standard's")
    number, bad = scapy_icrc(path)
    expect(number > 500, f"only {number} packets")
    expect(not bad, f"ICRC of packets {bad[:5]} ({len(bad)} of {number}) differs from scapy's")
    note(f"{number} ICRCs agree")


# Payload is xfer's: a pseudo-random pattern.  tshark must not take it for one of these.
GUESSES = ("smcr_infiniband", "smb_direct_infiniband", "rpcrdma_infiniband", "nvme_rdma", "lnet_ib",
           "iser_infiniband", "eth_over_ib", "mellanox_eoib", "sdp_infiniband", "fc_infiniband")


def tshark(path, *options):
    """RoCEv2 has its ICRC and leaves the UDP checksum 0 over IPv6 too (RFC 6935), as rdma_rxe does."""
    options = ("-o", "udp.ignore_ipv6_zero_checksum:TRUE", *options)
    guesses = [word for name in GUESSES for word in ("--disable-heuristic", name)]
    return lib.sh(["tshark", "-n", "-r", path, *guesses, *options], timeout=120,
                  env={"HOME": str(WORK)}).stdout


def objections(path):
    """What tshark holds against packets: malformed, or an expert remark of warning or worse."""
    text = tshark(path, "-Y", "_ws.malformed || _ws.expert.severity >= 0x00600000", "-T", "fields",
                  "-e", "frame.number", "-e", "infiniband.bth.opcode", "-e", "frame.protocols",
                  "-e", "_ws.expert.message")
    return [line for line in text.splitlines() if line.strip()]


def check_dissection(path):
    total = sum(1 for _ in frames(path))
    rows = tshark(path, "-Y", "infiniband", "-T", "fields", "-e", "infiniband.bth.opcode")
    seen = rows.split()
    expect(len(seen) == total, f"tshark takes {len(seen)} of {total} packets for InfiniBand")
    bad = objections(path)
    expect(not bad, f"tshark objects to {len(bad)} packets: {bad[:3]}")
    opcodes = {int(o, 0) for o in seen}
    # Every request and response kind of RC was on the wire.
    wanted = {0, 1, 2, 3, 4, 5, 0xc, 0xd, 0xe, 0xf, 0x10, 0x11, 0x12, 0x13, 0x14}
    expect(wanted <= opcodes, f"opcodes {sorted(wanted - opcodes)} were not in the run")
    expect(opcodes & {6, 0xa}, "no WRITE was in the run")
    note(f"{total} packets of {len(opcodes)} opcodes dissected")


def judged(name, on, ip6, netem=None):
    path = captured_run(name, on, ip6, netem)
    check_icrc(path)
    check_dissection(path)


@case
def judges_can_object():
    path = captured_run("good", False, False)
    good = path.read_bytes()
    # A byte of the BTH's destination QP in the first packet: the ICRC is wrong.
    at = 24 + 16 + 14 + 20 + 8
    spoiled = WORK / "icrc.pcap"
    spoiled.write_bytes(good[:at + 6] + bytes([good[at + 6] ^ 1]) + good[at + 7:])
    _, bad = scapy_icrc(spoiled)
    expect(bad == [1], f"scapy objects to {bad}, not to packet 1")
    expect(own_icrc(next(frames(spoiled))) != next(frames(spoiled))[-4:], "a wrong ICRC agrees")
    # A READ request cut to its BTH: nothing to dissect.
    cut = WORK / "cut.pcap"
    frame = bytearray(next(f for f in frames(path) if f[42] == 0x0c)[:42 + 12 + 2])
    frame[16:18] = struct.pack("!H", len(frame) - 14)
    frame[38:40] = struct.pack("!H", len(frame) - 34)
    cut.write_bytes(good[:24] + struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
    expect(objections(cut), "tshark does not object to a packet without its header")


for _ip6 in (False, True):
    for _on in (False, True):
        _name = f"ipv{6 if _ip6 else 4}-placement-{'on' if _on else 'off'}"
        add_case(_name, judged, _name, _on, _ip6)
add_case("reordered", judged, "reordered", True, False, "delay 1ms reorder 75% limit 100000")

if __name__ == "__main__":
    lib.main()
