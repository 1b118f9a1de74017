#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: uml
# timeout: 1200
"""perftest's matrix, unmodified: write, read, send, atomic; bandwidth and latency; RC, UC, UD, XRC;
events, several QPs, bidirectional, inline, SRQ, all sizes, rdma_cm; and variants of size, MTU and depth.

Whether what they transfer is right is another scenario's question (xfer looks, these do not). Few
iterations: the figures say that something moved, not how fast the device is. The table goes to
build/results/perftest.json and .md. Emulation is too slow for all of it: on Debian's kernel
21-perftest runs the part that differs by kernel.
"""

import contextlib
import json
import os
import re
import sys

import lib
from lib import Failure, expect, sh, wait_for

SHARED = lib.SharedPair(mtu=4200)
GIDS = {}       # looked up once: a thousand files of sysfs each time

TRANSPORTS = {"write": ("RC", "UC", "XRC"), "read": ("RC", "XRC"),
              "send": ("RC", "UC", "UD", "XRC"), "atomic": ("RC", "XRC")}
COLUMNS = {
    "plain": (), "events": ("-e",), "bidirectional": ("-b",), "4 QPs": ("-q", "4"),
    "inline": ("-s", "64", "-I", "64"), "SRQ": ("--use-srq", "-q", "2"), "all sizes": ("-a",),
    "rdma_cm": ("-R",),
}
BANDWIDTH = {"write": ("plain", "bidirectional", "4 QPs", "inline", "all sizes", "rdma_cm"),
             "read": ("plain", "events", "bidirectional", "4 QPs", "all sizes", "rdma_cm"),
             "send": tuple(COLUMNS),
             "atomic": ("plain", "events", "bidirectional", "4 QPs", "rdma_cm")}
# Nothing completes at a WRITE's target, so perftest has no events there.
LATENCY = {"write": ("plain", "inline", "all sizes", "rdma_cm"),
           "read": ("plain", "events", "all sizes", "rdma_cm"),
           "send": ("plain", "events", "inline", "all sizes", "rdma_cm"),
           "atomic": ("plain", "events", "rdma_cm")}

# (transport, column) that perftest 25.01 refuses, and its words
REFUSED = {("UC", "rdma_cm"): "UC is not supported in librdmacm",
           ("XRC", "rdma_cm"): "XRC does not support RDMA_CM"}

ROWS = []       # what the table is made of


def argv_of(program, node, port, options, ip6):
    address = node.ip6 if ip6 else node.ip4
    key = node.dev, address
    if key not in GIDS:
        GIDS[key] = node.gid(address)
    argv = [program, "-d", node.dev, "-x", GIDS[key], "-p", port, "-F", *options]
    if "-R" in options:
        argv += ["--bind_source_ip", address]
    return argv + (["--ipv6-addr"] if ip6 else [])


def cm_listens(node, process):
    text = node.sh(["rdma", "-j", "resource", "show", "cm_id"], check=False).stdout
    return any(c.get("pid") == process.pid and c.get("state") == "LISTEN"
               for c in json.loads(text or "[]"))


def run(program, *options, ip6=False, env=None, seconds=150):
    """The client's output."""
    pair = SHARED.get()
    port = str(next(lib.PORTS))
    server = pair.b.popen(argv_of(program, pair.b, port, options, ip6), env)
    client = None

    def ready():
        return server.poll() is not None or (
            cm_listens(pair.b, server) if "-R" in options else lib.listening(pair.b, port))

    try:
        wait_for(ready, 20, f"{program} server listens")
        client = pair.a.popen([*argv_of(program, pair.a, port, options, ip6),
                               pair.b.ip6 if ip6 else pair.b.ip4], env)
        try:
            output = lib.finish(client, f"{program} client", seconds)
        except Failure as failure:
            raise Failure(f"{failure} / server: {lib.complaint(lib.stop(server)[0])}") from failure
        if output is None:
            lost = {k: v for n in pair.nodes for k, v in n.counters().items() if "drop" in k and v}
            raise Failure(f"no end within {seconds} s; dropped, by all runs: {lost}")
        expect(lib.finish(server, f"{program} server", 20) is not None, "the server does not end")
        return output
    finally:
        for process in (client, server):
            if process:
                lib.stop(process)


def figure(program, output):
    """(number, unit)"""
    if program.endswith("_lat"):
        return lib.typical_latency(output), "us"
    return lib.bandwidth(output), "MB/s"


def sizes_of(output, iterations):
    return [line for line in output.splitlines() if line.split()[1:2] == [iterations]]


def one(row, program, *options, ip6=False, env=None):
    """A run that is a row of the table."""
    ROWS.append(row)
    row.update(program=program, options=" ".join(options), status="failed")
    output = run(program, *options, ip6=ip6, env=env)
    if "-a" in options:
        # up to 8 MiB; UD has one packet a message
        lines = sizes_of(output, options[options.index("-n") + 1])
        expect(len(lines) >= (12 if "UD" in options else 22), f"{len(lines)} sizes: {output[-500:]}")
        row["sizes"] = len(lines)
    else:
        row["value"], row["unit"] = figure(program, output)
    row["status"] = "passed"


def matrix_case(program, transport, column):
    row = {"transport": transport, "column": column}
    count = {"all sizes": "5"}.get(column, "200")
    connection = ("-c", transport) if transport != "RC" else ()
    # UC and UD drop what finds no receive request, and then perftest never ends: all are posted first.
    receives = ("-r", "256") if "send" in program and transport in ("UC", "UD") else ()
    with lib.one_cpu() if transport == "UC" else contextlib.nullcontext():
        one(row, program, *connection, *receives, *COLUMNS[column], "-n", count)


