# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Two RC queue pairs that a scenario drives step by step, each in a process inside its node's
network namespace; the scenario calls their methods as if they were here.

    with Pair() as pair, connected(pair, ooo=True) as (a, b):
        b.fill(0, bytes(8192))
        a.write(0, 8192, wr_id=7)
        a.wait(1)
"""

import contextlib
import ctypes
import multiprocessing
import os
import select
import time
import traceback

import lib

OOO_BIT = 1 << 26     # IBV_QP_OOO_RW_DATA_PLACEMENT
START_PSN = 0xfffffc  # so that every test passes the wrap
_libc = ctypes.CDLL(None, use_errno=True)


def enter_namespace(name):
    """What `ip netns exec` does: the network namespace, and its /sys."""
    with open(f"/run/netns/{name}", encoding="ascii") as f:
        os.setns(f.fileno(), os.CLONE_NEWNET)
    os.unshare(os.CLONE_NEWNS)
    for args in ((b"none", b"/", None, 1 << 19 | 1 << 14),):  # MS_SLAVE | MS_REC
        if _libc.mount(args[0], args[1], args[2], args[3], None):
            raise OSError(ctypes.get_errno(), "mount --make-rslave /")
    _libc.umount2(b"/sys", 2)
    if _libc.mount(b"sysfs", b"/sys", b"sysfs", 0, None):
        raise OSError(ctypes.get_errno(), "mount /sys")


def event_descriptors():
    """Descriptors of the asynchronous events (the lowest) and of the completion channel (the
    highest), which pyverbs does not show."""
    found = []
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if "infinibandevent" in os.readlink(f"/proc/self/fd/{fd}"):
                found.append(int(fd))
    return found


class Endpoint:
    """A QP with a buffer of its own.  Runs in the child process."""

    def __init__(self, dev, gid_index, size, options):
        # pylint: disable=import-outside-toplevel
        from pyverbs import addr, cq, device, enums, mr, pd, qp, wr
        self.e, self.addr_m, self.wr_m, self.qp_m = enums, addr, wr, qp
        self.gid_index = gid_index
        self.ctx = device.Context(name=dev)
        self.pd = pd.PD(self.ctx)
        access = (enums.IBV_ACCESS_LOCAL_WRITE | enums.IBV_ACCESS_REMOTE_WRITE
                  | enums.IBV_ACCESS_REMOTE_READ | enums.IBV_ACCESS_REMOTE_ATOMIC)
        self.mr = mr.MR(self.pd, size, options.get("access", access))
        self.channel = cq.CompChannel(self.ctx)
        self.scq = cq.CQ(self.ctx, 256, None, self.channel)
        self.rcq = cq.CQ(self.ctx, 256, None, self.channel)
        cap = qp.QPCap(max_send_wr=128, max_recv_wr=128, max_send_sge=4, max_recv_sge=4)
        init = qp.QPInitAttr(qp_type=enums.IBV_QPT_RC, scq=self.scq, rcq=self.rcq, cap=cap,
                             sq_sig_all=1)
        self.qp = qp.QP(self.pd, init)
        attr = qp.QPAttr(qp_state=enums.IBV_QPS_INIT, port_num=1)
        attr.qp_access_flags = options.get("qp_access", access)
        self.qp.modify(attr, enums.IBV_QP_STATE | enums.IBV_QP_PKEY_INDEX | enums.IBV_QP_PORT
                       | enums.IBV_QP_ACCESS_FLAGS)

    def name(self):
        """What the peer must know."""
        gid = str(self.ctx.query_gid(1, self.gid_index))
        return {"qpn": self.qp.qp_num, "gid": gid, "va": self.mr.buf, "rkey": self.mr.rkey}

    def connect(self, peer, options):
        e = self.e
        self.peer = peer
        attr = self.qp_m.QPAttr(qp_state=e.IBV_QPS_RTR,
                                path_mtu=getattr(e, f"IBV_MTU_{options.get('mtu', 1024)}"))
        attr.dest_qp_num = peer["qpn"]
        attr.rq_psn = options.get("psn", START_PSN)
        attr.max_dest_rd_atomic = options.get("rd_atomic", 16)
        attr.min_rnr_timer = options.get("rnr_timer", 12)
        route = self.addr_m.GlobalRoute(self.addr_m.GID(peer["gid"]), 0, self.gid_index, 64, 0)
        attr.ah_attr = self.addr_m.AHAttr(is_global=1, port_num=1, gr=route)
        mask = (e.IBV_QP_STATE | e.IBV_QP_AV | e.IBV_QP_PATH_MTU | e.IBV_QP_DEST_QPN
                | e.IBV_QP_RQ_PSN | e.IBV_QP_MAX_DEST_RD_ATOMIC | e.IBV_QP_MIN_RNR_TIMER)
        self.qp.modify(attr, mask | (OOO_BIT if options.get("ooo") else 0))
        attr.qp_state = e.IBV_QPS_RTS
        attr.sq_psn = options.get("psn", START_PSN)
        attr.timeout = options.get("timeout", 18)      # about a second
        attr.retry_cnt = options.get("retry", 7)
        attr.rnr_retry = options.get("rnr_retry", 7)
        attr.max_rd_atomic = options.get("rd_atomic", 16)
        self.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_TIMEOUT | e.IBV_QP_RETRY_CNT
                       | e.IBV_QP_RNR_RETRY | e.IBV_QP_SQ_PSN | e.IBV_QP_MAX_QP_RD_ATOMIC)

    # -- memory

    def fill(self, offset, data):
        self.mr.write(data, len(data), offset)

    def peek(self, offset, length):
        return bytes(self.mr.read(length, offset))

    # -- work requests

    def _send(self, opcode, offset, length, wr_id, imm=0, flags=0):
        sge = [self.wr_m.SGE(self.mr.buf + offset, length, self.mr.lkey)]
        return self.wr_m.SendWR(wr_id=wr_id, opcode=opcode, num_sge=1, sg=sge, imm_data=imm,
                                send_flags=self.e.IBV_SEND_SIGNALED | flags)

    def write(self, offset, length, wr_id=0, imm=None, remote=None, rkey=None, flags=0):
        opcode = self.e.IBV_WR_RDMA_WRITE if imm is None else self.e.IBV_WR_RDMA_WRITE_WITH_IMM
        wr = self._send(opcode, offset, length, wr_id, imm or 0, flags)
        wr.set_wr_rdma(self.peer["rkey"] if rkey is None else rkey,
                       self.peer["va"] + (offset if remote is None else remote))
        self.qp.post_send(wr)

    def read(self, offset, length, wr_id=0, remote=None, rkey=None, flags=0):
        wr = self._send(self.e.IBV_WR_RDMA_READ, offset, length, wr_id, 0, flags)
        wr.set_wr_rdma(self.peer["rkey"] if rkey is None else rkey,
                       self.peer["va"] + (offset if remote is None else remote))
        self.qp.post_send(wr)

    def send(self, offset, length, wr_id=0, imm=None, flags=0):
        opcode = self.e.IBV_WR_SEND if imm is None else self.e.IBV_WR_SEND_WITH_IMM
        self.qp.post_send(self._send(opcode, offset, length, wr_id, imm or 0, flags))

    def fetch_add(self, offset, remote, add, wr_id=0, rkey=None):
        wr = self._send(self.e.IBV_WR_ATOMIC_FETCH_AND_ADD, offset, 8, wr_id)
        wr.set_wr_atomic(self.peer["rkey"] if rkey is None else rkey, self.peer["va"] + remote,
                         add, 0)
        self.qp.post_send(wr)

    def cmp_swap(self, offset, remote, compare, swap, wr_id=0):
        wr = self._send(self.e.IBV_WR_ATOMIC_CMP_AND_SWP, offset, 8, wr_id)
        wr.set_wr_atomic(self.peer["rkey"], self.peer["va"] + remote, compare, swap)
        self.qp.post_send(wr)

    def recv(self, offset, length, wr_id=0):
        sge = [self.wr_m.SGE(self.mr.buf + offset, length, self.mr.lkey)]
        self.qp.post_recv(self.wr_m.RecvWR(wr_id=wr_id, num_sge=1, sg=sge))

    # -- completions

    def poll(self, count=16):
        """What is there now: send completions, then receive completions, as dictionaries."""
        found = []
        for side, cq in (("send", self.scq), ("recv", self.rcq)):
            _, wcs = cq.poll(count)
            found += [{"side": side, "wr_id": wc.wr_id, "status": wc.status, "opcode": wc.opcode,
                       "byte_len": wc.byte_len, "imm": wc.imm_data, "flags": wc.wc_flags}
                      for wc in wcs]
        return found

    def wait(self, count, seconds=10.0):
        """Exactly `count` completions, or what came within the time."""
        found, end = [], time.monotonic() + seconds * lib.SLOW
        while len(found) < count and time.monotonic() < end:
            got = self.poll(count - len(found))
            found += got
            if not got:
                time.sleep(0.001)
        return found

    def wait_timed(self, count, seconds=10.0):
        begin = time.monotonic()
        return self.wait(count, seconds), time.monotonic() - begin

    def arm(self, which="recv", solicited=False):
        (self.rcq if which == "recv" else self.scq).req_notify(solicited)

    def event(self, seconds):
        """True when the armed CQ raised an event within the time."""
        if not select.select([max(event_descriptors())], [], [], seconds)[0]:
            return False
        self.channel.get_cq_event(self.rcq)
        self.rcq.ack_events(1)
        return True

    # -- states

    def state(self):
        attr, _ = self.qp.query(self.e.IBV_QP_STATE)
        return attr.qp_state

    def to(self, state, mask=0, **values):
        attr = self.qp_m.QPAttr(qp_state=getattr(self.e, f"IBV_QPS_{state}"))
        for name, value in values.items():
            setattr(attr, name, value)
        self.qp.modify(attr, self.e.IBV_QP_STATE | mask)

    def async_event(self, seconds):
        """Type of the next asynchronous event, or None."""
        if not select.select([min(event_descriptors())], [], [], seconds)[0]:
            return None
        event = self.ctx.get_async_event()
        event.ack()
        return event.event_type


class RemoteError(Exception):
    """An Endpoint method raised; .errno is that of the verbs call, if it was one."""

    def __init__(self, text, errno):
        super().__init__(text)
        self.errno = errno


def _serve(pipe, ns, arguments, others):
    for other in others:    # else their far ends would never see the end of the file
        other.close()
    try:
        if ns:
            enter_namespace(ns)
        endpoint = Endpoint(*arguments)
        pipe.send((True, None))
    except Exception as error:  # pylint: disable=broad-except
        pipe.send((False, (traceback.format_exc(), getattr(error, "error_code", None))))
        return
    while True:
        try:
            name, args, kwargs = pipe.recv()
        except EOFError:
            os._exit(0)
        try:
            pipe.send((True, getattr(endpoint, name)(*args, **kwargs)))
        except Exception as error:  # pylint: disable=broad-except
            pipe.send((False, (f"{name}: {error}", getattr(error, "error_code", None))))


class Remote:
    """An Endpoint in a process of its own."""

    _open = []

    def __init__(self, node, size=1 << 20, gid=None, **options):
        context = multiprocessing.get_context("fork")
        self._pipe, far = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(far, node.ns, (node.dev, node.gid(gid), size, options),
                                  [*Remote._open, self._pipe]),
            daemon=True)
        self.process.start()
        far.close()
        Remote._open.append(self._pipe)
        self._answer()

    def _answer(self):
        try:
            fine, value = self._pipe.recv()
        except EOFError as error:
            raise RemoteError("the endpoint's process has died", None) from error
        if not fine:
            raise RemoteError(*value)
        return value

    def __getattr__(self, name):
        def call(*args, **kwargs):
            self._pipe.send((name, args, kwargs))
            return self._answer()
        return call

    def kill(self):
        self.process.kill()
        self.process.join()

    def close(self):
        """Let the process end by itself, as a program does."""
        Remote._open.remove(self._pipe)
        self._pipe.close()
        self.process.join(20)
        if self.process.is_alive():
            self.kill()


@contextlib.contextmanager
def connected(pair, size=1 << 20, ip6=False, **options):
    """Two connected endpoints, on pair.a and pair.b."""
    with contextlib.ExitStack() as stack:
        ends = []
        for node in pair.nodes:
            end = Remote(node, size, node.ip6 if ip6 else node.ip4, **options)
            stack.callback(end.close)
            ends.append(end)
        a, b = ends
        names = [end.name() for end in ends]
        a.connect(names[1], options)
        b.connect(names[0], options)
        yield a, b
