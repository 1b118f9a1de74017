#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: uml
# timeout: 600
"""The ABI under fire (tests/tools/uverbs_fuzz.c): verbs at random whose ioctls are changed on their way
to the kernel, ioctls and write() commands out of nothing; as root and as nobody. Other programs'
traffic on the same device is verified meanwhile; afterwards nothing is left. RXE_OOO_LONG=1: minutes."""

import json

import lib
import robustness
from lib import add_case, case, expect, note
from robustness import MIXED, figure, traffic

SEED = 77000
SECONDS = 300 if robustness.LONG else 12


def fuzz(who, seed):
    with figure(f"uverbs fuzz, {who}", seed) as row, lib.Pair() as pair:
        base = robustness.resources(pair)
        with traffic(pair, *MIXED) as there:
            node = pair.a
            run = node.popen([*robustness.as_user(who), "uverbs_fuzz", node.dev, node.gid(),
                              str(SECONDS), str(seed)])
            row.update(robustness.result_of(run, SECONDS + 60))
            real = there.stop()
        row["inputs"] = sum(row[k] for k in ("changed", "repeated", "ioctl", "write"))
        row["real_messages"] = real["messages"]
        note(json.dumps(row))
        expect(row["inputs"] > 100, "next to nothing was tried")
        expect(row["verb_accepted"] > 10, "verbs do not work at all")
        robustness.nothing_left(pair, base)


add_case("verbs-changed-on-their-way-by-root", fuzz, "root", SEED)
add_case("verbs-changed-on-their-way-by-nobody", fuzz, "nobody", SEED + 10000)


case(lib.the_module_unloads)


if __name__ == "__main__":
    lib.main()
