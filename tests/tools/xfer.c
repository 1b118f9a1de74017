// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Verified RDMA transfer between two RC queue pairs, or from an XRC initiator
 * to a target with an XRC SRQ (--xrc), on any verbs device.
 *
 *   server:  xfer --dev DEV [--gid IDX] [--port TCP]
 *   client:  xfer --dev DEV [--gid IDX] [--port TCP] [options] SERVER
 *
 * The client decides what is done; the server learns it over TCP. Message
 * number k carries bytes that depend on (seed, k, offset) only. Its receiver
 * checks every byte, and that nothing around it has changed, when, and not
 * before, the rules let it look: at the receive completion of a SEND or of a
 * WRITE with immediate, at the sender's completion of a WRITE, at the
 * completion of a READ. Atomics must return the value that in-order,
 * exactly-once execution gives them.
 *
 * Messages go in rounds of --depth, two rounds are under way at a time. The
 * sender starts a round when the other side has verified the last but one.
 *
 * --spoil K sends message K wrong on purpose, --seconds S goes on for a time instead of --count
 * messages (until then, or until SIGUSR1 to the client), --vary takes all lengths from --min (0) to
 * --size, --sges N splits local buffers, --fence fences a quarter of the messages; see set_option().
 *
 * Both sides print one line of JSON. Exit status: 0 all verified, 1 content
 * wrong or a completion with error, 2 could not set up, 3 --limit reached.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define QP_ATTR_OOO	(1 << 26)	/* IBV_QP_OOO_RW_DATA_PLACEMENT */
#define CANARY		0xc5
#define GUARD		64		/* bytes of canary between slots */
#define MAX_SGE		8

enum op {
	OP_WRITE, OP_WRITE_IMM, OP_SEND, OP_SEND_IMM, OP_READ, OP_CMP_SWAP, OP_FETCH_ADD,
	OP_SEND_INV, OP_MAX, OP_MIX = OP_MAX
};

static const char *const op_names[] = {
	"write", "write_imm", "send", "send_imm", "read", "cmp_swap", "fetch_add", "send_inv", "mix"
};

/* What the client tells the server: host byte order, both ends run on one machine type. */
struct config {
	uint32_t op;
	uint32_t size;
	uint32_t depth;
	uint32_t mtu;
	uint32_t psn;
	uint32_t vary, min;
	uint32_t sges, xrc;
	uint32_t rd_atomic;
	uint32_t timeout, retry, rnr_retry, rnr_timer;
	uint64_t count;
	uint64_t seed;
	uint64_t spoil;		/* this message is sent wrong, to see that it is noticed */
};

struct address {
	uint32_t qpn, psn;
	uint32_t rkey;
	uint32_t srq_num;	/* XRC: the server's */
	uint64_t write_va, read_va, atomic_va;
	union ibv_gid gid;
	uint32_t mw_rkey[2];
};

/* TCP messages after the set-up */
enum { MSG_DONE = 1, MSG_END, MSG_ACK };
struct message {
	uint32_t type;
	uint32_t errors;
	uint64_t round;
	uint64_t count;		/* END: messages in all */
	uint64_t verified;
};

static struct options {
	const char *dev, *host;
	int gid, port, ooo;
	int events, inline_max, limit, seconds, settle, fence;
	struct config c;
} o = {
	.gid = -1, .port = 18515, .events = 1, .settle = 50,
	.c = {
		.op = OP_WRITE, .size = 65536, .depth = 16, .mtu = 1024, .psn = 0xfffff0,
		.sges = 1, .rd_atomic = 16, .timeout = 14, .retry = 7, .rnr_retry = 7,
		.rnr_timer = 12, .count = 1000, .seed = 1, .spoil = UINT64_MAX,
	},
};

static int tcp = -1;
static bool server;
static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_comp_channel *channel;
static struct ibv_qp *qp;
static struct ibv_xrcd *xrcd;
static struct ibv_srq *srq;	/* XRC: the server's */
static struct ibv_mr *mr;
static struct ibv_mw *mw;
static struct address self, peer;
static uint32_t slots;
static size_t stride;

/*
 * One memory block: write targets or sources, read targets or sources,
 * receive buffers, atomic results; `slots` slots each, then the atomic word.
 */
enum { AREA_WRITE, AREA_READ, AREA_RECV, AREA_NUM };
static uint8_t *memory;
static size_t memory_size;
static uint64_t *atomic_results, *atomic_word;

static uint64_t verified, errors, atomics_done, recvs_done, sends_done, bytes_done;
static char first_error[256];
static const char *bad_status;
static double start_time;

