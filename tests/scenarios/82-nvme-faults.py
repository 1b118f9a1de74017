#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: uml
# timeout: 600
"""NVMe over RDMA on a network with faults: fio writes at random and verifies what it reads back.

Target and host have a device each, on a veth pair in the initial namespace, where their connection
manager ids live. 4 KiB to 1 MiB, depth 1 to 64: in order, reordered, with loss, and with a link that
goes away in between. Then disconnect and reconnect, NVME_RECONNECTS times (default 5). Figures go to
storage.json, those of reordering against the same delay in order as well; they are recorded here and
not judged, since a busy machine spoils them.
"""

import json
import os
import pathlib
import threading
import time

import lib
import storage
from lib import add_case, case, expect, note

NVMET = pathlib.Path("/sys/kernel/config/nvmet")
DISK = pathlib.Path("/dev/shm/nvme-disk")
UUID = "11111111-1111-1111-1111-111111111112"
QDISCS = {"in-order": None, "delay": "delay 1ms limit 10000",
          "reorder": "delay 1ms reorder 75% limit 10000", "loss": "delay 100us loss 1% limit 10000"}
RECONNECTS = int(os.environ.get("NVME_RECONNECTS", "5"))


class InitialPair(lib.Pair):
    """Both ends in the initial namespace, for either driver."""

    def __init__(self, driver):
        super().__init__(driver, tag="n")
        for node in self.nodes:
            node.ns = None
        self.policy = True


class Storage:
    """A target on b, served from memory, and a host on a."""

    def __init__(self, driver):
        self.pair = InitialPair(driver)
        self.made = False

    def modules(self):
        for name in ("nvmet-rdma", "nvme-rdma"):
            if lib.sh(["modprobe", name], check=False).returncode:
                raise lib.Skip(f"the kernel has no {name}")
        expect(NVMET.is_dir(), "no configfs for nvmet")

    def set_up(self):
        self.modules()
        self.pair.set_up()
        self.made = True
        lib.sh(f"truncate -s 64M {DISK}; cd {NVMET} && mkdir subsystems/f && "
               f"echo 1 > subsystems/f/attr_allow_any_host && mkdir subsystems/f/namespaces/1 && "
               f"echo -n {DISK} > subsystems/f/namespaces/1/device_path && "
               f"echo 1 > subsystems/f/namespaces/1/enable && mkdir ports/7 && cd ports/7 && "
               f"echo rdma > addr_trtype && echo ipv4 > addr_adrfam && "
               f"echo {self.pair.b.ip4} > addr_traddr && echo 4420 > addr_trsvcid && "
               f"ln -s {NVMET}/subsystems/f subsystems/f")

    def connect(self):
        """The block device."""
        pathlib.Path("/dev/nvme-fabrics").write_text(
            f"transport=rdma,traddr={self.pair.b.ip4},host_traddr={self.pair.a.ip4},trsvcid=4420,"
            f"nqn=f,hostnqn=nqn.2014-08.org.nvmexpress:uuid:{UUID},hostid={UUID},nr_io_queues=2,"
            "reconnect_delay=1", encoding="ascii")
        return lib.wait_for(lambda: sorted(pathlib.Path("/dev").glob("nvme*n1")), 20,
                            "the disk appears")[0]

    @staticmethod
    def disconnect():
        for control in pathlib.Path("/sys/class/nvme").glob("nvme*/delete_controller"):
            control.write_text("1", encoding="ascii")
        lib.wait_for(lambda: not list(pathlib.Path("/dev").glob("nvme*n1")), 20, "the disk goes")

    def disk(self):
        return (sorted(pathlib.Path("/dev").glob("nvme*n1")) or [None])[0] or self.connect()

    def tear_down(self):
        if not self.made:
            return
        self.pair.netem(None)
        self.disconnect()
        lib.sh(f"cd {NVMET}; rm ports/7/subsystems/f; rmdir ports/7; "
               "echo 0 > subsystems/f/namespaces/1/enable; "
               "rmdir subsystems/f/namespaces/1 subsystems/f", check=False)
        self.pair.tear_down()
        DISK.unlink(missing_ok=True)
        self.made = False


STORES = {}


def store(driver):
    """One driver at a time: both bind UDP 4791."""
    for name in [n for n in STORES if n != driver]:
        STORES.pop(name).tear_down()
    if driver not in STORES:
        STORES[driver] = Storage(driver)
        STORES[driver].set_up()
    return STORES[driver]


def fio(disk, how, blocks, depth, mib, timeout=90, verify=True):
    """fio's figures of one job: the job's JSON."""
    done = lib.sh(["fio", "--name=f", f"--filename={disk}", "--direct=1", "--ioengine=libaio",
                   f"--rw={how}", f"--bsrange={blocks}", f"--iodepth={depth}", f"--size={mib}m",
                   *(["--verify=crc32c", "--verify_fatal=1", "--do_verify=1"] if verify else []),
                   "--randrepeat=1", "--norandommap=0", "--output-format=json"],
                  timeout=timeout, check=False)
    text = done.stdout[done.stdout.find("{"):]
    expect(done.returncode == 0, f"fio: {done.returncode} {done.stderr[-300:]} {text[-200:]}")
    job = json.loads(text)["jobs"][0]
    expect(job["error"] == 0, f"fio: error {job['error']}")
    return job


