# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What the scenarios share: cases and their report, two nodes joined by a veth pair, netem,
counters, perftest and xfer runs.

A scenario is run as root in a guest.  It defines cases:

    @case
    def reads_arrive():
        with Pair() as pair:
            ...

    if __name__ == "__main__":
        main()

and main() prints `ok NAME`, `not ok NAME - reason` or `skip NAME - reason` for each.
"""

import contextlib
import json
import math
import os
import pathlib
import re
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import time
import traceback

MACHINE = os.environ.get("RXE_OOO_MACHINE", "qemu")
# What a topology's devices are when a scenario does not say: "rxe" runs a scenario on the stock
# driver, to see that it can fail.
DRIVER = os.environ.get("SCENARIO_DRIVER", "rxe_ooo")
MODULES = {"rxe_ooo": "rxe_ooo", "rxe": "rdma_rxe"}
REPO = pathlib.Path(__file__).resolve().parents[2]
# Programs of ours: tests/vm/layer builds them there.
os.environ["PATH"] += f":{REPO}/build/tools"
RESULTS = pathlib.Path(os.environ.get("RXE_OOO_RESULTS", REPO / "build/results"))
# uml-kasan and uml-lockdep are machines of the kind uml, with a slower kernel.
KIND = MACHINE.partition("-")[0]
DEBUG_KERNEL = MACHINE != KIND
# There, what lasts a time lasts longer, and bandwidth is not judged.
SLOW = 5 if DEBUG_KERNEL else 1
# Time limits are written for an idle machine; a busy one, which CI may get, is no fault of the
# product's.  What ends, ends as soon as ever.
PATIENCE = max(SLOW, 3)
# What does not depend on the kernel's version the fast machine judges in full; the emulated one, which
# takes ten times as long, shows that it works there, by the cases that match a scenario's header
# `# brief: REGEX`. RXE_OOO_FULL=1: all of it there, too.
BRIEF = MACHINE == "qemu" and not int(os.environ.get("RXE_OOO_FULL", "0"))


# ----------------------------------------------------------------------
# Cases

class Failure(Exception):
    """The product does not do what it should."""


class Skip(Exception):
    """Cannot be tried here."""


CASES = []


def case(function):
    """Register a function as a case, named after it."""
    CASES.append((function.__name__.replace("_", "-"), function))
    return function


def add_case(name, function, *args):
    """Register one of a family of cases."""
    CASES.append((name, lambda: function(*args)))


def expect(condition, reason):
    if not condition:
        raise Failure(reason)


def note(text):
    """A measured figure or progress: shown, not a result."""
    print(f"  # {text}", flush=True)


def run_case(name, function):
    begin = time.monotonic()
    try:
        function()
        print(f"ok {name}", flush=True)
        return True
    except Skip as reason:
        print(f"skip {name} - {reason}", flush=True)
        return True
    except Failure as reason:
        print(f"not ok {name} - {reason}", flush=True)
    except Exception as error:  # pylint: disable=broad-except
        traceback.print_exc()
        text = " ".join(str(error).split())
        print(f"not ok {name} - {type(error).__name__}: {text}", flush=True)
    finally:
        if time.monotonic() - begin > 5:
            note(f"{name} took {time.monotonic() - begin:.1f} s")
    return False


def brief_cases():
    """The cases that an emulated machine runs: those that the scenario's header names, or all."""
    header = pathlib.Path(sys.argv[0]).read_text(encoding="utf-8")
    found = re.search(r"^# brief: (.*)$", header, re.MULTILINE)
    chosen = [c for c in CASES if not found or re.search(found[1], c[0])]
    if len(chosen) < len(CASES):
        note(f"{len(chosen)} of {len(CASES)} cases, the rest on UML (RXE_OOO_FULL=1: all)")
    return chosen