/* ------------------------------------------------------------------ */
/* Reports                                                             */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static void report(const char *extra)
{
	double seconds = start_time ? now() - start_time : 0;

	printf("{\"role\": \"%s\", \"op\": \"%s\", \"size\": %u, \"messages\": %llu, "
	       "\"bytes\": %llu, \"seconds\": %.3f, \"MB_s\": %.3f, \"verified\": %llu, "
	       "\"errors\": %llu, \"status\": \"%s\", \"first_error\": \"%s\"%s}\n",
	       server ? "server" : "client", op_names[o.c.op], o.c.size,
	       (unsigned long long)(sends_done + recvs_done), (unsigned long long)bytes_done,
	       seconds, seconds > 0 ? bytes_done / seconds / 1e6 : 0,
	       (unsigned long long)verified, (unsigned long long)errors,
	       bad_status ? bad_status : "success", first_error, extra);
	fflush(stdout);
}

__attribute__((format(printf, 1, 2), noreturn))
static void die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "xfer %s: ", server ? "server" : "client");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(2);
}

__attribute__((format(printf, 1, 2)))
static void wrong(const char *fmt, ...)
{
	va_list ap;

	if (!errors++) {
		va_start(ap, fmt);
		vsnprintf(first_error, sizeof(first_error), fmt, ap);
		va_end(ap);
	}
}

/* SIGUSR1: as if --seconds were over. */
static volatile sig_atomic_t enough;

static void on_enough(int sig)
{
	(void)sig;
	enough = 1;
}

static void on_alarm(int sig)
{
	(void)sig;
	report(", \"timeout\": true");
	_exit(3);
}

/* ------------------------------------------------------------------ */
/* What message k is                                                   */

static uint64_t mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static uint64_t hash(uint64_t k, uint32_t what)
{
	return mix64(o.c.seed * 0x9e3779b97f4a7c15ULL + mix64(k + 1) + what * 0x632be59bd9b4e019ULL);
}

static enum op op_of(uint64_t k)
{
	return o.c.op == OP_MIX ? (enum op)(hash(k, 1) % OP_SEND_INV) : (enum op)o.c.op;
}

/* With --vary: all lengths up to --size, the edges of packets more often. */
static uint32_t size_of(uint64_t k)
{
	uint64_t h = hash(k, 2), r = h >> 8;
	uint32_t n;

	if (!o.c.vary)
		return o.c.size;
	switch (h & 7) {
	case 0:
		n = r % 9;
		break;
	case 1:
	case 2:
		n = (1 + r % 4) * o.c.mtu + (r >> 8) % 3 - 1;
		break;
	case 3:
		n = o.c.size;
		break;
	default:
		n = r % (o.c.size + 1);
	}
	if (n < o.c.min)
		n = o.c.min;
	return n > o.c.size ? o.c.size : n;
}

static bool is_atomic(enum op op)
{
	return op == OP_CMP_SWAP || op == OP_FETCH_ADD;
}

static bool takes_recv(enum op op)
{
	return op == OP_SEND || op == OP_SEND_IMM || op == OP_WRITE_IMM || op == OP_SEND_INV;
}

static uint8_t *slot_of(int area, uint64_t k)
{
	return memory + ((size_t)area * slots + k % slots) * stride + GUARD;
}

static inline uint64_t word_of(uint64_t base, uint64_t j)
{
	uint64_t x = (base + j) * 0x9e3779b97f4a7c15ULL;

	return x ^ x >> 29;
}

static void fill(uint8_t *p, uint64_t k)
{
	uint64_t base = hash(k, 3), w;
	uint32_t n = size_of(k), j;

	for (j = 0; j < n / 8; j++) {
		w = word_of(base, j);
		memcpy(p + 8 * j, &w, 8);
	}
	w = word_of(base, j);
	memcpy(p + 8 * j, &w, n % 8);
	if (k == o.c.spoil && n)
		p[hash(k, 4) % n] ^= 1;
}

/* Checks the slot of message k and everything around it, then wipes it. */
static void check(uint8_t *p, uint64_t k, const char *what)
{
	uint64_t base = hash(k, 3), w, got;
	uint32_t n = size_of(k), j, bad = UINT32_MAX;
	int64_t i;

	for (j = 0; j < n / 8; j++) {
		w = word_of(base, j);
		memcpy(&got, p + 8 * j, 8);
		if (w != got) {
			bad = 8 * j;
			break;
		}
	}
	if (bad == UINT32_MAX) {
		w = word_of(base, j);
		if (memcmp(p + 8 * j, &w, n % 8))
			bad = 8 * j;
	}
	if (bad != UINT32_MAX) {
		wrong("%s message %llu of %u bytes differs from offset %u on", what,
		      (unsigned long long)k, n, bad);
		goto wipe;
	}
	for (i = -GUARD; i < (int64_t)(stride - GUARD); i++) {
		if (i == 0)
			i = n;
		if (i < (int64_t)(stride - GUARD) && p[i] != CANARY) {
			wrong("%s message %llu of %u bytes: byte at offset %lld was overwritten",
			      what, (unsigned long long)k, n, (long long)i);
			goto wipe;
		}
	}
	verified++;
wipe:
	memset(p - GUARD, CANARY, stride);
}

