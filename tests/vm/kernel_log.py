# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Find what must not be in a kernel log.

As a program: kernel_log.py FILE prints the reports and exits with 1 if there are any.
"""

import re
import sys

BAD = re.compile("|".join((
    r"\bBUG:", r"\bBUG at\b", r"kernel BUG", r"\bWARNING:", r"\bOops\b", r"general protection",
    r"Kernel panic", r"Unable to handle kernel", r"possible recursive locking",
    r"possible circular locking", r"inconsistent lock state", r"suspicious RCU usage",
    r"suspicious rcu_dereference", r"sleeping function called", r"scheduling while atomic",
    r"held lock freed", r"lock held when returning", r"\bKASAN\b.*:", r"UBSAN:", r"KCSAN:",
    r"KMSAN:", r"kmemleak: [1-9]\d* new suspected", r"blocked for more than \d+ seconds",
    r"rcu.*(stall|self-detected)", r"soft lockup", r"hard LOCKUP", r"refcount_t:",
    r"list_(add|del) corruption", r"unregister_netdevice: waiting", r"ODEBUG:",
    r"Slab .*corrupt", r"Objects remaining", r"Segfault with no mm",
    r"leaked reference", r"has \d+ hits.*users at", r"workqueue lockup", r"DMA-API:",
    r"reference already released", r"Bad page (state|map)", r"double free",
)))

# Said by a healthy kernel.
GOOD = re.compile("|".join((
    r"KASAN: KernelAddressSanitizer|KernelAddressSanitizer initialized",
    r"Test WARNING",                            # asked for by a test
    r"DMA-API: preallocated|DMA-API: debugging enabled",
    r"kasan: ", r"virtme-ng",
)))

# guest/main writes this when the machine is up: what its kernel says of itself before (UML does) is
# no complaint about us.
START = "guest: the command begins"

# A report ends here at the latest.
LINES = 60


def since_the_start(text):
    """What a log has of the command; all of it when the machine did not get so far."""
    return text.rpartition(START)[2]


def reports(text):
    """The reports in a log: each the offending line and what follows it, at most LINES."""
    lines = text.splitlines()
    found, skip_until = [], -1
    for number, line in enumerate(lines):
        if number < skip_until or not BAD.search(line) or GOOD.search(line):
            continue
        end = number + 1
        while end < len(lines) and end < number + LINES:
            if "end trace" in lines[end]:
                end += 1
                break
            end += 1
        skip_until = end
        found.append("\n".join(lines[number:end]))
    return found


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        found = reports(file.read())
    for report in found:
        print(report)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
