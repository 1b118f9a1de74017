#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 600
"""Windows, re-registration, FLUSH, device memory, dma-buf, on-demand paging: the cases of
tests/tools/verbs_memory.c, with placement off and on, and then while lo delays and reorders."""

import sys

import lib
from one_device import run_program

PROGRAM = "verbs_memory"


def main():
    fine = [run_program(PROGRAM),
            run_program(PROGRAM, "placement-on-", lib.placement(True)),
            run_program(PROGRAM, "reordered-", lib.placement(True),
                        "delay 1ms reorder 75% limit 10000")]
    lib.unload(lib.DRIVER)
    sys.exit(0 if all(fine) else 1)


if __name__ == "__main__":
    main()