/* The slot of a message that is over must keep its content: nothing late lands on it. */
static void check_untouched(int area)
{
	uint8_t *p = memory + (size_t)area * slots * stride;
	size_t i;

	for (i = 0; i < slots * stride; i++)
		if (p[i] != CANARY) {
			wrong("a byte was written after its message was over (area %d offset %zu)",
			      area, i);
			return;
		}
}

/* ------------------------------------------------------------------ */
/* TCP                                                                 */

static void tcp_send(const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(tcp, p, len);

		if (n <= 0)
			die("the TCP connection is gone: %s", strerror(errno));
		p += n;
		len -= n;
	}
}

static bool tcp_recv(void *data, size_t len)
{
	char *p = data;

	while (len) {
		ssize_t n = read(tcp, p, len);

		if (n <= 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

static void tcp_connect(void)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = server ? AI_PASSIVE : 0,
				  .ai_family = server ? AF_INET6 : AF_UNSPEC }, *ai;
	char service[16];
	int one = 1, off = 0, l, tries;

	snprintf(service, sizeof(service), "%d", o.port);
	if (getaddrinfo(o.host, service, &hints, &ai))
		die("cannot resolve %s", o.host ? o.host : "the wildcard address");
	if (server) {
		l = socket(ai->ai_family, SOCK_STREAM, 0);
		setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		setsockopt(l, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		if (l < 0 || bind(l, ai->ai_addr, ai->ai_addrlen) || listen(l, 1))
			die("cannot listen on port %d: %s", o.port, strerror(errno));
		tcp = accept(l, NULL, NULL);
		close(l);
	} else {
		for (tries = 0; tries < 200; tries++) {
			tcp = socket(ai->ai_family, SOCK_STREAM, 0);
			if (!connect(tcp, ai->ai_addr, ai->ai_addrlen))
				break;
			close(tcp);
			tcp = -1;
			usleep(50000);
		}
	}
	if (tcp < 0)
		die("cannot connect to %s port %d: %s", o.host, o.port, strerror(errno));
	setsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	freeaddrinfo(ai);
}

/* ------------------------------------------------------------------ */
/* Verbs                                                               */

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!o.dev || !strcmp(ibv_get_device_name(list[i]), o.dev))
			break;
	if (!list || !list[i])
		die("no device %s", o.dev ? o.dev : "at all");
	ctx = ibv_open_device(list[i]);
	if (!ctx)
		die("cannot open %s: %s", ibv_get_device_name(list[i]), strerror(errno));
	ibv_free_device_list(list);
}

/* Without --gid: the first RoCEv2 GID that is an IPv4 address. */
static void find_gid(void)
{
	struct ibv_gid_entry e;
	uint32_t i;

	for (i = 0; i < 256; i++) {
		if (o.gid >= 0)
			i = o.gid;
		if (!ibv_query_gid_ex(ctx, 1, i, &e, 0) && e.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    (o.gid >= 0 || (!e.gid.global.subnet_prefix &&
				    (e.gid.global.interface_id & 0xffffffffULL) == htobe32(0xffff)))) {
			o.gid = i;
			self.gid = e.gid;
			return;
		}
		if (o.gid >= 0)
			break;
	}
	die("no usable GID");
}

static void setup_memory(void)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;
	size_t area;

	if (o.c.op == OP_SEND_INV)
		access |= IBV_ACCESS_MW_BIND;
	slots = 2 * o.c.depth;
	stride = (o.c.size + 63) / 64 * 64 + 2 * GUARD;
	area = stride * slots;
	memory_size = AREA_NUM * area + (slots + 8) * 8;
	if (posix_memalign((void **)&memory, 4096, memory_size))
		die("no memory");
	memset(memory, CANARY, memory_size);
	atomic_results = (uint64_t *)(memory + AREA_NUM * area);
	atomic_word = atomic_results + slots;
	*atomic_word = 0;
	mr = ibv_reg_mr(pd, memory, memory_size, access);
	if (!mr)
		die("cannot register %zu bytes: %s", memory_size, strerror(errno));
	self.rkey = mr->rkey;
	self.write_va = (uintptr_t)slot_of(AREA_WRITE, 0);
	self.read_va = (uintptr_t)slot_of(AREA_READ, 0);
	self.atomic_va = (uintptr_t)atomic_word;
}

/* The target's receives are those of an SRQ, whose completions have a CQ of its own: ours. */
static void create_xrc_srq(void)
{
	struct ibv_xrcd_init_attr domain = {
		.fd = -1, .oflags = O_CREAT,
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
	};
	struct ibv_srq_init_attr_ex a = {
		.attr = { .max_wr = slots, .max_sge = o.c.sges },
		.srq_type = IBV_SRQT_XRC, .pd = pd, .cq = cq,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
	};

	xrcd = ibv_open_xrcd(ctx, &domain);
	if (!xrcd)
		die("cannot open an XRC domain: %s", strerror(errno));
	a.xrcd = xrcd;
	srq = ibv_create_srq_ex(ctx, &a);
	if (!srq || ibv_get_srq_num(srq, &self.srq_num))
		die("cannot create an XRC SRQ: %s", strerror(errno));
}