def main():
    """Run all cases, or those whose names contain an argument."""
    wanted = [c for c in CASES if any(a in c[0] for a in sys.argv[1:])]
    if not sys.argv[1:]:
        wanted = brief_cases() if BRIEF else CASES
    fine = [run_case(name, function) for name, function in wanted]
    sys.exit(0 if fine and all(fine) else 1)


# ----------------------------------------------------------------------
# Commands

def sh(command, check=True, timeout=60, env=None):
    """Run a shell command or a list; the completed process, stdout and stderr as text."""
    argv = ["bash", "-c", command] if isinstance(command, str) else [str(c) for c in command]
    try:
        done = subprocess.run(argv, text=True, capture_output=True, timeout=timeout * PATIENCE,
                              stdin=subprocess.DEVNULL, check=False,
                              env=dict(os.environ, **(env or {})))
    except subprocess.TimeoutExpired as error:
        raise Failure(f"no end after {timeout * PATIENCE} s: {shlex.join(argv)}") from error
    if check and done.returncode:
        raise Failure(f"exit status {done.returncode} of {shlex.join(argv)}: "
                      + " ".join((done.stderr or done.stdout).split())[-400:])
    return done


def wait_for(condition, seconds, what):
    """Wait until condition() is true; its value."""
    end = time.monotonic() + seconds * PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {seconds * PATIENCE} s")
        time.sleep(0.02)


def stop(process):
    """Kill a program if it still runs; its output, unless someone has read that."""
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    if process.stdout.closed:
        return "", None
    return process.communicate()


# ----------------------------------------------------------------------
# Nodes

class Node:
    """One end: a netdev with addresses, in a namespace or (ns None) in the initial one."""

    def __init__(self, ns, netdev, number, driver):
        self.ns = ns
        self.netdev = netdev
        self.driver = driver
        self.dev = f"{'ooo' if driver == 'rxe_ooo' else driver}_{netdev}"
        self.ip4 = f"10.9.0.{number}"
        self.ip6 = f"fd09::{number}"

    def argv(self, command):
        inner = ["bash", "-c", command] if isinstance(command, str) else [str(c) for c in command]
        return ["ip", "netns", "exec", self.ns, *inner] if self.ns else inner

    def sh(self, command, **kw):
        return sh(self.argv(command), **kw)

    def popen(self, command, env=None):
        return subprocess.Popen(self.argv(command), text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env=dict(os.environ, **(env or {})))

    def link_add(self):
        sh(["modprobe", MODULES[self.driver]])
        self.sh(["rdma", "link", "add", self.dev, "type", self.driver, "netdev", self.netdev])

    def link_del(self):
        self.sh(["rdma", "link", "del", self.dev], check=False)

    def gid_table(self):
        """{GID as text: index} of the RoCEv2 entries."""
        base = f"/sys/class/infiniband/{self.dev}/ports/1"
        found = {"gids": {}, "types": {}}
        # The table has 1024 entries, two files each, of which a test fills the first few.
        for line in self.sh(f"cd {base} && grep -sH . gid_attrs/types/{{0..31}} gids/{{0..31}}",
                            check=False).stdout.splitlines():
            path, value = line.split(":", 1)
            _, kind, index = f"/{path}".rsplit("/", 2)
            found[kind][int(index)] = value
        return {found["gids"][i]: i for i, kind in found["types"].items() if kind == "RoCE v2"}

    def gid(self, address=None):
        """Index of an address's RoCEv2 GID (default: the IPv4 address)."""
        wanted = gid_of(address or self.ip4)
        return wait_for(lambda: [i for g, i in self.gid_table().items() if g == wanted], 5,
                        f"GID {wanted} of {self.dev}")[0]

    def counters(self):
        """The device's hardware counters, as integers."""
        time.sleep(0.03)  # the core caches them for 10 ms
        text = self.sh(["rdma", "-j", "statistic", "show", "link", f"{self.dev}/1"]).stdout
        return {k: v for k, v in json.loads(text)[0].items()
                if isinstance(v, int) and k not in ("ifindex", "port")}

    def netem(self, spec):
        """Install a netem qdisc; `limit` is always stated, its default drops."""
        if " limit " not in f" {spec} ":
            raise ValueError("state netem's limit")
        self.sh(f"tc qdisc replace dev {self.netdev} root netem {spec}")

    def clear(self):
        self.sh(f"tc qdisc del dev {self.netdev} root", check=False)

    def resources(self):
        """Objects of the device that `rdma resource` counts, without the core's own."""
        text = self.sh(["rdma", "-j", "resource", "show", self.dev]).stdout
        found = json.loads(text)[0]
        return {k: v for k, v in found.items() if isinstance(v, int) and k != "ifindex"}


