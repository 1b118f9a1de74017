#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 900
# brief: ^mix-everything-placement|^mix-reorder-placement-on|^read-reorder-placement-on
"""Whatever netem does to packets, every byte is right, in order, once.

All operations mixed at random, all lengths, several elements, over every fault.  To see it fail:
a build without the ICRC check fails `corrupt`; SCENARIO_DRIVER=rxe does not finish `reorder` in time.
"""

import lib
from lib import add_case, expect, note

FAULTS = {
    "none": "delay 0ms limit 100000",
    "reorder": "delay 1ms reorder 75% limit 100000",
    "jitter": "delay 2ms 1ms limit 100000",
    "duplicate": "delay 1ms duplicate 10% limit 100000",
    "loss": "delay 100us loss 1% limit 100000",
    "corrupt": "delay 100us corrupt 1% limit 100000",
    "everything": "delay 1ms 500us reorder 50% loss 0.5% duplicate 5% corrupt 0.5% limit 100000",
}
# What the device must have counted: proof that the fault was there.
PROOF = {
    "reorder": ["out_of_sequence"], "jitter": ["out_of_sequence"],
    "duplicate": ["duplicate_request", "duplicate_response"],
    "loss": ["retransmitted_packets"], "corrupt": ["rx_icrc_encapsulated"],
    "everything": ["out_of_sequence", "retransmitted_packets", "rx_icrc_encapsulated"],
}
OPS = ("write", "write_imm", "send", "send_imm", "read", "cmp_swap", "fetch_add")


def transfer(fault, on, *options, ip6=False, proof=True):
    with lib.Pair() as pair:
        pair.netem(FAULTS[fault])
        before = pair.counters()
        result = lib.xfer(pair, *options, env=lib.placement(on), ip6=ip6, timeout=60)
        delta = lib.changed(before, pair.counters())
        note(f"{result['MB_s']:.2f} MB/s, {result['messages']} messages, "
             f"{ {k: v for k, v in delta.items() if 'packets' not in k or 'retr' in k} }")
        lib.verified(result)
        for name in PROOF.get(fault, []) if proof and lib.DRIVER == "rxe_ooo" else []:
            if name.startswith("duplicate"):
                expect(any(delta.get(n) for n in PROOF[fault]), f"netem did not {fault}: {delta}")
            else:
                expect(delta.get(name), f"netem did not {fault}: {name} is 0")


COMMON = ("--vary", "--sges", "3", "-q", "16")
for _on in (True, False):
    _how = "on" if _on else "off"
    for _fault in FAULTS:
        _count = "300" if _fault in ("loss", "corrupt", "everything") else "1000"
        add_case(f"mix-{_fault}-placement-{_how}", transfer, _fault, _on, "--op", "mix",
                 "-n", _count, *COMMON)
    for _op in OPS:
        add_case(f"{_op}-reorder-placement-{_how}", lambda o=_op, on=_on: transfer(
            "reorder", on, "--op", o, "-n", "300", *COMMON,
            proof=o not in ("cmp_swap", "fetch_add")))
    add_case(f"mix-everything-mtu-256-placement-{_how}", transfer, "everything", _on, "--op", "mix",
             "-n", "100", "--mtu", "256", *COMMON)
    add_case(f"mix-everything-ipv6-placement-{_how}", lambda on=_on: transfer(
        "everything", on, "--op", "mix", "-n", "150", *COMMON, ip6=True))
    add_case(f"mix-one-read-at-a-time-reorder-placement-{_how}", transfer, "reorder", _on,
             "--op", "mix", "-n", "300", "--rd-atomic", "1", *COMMON)

if __name__ == "__main__":
    lib.main()