static struct ibv_qp *create_xrc_qp(const struct ibv_qp_init_attr *rc)
{
	struct ibv_qp_init_attr_ex a = { .comp_mask = IBV_QP_INIT_ATTR_XRCD };

	if (server) {
		create_xrc_srq();
		a.qp_type = IBV_QPT_XRC_RECV;
		a.xrcd = xrcd;
	} else {
		a.qp_type = IBV_QPT_XRC_SEND;
		a.comp_mask = IBV_QP_INIT_ATTR_PD;
		a.pd = pd;
		a.send_cq = cq;
		a.sq_sig_all = 1;
		a.cap = rc->cap;
		a.cap.max_recv_wr = a.cap.max_recv_sge = 0;
	}
	return ibv_create_qp_ex(ctx, &a);
}

static void create_qp(void)
{
	struct ibv_qp_init_attr a = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = slots + 2, .max_recv_wr = slots,
			 .max_send_sge = o.c.sges, .max_recv_sge = o.c.sges,
			 .max_inline_data = o.inline_max },
		.sq_sig_all = 1,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	};

	channel = ibv_create_comp_channel(ctx);
	cq = ibv_create_cq(ctx, 2 * slots + 8, NULL, channel, 0);
	if (!channel || !cq)
		die("cannot create a CQ: %s", strerror(errno));
	a.send_cq = cq;
	a.recv_cq = cq;
	qp = o.c.xrc ? create_xrc_qp(&a) : ibv_create_qp(pd, &a);
	if (!qp)
		die("cannot create a QP: %s", strerror(errno));
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS))
		die("RESET->INIT: %s", strerror(errno));
	self.qpn = qp->qp_num;
	self.psn = o.c.psn;
}

static enum ibv_mtu mtu_code(uint32_t bytes)
{
	switch (bytes) {
	case 256: return IBV_MTU_256;
	case 512: return IBV_MTU_512;
	case 1024: return IBV_MTU_1024;
	case 2048: return IBV_MTU_2048;
	case 4096: return IBV_MTU_4096;
	}
	die("MTU %u", bytes);
}

/* An initiator answers nothing, a target asks nothing: they have only part of the attributes. */
#define RESPONDER_ATTRS	(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define REQUESTER_ATTRS	(IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

static void connect_qp(void)
{
	int without = !o.c.xrc ? 0 : server ? REQUESTER_ATTRS : RESPONDER_ATTRS;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = mtu_code(o.c.mtu),
		.dest_qp_num = peer.qpn, .rq_psn = peer.psn,
		.max_dest_rd_atomic = o.c.rd_atomic, .min_rnr_timer = o.c.rnr_timer,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = peer.gid, .sgid_index = o.gid, .hop_limit = 64 } },
	};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	mask &= ~without;
	if (ibv_modify_qp(qp, &attr, mask | (o.ooo ? QP_ATTR_OOO : 0)))
		die("INIT->RTR%s: %s", o.ooo ? " with OOO placement" : "", strerror(errno));
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = o.c.timeout;
	attr.retry_cnt = o.c.retry;
	attr.rnr_retry = o.c.rnr_retry;
	attr.sq_psn = self.psn;
	attr.max_rd_atomic = o.c.rd_atomic;
	if (ibv_modify_qp(qp, &attr, (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN |
				      REQUESTER_ATTRS) & ~without))
		die("RTR->RTS: %s", strerror(errno));
}

/* Splits a buffer into the configured number of pieces, of uneven length. */
static int scatter(struct ibv_sge *sge, void *buf, uint32_t len, uint64_t k)
{
	uint64_t addr = (uintptr_t)buf;
	uint32_t i, n, left = len;

	for (i = 0; i < o.c.sges; i++) {
		n = i + 1 == o.c.sges ? left : hash(k, 16 + i) % (left + 1);
		sge[i] = (struct ibv_sge){ .addr = addr, .length = n, .lkey = mr->lkey };
		addr += n;
		left -= n;
	}
	return i;
}

static void post_recv(uint64_t n)
{
	struct ibv_sge sge[MAX_SGE];
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = sge }, *bad;

	wr.num_sge = scatter(sge, slot_of(AREA_RECV, n), o.c.size, n);
	if (srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad))
		die("post_recv: %s", strerror(errno));
}

/* SEND with invalidate: the server binds its window anew before each message. */
static void bind_window(uint64_t k)
{
	struct ibv_send_wr wr = {
		.wr_id = UINT64_MAX, .opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = mw, .rkey = ibv_inc_rkey(mw->rkey),
			     .bind_info = { .mr = mr, .addr = (uintptr_t)slot_of(AREA_WRITE, k),
					    .length = o.c.size,
					    .mw_access_flags = IBV_ACCESS_REMOTE_WRITE } },
	}, *bad;
	int rc = ibv_post_send(qp, &wr, &bad);

	if (rc)
		die("bind of a memory window: %s", strerror(rc));
	mw->rkey = wr.bind_mw.rkey;
}

