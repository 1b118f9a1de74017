#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 600
# brief: noticed-(write|read)$|all-lengths-placement-on|mtu-(256|4096)-placement-on|ipv6-placement-on|psn-0xffffff|read-8
"""Verified transfers on a good network: every operation, all lengths, MTUs, elements, PSN wraps.

And the verifier itself: it must notice a single wrong bit of one message of any operation.
"""

import lib
from lib import add_case, expect, note

OPS = ("write", "write_imm", "send", "send_imm", "read", "cmp_swap", "fetch_add")

SHARED = lib.SharedPair(mtu=4200)


def transfer(*options, ip6=False, env=None):
    result = lib.verified(lib.xfer(SHARED.get(), *options, ip6=ip6, env=env))
    note(f"{result['messages']} messages, {result['MB_s']:.1f} MB/s")


def noticed(op):
    """The same run with one message spoiled: exactly one error, on the side that looks."""
    result = lib.xfer(SHARED.get(), "--op", op, "-n", "40", "-s", "3000", "--spoil", "17")
    errors = result["errors"] + result["server"]["errors"]
    # A compare-and-swap that does not match makes all later ones miss as well.
    expect(errors >= 1 if op in ("cmp_swap", "fetch_add") else errors == 1,
           f"{errors} errors: {result}")


for _op in OPS:
    add_case(f"a-wrong-bit-is-noticed-{_op}", noticed, _op)
for _on in (False, True):
    _how = "on" if _on else "off"
    for _op in OPS:
        add_case(f"{_op}-all-lengths-placement-{_how}", lambda o=_op, on=_on: transfer(
            "--op", o, "-n", "400", "--vary", "--sges", "4", env=lib.placement(on)))
    for _mtu in (256, 512, 2048, 4096):
        add_case(f"mix-mtu-{_mtu}-placement-{_how}", lambda m=_mtu, on=_on: transfer(
            "--op", "mix", "-n", "300", "--vary", "--mtu", str(m), env=lib.placement(on)))
    add_case(f"mix-ipv6-placement-{_how}", lambda on=_on: transfer(
        "--op", "mix", "-n", "300", "--vary", ip6=True, env=lib.placement(on)))
    add_case(f"mix-one-resource-placement-{_how}", lambda on=_on: transfer(
        "--op", "mix", "-n", "300", "--vary", "--rd-atomic", "1", env=lib.placement(on)))
add_case("mix-inline", transfer, "--op", "mix", "-n", "500", "-s", "300", "--vary", "--inline", "256")
add_case("mix-depth-1", transfer, "--op", "mix", "-n", "200", "--vary", "-q", "1")
add_case("mix-busy-polling", transfer, "--op", "mix", "-n", "500", "--vary", "--busy")
for _psn in ("0xffffff", "0x7fffff", "0"):
    add_case(f"mix-psn-{_psn}", transfer, "--op", "mix", "-n", "200", "--vary", "--psn", _psn)
add_case("write-8-MiB", transfer, "--op", "write", "-n", "6", "-q", "2", "-s", "8388608")
add_case("read-8-MiB", transfer, "--op", "read", "-n", "6", "-q", "2", "-s", "8388608")
add_case("send-8-MiB", transfer, "--op", "send", "-n", "6", "-q", "2", "-s", "8388608")

if __name__ == "__main__":
    try:
        lib.main()
    finally:
        SHARED.close()
