#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 500
# brief: -ipv4$|^rping-|^mckey-[a-z-]*$|pingpong(-c)?$|write_bw-XRC|nothing-left
"""The programs of librdmacm and libibverbs run unmodified between two namespaces: over IPv4, IPv6 and
link-local addresses, in order and with `netem delay 1ms reorder 75%`.

mckey over IPv6 is not here: the kernel's rdma_cm refuses to join an IPv6 group over RoCEv2 with
EOPNOTSUPP, whatever the driver (24-multicast has IPv6 groups, joined with verbs)."""

import json
import sys

import lib
from lib import add_case, expect, wait_for

SHARED = lib.SharedPair(mtu=4200)
NETEMS = {"": None, "-reordered": "delay 1ms reorder 75% limit 10000"}
GROUP = "239.7.7.7"


def link_local(node):
    def find():
        links = json.loads(node.sh(["ip", "-j", "-6", "addr", "show", "dev", node.netdev]).stdout)
        return [a["local"] for link in links for a in link.get("addr_info", [])
                if a.get("scope") == "link" and not a.get("tentative")]
    return wait_for(find, 5, f"a link-local address of {node.netdev}")[0]


def address(node, family, seen_from=None):
    """The node's address; a link-local one names the interface of whoever uses it."""
    if family == "link-local":
        return f"{link_local(node)}%{(seen_from or node).netdev}"
    return node.ip4 if family == "ipv4" else node.ip6


def cm_listens(node, process):
    """True once the program has an identifier of the connection manager that listens."""
    text = node.sh(["rdma", "-j", "resource", "show", "cm_id"], check=False).stdout
    found = json.loads(text or "[]")
    return process.poll() is not None or any(
        c.get("pid") == process.pid and c.get("state") == "LISTEN" for c in found)

def run_both(server, server_argv, client, client_argv, ready, seconds=30):
    """The outputs of two programs that both end well."""
    process = server.popen(server_argv)
    second = None
    try:
        wait_for(lambda: ready(process), 10, f"{server_argv[0]} listens")
        second = client.popen(client_argv)
        output = lib.finish(second, f"{client_argv[0]} client", seconds)
        expect(output is not None, f"the client does not end: {lib.stop(second)[0][-200:]}")
        served = lib.finish(process, f"{server_argv[0]} server", 10)
        expect(served is not None, "the server does not end")
        return served, output
    finally:
        for p in (process, second):
            if p:
                lib.stop(p)


def cm_program(family, netem, make_argv, wanted=None):
    pair = SHARED.get()
    pair.netem(netem)
    port = str(next(lib.PORTS))
    server = make_argv("server", address(pair.b, family), port)
    client = make_argv("client", address(pair.b, family, pair.a), port)
    _, output = run_both(pair.b, server, pair.a, client, lambda p: cm_listens(pair.b, p))
    if wanted:
        expect(wanted in output, f"no {wanted!r}: {output[-300:]}")


def rping(role, to, port):
    return ["rping", "-s" if role == "server" else "-c", "-a", to, "-p", port, "-C", "50", "-S", "1000",
            "-V"]


def ucmatose(role, to, port):
    return ["ucmatose", "-b" if role == "server" else "-s", to, "-p", port, "-C", "20", "-S", "5000",
            "-c", "4"]


def udaddy(role, to, port):
    del port        # its own, 7174
    return ["udaddy", "-b" if role == "server" else "-s", to, "-C", "20", "-S", "1000", "-c", "4"]


def stream(program):
    def argv(role, to, port):
        return [program, "-b" if role == "server" else "-s", to, "-p", port, "-C", "20", "-S", "65536",
                "-T", "v"]
    return argv


def verbs_program(program, netem, options):
    pair = SHARED.get()
    pair.netem(netem)
    port = str(next(lib.PORTS))

    def argv(node):
        return [program, "-d", node.dev, "-g", node.gid(), "-p", port, "-n", "200", *options]

    served, output = run_both(pair.b, argv(pair.b), pair.a, [*argv(pair.a), pair.b.ip4],
                              lambda p: p.poll() is not None or lib.listening(pair.b, port))
    expect("usec/iter" in output or "success" in output, f"no result: {output[-200:]}")
    expect("usec/iter" in served or "success" in served, f"no result: {served[-200:]}")


def mckey(where, netem):
    pair = SHARED.get()
    pair.netem(netem)
    sender = pair.b if where == "one-device" else pair.a
    for node in {sender, pair.b}:
        node.sh(f"ip route replace 224.0.0.0/4 dev {node.netdev}")

    def argv(node, *options):
        return ["mckey", "-m", GROUP, "-b", node.ip4, "-C", "20", "-S", "1000", *options]

    def ready(process):
        return process.poll() is not None or (
            GROUP in pair.b.sh(["ip", "maddr", "show", "dev", pair.b.netdev]).stdout)

    served, output = run_both(pair.b, argv(pair.b), sender, argv(sender, "-s"), ready)
    expect("data transfers complete" in served and "data transfers complete" in output,
           f"receiver: {served[-200:]} sender: {output[-200:]}")
    wait_for(lambda: GROUP not in pair.b.sh(["ip", "maddr", "show", "dev", pair.b.netdev]).stdout, 3,
             "the netdev leaves the group")


def xrc_bandwidth(program, netem):
    pair = SHARED.get()
    pair.netem(netem)
    output = lib.perftest(pair, program, "-c", "XRC", "-n", "200", "-q", "2", timeout=60)
    expect(output is not None, "no end within a minute")
    lib.note(f"{program} -c XRC: {lib.bandwidth(output)} MB/s")


def resources_are_gone():
    pair = SHARED.get()
    pair.netem(None)
    for node in pair.nodes:
        def left(n=node):
            return {k: v for k, v in n.resources().items()
                    if v > (1 if k in ("qp", "pd", "cq") else 0)}
        wait_for(lambda f=left: not f(), 5, f"nothing is left: {left()}")
    SHARED.close()
    lib.unload(lib.DRIVER)


for _suffix, _netem in NETEMS.items():
    for _family in ("ipv4", "ipv6", "link-local"):
        for _name, _argv, _wanted in (("rping", rping, None), ("ucmatose", ucmatose, None),
                                      ("udaddy", udaddy, None), ("rstream", stream("rstream"), "k"),
                                      ("riostream", stream("riostream"), "k")):
            add_case(f"{_name}-{_family}{_suffix}", cm_program, _family, _netem, _argv, _wanted)
    for _where in ("two-namespaces", "one-device"):
        add_case(f"mckey-{_where}{_suffix}", mckey, _where, _netem)
    for _program, _options in (("ibv_xsrq_pingpong", ()), ("ibv_srq_pingpong", ()),
                               ("ibv_srq_pingpong", ("-e",)),
                               # UC drops a message whose packets come out of order: one packet each
                               ("ibv_uc_pingpong", ("-m", "4096") if _netem else ()),
                               ("ibv_ud_pingpong", ()), ("ibv_rc_pingpong", ("-c",))):
        add_case(f"{_program}{''.join(_options)}{_suffix}", verbs_program, _program, _netem, _options)
    for _op in ("write", "read", "send", "atomic"):
        add_case(f"ib_{_op}_bw-XRC{_suffix}", xrc_bandwidth, f"ib_{_op}_bw", _netem)
add_case("nothing-left-and-unloads", resources_are_gone)

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    try:
        lib.main()
    finally:
        SHARED.close()