static void post_send(uint64_t k)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_SEND_WITH_INV,
	};
	enum op op = op_of(k);
	struct ibv_sge sge[MAX_SGE];
	struct ibv_send_wr wr = { .wr_id = k, .opcode = opcodes[op], .sg_list = sge }, *bad;
	size_t offset = k % slots * stride;
	uint32_t n = size_of(k);
	int rc;

	wr.qp_type.xrc.remote_srqn = peer.srq_num;	/* RC: not looked at */
	if (is_atomic(op)) {
		sge[0] = (struct ibv_sge){ .addr = (uintptr_t)&atomic_results[k % slots],
					   .length = 8, .lkey = mr->lkey };
		wr.num_sge = 1;
		wr.wr.atomic.remote_addr = peer.atomic_va;
		wr.wr.atomic.rkey = peer.rkey;
		/* The word counts the atomics of the run: the n-th must find n. */
		wr.wr.atomic.compare_add = op == OP_CMP_SWAP ? atomics_done : 1;
		if (k == o.c.spoil)
			wr.wr.atomic.compare_add++;
		wr.wr.atomic.swap = atomics_done + 1;
		atomic_results[k % slots] = ~0ULL;
		atomics_done++;
	} else if (op == OP_READ) {
		wr.num_sge = scatter(sge, slot_of(AREA_READ, k), n, k);
		wr.wr.rdma.remote_addr = peer.read_va + offset;
		wr.wr.rdma.rkey = peer.rkey;
	} else {
		uint8_t *src = slot_of(AREA_WRITE, k);

		fill(src, k);
		wr.num_sge = scatter(sge, src, n, k);
		wr.imm_data = htobe32((uint32_t)k);
		if (op == OP_SEND_INV)
			wr.invalidate_rkey = peer.mw_rkey[0];
		wr.wr.rdma.remote_addr = peer.write_va + offset;
		wr.wr.rdma.rkey = peer.rkey;
		if (n <= (uint32_t)o.inline_max)
			wr.send_flags |= IBV_SEND_INLINE;
	}
	if (o.fence && hash(k, 5) % 4 == 0)
		wr.send_flags |= IBV_SEND_FENCE;
	rc = ibv_post_send(qp, &wr, &bad);
	if (rc)
		die("post_send of message %llu: %s", (unsigned long long)k, strerror(rc));
}

/* ------------------------------------------------------------------ */
/* Completions                                                         */

static uint64_t next_recv_msg;		/* the message that the next receive belongs to */
static uint64_t next_write_msg;		/* WRITEs before this message are checked */
static uint64_t expected_atomic;

static void skip_to_recv(uint64_t end)
{
	while (next_recv_msg < end && !takes_recv(op_of(next_recv_msg)))
		next_recv_msg++;
}

/*
 * A receive completion promises that all earlier WRITEs are placed, and so
 * does the sender's word that they are complete.
 */
static void check_writes_before(uint64_t k)
{
	for (; next_write_msg < k; next_write_msg++) {
		if (op_of(next_write_msg) != OP_WRITE)
			continue;
		check(slot_of(AREA_WRITE, next_write_msg), next_write_msg, "WRITE,");
		bytes_done += size_of(next_write_msg);
		sends_done++;
	}
}

static void recv_done(const struct ibv_wc *wc)
{
	uint64_t k;
	enum op op;
	bool imm;

	skip_to_recv(UINT64_MAX);
	k = next_recv_msg++;
	op = op_of(k);
	imm = op == OP_SEND_IMM || op == OP_WRITE_IMM;
	if (wc->wr_id != recvs_done)
		wrong("receive completion of request %llu, not %llu",
		      (unsigned long long)wc->wr_id, (unsigned long long)recvs_done);
	if (wc->opcode != (op == OP_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV))
		wrong("receive completion for message %llu has opcode %d",
		      (unsigned long long)k, wc->opcode);
	if (wc->byte_len != size_of(k))
		wrong("receive completion for message %llu says %u bytes, not %u",
		      (unsigned long long)k, wc->byte_len, size_of(k));
	if (!!(wc->wc_flags & IBV_WC_WITH_IMM) != imm ||
	    (imm && be32toh(wc->imm_data) != (uint32_t)k))
		wrong("receive completion for message %llu has the wrong immediate data",
		      (unsigned long long)k);
	if (op == OP_SEND_INV && (!(wc->wc_flags & IBV_WC_WITH_INV) ||
				  wc->invalidated_rkey != self.mw_rkey[0]))
		wrong("receive completion for message %llu does not name the invalidated key",
		      (unsigned long long)k);
	check_writes_before(k);
	if (op == OP_WRITE_IMM)
		check(slot_of(AREA_WRITE, k), k, "WRITE with immediate,");
	else
		check(slot_of(AREA_RECV, recvs_done), k, "SEND,");
	bytes_done += wc->byte_len;
	recvs_done++;
	post_recv(recvs_done + slots - 1);
}

