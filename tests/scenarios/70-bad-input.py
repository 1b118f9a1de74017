#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 600
"""Misuse of verbs: errnos (tests/tools/verbs_errno.c) and completion statuses (verbs_status.c).

Both programs print their own cases; they run with placement off and, where it could matter, on.
"""

import sys

import lib
from one_device import run_program


def main():
    fine = [run_program("verbs_errno"), run_program("verbs_status"),
            run_program("verbs_status", "placement-on-", lib.placement(True))]
    lib.unload(lib.DRIVER)
    sys.exit(0 if all(fine) else 1)


if __name__ == "__main__":
    main()