def gid_of(address):
    if ":" in address:
        packed = socket.inet_pton(socket.AF_INET6, address)
    else:
        packed = bytes(10) + b"\xff\xff" + bytes(int(b) for b in address.split("."))
    return ":".join(packed[i:i + 2].hex() for i in range(0, 16, 2))


def module_loaded(name):
    return pathlib.Path(f"/sys/module/{name}").exists()


def netns_mode(mode):
    """EBUSY as long as a namespace is there; the kernel takes its time to remove one."""
    wait_for(lambda: not sh(["rdma", "system", "set", "netns", mode], check=False).returncode,
             10, f"{mode} mode")


def unload(driver=None):
    for name in [MODULES[driver]] if driver else MODULES.values():
        if module_loaded(name):
            sh(["modprobe", "-r", name], timeout=30)


def the_module_unloads():
    """A scenario's last case: nothing holds the module any more."""
    unload(DRIVER)


class Pair:
    """Two nodes joined by a veth pair; devices on both unless told otherwise.

    `drivers` is one name for both ends or a tuple.  Stock rxe before 7.x works in the initial
    namespace only: two such ends live there, with policy routing, and one such end leaves the
    other in a namespace.
    """

    def __init__(self, drivers=None, mtu=1500, tag="", links=True):
        drivers = drivers or DRIVER
        both = (drivers, drivers) if isinstance(drivers, str) else drivers
        stock_ns = stock_works_in_namespaces()
        names = [f"{tag}{c}" for c in "ab"]
        self.mtu, self.links = mtu, links
        spaces = [None if d == "rxe" and not stock_ns else f"ns{n}" for d, n in zip(both, names)]
        self.policy = spaces == [None, None]
        self.a, self.b = (Node(ns, f"v{n}", i + 1, d)
                          for i, (ns, n, d) in enumerate(zip(spaces, names, both)))
        self.nodes = (self.a, self.b)

    def __enter__(self):
        try:
            self.set_up()
        except BaseException:
            self.tear_down()
            raise
        return self

    def __exit__(self, *_):
        self.tear_down()

    def set_up(self):
        for node in self.nodes:
            if node.ns:
                sh(f"ip netns add {node.ns} && ip -n {node.ns} link set lo up")
        sh(f"ip link add {self.a.netdev} mtu {self.mtu} type veth "
           f"peer name {self.b.netdev} mtu {self.mtu}")
        for node in self.nodes:
            if node.ns:
                sh(f"ip link set {node.netdev} netns {node.ns}")
        for node in self.nodes:
            node.sh(f"sysctl -q -e -w net.ipv6.conf.{node.netdev}.accept_dad=0 "
                    f"net.ipv4.conf.{node.netdev}.rp_filter=0 net.ipv4.conf.all.rp_filter=0 && "
                    f"ip addr add {node.ip4}/24 dev {node.netdev} && "
                    f"ip addr add {node.ip6}/64 dev {node.netdev} nodad && "
                    f"ip link set {node.netdev} up")
        if self.policy:
            self.policy_routing()
        self.neighbours()
        if self.links:
            for node in self.nodes:
                node.link_add()

    def neighbours(self):
        for node, peer in ((self.a, self.b), (self.b, self.a)):
            mac = peer.sh(f"cat /sys/class/net/{peer.netdev}/address").stdout.strip()
            node.sh(f"ip neigh replace {peer.ip4} lladdr {mac} nud permanent dev {node.netdev} && "
                    f"ip neigh replace {peer.ip6} lladdr {mac} nud permanent dev {node.netdev}")

    def policy_routing(self):
        """Two ends in one namespace, and yet the packets leave through one and come in at
        the other."""
        self.ordinary_routing()     # an earlier scenario may have left its rules
        for i, (node, peer) in enumerate(((self.a, self.b), (self.b, self.a))):
            sh(f"sysctl -q -e -w net.ipv4.conf.{node.netdev}.accept_local=1 && "
               f"ip rule add pref 1{i} iif {node.netdev} lookup local && "
               f"ip rule add pref 2{i} from {node.ip4} to {peer.ip4} lookup 10{i} && "
               f"ip route add {peer.ip4}/32 dev {node.netdev} src {node.ip4} table 10{i}")
        sh("ip rule add pref 100 lookup local && ip rule del pref 0")

    @staticmethod
    def ordinary_routing():
        sh("ip rule add pref 0 lookup local; "
           "for p in 10 11 20 21 100; do ip rule del pref $p; done; "
           "ip route flush table 100; ip route flush table 101", check=False)

    def tear_down(self):
        for node in self.nodes:
            node.link_del()
        if self.policy:
            self.ordinary_routing()
        self.a.sh(f"ip link del {self.a.netdev}", check=False)
        for node in self.nodes:
            if node.ns:
                sh(f"ip netns pids {node.ns} | xargs -r kill -9; ip netns del {node.ns}",
                   check=False)

    def netem(self, spec):
        for node in self.nodes:
            node.clear()
            if spec:
                node.netem(spec)

    def counters(self):
        """Sums over both ends."""
        total = {}
        for node in self.nodes:
            for name, value in node.counters().items():
                total[name] = total.get(name, 0) + value
        return total