static void send_done(const struct ibv_wc *wc)
{
	static const enum ibv_wc_opcode opcodes[] = {
		IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE, IBV_WC_SEND, IBV_WC_SEND, IBV_WC_RDMA_READ,
		IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD, IBV_WC_SEND,
	};
	uint64_t k = sends_done++;
	enum op op = op_of(k);

	if (wc->wr_id != k)
		wrong("send completion of message %llu, not %llu",
		      (unsigned long long)wc->wr_id, (unsigned long long)k);
	if (wc->opcode != opcodes[op])
		wrong("send completion of message %llu has opcode %d",
		      (unsigned long long)k, wc->opcode);
	if (is_atomic(op)) {
		if (atomic_results[k % slots] != expected_atomic)
			wrong("atomic message %llu returned %llu, not %llu",
			      (unsigned long long)k,
			      (unsigned long long)atomic_results[k % slots],
			      (unsigned long long)expected_atomic);
		else
			verified++;
		expected_atomic++;
		bytes_done += 8;
	} else {
		if (op == OP_READ) {
			if (wc->byte_len != size_of(k))
				wrong("READ completion says %u bytes, not %u", wc->byte_len,
				      size_of(k));
			check(slot_of(AREA_READ, k), k, "READ,");
		}
		bytes_done += size_of(k);
	}
}

static bool poll_cq(void)
{
	struct ibv_wc wc[32];
	int n, i;

	n = ibv_poll_cq(cq, 32, wc);
	if (n < 0)
		die("poll_cq: %s", strerror(errno));
	for (i = 0; i < n; i++) {
		if (wc[i].status) {
			if (!bad_status) {
				bad_status = ibv_wc_status_str(wc[i].status);
				wrong("work request %llu: %s", (unsigned long long)wc[i].wr_id,
				      bad_status);
			}
			continue;
		}
		if (wc[i].opcode == IBV_WC_BIND_MW)
			continue;
		if (wc[i].opcode & IBV_WC_RECV)
			recv_done(&wc[i]);
		else
			send_done(&wc[i]);
	}
	return n > 0;
}

/* Completions, or a second, or something to read from the peer: true for the last. */
static bool wait_some(void)
{
	struct pollfd fds[] = { { .fd = tcp, .events = POLLIN },
				{ .fd = channel->fd, .events = POLLIN } };
	struct ibv_cq *ev_cq;
	void *ev_ctx;

	if (poll_cq())
		return false;
	if (!o.events) {
		poll(fds, 1, 0);
		return fds[0].revents;
	}
	if (ibv_req_notify_cq(cq, 0))
		die("req_notify_cq: %s", strerror(errno));
	if (poll_cq())
		return false;
	poll(fds, 2, 1000);
	if (fds[1].revents) {
		if (ibv_get_cq_event(channel, &ev_cq, &ev_ctx))
			die("get_cq_event: %s", strerror(errno));
		ibv_ack_cq_events(ev_cq, 1);
	}
	return fds[0].revents;
}

/* ------------------------------------------------------------------ */
/* The two sides                                                       */

static uint64_t in_round(uint64_t round, uint64_t total)
{
	uint64_t first = round * o.c.depth;

	return first >= total ? 0 : total - first < o.c.depth ? total - first : o.c.depth;
}

static uint64_t acked_rounds, peer_errors, peer_verified;

static bool read_ack(void)
{
	struct message m;

	if (!tcp_recv(&m, sizeof(m)) || m.type != MSG_ACK)
		return false;
	acked_rounds = m.round + 1;
	peer_errors += m.errors;
	peer_verified = m.verified;
	return true;
}

static bool run_until_acked(uint64_t rounds)
{
	while (acked_rounds < rounds && !bad_status)
		if (wait_some() && !read_ack())
			return false;
	return !bad_status;
}

static bool client_loop(void)
{
	uint64_t round, k = 0, n, i, total = o.c.count, told = 0;
	struct message m = { .type = MSG_DONE };
	double end = o.seconds ? start_time + o.seconds : 0;

	for (round = 0; ; round++) {
		if (((end && now() > end) || enough) && total > k)
			total = k;
		n = in_round(round, total);
		if (!n)
			break;
		/* the slots of this round are free, sources of its READs are filled in */
		if (round >= 2 && !run_until_acked(round - 1))
			return false;
		for (i = 0; i < n; i++)
			post_send(k++);
		/* let the round before this one finish here, then have it checked there */
		while (round && sends_done < round * o.c.depth && !bad_status)
			if (wait_some() && !read_ack())
				return false;
		if (bad_status)
			return false;
		if (round) {
			m.round = told++;
			tcp_send(&m, sizeof(m));
		}
	}
	while (sends_done < k && !bad_status)
		if (wait_some() && !read_ack())
			return false;
	if (bad_status)
		return false;
	if (told < round) {
		m.round = told++;
		m.type = MSG_END;
		m.count = total;
		tcp_send(&m, sizeof(m));
	}
	return run_until_acked(round);
}