def variant(program, *options, **how):
    row = {"transport": "RC", "column": "variant"}
    one(row, program, *options, **how)


def pingpong(*options):
    """libibverbs' own program; it checks nothing but that everything completes."""
    pair = SHARED.get()
    port = str(next(lib.PORTS))

    def argv(node):
        return ["ibv_rc_pingpong", "-d", node.dev, "-g", GIDS[node.dev, node.ip4], "-p", port, "-n",
                "200", *options]

    server = pair.b.popen(argv(pair.b))
    try:
        wait_for(lambda: lib.listening(pair.b, port), 10, "the server listens")
        done = pair.a.sh([*argv(pair.a), pair.b.ip4], timeout=90)
        expect("usec/iter" in done.stdout, f"no result: {done.stdout[-200:]}")
        output, _ = server.communicate(timeout=10 * lib.PATIENCE)
        expect(server.returncode == 0, f"server: {output[-200:]}")
    finally:
        lib.stop(server)


# ----------------------------------------------------------------------
# The table

def cell(row):
    if row["status"] != "passed":
        return "**failed**"
    if "sizes" in row:
        return f"{row['sizes']} sizes"
    return "passed" if row["value"] is None else f"{row['value']:.4g}"


def table(rows):
    columns = list(COLUMNS)
    yield "| program | | " + " | ".join(columns) + " |"
    yield "|---" * (len(columns) + 2) + "|"
    matrix = {(r["program"], r["transport"], r["column"]): r for r in rows}
    for program, transport in dict.fromkeys((r["program"], r["transport"]) for r in rows
                                            if r["column"] != "variant"):
        cells = [matrix.get((program, transport, c)) for c in columns]
        yield (f"| {program} | {transport} | "
               + " | ".join(cell(r) if r else "" for r in cells) + " |")
    yield ""
    for row in rows:
        if row["column"] == "variant":
            yield f"* `{row['program']} {row['options']}`: {cell(row)} {row.get('unit') or ''}".rstrip()


def write_table():
    file = lib.RESULTS / "perftest.json"
    whole = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    whole[lib.MACHINE] = {"kernel": os.uname().release, "rows": ROWS}
    file.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    lines = ["# perftest over rxe_ooo", "",
             "Between two namespaces, few iterations: MB/s (2^20) for `_bw`, typical us for `_lat`.",
             "Empty: perftest has no such combination. \"passed\": it could not measure the clock."]
    for machine, found in whole.items():
        passed = sum(r["status"] == "passed" for r in found["rows"])
        lines += ["", f"## {machine}, Linux {found['kernel']}: {passed} of {len(found['rows'])} pass", "",
                  *table(found["rows"])]
    (lib.RESULTS / "perftest.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


# ----------------------------------------------------------------------
# Cases

def add_matrix():
    for kind, columns in (("bw", BANDWIDTH), ("lat", LATENCY)):
        for op, transports in TRANSPORTS.items():
            for transport in transports:
                for column in columns[op]:
                    if (transport, column) in REFUSED:
                        continue
                    program = f"ib_{op}_{kind}"
                    name = "-".join((program, transport, re.sub(r"\W+", "-", column)))
                    lib.add_case(name, matrix_case, program, transport, column)


def add_variants():
    for op in ("write", "read", "send"):
        program = f"ib_{op}_bw"
        for size in ("1", "1023", "1025", "1048576"):
            count = "50" if int(size) > 100000 else "200"
            lib.add_case(f"{program}-{size}", variant, program, "-s", size, "-n", count)
        for mtu in ("256", "4096"):
            lib.add_case(f"{program}-mtu-{mtu}", variant, program, "-m", mtu, "-n", "100")
        lib.add_case(f"{program}-depth-1", variant, program, "-t", "1", "-n", "100")
    lib.add_case("ib_send_bw-rx-depth-small", variant, "ib_send_bw", "-r", "16", "-n", "200")
    lib.add_case("ib_read_bw-outstanding-1", variant, "ib_read_bw", "-o", "1", "-n", "100")
    for kind in ("bw", "lat"):
        lib.add_case(f"ib_atomic_{kind}-compare-and-swap", variant, f"ib_atomic_{kind}", "-A",
                     "CMP_AND_SWAP", "-n", "200")
    for op in TRANSPORTS:
        lib.add_case(f"ib_{op}_bw-ipv6",
                     lambda p=f"ib_{op}_bw": variant(p, "-n", "100", ip6=True))
        lib.add_case(f"ib_{op}_bw-placement-on",
                     lambda p=f"ib_{op}_bw": variant(p, "-n", "100", env=lib.placement(True)))


for _options in (("-c",), ("-c", "-e"), ("-s", "1048576", "-m", "4096"), ("-s", "1"), ("-r", "16"),
                 ("-N",)):
    lib.add_case(f"ibv_rc_pingpong{''.join(_options)}", pingpong, *_options)
add_matrix()
add_variants()


def main():
    wanted = [c for c in lib.CASES if not sys.argv[1:] or any(a in c[0] for a in sys.argv[1:])]
    for node in SHARED.get().nodes:
        for address in (node.ip4, node.ip6):
            GIDS[node.dev, address] = node.gid(address)
    # Nor does anything bound what UC has on its way to the other namespace: room for all of it.
    sh("sysctl -qw net.core.netdev_max_backlog=20000")
    # One at a time: the programs poll, and two pairs on two CPUs wait for time slices.
    fine = [lib.run_case(*c) for c in wanted]
    write_table()
    fine.append(lib.run_case("nothing-left-and-unloads", SHARED.nothing_left_and_unloads))
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    try:
        sys.exit(main())
    finally:
        SHARED.close()
