// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An ABI fuzzer over uverbs, seeded. Two threads of a process use one context: they call verbs at
 * random, and what libibverbs passes to the kernel is changed on its way (this program's ioctl() comes
 * before libc's); between that they make ioctls and write() commands out of nothing. Each second it is
 * a new process that dies in the middle of it: what the kernel has left then is the judge.
 *
 *	uverbs_fuzz DEVICE GID_INDEX SECONDS SEED
 *
 * Prints how many calls of each kind were made, and how many of them the kernel has accepted.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/rdma_user_rxe_ooo.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "generation.h"
#include "verbs_test.h"

#define ATTRS_MAX	32
#define SCRATCH		8192
#define POOL		24
#define DRIVER_NS	(1 << 12)

enum kind { CHANGED, REPEATED, IOCTL, WRITE, VERB, KINDS };

static const char *const kind_names[] = { "changed", "repeated", "ioctl", "write", "verb" };

/* In memory that all generations share. */
static struct {
	uint64_t made[KINDS], accepted[KINDS];
} *tally;

static __thread uint64_t state;		/* of this thread's chance; 0: change nothing */
static __thread uint8_t scratch[SCRATCH] __attribute__((aligned(8)));

static uint64_t next(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static uint32_t below(uint32_t n)
{
	return (next() >> 32) * n >> 32;
}

static void count(enum kind kind, bool accepted)
{
	tally->made[kind]++;
	tally->accepted[kind] += accepted;
}

static uint64_t edge(void)
{
	static const uint64_t edges[] = {
		0, 1, 2, 3, 4, 7, 8, 15, 16, 63, 64, 255, 256, 4095, 4096, 0x7fff, 0xffff,
		0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 32, 1ULL << 47, 1ULL << 63, ~0ULL,
	};

	return below(4) ? edges[below(24)] : next();
}

/* What a field may be: a handle, a place in memory, a number. */
static uint64_t value(void)
{
	switch (below(5)) {
	case 0:
	case 1:
		return below(40);
	case 2:
		return (uintptr_t)scratch + below(SCRATCH / 2);
	case 3:
		return edge();
	default:
		return 1ULL << below(64);
	}
}

static void fill_scratch(void)
{
	uint32_t i;

	for (i = 0; i < SCRATCH / 8; i++)
		((uint64_t *)scratch)[i] = below(2) ? value() : value() | value() << 32;
}

/* ------------------------------------------------------------------ */
/* Changes to what libibverbs asks                                     */

struct call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[ATTRS_MAX];
};

static void change_data(struct ib_uverbs_attr *attr)
{
	uint32_t n;

	if (attr->len <= 8 || attr->len > SCRATCH || below(2)) {
		attr->data = below(2) ? value() : attr->data ^ 1ULL << below(64);
		return;
	}
	memcpy(scratch, (void *)(uintptr_t)attr->data, attr->len);
	for (n = 1 + below(3); n; n--)
		scratch[below(attr->len)] = below(2) ? next() : 0xff;
	attr->data = (uintptr_t)scratch;
}

static void change_attr(struct ib_uverbs_attr *attr)
{
	switch (below(8)) {
	case 0:
		attr->attr_id = below(2) ? below(20) : DRIVER_NS + below(4);
		break;
	case 1:
		attr->len = below(2) ? attr->len + below(17) - 8 : edge();
		break;
	case 2:
		attr->flags = next();
		break;
	case 3:
		attr->attr_data.reserved = next();
		break;
	default:
		change_data(attr);
		break;
	}
}

static void change_header(struct call *call)
{
	struct ib_uverbs_ioctl_hdr *hdr = &call->hdr;

	switch (below(6)) {
	case 0:
		hdr->object_id = below(20);
		break;
	case 1:
		hdr->method_id = below(2) ? below(16) : DRIVER_NS + below(3);
		break;
	case 2:
		hdr->length += (int)below(5) * 8 - 16;
		break;
	case 3:
		hdr->driver_id = edge();
		break;
	case 4:
		hdr->reserved1 = below(4) == 0;
		break;
	case 5:		/* one attribute twice, or one less */
		if (hdr->num_attrs && below(2)) {
			hdr->num_attrs--;
			hdr->length -= sizeof(call->attrs[0]);
		} else if (hdr->num_attrs && hdr->num_attrs < ATTRS_MAX) {
			call->attrs[hdr->num_attrs] = call->attrs[below(hdr->num_attrs)];
			hdr->num_attrs++;
			hdr->length += sizeof(call->attrs[0]);
		}
		break;
	}
}

static void change_call(struct call *call, uint32_t times)
{
	while (times--) {
		if (call->hdr.num_attrs && below(5))
			change_attr(&call->attrs[below(call->hdr.num_attrs)]);
		else
			change_header(call);
	}
}

static int changed_ioctl(int fd, const struct ib_uverbs_ioctl_hdr *hdr)
{
	struct call call;
	int ret;

	memcpy(&call, hdr, hdr->length);
	change_call(&call, 1 + below(2));
	ret = syscall(SYS_ioctl, fd, RDMA_VERBS_IOCTL, &call);
	count(CHANGED, !ret);
	return ret;
}

/* What libibverbs has asked lately, to be asked again: handles that are gone, twice the same. */
#define KEPT		24
#define DATA_MAX	256

static __thread struct kept {
	struct call call;
	uint8_t data[ATTRS_MAX][DATA_MAX] __attribute__((aligned(8)));
} kept[KEPT];
static __thread uint32_t num_kept;

static void keep(const struct ib_uverbs_ioctl_hdr *hdr)
{
	struct kept *k = &kept[num_kept++ % KEPT];
	struct ib_uverbs_attr *a = k->call.attrs;
	uint32_t i;

	memcpy(&k->call, hdr, hdr->length);
	for (i = 0; i < k->call.hdr.num_attrs; i++) {
		if (a[i].len <= 8)
			continue;
		if (a[i].len > DATA_MAX)
			a[i].len = DATA_MAX;
		memcpy(k->data[i], (void *)(uintptr_t)a[i].data, a[i].len);
		a[i].data = (uintptr_t)k->data[i];
	}
}

/* Comes before libc's. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (request == RDMA_VERBS_IOCTL && state &&
	    ((struct ib_uverbs_ioctl_hdr *)arg)->length <= sizeof(struct call)) {
		keep(arg);
		if (below(3) == 0)
			return changed_ioctl(fd, arg);
	}
	return syscall(SYS_ioctl, fd, request, arg);
}

/* ------------------------------------------------------------------ */
/* Calls out of nothing                                                */

static void repeat_ioctl(void)
{
	struct call call = kept[below(num_kept < KEPT ? num_kept : KEPT)].call;
	uint32_t i;

	change_call(&call, below(3));
	if (below(2) && call.hdr.num_attrs) {
		i = below(call.hdr.num_attrs);
		if (call.attrs[i].len <= 8)
			call.attrs[i].data = below(64);		/* a handle, or a small number */
	}
	count(REPEATED, !syscall(SYS_ioctl, ctx->cmd_fd, RDMA_VERBS_IOCTL, &call));
}

static void raw_ioctl(void)
{
	struct call call = {
		.hdr = { .object_id = below(8) ? below(20) : edge(),
			 .method_id = below(4) ? below(14) : DRIVER_NS + below(3),
			 .num_attrs = below(10),
			 .driver_id = below(8) ? RXE_OOO_DRIVER_ID : edge() },
	};
	uint32_t i;

	fill_scratch();
	for (i = 0; i < call.hdr.num_attrs; i++) {
		static const uint16_t lens[] = { 0, 4, 8, 8, 8, 16, 24, 40, 64, 144, 4096 };

		call.attrs[i] = (struct ib_uverbs_attr){
			.attr_id = below(6) ? i : below(8) ? below(24) : DRIVER_NS + below(4),
			.len = below(8) ? lens[below(11)] : edge(),
			.flags = below(8) ? UVERBS_ATTR_F_MANDATORY * below(2) : next(),
			.data = value(),
		};
		if (call.attrs[i].len > 8 && below(8))
			call.attrs[i].data = (uintptr_t)scratch + 8 * below(64);
	}
	call.hdr.length = sizeof(call.hdr) + call.hdr.num_attrs * sizeof(call.attrs[0]);
	if (below(16) == 0)
		change_header(&call);
	count(IOCTL, !syscall(SYS_ioctl, ctx->cmd_fd, RDMA_VERBS_IOCTL, &call));
}

#define COMMAND(name, type)	{ IB_USER_VERBS_CMD_##name, sizeof(struct ib_uverbs_##type) }

static const struct {
	uint32_t number, size;		/* of the request */
} commands[] = {
	COMMAND(QUERY_DEVICE, query_device), COMMAND(QUERY_PORT, query_port),
	COMMAND(ALLOC_PD, alloc_pd), COMMAND(DEALLOC_PD, dealloc_pd), COMMAND(REG_MR, reg_mr),
	COMMAND(REREG_MR, rereg_mr), COMMAND(DEREG_MR, dereg_mr), COMMAND(ALLOC_MW, alloc_mw),
	COMMAND(DEALLOC_MW, dealloc_mw), COMMAND(CREATE_COMP_CHANNEL, create_comp_channel),
	COMMAND(CREATE_CQ, create_cq), COMMAND(RESIZE_CQ, resize_cq), COMMAND(POLL_CQ, poll_cq),
	COMMAND(REQ_NOTIFY_CQ, req_notify_cq), COMMAND(DESTROY_CQ, destroy_cq),
	COMMAND(CREATE_QP, create_qp), COMMAND(QUERY_QP, query_qp), COMMAND(MODIFY_QP, modify_qp),
	COMMAND(DESTROY_QP, destroy_qp), COMMAND(POST_SEND, post_send),
	COMMAND(POST_RECV, post_recv), COMMAND(CREATE_AH, create_ah),
	COMMAND(DESTROY_AH, destroy_ah), COMMAND(ATTACH_MCAST, attach_mcast),
	COMMAND(DETACH_MCAST, detach_mcast), COMMAND(CREATE_SRQ, create_srq),
	COMMAND(MODIFY_SRQ, modify_srq), COMMAND(QUERY_SRQ, query_srq),
	COMMAND(DESTROY_SRQ, destroy_srq), COMMAND(POST_SRQ_RECV, post_srq_recv),
	COMMAND(OPEN_XRCD, open_xrcd), COMMAND(CLOSE_XRCD, close_xrcd),
	COMMAND(CREATE_XSRQ, create_xsrq), COMMAND(OPEN_QP, open_qp),
};

#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))

/* Words that are small, mostly: handles, counts, types. */
static void small_words(uint32_t *w, uint32_t n)
{
	while (n--)
		*w++ = below(3) ? below(12) : (uint32_t)value();
}

static void raw_write(void)
{
	struct ib_uverbs_cmd_hdr *hdr = (void *)scratch;
	struct ib_uverbs_ex_cmd_hdr *ex = (void *)(hdr + 1);
	uint32_t which = below(COMMANDS), size = commands[which].size, len;
	uint64_t *body = (void *)(hdr + 1);

	fill_scratch();
	if (below(8) == 0)
		size = 4 * below(80);
	if (below(4) == 0) {
		hdr->command = IB_USER_VERBS_CMD_FLAG_EXTENDED | below(64);
		ex->response = (uintptr_t)scratch + SCRATCH / 2;
		ex->provider_in_words = below(4) ? 0 : below(8);
		ex->provider_out_words = below(4) ? 0 : below(16);
		ex->cmd_hdr_reserved = below(16) == 0;
		size &= ~7u;
		small_words((uint32_t *)(ex + 1), size / 4);
		len = sizeof(*hdr) + sizeof(*ex) + size;
		hdr->in_words = size / 8;
		hdr->out_words = below(40);
	} else {
		hdr->command = commands[which].number;
		small_words((uint32_t *)body, size / 4);
		if (below(8))
			body[0] = (uintptr_t)scratch + SCRATCH / 2;
		len = sizeof(*hdr) + size;
		hdr->in_words = len / 4;
		hdr->out_words = 20 + below(40);
	}
	if (below(16) == 0)
		hdr->in_words = edge();
	if (below(32) == 0)
		hdr->command = edge();
	count(WRITE, write(ctx->cmd_fd, scratch, len) == (ssize_t)len);
}

/* ------------------------------------------------------------------ */
/* Verbs. What is made goes to a pool, what is destroyed leaves it; not */
/* locked: each thread has its own.                                    */

static __thread struct {
	struct ibv_pd *pd[POOL];
	struct ibv_mr *mr[POOL];
	struct ibv_cq *cq[POOL];
	struct ibv_qp *qp[POOL];
	struct ibv_srq *srq[POOL];
	struct ibv_ah *ah[POOL];
	struct ibv_mw *mw[POOL];
	struct ibv_dm *dm[POOL];
	struct ibv_xrcd *xrcd[POOL];
	struct ibv_comp_channel *channel[4];
} pool;

static uint8_t *memory;
#define MEMORY	(1 << 20)

#define PICK(what)	(pool.what[below(sizeof(pool.what) / sizeof(pool.what[0]))])

/* A new object into a slot; what was there is destroyed first. True: it was made. */
#define MAKE(what, destroy, make) ({						\
	__typeof__(&pool.what[0]) __slot = &PICK(what);				\
	if (*__slot)								\
		destroy(*__slot);						\
	*__slot = (make);							\
	*__slot != NULL;							\
})