static void client(void)
{
	bool ok = client_loop();
	double seconds = now() - start_time;
	char extra[128];

	if (ok) {
		usleep(o.settle * 1000);
		check_untouched(AREA_READ);
	}
	/* report the time of the transfer, not of the settling */
	start_time = now() - seconds;
	if (!ok && !bad_status)
		wrong("the server went away");
	snprintf(extra, sizeof(extra), ", \"peer_errors\": %llu, \"peer_verified\": %llu",
		 (unsigned long long)peer_errors, (unsigned long long)peer_verified);
	report(extra);
}

static void fill_read_sources(uint64_t round)
{
	uint64_t k = round * o.c.depth, i;

	for (i = 0; i < o.c.depth; i++, k++)
		if (op_of(k) == OP_READ)
			fill(slot_of(AREA_READ, k), k);
}

/* All receives of the round have come and are checked; checks its WRITEs. */
static bool finish_round(uint64_t round, uint64_t messages)
{
	uint64_t k = round * o.c.depth, end = k + messages;

	for (;;) {
		skip_to_recv(end);
		if (next_recv_msg >= end || bad_status)
			break;
		/* whatever the client sends meanwhile stays in the TCP buffer */
		if (!poll_cq())
			usleep(50);
	}
	if (bad_status)
		return false;
	check_writes_before(end);
	for (; k < end; k++)
		if (is_atomic(op_of(k)))
			expected_atomic++;
	return true;
}

static bool server_loop(void)
{
	struct message m, reply = { .type = MSG_ACK };
	uint64_t messages, told = 0;

	for (;;) {
		if (!wait_some()) {
			if (bad_status)
				return false;
			continue;
		}
		if (!tcp_recv(&m, sizeof(m)))
			return false;
		messages = m.type == MSG_END ? m.count - m.round * o.c.depth : o.c.depth;
		if (!finish_round(m.round, messages))
			return false;
		fill_read_sources(m.round + 2);
		if (m.type == MSG_END) {
			usleep(o.settle * 1000);
			check_untouched(AREA_WRITE);
			check_untouched(AREA_RECV);
			if (expected_atomic != *atomic_word)
				wrong("the atomic word is %llu, not %llu",
				      (unsigned long long)*atomic_word,
				      (unsigned long long)expected_atomic);
		}
		reply.round = m.round;
		reply.errors = errors - told;
		reply.verified = verified;
		told = errors;
		tcp_send(&reply, sizeof(reply));
		if (m.type == MSG_END)
			return true;
	}
}

/* One SEND with invalidate at a time: the window is bound, sent to, and must be dead. */
static bool send_inv_loop(void)
{
	uint64_t k;
	uint32_t key = 0;

	for (k = 0; k < o.c.count && !bad_status; k++) {
		if (server) {
			bind_window(k);
			self.mw_rkey[0] = mw->rkey;
			tcp_send(&mw->rkey, 4);
			while (recvs_done <= k && !bad_status)
				wait_some();
			key = 1;
			tcp_send(&key, 4);
		} else {
			if (!tcp_recv(&peer.mw_rkey[0], 4))
				return false;
			post_send(k);
			while (sends_done <= k && !bad_status)
				if (!poll_cq())
					usleep(50);
			if (bad_status || !tcp_recv(&key, 4))
				return false;
		}
	}
	peer_verified = k;
	return !bad_status;
}

/* ------------------------------------------------------------------ */

enum {
	OPT_MTU = 256, OPT_PSN, OPT_OOO, OPT_VARY, OPT_SGES, OPT_INLINE, OPT_TIMEOUT, OPT_RETRY,
	OPT_RNR_RETRY, OPT_RNR_TIMER, OPT_RD_ATOMIC, OPT_SEED, OPT_BUSY, OPT_LIMIT, OPT_SECONDS,
	OPT_SETTLE, OPT_SPOIL, OPT_MIN, OPT_XRC, OPT_FENCE,
};

static const struct option long_options[] = {
	{ "dev", 1, NULL, 'd' }, { "gid", 1, NULL, 'g' }, { "port", 1, NULL, 'p' },
	{ "op", 1, NULL, 'o' }, { "size", 1, NULL, 's' }, { "count", 1, NULL, 'n' },
	{ "depth", 1, NULL, 'q' }, { "mtu", 1, NULL, OPT_MTU }, { "psn", 1, NULL, OPT_PSN },
	{ "ooo", 0, NULL, OPT_OOO }, { "vary", 0, NULL, OPT_VARY }, { "sges", 1, NULL, OPT_SGES },
	{ "inline", 1, NULL, OPT_INLINE }, { "timeout", 1, NULL, OPT_TIMEOUT },
	{ "retry", 1, NULL, OPT_RETRY }, { "rnr-retry", 1, NULL, OPT_RNR_RETRY },
	{ "rnr-timer", 1, NULL, OPT_RNR_TIMER }, { "rd-atomic", 1, NULL, OPT_RD_ATOMIC },
	{ "seed", 1, NULL, OPT_SEED }, { "busy", 0, NULL, OPT_BUSY },
	{ "limit", 1, NULL, OPT_LIMIT }, { "seconds", 1, NULL, OPT_SECONDS },
	{ "settle", 1, NULL, OPT_SETTLE }, { "spoil", 1, NULL, OPT_SPOIL },
	{ "min", 1, NULL, OPT_MIN }, { "xrc", 0, NULL, OPT_XRC },
	{ "fence", 0, NULL, OPT_FENCE }, { NULL, 0, NULL, 0 }
};

