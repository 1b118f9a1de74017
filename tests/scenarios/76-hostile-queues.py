#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: uml
# timeout: 600
"""A hostile local program (tests/tools/hostile_queues.c): it writes rubbish into its queues while the
kernel uses them, and maps what it should not. Other programs' traffic on the same devices is verified
meanwhile; afterwards nothing is left. RXE_OOO_LONG=1: minutes."""

import json

import lib
import robustness
from lib import add_case, case, expect, note
from robustness import MIXED, figure, traffic

SEED = 76000
SECONDS = 60 if robustness.LONG else 8


def keys(node):
    """Of the memory of all programs: guessing is too slow."""
    rows = json.loads(node.sh(["rdma", "-j", "resource", "show", "mr"]).stdout or "[]")
    return [row[k] for row in rows if isinstance(row, dict) for k in ("lkey", "rkey") if k in row]


def hostile(who, seed):
    with figure(f"hostile queues, {who}", seed) as row, lib.Pair() as pair:
        base = robustness.resources(pair)
        with traffic(pair, *MIXED, env=lib.placement(True)) as there, \
             traffic(pair, *MIXED, env=lib.placement(False), reverse=True) as back:
            runs = [node.popen([*robustness.as_user(who), "hostile_queues", node.dev, node.gid(),
                                str(SECONDS), str(seed + i * 1000), *map(str, keys(node))])
                    for i, node in enumerate(pair.nodes)]
            results = [robustness.result_of(run, SECONDS + 60) for run in runs]
            real = [run.stop() for run in (there, back)]
        for result in results:
            for name, value in result.items():
                row[name] = row.get(name, 0) + value
        row["inputs"] = row["words"] + row["entries"]
        row["real_messages"] = sum(r["messages"] for r in real)
        note(json.dumps(row))
        expect(row["inputs"] > 100, "next to nothing was written")
        robustness.nothing_left(pair, base)


@case
def mappings():
    """The program's own cases."""
    with figure("mmap of wrong offsets, sizes and protections") as row, lib.Pair() as pair:
        node = pair.a
        base = robustness.resources(pair)
        done = node.sh(["hostile_queues", node.dev, node.gid(), "mmap"], check=False)
        print(done.stdout.strip(), flush=True)
        expect(done.returncode == 0, f"{done.stderr.strip()} {done.returncode}")
        row["inputs"] = done.stdout.count("ok mmap")
        robustness.nothing_left(pair, base)


add_case("rubbish-in-queues-by-root", hostile, "root", SEED)
add_case("rubbish-in-queues-by-nobody", hostile, "nobody", SEED + 10000)


case(lib.the_module_unloads)


if __name__ == "__main__":
    lib.main()
