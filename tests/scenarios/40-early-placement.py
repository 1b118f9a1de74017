#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 600
# brief: ^write-middle-held-early|^read-middle-response-held|^two-writes-and-send-early|^atomic-after
"""One packet is held back on the wire, and memory is watched meanwhile.

The two ends are joined by a relay that forwards every packet but those with one chosen PSN, retries
of it included, until it is told to let them go.  With out-of-order placement on, what was sent after
the held packet is in memory before the held packet arrives; with it off it is not; and in both cases
nothing completes before its turn, and everything is right at the end.

SCENARIO_DRIVER=rxe (7.x kernels) shows the stock driver fail the `early` cases.
"""

import time

import lib
import verbs
from lib import add_case, case, expect, note
from relay import HOLD, RelayPair

MTU = 1024
PACKETS = 8
SIZE = PACKETS * MTU
WATCH = 0.4     # seconds without a completion that count as none
# A second for each retry: the held packet is not given up, and goes out again now and then.
OPTIONS = {"timeout": 18, "retry": 7}


def pattern(seed, length=SIZE):
    return bytes((seed + i * 7 + (i >> 8) * 13) & 0xff or 1 for i in range(length))


def hold(relay, psns, direction, kind):
    psns = {p & 0xffffff for p in psns}
    relay.rule = lambda p: HOLD if (p.direction == direction and p.psn in psns
                                    and getattr(p, kind)) else True


def pieces(data):
    return [data[i:i + MTU] for i in range(0, len(data), MTU)]


def present(end, offset, data):
    """Which packets' bytes are there, and that the others are still untouched."""
    got = end.peek(offset, len(data))
    found = set()
    for i, (have, want) in enumerate(zip(pieces(got), pieces(data))):
        if have == want:
            found.add(i)
        else:
            expect(not any(have), f"packet {i}'s place holds something that was never sent")
    return found