class SharedPair:
    """One Pair for many cases: what one of them leaves behind is seen by the next."""

    def __init__(self, *args, **how):
        self.how = args, how
        self.pair = None

    def get(self):
        if not self.pair:
            args, how = self.how
            self.pair = Pair(*args, **how).__enter__()
        return self.pair

    def close(self):
        if self.pair:
            self.pair.tear_down()
            self.pair = None

    def nothing_left_and_unloads(self):
        """A case: only the core's own objects (GSI) are left, and the module goes."""
        for node in self.get().nodes:
            found = node.resources()
            left = {k: found.get(k, 0) for k in ("mr", "ctx", "srq")}
            expect(not any(left.values()) and found["qp"] <= 1 and found["pd"] <= 1
                   and found["cq"] <= 1, f"left behind: {found}")
        self.close()
        unload(DRIVER)


def stock_works_in_namespaces():
    return int(os.uname().release.split(".")[0]) >= 7


def changed(before, after):
    """What counters did, zeros left out."""
    return {k: v - before.get(k, 0) for k, v in after.items() if v != before.get(k, 0)}


# What each driver calls the same thing.
COUNTER_NAMES = {
    "rxe_ooo": {"packets": ["tx_packets"], "retransmitted": ["retransmitted_packets"],
                "naks": ["sent_seq_err_naks"]},
    "rxe": {"packets": ["sent_pkts"], "retransmitted": ["duplicate_request", "out_of_seq_request"],
            "naks": ["rcvd_seq_err"]},
}


def summary(driver, delta):
    """packets, retransmitted, naks of a counter difference.

    The stock driver does not count what it resends; packets that its responder had to throw away
    as duplicate or out of sequence are those that were sent in vain."""
    return {name: sum(delta.get(c, 0) for c in counters)
            for name, counters in COUNTER_NAMES[driver].items()}


