# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""One device in a namespace, both ends on it: what goes between them goes through lo."""

import subprocess

import lib


class OneDevice:
    """Looks like a Pair whose two nodes are the same."""

    policy = False

    def __init__(self, ns="ns_self", mtu=1500):
        self.mtu = mtu
        self.a = self.b = lib.Node(ns, "self0", 1, lib.DRIVER)
        self.nodes = (self.a,)

    def __enter__(self):
        node = self.a
        lib.sh(f"ip netns add {node.ns} && ip -n {node.ns} link set lo up")
        node.sh(f"ip link add {node.netdev} mtu {self.mtu} type dummy && "
                f"ip addr add {node.ip4}/24 dev {node.netdev} && "
                f"ip addr add {node.ip6}/64 dev {node.netdev} nodad && "
                f"ip link set {node.netdev} up")
        node.link_add()
        return self

    def __exit__(self, *_):
        self.a.link_del()
        lib.sh(["ip", "netns", "del", self.a.ns])

    def netem(self, spec):
        self.a.sh("tc qdisc del dev lo root", check=False)
        if spec:
            self.a.sh(f"tc qdisc replace dev lo root netem {spec}")

    def counters(self):
        return self.a.counters()


def run_program(program, prefix="", env=None, netem=None, seconds=110):
    """A program of tests/tools that prints cases of its own, with device and GID index as arguments:
    show them with a prefix; true when all are well and no object is left."""
    with OneDevice() as one:
        node = one.a
        one.netem(netem)
        before = node.resources()
        process = node.popen([program, node.dev, node.gid()], env)
        try:
            output, _ = process.communicate(timeout=seconds * lib.PATIENCE)
        except subprocess.TimeoutExpired:
            output, _ = lib.stop(process)
            output += f"\nnot ok {program}-ends - it hangs\n"
        for line in output.splitlines():
            for word in ("ok ", "not ok ", "skip "):
                if line.startswith(word):
                    line = word + prefix + line[len(word):]
                    break
            print(line, flush=True)
        fine = process.returncode == 0
        if not fine and "not ok" not in output:
            print(f"not ok {prefix}{program}-status - {process.returncode}")
        left = lib.changed(before, node.resources())
        print(f"not ok {prefix}{program}-resources - {left}" if left
              else f"ok {prefix}{program}-resources", flush=True)
        return fine and not left
