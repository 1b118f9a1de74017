#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 300
"""Objects destroyed in the worst order, or by nobody: the cases of tests/tools/verbs_destroy.c.
What `rdma resource` counts afterwards is what it was before, and the module can be unloaded."""

import sys

import lib
from one_device import run_program


def main():
    fine = [run_program("verbs_destroy"),
            run_program("verbs_destroy", "reordered-", lib.placement(True),
                        "delay 1ms reorder 75% limit 10000")]
    lib.unload(lib.DRIVER)
    sys.exit(0 if all(fine) else 1)


if __name__ == "__main__":
    main()
