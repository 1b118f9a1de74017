#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 900
# brief: ^ibv_rc_pingpong-(c|s1048576-m4096)$|bw-65536$|lat-8$|atomic_bw-FETCH|atomic_lat-CMP|lat-events$|write_bw-8-|send_bw-srq|bw-ipv6|bw-placement-on|inline|nothing-left
"""Unmodified verbs programs run over the device: ibv_*_pingpong and perftest, in their variants.

Whether what they transfer is right is another scenario's question (xfer looks, these do not).
"""

import lib
from lib import add_case, expect, note

ATOMICS = ("FETCH_AND_ADD", "CMP_AND_SWAP")

SHARED = lib.SharedPair(mtu=4200)


def bandwidth(program, *options, ip6=False, env=None):
    output = lib.perftest(SHARED.get(), program, *options, ip6=ip6, env=env, timeout=60)
    expect(output is not None, "no end within a minute")
    note(f"{program} {' '.join(options)}: {lib.bandwidth(output)} MB/s")


def latency(program, *options):
    output = lib.perftest(SHARED.get(), program, *options, timeout=60)
    expect(output is not None, "no end within a minute")
    note(f"{program} {' '.join(options)}: {lib.typical_latency(output)} us")


def pingpong(program, *options):
    """One of ibv_devices' own programs; it checks nothing but that everything completes."""
    pair = SHARED.get()
    port = str(next(lib.PORTS))
    count = "20" if "1048576" in options else "200"     # an emulated CPU moves 14 MB/s

    def argv(node):
        return [program, "-d", node.dev, "-g", node.gid(), "-p", port, "-n", count, *options]

    server = pair.b.popen(argv(pair.b))
    try:
        lib.wait_for(lambda: lib.listening(pair.b, port), 10, "the server listens")
        done = pair.a.sh([*argv(pair.a), pair.b.ip4], timeout=30)
        expect("usec/iter" in done.stdout, f"no result: {done.stdout[-200:]}")
        output, _ = server.communicate(timeout=10 * lib.PATIENCE)
        expect(server.returncode == 0, f"server: {output[-200:]}")
    finally:
        lib.stop(server)


def all_sizes(program):
    """perftest's -a: every power of two up to 8 MiB, two-sided."""
    output = lib.perftest(SHARED.get(), program, "-a", "-n", "6", timeout=120)
    expect(output is not None, "no end within two minutes")
    lines = [line for line in output.splitlines() if line.split()[1:2] == ["6"]]
    expect(len(lines) >= 22, f"only {len(lines)} sizes: {output[-500:]}")


for _options in (("-c",), ("-c", "-e"), ("-s", "1048576", "-m", "4096"), ("-s", "1"), ("-r", "16"),
                 ("-N",)):
    add_case(f"ibv_rc_pingpong{''.join(_options)}", pingpong, "ibv_rc_pingpong", *_options)

for _op in ("write", "read", "send"):
    _bw, _lat = f"ib_{_op}_bw", f"ib_{_op}_lat"
    for _size in ("1", "1023", "1025", "65536", "1048576"):
        _n = "100" if int(_size) > 100000 else "1000"
        add_case(f"{_bw}-{_size}", bandwidth, _bw, "-s", _size, "-n", _n)
    for _mtu in ("256", "4096"):
        add_case(f"{_bw}-mtu-{_mtu}", bandwidth, _bw, "-m", _mtu, "-n", "200")
    if _op != "write":      # perftest has no events there: nothing completes at a WRITE's target
        add_case(f"{_bw}-events", bandwidth, _bw, "-e", "-n", "500")
    add_case(f"{_bw}-8-queue-pairs", bandwidth, _bw, "-q", "8", "-n", "50")
    add_case(f"{_bw}-bidirectional", bandwidth, _bw, "-b", "-n", "300")
    add_case(f"{_bw}-all-sizes", all_sizes, _bw)
    add_case(f"{_bw}-depth-1", bandwidth, _bw, "-t", "1", "-n", "200")
    add_case(f"{_lat}-8", latency, _lat, "-s", "8", "-n", "1000")
    add_case(f"{_lat}-4096", latency, _lat, "-s", "4096", "-n", "500")
for _op in ("write", "send"):
    add_case(f"ib_{_op}_bw-inline", bandwidth, f"ib_{_op}_bw", "-s", "200", "-I", "256", "-n", "1000")
    add_case(f"ib_{_op}_lat-inline", latency, f"ib_{_op}_lat", "-s", "64", "-I", "64", "-n", "1000")
add_case("ib_send_lat-events", latency, "ib_send_lat", "-s", "8", "-e", "-n", "500")
add_case("ib_read_lat-events", latency, "ib_read_lat", "-s", "8", "-e", "-n", "500")
add_case("ib_send_bw-srq", bandwidth, "ib_send_bw", "--use-srq", "-q", "4", "-n", "200")
add_case("ib_send_bw-rx-depth-small", bandwidth, "ib_send_bw", "-r", "16", "-n", "500")
add_case("ib_read_bw-outstanding-1", bandwidth, "ib_read_bw", "-o", "1", "-n", "200")
for _kind in ATOMICS:
    add_case(f"ib_atomic_bw-{_kind}", bandwidth, "ib_atomic_bw", "-A", _kind, "-n", "1000")
    add_case(f"ib_atomic_lat-{_kind}", latency, "ib_atomic_lat", "-A", _kind, "-n", "500")
add_case("ib_atomic_bw-8-queue-pairs", bandwidth, "ib_atomic_bw", "-q", "8", "-n", "50")
for _op in ("write", "read", "send", "atomic"):
    add_case(f"ib_{_op}_bw-ipv6", lambda op=_op: bandwidth(f"ib_{op}_bw", "-n", "300", ip6=True))
    add_case(f"ib_{_op}_bw-placement-on", lambda op=_op: bandwidth(
        f"ib_{op}_bw", "-n", "300", env=lib.placement(True)))
add_case("nothing-left-and-unloads", SHARED.nothing_left_and_unloads)

if __name__ == "__main__":
    try:
        lib.main()
    finally:
        SHARED.close()
