#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Print random RoCEv2 packets, as hex from the IP header on, with ICRCs that are not ours:
scapy.contrib.roce's for IPv4; for IPv6, which scapy's does not do, zlib's over the masked copy."""

import random
import struct
import sys
import zlib

from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP, IPOption_NOP
from scapy.layers.inet6 import IPv6
from scapy.packet import Raw


def transport(rng):
    bth = BTH(opcode=rng.choice((0x04, 0x0A, 0x11, 0x64)), solicited=rng.getrandbits(1),
              migreq=rng.getrandbits(1), pkey=rng.getrandbits(16), fecn=rng.getrandbits(1),
              becn=rng.getrandbits(1), resv6=rng.getrandbits(6), dqpn=rng.getrandbits(24),
              ackreq=rng.getrandbits(1), resv7=rng.getrandbits(7), psn=rng.getrandbits(24))
    return bth / Raw(rng.randbytes(4 * rng.randrange(1, 300)))


def ipv4(rng):
    options = [IPOption_NOP()] * (4 * rng.choice((0, 0, 1, 3)))
    ip = IP(src="10.1.2.3", dst="10.4.5.6", tos=rng.getrandbits(8), ttl=rng.randrange(1, 256),
            id=rng.getrandbits(16), flags="DF", options=options)
    return bytes(ip / UDP(sport=rng.randrange(49152, 65536), dport=4791) / transport(rng))


def ipv6(rng):
    ip = IPv6(src="fd00::1", dst="fd00::2", tc=rng.getrandbits(8), fl=rng.getrandbits(20),
              hlim=rng.randrange(1, 256))
    # An ICRC in place keeps scapy from computing the one that it cannot.
    bth = transport(rng)
    bth.icrc = 0
    packet = bytearray(bytes(ip / UDP(sport=rng.randrange(49152, 65536), dport=4791) / bth))
    masked = bytearray(packet)
    masked[0] |= 0x0F
    for at in (1, 2, 3, 7, 46, 47, 52):
        masked[at] = 0xFF
    packet[-4:] = struct.pack("<I", zlib.crc32(b"\xff" * 8 + masked[:-4]))
    return bytes(packet)


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    for i in range(count):
        print((ipv6 if i % 2 else ipv4)(rng).hex())


main()
