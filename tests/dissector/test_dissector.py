#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The Wireshark dissector (scripts/wireshark/rxe_ooo.lua) on packets made by hand from docs/wire.md.

Runs where tshark is: in the test root, or on any machine.  Prints ok/not ok and the sum.
"""

import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

REPO = pathlib.Path(__file__).resolve().parents[2]
LUA = REPO / "scripts" / "wireshark" / "rxe_ooo.lua"
# tshark runs no Lua for root.
UNPRIVILEGED = (["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
                if os.geteuid() == 0 else [])
CAP, RETX, EXT = 1, 2, 4
FIELDS = ("rxe_ooo.cap", "rxe_ooo.retx", "rxe_ooo.has_ext", "rxe_ooo.ext.version",
          "rxe_ooo.ext.window", "rxe_ooo.ext.ce", "rxe_ooo.ext.needless",
          "rxe_ooo.ext.needless_psn", "rxe_ooo.ext.base", "rxe_ooo.ext.here",
          "rxe_ooo.bad_length", "rxe_ooo.unknown_version")


def icrc(ip, udp, rest):
    head = bytearray(ip + udp)
    head[1], head[8], head[10:12], head[26:28] = 0xff, 0xff, b"\xff\xff", b"\xff\xff"
    body = bytearray(rest)
    body[4] = 0xff
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(head) + bytes(body)))


def frame(rest):
    """Ethernet, IPv4, UDP around a BTH and what follows, with the ICRC."""
    length = len(rest) + 4
    ip = bytearray(struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + length, 0, 0x4000, 64, 17, 0,
                               bytes([10, 9, 0, 1]), bytes([10, 9, 0, 2])))
    total = sum(struct.unpack("!10H", ip))
    total = (total & 0xffff) + (total >> 16)
    ip[10:12] = struct.pack("!H", ~(total + (total >> 16)) & 0xffff)
    udp = struct.pack("!HHHH", 0xc123, 4791, 8 + length, 0)
    whole = bytes(12) + b"\x08\x00" + bytes(ip) + udp + rest + icrc(bytes(ip), udp, rest)
    return whole + bytes(max(0, 60 - len(whole)))


def bth(opcode, bits, psn):
    return struct.pack("!BBHII", opcode, 0x40, 0xffff, 17, bits << 24 | psn)


def ack(psn, ext=b"", bits=CAP, opcode=0x11):
    return bth(opcode, bits, psn) + struct.pack("!I", 0x1f << 24 | 5) + ext


def extension(base, words, version=1, units=None):
    units = 4 + 2 * len(words) if units is None else units
    return (struct.pack("!BBHHBBII", version << 4, units, 300, 7, 9, 0, 0x001122, base)
            + b"".join(struct.pack("!Q", w) for w in words))


# (name, packet from the BTH on, what the fields must be)
CASES = [
    ("plain-ack", ack(5, bits=0), {}),
    ("capable-ack", ack(5), {"rxe_ooo.cap": "True", "rxe_ooo.retx": "False"}),
    ("marked-write", bth(0x0a, CAP | RETX, 77) + struct.pack("!QII", 4096, 1, 8) + bytes(8),
     {"rxe_ooo.cap": "True", "rxe_ooo.retx": "True"}),
    ("fixed-part", ack(5, extension(6, []), CAP | EXT),
     {"rxe_ooo.ext.version": "1", "rxe_ooo.ext.window": "300", "rxe_ooo.ext.ce": "7",
      "rxe_ooo.ext.needless": "9", "rxe_ooo.ext.needless_psn": str(0x1122),
      "rxe_ooo.ext.base": "6", "rxe_ooo.ext.here": ""}),
    ("bitmap", ack(5, extension(7, [0b1011]), CAP | EXT), {"rxe_ooo.ext.here": "7-8, 10"}),
    ("bitmap-high-bit-second-word", ack(5, extension(7, [1 << 63, 1]), CAP | EXT),
     {"rxe_ooo.ext.here": "70-71"}),
    ("bitmap-wraps", ack(0xfffff0, extension(0xfffffe, [0b1111]), CAP | EXT),
     {"rxe_ooo.ext.here": "16777214-1"}),
    ("xrc", ack(5, extension(7, [1]), CAP | EXT, 0xb1), {"rxe_ooo.ext.here": "7"}),
    ("four-words", ack(5, extension(0, [1, 1, 1, 1]), CAP | EXT),
     {"rxe_ooo.ext.here": "0, 64, 128, 192"}),
    ("unknown-version", ack(5, extension(7, [1], version=2), CAP | EXT),
     {"rxe_ooo.ext.version": "2", "rxe_ooo.unknown_version": "1", "rxe_ooo.ext.here": ""}),
    ("bad-length", ack(5, extension(7, [1], units=8), CAP | EXT),
     {"rxe_ooo.bad_length": "1", "rxe_ooo.ext.here": ""}),
    ("odd-length", ack(5, extension(7, [1])[:-4], CAP | EXT), {"rxe_ooo.bad_length": "1"}),
    ("no-room", ack(5, b"", CAP | EXT), {"rxe_ooo.bad_length": "1"}),
    ("ext-without-cap-means-nothing", ack(5, b"", EXT), {"rxe_ooo.cap": "False",
                                                          "rxe_ooo.ext.version": ""}),
    ("ud-is-not-ours", bth(0x64, CAP, 5) + struct.pack("!II", 1, 2) + bytes(8), {}),
]


def dissect(packets):
    """One {field: text} a packet."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "made.pcap"
        path.write_bytes(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1) + b"".join(
            struct.pack("<IIII", n, 0, len(p), len(p)) + p for n, p in enumerate(packets)))
        options = [word for field in FIELDS for word in ("-e", field)]
        os.chmod(folder, 0o755)
        done = subprocess.run([*UNPRIVILEGED, "tshark", "-n", "-X", f"lua_script:{LUA}", "-r", str(path),
                               "-T", "fields", "-E", "separator=|", *options], check=False,
                              env=dict(os.environ, HOME=folder), text=True, capture_output=True)
    lines = done.stdout.split("\n")[:-1]
    if done.returncode or len(lines) != len(packets) or "rror" in done.stderr:
        sys.exit(f"tshark: {done.returncode} {done.stderr}")
    return [dict(zip(FIELDS, line.split("|"))) for line in lines]


def main():
    passed = 0
    for (name, _, wanted), found in zip(CASES, dissect([frame(c[1]) for c in CASES])):
        if not wanted:
            wanted = {field: "" for field in FIELDS}
        wrong = {k: (found[k], v) for k, v in wanted.items() if found[k] != v}
        print(f"not ok {name} - (found, wanted): {wrong}" if wrong else f"ok {name}")
        passed += not wrong
    print(f"{passed} passed, {len(CASES) - passed} failed")
    return 1 if passed < len(CASES) else 0


if __name__ == "__main__":
    sys.exit(main())