static struct ibv_pd *any_pd(void)
{
	struct ibv_pd *p = PICK(pd);

	return p ? p : pd;
}

static unsigned int access_flags(void)
{
	return below(4) ? ALL_ACCESS : next() & 0x3ffff;
}

static bool verb_mr(void)
{
	struct ibv_dm *dm = PICK(dm);
	size_t from = below(MEMORY), len = below(8) ? below(MEMORY - from + 1) : edge();

	switch (below(5)) {
	case 0:
		return MAKE(mr, ibv_dereg_mr, ibv_reg_mr(any_pd(), NULL, SIZE_MAX,
							 IBV_ACCESS_ON_DEMAND | access_flags()));
	case 1:
		return dm && MAKE(mr, ibv_dereg_mr,
				  ibv_reg_dm_mr(any_pd(), dm, below(2) ? 0 : edge(),
						below(2) ? 64 : edge(),
						IBV_ACCESS_ZERO_BASED | access_flags()));
	case 2:
		return MAKE(mr, ibv_dereg_mr,
			    ibv_reg_dmabuf_mr(any_pd(), edge(), len, from, below(10) - 1,
					      access_flags()));
	default:
		return MAKE(mr, ibv_dereg_mr, ibv_reg_mr(any_pd(), memory + from, len,
							 access_flags()));
	}
}

