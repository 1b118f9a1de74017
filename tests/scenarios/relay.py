# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Two nodes joined by a wire that the scenario controls, packet by packet.

    node a (nsa, va) -- ra  [Relay]  rb -- vb (nsb) node b

The relay copies frames between ra and rb.  For each RoCEv2 packet it asks `rule(packet)` what to do:
a number of copies to forward (True/1: once, 0/False/None: none), or bytes to forward in its place,
or HOLD, which keeps it until release().  Everything seen is in `log`.
"""

import socket
import struct
import threading

import lib

HOLD = object()
ETH_P_ALL = 3


class Packet:
    """The fields of a RoCEv2 packet that rules look at."""

    def __init__(self, frame, direction):
        self.frame, self.direction = frame, direction   # "ab" or "ba"
        self.bth = None
        if frame[12:14] == b"\x08\x00" and frame[23] == 17:
            udp = 14 + (frame[14] & 15) * 4
        elif frame[12:14] == b"\x86\xdd" and frame[20] == 17:
            udp = 54
        else:
            return
        if struct.unpack_from("!H", frame, udp + 2)[0] != 4791:
            return
        self.bth = udp + 8
        length = struct.unpack_from("!H", frame, udp + 4)[0]
        self.end = udp + length                         # of the ICRC
        self.opcode = frame[self.bth]
        self.psn = struct.unpack_from("!I", frame, self.bth + 8)[0] & 0xffffff
        self.qpn = struct.unpack_from("!I", frame, self.bth + 4)[0] & 0xffffff

    @property
    def is_request(self):
        """SEND, WRITE, READ request, atomics."""
        return self.opcode <= 0x0c or self.opcode in (0x13, 0x14, 0x16, 0x17)

    @property
    def is_read_response(self):
        return 0x0d <= self.opcode <= 0x10

    @property
    def is_nak(self):
        """An ACK packet whose AETH says sequence error, or another NAK (not RNR)."""
        return self.opcode == 0x11 and self.frame[self.bth + 12] & 0x60 == 0x60


class Relay(threading.Thread):
    def __init__(self, netdev_a, netdev_b):
        super().__init__(daemon=True)
        self.sockets = {}
        for direction, name in (("ab", netdev_a), ("ba", netdev_b)):
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            s.bind((name, 0))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
            self.sockets[direction] = s
        self.rule = lambda packet: True
        self.log, self.held = [], []
        self.lock = threading.Lock()
        self.running = True

    def run(self):
        import select  # pylint: disable=import-outside-toplevel
        by_socket = {s: d for d, s in self.sockets.items()}
        while self.running:
            for s in select.select(list(by_socket), [], [], 0.2)[0]:
                frame, address = s.recvfrom(65536)
                if address[2] != socket.PACKET_OUTGOING:
                    self.handle(Packet(frame, by_socket[s]))

    def handle(self, packet):
        with self.lock:
            if packet.bth is None:
                verdict = True
            else:
                self.log.append(packet)
                verdict = self.rule(packet)
            if verdict is HOLD:
                self.held.append(packet)
            elif isinstance(verdict, bytes):
                self.out(packet.direction, verdict)
            else:
                for _ in range(int(verdict or 0)):
                    self.out(packet.direction, packet.frame)

    def out(self, direction, frame):
        self.sockets["ba" if direction == "ab" else "ab"].send(frame)

    def release(self, rule=None):
        """Forward what is held, in the order of arrival, and hold no more."""
        with self.lock:
            self.rule = rule or (lambda packet: True)
            for packet in self.held:
                self.out(packet.direction, packet.frame)
            self.held.clear()

    def seen(self, condition=lambda p: True):
        with self.lock:
            return [p for p in self.log if condition(p)]

    def stop(self):
        self.running = False
        self.join()
        for s in self.sockets.values():
            s.close()


class RelayPair(lib.Pair):
    """A Pair whose wire is a Relay."""

    def set_up(self):
        a, b = self.nodes
        for node in self.nodes:
            if not node.ns:
                raise lib.Skip("needs a driver that works in network namespaces")
        for node in self.nodes:
            near = f"r{node.netdev}"
            lib.sh(f"ip netns add {node.ns} && ip -n {node.ns} link set lo up && "
                   f"ip link add {near} mtu {self.mtu} type veth "
                   f"peer name {node.netdev} mtu {self.mtu} && "
                   f"ip link set {node.netdev} netns {node.ns} && "
                   f"sysctl -q -e -w net.ipv6.conf.{near}.disable_ipv6=1 && ip link set {near} up")
            node.sh(f"sysctl -q -e -w net.ipv6.conf.{node.netdev}.accept_dad=0 && "
                    f"ip addr add {node.ip4}/24 dev {node.netdev} && "
                    f"ip addr add {node.ip6}/64 dev {node.netdev} nodad && "
                    f"ip link set {node.netdev} up && ethtool -K {node.netdev} tx off > /dev/null")
        self.relay = Relay(f"r{a.netdev}", f"r{b.netdev}")
        self.relay.start()
        self.neighbours()
        if self.links:
            for node in self.nodes:
                node.link_add()

    def tear_down(self):
        if hasattr(self, "relay"):
            self.relay.stop()
        super().tear_down()
        lib.sh("; ".join(f"ip link del r{n.netdev}" for n in self.nodes), check=False)