# ----------------------------------------------------------------------
# Programs

def placement(on):
    """Environment that turns out-of-order placement on or off for an unmodified program."""
    return {"RXE_OOO_DATA_PLACEMENT": "1" if on else "0"}


PORTS = iter(range(20000, 30000))


def run_pair(server, server_argv, client, client_argv, env=None, timeout=60):
    """Run a server and a client; (server status, its output, client status, its output).

    A client that does not end in time is killed: status None."""
    process = server.popen(server_argv, env)
    client_process = client.popen(client_argv, env)
    status = None
    try:
        output, _ = client_process.communicate(timeout=timeout * PATIENCE)
        status = client_process.returncode
    except subprocess.TimeoutExpired:
        output, _ = stop(client_process)
    try:
        server_output, _ = process.communicate(timeout=(5 if status == 0 else 2) * PATIENCE)
    except subprocess.TimeoutExpired:
        server_output, _ = stop(process)
    return process.returncode, server_output, status, output


def listening(node, port):
    text = node.sh(["ss", "-Hltn", f"sport = :{port}"]).stdout
    return bool(text.strip())


@contextlib.contextmanager
def one_cpu():
    """Programs that are started here stay on the first CPU, and what they send stays in order.

    Between two namespaces each CPU has a queue of its own, so packets overtake each other when
    the scheduler moves their sender.  UC drops such a message, as it has to, and perftest waits
    for it for ever."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def perftest(pair, program, *options, env=None, timeout=60, ip6=False, reverse=False):
    """Run a perftest program between the two nodes; the client's output.

    b is the server, or a with reverse=True.  None when it did not end in time."""
    client, server = (pair.b, pair.a) if reverse else (pair.a, pair.b)
    port = str(next(PORTS))

    def argv(node):
        address = node.ip6 if ip6 else node.ip4
        found = [program, "-d", node.dev, "-x", node.gid(address), "-p", port, "-F", *options]
        if pair.policy:
            found += ["--bind_source_ip", address]
        if ip6:
            found += ["--ipv6-addr"]
        return found

    server_process = server.popen(argv(server), env)
    client_process = None
    try:
        wait_for(lambda: listening(server, port) or server_process.poll() is not None, 20,
                 f"{program} server listens")
        client_process = client.popen([*argv(client), server.ip6 if ip6 else server.ip4], env)
        output = finish(client_process, f"{program} client", timeout)
        if output is not None and finish(server_process, f"{program} server", 20) is None:
            raise Failure(f"{program} server does not end")
        return output
    finally:
        for process in (client_process, server_process):
            if process:
                stop(process)


def finish(process, what, timeout):
    """A program's output; None when it does not end in time."""
    try:
        output, _ = process.communicate(timeout=timeout * PATIENCE)
    except subprocess.TimeoutExpired:
        return None
    if process.returncode:
        raise Failure(f"{what}: exit status {process.returncode}: {complaint(output)}")
    return output


def complaint(output):
    """What a perftest program says about a failure, without its tables."""
    lines = [line for line in output.splitlines()
             if re.search(r"error|fail|status|unable|couldn|can't|not ", line, re.I)]
    return " ".join((" / ".join(lines) or output[-200:]).split())[-400:]


# perftest measures the clock rate first; on a busy machine it finds that too noisy, says so, and
# prints 0 for every speed.
NO_CLOCK = "Correlation coefficient"


def bandwidth(output):
    """Average MB/s (2^20 bytes, perftest's unit) that an ib_*_bw client printed; None if it could
    not know."""
    rows = re.findall(r"^\s*(\d+)\s+(\d+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*$", output, re.M)
    if not rows:
        raise Failure("no result line: " + " ".join(output.split())[-300:])
    size, rate = int(rows[-1][0]), float(rows[-1][4])   # bytes, million messages a second
    if not (rate or NO_CLOCK in output):
        raise Failure("no message went through: " + " ".join(output.split())[-300:])
    # The printed average is 0.00 for a few thousand messages of one byte.
    return float(rows[-1][3]) or size * rate * 1e6 / 2**20 or None