static bool verb_change_mr(void)
{
	struct ibv_mr *mr = PICK(mr);
	struct ibv_sge sge;

	if (!mr)
		return false;
	sge = (struct ibv_sge){ (uintptr_t)mr->addr + below(100), below(8192), mr->lkey };
	if (below(2))
		return !ibv_advise_mr(any_pd(), below(4), below(2), &sge, 1);
	return !ibv_rereg_mr(mr, below(8), any_pd(), memory + below(1000), below(MEMORY),
			     access_flags());
}

static bool verb_cq(void)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = below(8) ? 1 + below(300) : edge() & 0xffff, .channel = PICK(channel),
		.comp_vector = below(8) ? 0 : edge(),
		.wc_flags = below(4) ? IBV_CREATE_CQ_SUP_WC_FLAGS : next(),
		.comp_mask = below(4) ? 0 : IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = below(8),
	};

	if (below(2))
		return MAKE(cq, ibv_destroy_cq, ibv_create_cq(ctx, init.cqe, NULL, init.channel, 0));
	return MAKE(cq, ibv_destroy_cq, ibv_cq_ex_to_cq(ibv_create_cq_ex(ctx, &init)));
}

static struct ibv_srq *make_srq(void)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { below(8) ? 1 + below(100) : edge(), below(8) ? below(5) : edge(), below(4) },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC, .pd = any_pd(), .xrcd = PICK(xrcd), .cq = PICK(cq),
	};
	struct ibv_srq_init_attr basic = { .attr = init.attr };

	return init.xrcd && init.cq && below(2) ? ibv_create_srq_ex(ctx, &init) :
						  ibv_create_srq(any_pd(), &basic);
}

