#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 600
# brief: ^ib_write_bw-client-killed$|^ib_read_bw-server-killed$|another-run|in-use
"""Programs are killed and devices taken away in mid-transfer: nothing is left, nothing waits."""

import time

import lib
from lib import add_case, case, expect, note, wait_for

# Programs take seconds to start where the machine is emulated.
ROUNDS = 1 if lib.MACHINE == "qemu" else 3
OPS = ("ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_atomic_bw")


def start(pair, program, *options):
    """A server and a client that would run for minutes; both are in the middle of it."""
    port = str(next(lib.PORTS))

    def argv(node):
        return [program, "-d", node.dev, "-x", node.gid(), "-p", port, "-F", "-D", "300", *options]

    server = pair.b.popen(argv(pair.b))
    wait_for(lambda: lib.listening(pair.b, port), 10, "the server listens")
    client = pair.a.popen([*argv(pair.a), pair.b.ip4])
    before = pair.counters()["tx_packets"]
    wait_for(lambda: pair.counters()["tx_packets"] > before + 500, 20, "traffic flows")
    return server, client


def nothing_left(pair, base):
    """What `rdma resource` counts is what it was before any program ran."""
    for node in pair.nodes:
        wait_for(lambda n=node: n.resources() == base[n.dev], 15,
                 f"objects gone, {base[node.dev]}, not {node.resources()}")
    for node in pair.nodes:
        found = node.sh(["rdma", "-j", "resource", "show", "qp", "link", f"{node.dev}/1"]).stdout
        expect('"pid"' not in found, f"a QP of a process is left: {found}")


def killed(program, victim, netem):
    with lib.Pair() as pair:
        base = {node.dev: node.resources() for node in pair.nodes}
        pair.netem(netem)
        for _ in range(ROUNDS):
            server, client = start(pair, program)
            first, second = (client, server) if victim == "client" else (server, client)
            lib.stop(first)
            if victim == "both":
                lib.stop(second)
            else:
                time.sleep(0.3)
                lib.stop(second)
            nothing_left(pair, base)
        for node in pair.nodes:
            expect(node.sh(["rdma", "link", "del", node.dev]).returncode == 0, "link del")
        lib.unload(lib.DRIVER)


@case
def killed_with_8_queue_pairs():
    with lib.Pair() as pair:
        base = {node.dev: node.resources() for node in pair.nodes}
        server, client = start(pair, "ib_write_bw", "-q", "8")
        lib.stop(client)
        lib.stop(server)
        nothing_left(pair, base)


@case
def another_run_works_after_a_kill():
    with lib.Pair() as pair:
        server, client = start(pair, "ib_send_bw")
        lib.stop(server)
        lib.stop(client)
        lib.verified(lib.xfer(pair, "--op", "mix", "-n", "100", "--vary"))


def taken_away(how):
    """The device goes while both programs use it: in bounded time, and they see it."""
    with lib.Pair() as pair:
        server, client = start(pair, "ib_write_bw")
        begin = time.monotonic()
        if how == "link-del":
            pair.a.sh(["rdma", "link", "del", pair.a.dev], timeout=20)
        elif how == "netdev-del":
            pair.a.sh(["ip", "link", "del", pair.a.netdev], timeout=20)
            wait_for(lambda: pair.a.dev not in pair.a.sh(["rdma", "link"]).stdout, 10,
                     "the device goes with its netdev")
        elif how == "netns-del":
            # The programs hold the namespace: they have to go first.
            lib.stop(client)
            lib.sh(["ip", "netns", "del", pair.a.ns])
            wait_for(lambda: pair.a.dev not in lib.sh(["rdma", "link"]).stdout, 15,
                     "the device goes with its namespace")
        took = time.monotonic() - begin
        note(f"{how} took {took:.2f} s")
        expect(took < 10, f"{took:.1f} s")
        if how != "netns-del":
            wait_for(lambda: client.poll() is not None, 30, "the client sees it and ends")
        lib.stop(client)
        lib.stop(server)
    lib.unload(lib.DRIVER)


for _program in OPS:
    add_case(f"{_program}-client-killed", killed, _program, "client", None)
    add_case(f"{_program}-server-killed", killed, _program, "server", None)
for _victim in ("client", "server", "both"):
    add_case(f"ib_write_bw-{_victim}-killed-under-reordering", killed, "ib_write_bw", _victim,
             "delay 1ms reorder 75% limit 100000")
    add_case(f"ib_read_bw-{_victim}-killed-under-loss", killed, "ib_read_bw", _victim,
             "delay 1ms loss 5% limit 100000")
for _how in ("link-del", "netdev-del", "netns-del"):
    add_case(f"in-use-{_how}", taken_away, _how)

if __name__ == "__main__":
    lib.main()