def goodput(pair, program, size, seconds, *options, margin=1, timeout=None, **how):
    """Run an ib_*_bw program for so many seconds; (MB/s, messages in the measured part).

    The first and the last second are not measured.  Computed from what was completed in the time,
    and so independent of perftest's idea of the clock rate; 1 MB is 2^20 bytes as perftest's."""
    output = perftest(pair, program, "-s", str(size), "-D", str(seconds), "-f", str(margin),
                      *options, timeout=timeout or seconds + 60, **how)
    if output is None:
        raise Failure(f"{program} -D {seconds} does not end")
    rows = re.findall(rf"^\s*{size}\s+(\d+)\s+[\d.]+\s+[\d.]+\s+[\d.]+\s*$", output, re.M)
    if not rows:
        raise Failure("no result line: " + " ".join(output.split())[-300:])
    messages = int(rows[-1])
    return messages * size / 2**20 / (seconds - 2 * margin), messages


def typical_latency(output):
    """t_typical in microseconds of an ib_*_lat client; None if it could not know."""
    if NO_CLOCK in output:
        return None
    rows = re.findall(r"^\s*(\d+)\s+(\d+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s.*$", output, re.M)
    if not rows:
        raise Failure("no result line: " + " ".join(output.split())[-300:])
    return float(rows[-1][4])


def xfer(pair, *options, env=None, timeout=60, reverse=False, ip6=False):
    """A verified transfer; the client's JSON with the server's under "server".

    Raises Failure only when it could not run; the caller judges the result."""
    client, server = (pair.b, pair.a) if reverse else (pair.a, pair.b)
    port = next(PORTS)
    limit = str(int(timeout * PATIENCE))

    def argv(node):
        address = node.ip6 if ip6 else node.ip4
        return ["xfer", "--dev", node.dev, "--gid", node.gid(address), "--port", port,
                "--limit", limit]

    _, server_output, _, output = run_pair(
        server, argv(server), client,
        [*argv(client), *options, server.ip6 if ip6 else server.ip4], env=env, timeout=timeout + 5)
    result = last_json(output)
    if result is None:
        raise Failure(f"xfer: {' '.join(output.split())[-200:]} / "
                      f"{' '.join(server_output.split())[-200:]}")
    result["server"] = last_json(server_output) or {"errors": -1, "first_error": server_output}
    return result


def last_json(text):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            with contextlib.suppress(json.JSONDecodeError):
                return json.loads(line)
    return None


def verified(result):
    """Raise unless an xfer result says that everything arrived as it was sent."""
    faults = []
    for name, side in (("client", result), ("server", result["server"])):
        if side.get("timeout"):
            faults.append(f"{name}: not done in time, {side['messages']} messages")
        elif side["errors"] or side.get("status") != "success":
            faults.append(f"{name}: {side['first_error']} (message {side.get('messages')}, "
                          f"{side['errors']} errors)")
    expect(not faults, "; ".join(faults))
    expect(result.get("peer_verified", 0) + result["verified"] > 0, "nothing was verified")
    return result


def median(values):
    return statistics.median(values)


def interval(values):
    """{median, low, high, pairs}: the distribution-free 95 % interval of the median."""
    if not values:
        return None
    ordered, n = sorted(values), len(values)
    rank = 0
    # The largest rank k with P(fewer than k of n below the median) <= 2.5 %.
    while sum(math.comb(n, i) for i in range(rank + 1)) / 2**n <= 0.025:
        rank += 1
    low = max(rank - 1, 0)
    return {"median": round(median(values), 3), "low": round(ordered[low], 3),
            "high": round(ordered[n - 1 - low], 3), "pairs": n}