static struct ibv_qp *make_qp(void)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV,
		IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER,
	};
	struct ibv_qp_init_attr_ex init = {
		.qp_type = below(4) ? types[below(7)] : IBV_QPT_RC,
		.send_cq = PICK(cq), .recv_cq = PICK(cq), .srq = below(3) ? NULL : PICK(srq),
		.cap = { below(8) ? 1 + below(100) : edge(), below(8) ? 1 + below(100) : edge(),
			 below(8) ? 1 + below(5) : edge(), below(8) ? 1 + below(5) : edge(),
			 below(8) ? below(100) : edge() },
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = any_pd(), .sq_sig_all = below(2),
	};

	if (init.qp_type == IBV_QPT_XRC_RECV) {
		init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		init.xrcd = PICK(xrcd);
		if (!init.xrcd)
			return NULL;
	} else if (!init.send_cq || !init.recv_cq) {
		return NULL;
	}
	return ibv_create_qp_ex(ctx, &init);
}

static struct ibv_ah_attr ah_attr(void)
{
	struct ibv_ah_attr attr = {
		.is_global = below(16) != 0, .port_num = below(16) ? 1 : edge(),
		.grh = { .dgid = gid, .sgid_index = below(8) ? (uint64_t)gid_index : edge(),
			 .hop_limit = 64, .traffic_class = next(), .flow_label = next() },
	};