def check_early(relay, end, offset, data, held, early):
    """Watch until all but the held packets are there (early), or that nothing beyond is."""
    before = set(range(min(held)))
    wanted = set(range(len(data) // MTU)) - set(held)
    if early:
        lib.wait_for(lambda: present(end, offset, data) == wanted, 2,
                     f"packets {sorted(wanted - before)} in memory before {held}")
    else:
        time.sleep(WATCH)
        there = present(end, offset, data)
        expect(there == before, f"packets {sorted(there - before)} are in memory before {held}, "
               "with placement off")
    expect(relay.held, "no packet was held back")


def silent(*ends):
    """No completion on any end for a while."""
    deadline = time.monotonic() + WATCH
    while time.monotonic() < deadline:
        for end in ends:
            found = end.poll()
            expect(not found, f"completed before its turn: {found}")
        time.sleep(0.01)


def complete(end, wr_ids):
    """These completions, successful and in this order."""
    found = end.wait(len(wr_ids), 15)
    expect([f["wr_id"] for f in found] == list(wr_ids)
           and all(f["status"] == 0 for f in found), f"{wr_ids} expected, not {found}")
    return found


def scene(ooo, ip6=False):
    return RelayPair(mtu=1500), {"ooo": ooo and lib.DRIVER == "rxe_ooo", "mtu": MTU, "ip6": ip6,
                                 **OPTIONS}


def write(ooo, held, ip6=False):
    pair, options = scene(ooo, ip6)
    data = pattern(1)
    with pair, verbs.connected(pair, **options) as (a, b):
        relay = pair.relay
        hold(relay, [verbs.START_PSN + i for i in held], "ab", "is_request")
        a.fill(0, data)
        b.fill(0, bytes(SIZE))
        a.write(0, SIZE, wr_id=1)
        check_early(relay, b, 0, data, held, ooo)
        silent(a, b)
        relay.release()
        complete(a, [1])
        expect(b.peek(0, SIZE) == data, "the content is wrong at the end")


def write_imm(ooo):
    """The middle of a WRITE with immediate: its receive completion waits for all of it."""
    pair, options = scene(ooo)
    data = pattern(2)
    held = [3]
    with pair, verbs.connected(pair, **options) as (a, b):
        relay = pair.relay
        hold(relay, [verbs.START_PSN + i for i in held], "ab", "is_request")
        a.fill(0, data)
        b.fill(0, bytes(SIZE))
        b.recv(SIZE, 64, wr_id=5)
        a.write(0, SIZE, wr_id=1, imm=0x1234)
        check_early(relay, b, 0, data, held, ooo)
        silent(a, b)
        relay.release()
        complete(a, [1])
        found = complete(b, [5])[0]
        expect(found["byte_len"] == SIZE, f"byte_len {found['byte_len']}, not {SIZE}")
        expect(b.peek(0, SIZE) == data, "the content is wrong at the end")


def two_writes_and_send(ooo):
    """A packet of the first WRITE is missing: the second WRITE is placed, the SEND behind both is
    not delivered."""
    pair, options = scene(ooo)
    first, second = pattern(3), pattern(4)
    with pair, verbs.connected(pair, **options) as (a, b):
        relay = pair.relay
        hold(relay, [verbs.START_PSN + 2], "ab", "is_request")
        a.fill(0, first + second + pattern(5, 100))
        b.fill(0, bytes(3 * SIZE))
        b.recv(2 * SIZE, 100, wr_id=9)
        a.write(0, SIZE, wr_id=1)
        a.write(SIZE, SIZE, wr_id=2)
        a.send(2 * SIZE, 100, wr_id=3)
        check_early(relay, b, 0, first, [2], ooo)
        if ooo:
            lib.wait_for(lambda: present(b, SIZE, second) == set(range(PACKETS)), 2,
                         "the second WRITE in memory before the first is whole")
        else:
            expect(not present(b, SIZE, second), "the second WRITE is there too early")
        expect(not any(b.peek(2 * SIZE, 100)), "the SEND was placed before its turn")
        silent(a, b)
        relay.release()
        complete(a, [1, 2, 3])
        complete(b, [9])
        expect(b.peek(0, 2 * SIZE + 100) == first + second + pattern(5, 100),
               "the content is wrong at the end")


def read(ooo, held, ip6=False):
    """Response packets of a READ are held back on their way to the requester."""
    pair, options = scene(ooo, ip6)
    data = pattern(6)
    with pair, verbs.connected(pair, **options) as (a, b):
        relay = pair.relay
        hold(relay, [verbs.START_PSN + i for i in held], "ba", "is_read_response")
        b.fill(0, data)
        a.fill(0, bytes(SIZE))
        a.read(0, SIZE, wr_id=1)
        check_early(relay, a, 0, data, held, ooo)
        silent(a, b)
        relay.release()
        complete(a, [1])
        expect(a.peek(0, SIZE) == data, "the content is wrong at the end")


def two_reads(ooo):
    """The second READ's data come while the first is not whole: placed, but completed after it."""
    pair, options = scene(ooo)
    first, second = pattern(7), pattern(8)
    with pair, verbs.connected(pair, **options) as (a, b):
        relay = pair.relay
        hold(relay, [verbs.START_PSN + 4], "ba", "is_read_response")
        b.fill(0, first + second)
        a.fill(0, bytes(2 * SIZE))
        a.read(0, SIZE, wr_id=1)
        a.read(SIZE, SIZE, wr_id=2)
        check_early(relay, a, 0, first, [4], ooo)
        if ooo:
            lib.wait_for(lambda: present(a, SIZE, second) == set(range(PACKETS)), 2,
                         "the second READ's data in memory before the first is whole")
        else:
            expect(not present(a, SIZE, second), "the second READ's data are there too early")
        silent(a, b)
        relay.release()
        complete(a, [1, 2])
        expect(a.peek(0, 2 * SIZE) == first + second, "the content is wrong at the end")


@case
def atomic_after_held_write_waits():
    """Placement on: an ATOMIC behind an incomplete WRITE is not executed early."""
    pair, options = scene(True)
    data = pattern(9)
    with pair, verbs.connected(pair, **options) as (a, b):
        relay = pair.relay
        hold(relay, [verbs.START_PSN + 1], "ab", "is_request")
        a.fill(0, data)
        b.fill(0, bytes(SIZE + 8))
        a.write(0, SIZE, wr_id=1)
        a.fetch_add(SIZE, SIZE, 5, wr_id=2)
        check_early(relay, b, 0, data, [1], True)
        silent(a, b)
        expect(not any(b.peek(SIZE, 8)), "the ATOMIC was executed before its turn")
        relay.release()
        complete(a, [1, 2])
        expect(b.peek(SIZE, 8) == (5).to_bytes(8, "little"), "the ATOMIC's effect is wrong")


@case
def read_after_held_write_sees_it():
    """Placement on: a READ behind an incomplete WRITE returns the WRITE's data."""
    pair, options = scene(True)
    data = pattern(10)
    with pair, verbs.connected(pair, **options) as (a, b):
        relay = pair.relay
        hold(relay, [verbs.START_PSN + 1], "ab", "is_request")
        a.fill(0, data + bytes(SIZE))
        b.fill(0, bytes(SIZE))
        a.write(0, SIZE, wr_id=1)
        a.read(SIZE, SIZE, wr_id=2, remote=0)
        check_early(relay, b, 0, data, [1], True)
        silent(a, b)
        relay.release()
        complete(a, [1, 2])
        expect(a.peek(SIZE, SIZE) == data, "the READ has overtaken the WRITE")


@case
def reorder_in_time_needs_no_retransmission():
    """A packet that is 2 ms late on a fresh connection is waited for, not asked for again."""
    pair, options = scene(True)
    with pair, verbs.connected(pair, **options) as (a, b):
        relay = pair.relay
        a.fill(0, pattern(11))
        before = pair.counters()
        for number in range(20):
            psn = verbs.START_PSN + number * PACKETS + 3
            hold(relay, [psn], "ab", "is_request")
            a.write(0, SIZE, wr_id=number)
            lib.wait_for(lambda: relay.held, 2, "the packet is held")
            time.sleep(0.002)
            relay.release()
            complete(a, [number])
        counts = lib.summary("rxe_ooo", lib.changed(before, pair.counters()))
        note(f"20 late packets: {counts}")
        # While the reorder window is learned, two NAKs; each has up to 5 packets sent again.
        expect(counts["naks"] <= 2 and counts["retransmitted"] <= 10,
               f"late packets were taken for lost: {counts}")


for _ooo in (True, False):
    _how = "early" if _ooo else "not-early"
    add_case(f"write-first-held-{_how}", write, _ooo, [0])
    add_case(f"write-middle-held-{_how}", write, _ooo, [3])
    add_case(f"write-several-held-{_how}", write, _ooo, [1, 2, 5])
    add_case(f"write-imm-middle-held-{_how}", write_imm, _ooo)
    add_case(f"two-writes-and-send-{_how}", two_writes_and_send, _ooo)
    add_case(f"read-first-response-held-{_how}", read, _ooo, [0])
    add_case(f"read-middle-response-held-{_how}", read, _ooo, [3])
    add_case(f"two-reads-{_how}", two_reads, _ooo)
add_case("write-ipv6-early", write, True, [3], True)
add_case("read-ipv6-early", read, True, [3], True)

if __name__ == "__main__":
    lib.main()