def record(name, driver, qdisc, job, direction, verified):
    figures = job[direction]
    mb_s = figures["bw_bytes"] / 2**20
    points = figures["clat_ns"].get("percentile", {})
    note(f"{name} {direction}: {mb_s:.2f} MB/s, {figures['iops']:.0f} IOPS, "
         f"p99 {points.get('99.000000', 0) / 1000:.0f} us")
    storage.record(f"nvme-rdma {name} {direction}", driver, qdisc, verified, MB_s=round(mb_s, 3),
                   IOPS=round(figures["iops"], 1), p50_us=points.get("50.000000", 0) / 1000,
                   p99_us=points.get("99.000000", 0) / 1000)
    return mb_s


def verified(qdisc, name, blocks, depth, mib):
    nvme = store("rxe_ooo")
    nvme.pair.netem(None)
    disk = nvme.disk()
    nvme.pair.netem(QDISCS[qdisc])
    job = fio(disk, "randwrite", blocks, depth, mib)
    for direction in ("write", "read"):
        record(name, "rxe_ooo", QDISCS[qdisc], job, direction, True)


SHAPES = {"4k-depth-1": ("4k-4k", 1, 1), "4k-depth-64": ("4k-4k", 64, 4),
          "4k-1m-depth-16": ("4k-1m", 16, 16), "1m-depth-4": ("1m-1m", 4, 16)}
for _qdisc in QDISCS:
    for _name, _shape in SHAPES.items():
        if _qdisc != "delay":
            add_case(f"fio-{_name}-{_qdisc}", verified, _qdisc, _name, *_shape)


@case
def fio_while_the_link_flaps():
    """Queue pairs may die; the host connects anew and sends again what was not answered."""
    nvme = store("rxe_ooo")
    nvme.pair.netem(None)
    disk, done = nvme.disk(), threading.Event()
    flaps = 0

    def flap():
        nonlocal flaps
        b = nvme.pair.b.netdev
        while not done.wait(1.5) and flaps < 3:
            lib.sh(f"ip link set {b} down && sleep 0.3 && ip link set {b} up")
            nvme.pair.neighbours()
            flaps += 1

    thread = threading.Thread(target=flap)
    thread.start()
    try:
        begin = time.monotonic()
        while flaps < 3 and time.monotonic() < begin + 60:
            job = fio(disk, "randwrite", "4k-256k", 16, 8, timeout=120)
    finally:
        done.set()
        thread.join()
    note(f"{flaps} flaps")
    expect(flaps >= 1, "the link did not flap")
    record("flap", "rxe_ooo", None, job, "write", True)


@case
def reconnects():
    nvme = store("rxe_ooo")
    nvme.pair.netem(None)
    nvme.disk()
    begin = time.monotonic()
    for _ in range(RECONNECTS):
        nvme.disconnect()
        fio(nvme.connect(), "randwrite", "4k-64k", 4, 1)
    note(f"{RECONNECTS} in {time.monotonic() - begin:.1f} s")


def ratio(driver, mib):
    """What reordering costs: 64 KiB, depth 16, in the same delay with and without."""
    if driver == "rxe" and not os.environ.get("NVME_STOCK"):
        raise lib.Skip("stock rxe runs into NVMe's own time-outs under reordering; NVME_STOCK=1")
    nvme = store(driver)
    nvme.pair.netem(None)
    disk, speed = nvme.disk(), {}
    for qdisc in ("delay", "reorder"):
        nvme.pair.netem(QDISCS[qdisc])
        for how, direction in (("randwrite", "write"), ("randread", "read")):
            job = fio(disk, how, "64k-64k", 16, mib, verify=False)
            speed[qdisc, direction] = record("64k-depth-16", driver, QDISCS[qdisc], job, direction,
                                             None)
    for direction in ("write", "read"):
        kept = speed["reorder", direction] / speed["delay", direction]
        note(f"{driver}: {direction} keeps {kept:.2f} under reordering")
        storage.record(f"nvme-rdma kept under reordering, {direction}", driver, QDISCS["reorder"],
                       None, ratio=round(kept, 3))
    return speed


add_case("figures", ratio, "rxe_ooo", 16)


@case
def left_behind():
    STORES.pop("rxe_ooo", Storage("rxe_ooo")).tear_down()
    lib.unload("rxe_ooo")


add_case("figures-of-stock", ratio, "rxe", 2)

if __name__ == "__main__":
    try:
        lib.main()
    finally:
        for _store in STORES.values():
            _store.tear_down()