	if (below(8) == 0)
		attr.grh.dgid.raw[below(16)] = next();
	return attr;
}

/* Towards RTS, mostly: to itself. */
static bool verb_modify_qp(void)
{
	struct ibv_qp *qp = PICK(qp);
	static const int masks[] = { 0, INIT_MASK, RTR_MASK | QP_ATTR_OOO, RTS_MASK };
	struct ibv_qp_attr attr = {
		.port_num = 1, .qp_access_flags = access_flags(), .path_mtu = 1 + below(6),
		.rq_psn = next(), .sq_psn = next(), .max_dest_rd_atomic = below(20),
		.max_rd_atomic = below(20), .min_rnr_timer = next(), .timeout = next(),
		.retry_cnt = next() & 7, .rnr_retry = next() & 7, .qkey = 0x1111,
		.ah_attr = ah_attr(),
	};
	enum ibv_qp_state to;
	int mask;

	if (!qp)
		return false;
	to = below(3) ? (qp->state + 1) & 3 : below(8);
	attr.qp_state = to;
	attr.dest_qp_num = below(4) ? qp->qp_num : below(1 << 24);
	mask = to < 4 ? masks[to] | IBV_QP_STATE : IBV_QP_STATE;
	if (qp->qp_type == IBV_QPT_UD)
		mask = to == IBV_QPS_INIT ? IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY :
		       to == IBV_QPS_RTS ? IBV_QP_STATE | IBV_QP_SQ_PSN : IBV_QP_STATE;
	if (below(4) == 0)
		mask ^= 1 << below(27);
	return !ibv_modify_qp(qp, &attr, mask);
}

static bool verb_ask(void)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct ibv_device_attr_ex dev;
	struct ibv_srq_attr sattr = { 1 + below(200), 0, below(20) };
	struct ibv_qp *qp = PICK(qp);
	struct ibv_srq *srq = PICK(srq);
	struct ibv_cq *cq = PICK(cq);
	struct ibv_gid_entry gids[8];

	switch (below(8)) {
	case 0:
		return qp && !ibv_query_qp(qp, &attr, next() & 0x1ffffff, &init);
	case 1:
		return !ibv_query_device_ex(ctx, NULL, &dev);
	case 2:
		return srq && !ibv_modify_srq(srq, &sattr, below(4));
	case 3:
		return srq && !ibv_query_srq(srq, &sattr);
	case 4:
		return cq && !ibv_resize_cq(cq, below(8) ? 1 + below(500) : (int)(edge() & 0xffff));
	case 5:
		return ibv_query_gid_table(ctx, gids, 8, 0) >= 0;
	case 6:
		return cq && !ibv_req_notify_cq(cq, below(2));
	default:
		return qp && !(below(2) ? ibv_attach_mcast(qp, &gid, 0) :
			       ibv_detach_mcast(qp, &gid, 0));
	}
}