static uint32_t op_by_name(const char *name)
{
	uint32_t i;

	for (i = 0; i <= OP_MIX; i++)
		if (!strcmp(name, op_names[i]))
			return i;
	die("no operation %s", name);
}

static void set_option(int opt, const char *arg)
{
	unsigned long long v = arg ? strtoull(arg, NULL, 0) : 0;

	switch (opt) {
	case 'd': o.dev = arg; break;
	case 'g': o.gid = v; break;
	case 'p': o.port = v; break;
	case 'o': o.c.op = op_by_name(arg); break;
	case 's': o.c.size = v; break;
	case 'n': o.c.count = v; break;
	case 'q': o.c.depth = v; break;
	case OPT_MTU: o.c.mtu = v; break;
	case OPT_PSN: o.c.psn = v & 0xffffff; break;
	case OPT_OOO: o.ooo = 1; break;
	case OPT_VARY: o.c.vary = 1; break;
	case OPT_SGES: o.c.sges = v; break;
	case OPT_INLINE: o.inline_max = v; break;
	case OPT_TIMEOUT: o.c.timeout = v; break;
	case OPT_RETRY: o.c.retry = v; break;
	case OPT_RNR_RETRY: o.c.rnr_retry = v; break;
	case OPT_RNR_TIMER: o.c.rnr_timer = v; break;
	case OPT_RD_ATOMIC: o.c.rd_atomic = v; break;
	case OPT_SEED: o.c.seed = v; break;
	case OPT_BUSY: o.events = 0; break;
	case OPT_LIMIT: o.limit = v; break;
	case OPT_SECONDS: o.seconds = v; o.c.count = UINT64_MAX / 2; break;
	case OPT_SETTLE: o.settle = v; break;
	case OPT_MIN: o.c.min = v; break;
	case OPT_XRC: o.c.xrc = 1; break;
	case OPT_FENCE: o.fence = 1; break;
	case OPT_SPOIL: o.c.spoil = v; break;
	default:
		die("see the head of xfer.c for the options");
	}
}

static void parse(int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "d:g:p:o:s:n:q:", long_options, NULL)) != -1)
		set_option(opt, optarg);
	o.host = argv[optind];
	server = !o.host;
	if (!o.c.depth || !o.c.sges || o.c.sges > MAX_SGE || !o.c.count)
		die("--depth, --count and --sges (up to %d) must not be 0", MAX_SGE);
	if (o.c.xrc && o.c.op == OP_SEND_INV)
		die("--xrc: the target has no queue to bind windows with");
}

static void exchange(void *mine, void *theirs, size_t len)
{
	tcp_send(mine, len);
	if (!tcp_recv(theirs, len))
		die("the peer has closed the TCP connection");
}

int main(int argc, char **argv)
{
	uint64_t i;
	char go = 0;
	bool ok;

	parse(argc, argv);
	signal(SIGALRM, on_alarm);
	signal(SIGUSR1, on_enough);
	signal(SIGPIPE, SIG_IGN);
	alarm(o.limit);
	open_device();
	find_gid();
	tcp_connect();
	if (!server)
		tcp_send(&o.c, sizeof(o.c));
	else if (!tcp_recv(&o.c, sizeof(o.c)))
		die("no configuration from the client");
	pd = ibv_alloc_pd(ctx);
	if (!pd)
		die("cannot allocate a PD: %s", strerror(errno));
	setup_memory();
	create_qp();
	if (server && o.c.op == OP_SEND_INV) {
		mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
		if (!mw)
			die("cannot allocate a memory window: %s", strerror(errno));
	}
	exchange(&self, &peer, sizeof(self));
	connect_qp();
	if (server) {
		for (i = 0; i < slots; i++)
			post_recv(i);
		fill_read_sources(0);
		fill_read_sources(1);
	}
	exchange(&go, &go, 1);
	start_time = now();

	if (o.c.op == OP_SEND_INV) {
		ok = send_inv_loop();
		report("");
	} else if (server) {
		ok = server_loop();
		report("");
	} else {
		client();
		ok = !bad_status;
	}

	if (!ok && !bad_status && !errors)
		errors = 1;
	alarm(0);
	ibv_destroy_qp(qp);
	if (srq)
		ibv_destroy_srq(srq);
	if (xrcd)
		ibv_close_xrcd(xrcd);
	if (mw)
		ibv_dealloc_mw(mw);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(cq);
	ibv_destroy_comp_channel(channel);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	return errors || peer_errors ? 1 : 0;
}