static struct ibv_xrcd *make_xrcd(void)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = below(2) ? -1 : (int)below(10), .oflags = below(4) ? O_CREAT : (int)edge(),
	};

	return ibv_open_xrcd(ctx, &init);
}

static struct ibv_dm *make_dm(void)
{
	struct ibv_alloc_dm_attr init = {
		.length = below(4) ? 1 + below(65536) : edge() & 0xffffff,
		.log_align_req = below(8) ? 0 : edge(), .comp_mask = below(16) == 0,
	};

	return ibv_alloc_dm(ctx, &init);
}

static struct ibv_ah *make_ah(void)
{
	struct ibv_ah_attr attr = ah_attr();

	return ibv_create_ah(any_pd(), &attr);
}

static bool verb_destroy(void)
{
	switch (below(4)) {
	case 0: {
		struct ibv_qp **qp = &PICK(qp);
		bool done = *qp && !ibv_destroy_qp(*qp);

		if (done)
			*qp = NULL;
		return done;
	}
	case 1: {
		struct ibv_mr **mr = &PICK(mr);
		bool done = *mr && !ibv_dereg_mr(*mr);

		if (done)
			*mr = NULL;
		return done;
	}
	case 2: {
		struct ibv_srq **srq = &PICK(srq);
		bool done = *srq && !ibv_destroy_srq(*srq);

		if (done)
			*srq = NULL;
		return done;
	}
	default:
		return MAKE(pd, ibv_dealloc_pd, ibv_alloc_pd(ctx));
	}
}

static bool verb(void)
{
	switch (below(16)) {
	case 0:
	case 1:
		return verb_mr();
	case 2:
		return verb_change_mr();
	case 3:
		return verb_cq();
	case 4:
		return MAKE(srq, ibv_destroy_srq, make_srq());
	case 5:
	case 6:
		return MAKE(qp, ibv_destroy_qp, make_qp());
	case 7:
	case 8:
	case 9:
		return verb_modify_qp();
	case 10:
		return verb_ask();
	case 11:
		return MAKE(xrcd, ibv_close_xrcd, make_xrcd());
	case 12:
		return MAKE(dm, ibv_free_dm, make_dm());
	case 13:
		return MAKE(ah, ibv_destroy_ah, make_ah());
	case 14:
		return MAKE(mw, ibv_dealloc_mw, ibv_alloc_mw(any_pd(), 1 + below(3)));
	default:
		return verb_destroy();
	}
}

/* ------------------------------------------------------------------ */

static void *fuzz(void *arg)
{
	state = (uintptr_t)arg;
	PICK(channel) = ibv_create_comp_channel(ctx);
	for (;;) {
		switch (below(6)) {
		case 0:
			raw_ioctl();
			break;
		case 1:
			raw_write();
			break;
		case 2:
		case 3:
			if (num_kept)
				repeat_ioctl();
			break;
		default:
			count(VERB, verb());
			break;
		}
		if (below(64) == 0)
			drain_async();
	}
	return NULL;
}

static void abuse(const char *device, int index, uint64_t seed)
{
	pthread_t thread;

	memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	open_device(device, index);
	alarm(1);
	if (pthread_create(&thread, NULL, fuzz, (void *)(uintptr_t)(seed * 4 + 1)))
		die("pthread_create");
	fuzz((void *)(uintptr_t)(seed * 4 + 3));
}

int main(int argc, char **argv)
{
	uint64_t seed;
	double end;
	int n, i;

	if (argc != 5) {
		fprintf(stderr, "usage: uverbs_fuzz DEVICE GID_INDEX SECONDS SEED\n");
		return 2;
	}
	seed = strtoull(argv[4], NULL, 0);
	end = now() + atoi(argv[3]);
	tally = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED)
		die("mmap");
	for (n = 0; now() < end; n++)
		if (!generation(abuse, argv[1], atoi(argv[2]), seed + n))
			return 1;
	printf("{\"generations\": %d", n);
	for (i = 0; i < KINDS; i++)
		printf(", \"%s\": %llu, \"%s_accepted\": %llu", kind_names[i],
		       (unsigned long long)tally->made[i], kind_names[i],
		       (unsigned long long)tally->accepted[i]);
	printf("}\n");
	return 0;
}
