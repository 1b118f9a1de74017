// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A hostile local program: queue pairs of every kind, connected to themselves, and while messages flow
 * it writes rubbish into every queue that it shares with the kernel, resets and resizes them, and maps
 * and unmaps what it should not. Nothing must happen but errors on these queue pairs.
 *
 *	hostile_queues DEVICE GID_INDEX mmap			cases of mmap()
 *	hostile_queues DEVICE GID_INDEX SECONDS SEED [KEY...]	KEYs: of other programs' memory
 *
 * Each second it is a new process, with a seed of its own, that dies in the middle of it. Prints how
 * many entries and words it has written.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_rxe_ooo.h>
#include <signal.h>

#include "generation.h"
#include "verbs_test.h"

#define RINGS_MAX	128
#define QPS		10
#define SQ_DEPTH	32
#define RQ_DEPTH	64
#define CQ_DEPTH	256
#define SGES		4
#define SQ_STRIDE	(RXE_OOO_SEND_WQE_HDR_SIZE + SGES * 16)
#define RQ_STRIDE	(RXE_OOO_RECV_WQE_HDR_SIZE + SGES * 16)
#define PAGE		4096UL

struct ring {
	uint8_t *mem;
	size_t size, offset;
};

static struct ring rings[RINGS_MAX];
static int num_rings;
static struct ibv_qp *qps[QPS];
static struct ibv_cq *cq;
static struct ibv_srq *srq, *xsrq;
static struct ibv_xrcd *xrcd;
static struct ibv_ah *ah;
static struct ibv_mr *mr;
static struct ibv_mw *mw;
static uint8_t *buf;
static uint32_t keys[64];
static int num_keys;

/* In memory that all generations share. */
static struct {
	uint64_t words, entries, posts, verbs;
} *tally;

/* ------------------------------------------------------------------ */
/* Chance                                                              */

static uint64_t next(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static uint32_t below(uint64_t *s, uint32_t n)
{
	return (next(s) >> 32) * n >> 32;
}

static uint32_t edge(uint64_t *s)
{
	static const uint32_t edges[] = {
		0, 1, 2, 7, 8, 63, 64, 255, 4096, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe,
		0xffffffff,
	};

	return below(s, 3) ? edges[below(s, 14)] : (uint32_t)next(s);
}

static uint32_t some_key(uint64_t *s)
{
	return below(s, 4) ? keys[below(s, num_keys)] : (uint32_t)next(s);
}

static uint64_t some_address(uint64_t *s)
{
	switch (below(s, 4)) {
	case 0:
		return next(s);
	case 1:
		return below(s, 2) ? 0 : ~0ULL - below(s, 100);
	default:
		return (uintptr_t)buf + below(s, BUF_SIZE);
	}
}

/* ------------------------------------------------------------------ */
/* The rings: what this process has mapped of the uverbs device        */

static void find_rings(void)
{
	unsigned long from, to, offset;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	num_rings = 0;
	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "infiniband/uverbs") || num_rings == RINGS_MAX)
			continue;
		if (sscanf(line, "%lx-%lx rw-s %lx", &from, &to, &offset) != 3)
			continue;
		rings[num_rings++] = (struct ring){ (uint8_t *)from, to - from, offset };
	}
	if (maps)
		fclose(maps);
}

/* By the size of the mapping; 0: not one of these. */
static size_t stride_of(const struct ring *r)
{
	if (r->size == ((256 + SQ_DEPTH * SQ_STRIDE + PAGE - 1) & ~(PAGE - 1)))
		return SQ_STRIDE;
	if (r->size == ((256 + RQ_DEPTH * RQ_STRIDE + PAGE - 1) & ~(PAGE - 1)))
		return RQ_STRIDE;
	return 0;
}

static void some_sges(uint64_t *s, struct rxe_ooo_sge *sge)
{
	int i;

	for (i = 0; i < SGES; i++) {
		sge[i].addr = some_address(s);
		sge[i].length = below(s, 3) ? below(s, 5000) : edge(s);
		sge[i].lkey = some_key(s);
	}
}

static void fake_send(uint64_t *s, void *at)
{
	union {
		struct rxe_ooo_send_wqe w;
		uint8_t bytes[SQ_STRIDE];
	} u = {};

	u.w.wr_id = next(s);
	u.w.opcode = below(s, 4) ? below(s, 16) : next(s);
	u.w.flags = below(s, 4) ? below(s, 16) : next(s);
	u.w.num_sge = below(s, 4) ? below(s, SGES + 2) : edge(s);
	u.w.inline_len = u.w.flags & IBV_SEND_INLINE && below(s, 4) ? below(s, 80) :
			 below(s, 4) ? 0 : edge(s);
	u.w.imm_data = some_key(s);
	u.w.xrc_remote_srqn = below(s, 2) ? 1 : edge(s);
	u.w.remote_addr = some_address(s);
	u.w.rkey = some_key(s);
	u.w.reserved = below(s, 2) ? 0 : next(s);
	switch (below(s, 4)) {
	case 0:
		u.w.ud.remote_qpn = qps[below(s, QPS)] ? qps[below(s, QPS)]->qp_num : edge(s);
		u.w.ud.remote_qkey = below(s, 2) ? 0x11111111 : next(s);
		u.w.ud.ah_num = below(s, 4) ? below(s, 4) : edge(s);
		break;
	case 1:
		u.w.bind_mw.length = below(s, 2) ? below(s, BUF_SIZE) : next(s);
		u.w.bind_mw.mr_lkey = some_key(s);
		u.w.bind_mw.mw_rkey = some_key(s);
		u.w.bind_mw.access = edge(s);
		break;
	case 2:
		u.w.flush.length = edge(s);
		u.w.flush.type = next(s);
		u.w.flush.level = next(s);
		break;
	case 3:
		u.w.atomic.compare_add = next(s);
		break;
	}
	some_sges(s, u.w.sge);
	memcpy(at, &u, sizeof(u));
}

static void fake_recv(uint64_t *s, void *at)
{
	union {
		struct rxe_ooo_recv_wqe w;
		uint8_t bytes[RQ_STRIDE];
	} u = {};

	u.w.wr_id = next(s);
	u.w.num_sge = below(s, 4) ? below(s, SGES + 2) : edge(s);
	some_sges(s, u.w.sge);
	memcpy(at, &u, sizeof(u));
}

static void write_entry(uint64_t *s, struct ring *r, size_t stride)
{
	uint8_t *at = r->mem + RXE_OOO_RING_HDR_SIZE +
		      stride * below(s, stride == SQ_STRIDE ? SQ_DEPTH : RQ_DEPTH);

	if (stride == SQ_STRIDE)
		fake_send(s, at);
	else
		fake_recv(s, at);
	tally->entries++;
}

/* Indices: near each other, a ring's depth apart, far apart; and the doorbell word. */
static void write_header(uint64_t *s, struct ring *r)
{
	static const int32_t steps[] = {
		0, 1, -1, SQ_DEPTH, SQ_DEPTH + 1, RQ_DEPTH, RQ_DEPTH + 1, CQ_DEPTH, -SQ_DEPTH,
		0x7fffffff, -0x7fffffff, 5,
	};
	volatile struct rxe_ooo_ring_hdr *h = (void *)r->mem;

	switch (below(s, 4)) {
	case 0:
		h->producer = h->consumer + steps[below(s, 12)];
		break;
	case 1:
		h->consumer = h->producer + steps[below(s, 12)];
		break;
	case 2:
		h->need_doorbell = below(s, 2);
		break;
	case 3:
		*(volatile uint32_t *)(r->mem + 4 * below(s, RXE_OOO_RING_HDR_SIZE / 4)) = edge(s);
		break;
	}
	tally->words++;
}

static void write_word(uint64_t *s, struct ring *r)
{
	volatile uint32_t *w = (void *)(r->mem + 4 * below(s, r->size / 4));

	switch (below(s, 3)) {
	case 0:
		*w = edge(s);
		break;
	case 1:
		*w += below(s, 7) - 3;
		break;
	case 2:
		*w ^= 1U << below(s, 32);
		break;
	}
	tally->words++;
}

static void scribble(uint64_t *s)
{
	struct ring *r = &rings[below(s, num_rings)];
	size_t stride = stride_of(r);

	switch (below(s, 4)) {
	case 0:
		write_header(s, r);
		break;
	case 1:
		write_word(s, r);
		break;
	default:
		if (stride)
			write_entry(s, r, stride);
		break;
	}
}

static void *scribbler(void *arg)
{
	uint64_t s = (uintptr_t)arg;

	for (;;) {
		scribble(&s);
		if (below(&s, 16) == 0)
			usleep(below(&s, 300));
	}
	return NULL;
}

/* ------------------------------------------------------------------ */
/* Objects                                                             */

static int connect_self(struct ibv_qp *qp, uint32_t dest, bool placement)
{
	bool ud = qp->qp_type == IBV_QPT_UD;
	bool acked = qp->qp_type != IBV_QPT_UC && !ud;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x11111111,
		.qp_access_flags = ALL_ACCESS | IBV_ACCESS_MW_BIND,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (ibv_modify_qp(qp, &attr, mask | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)))
		return -1;
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = dest;
	attr.rq_psn = attr.sq_psn = 0xfffff0;
	attr.max_dest_rd_atomic = attr.max_rd_atomic = 4;
	attr.min_rnr_timer = 1;
	attr.ah_attr = (struct ibv_ah_attr){
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 64 },
	};
	mask = IBV_QP_STATE;
	if (!ud)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (acked)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER |
			(placement ? QP_ATTR_OOO : 0);
	if (ibv_modify_qp(qp, &attr, mask))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 8;
	attr.retry_cnt = attr.rnr_retry = 2;
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (acked)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(qp, &attr, mask);
}

static struct ibv_qp *make_qp(enum ibv_qp_type type, struct ibv_srq *with)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type, .send_cq = cq, .recv_cq = cq, .srq = with, .sq_sig_all = 1,
		.cap = { SQ_DEPTH, RQ_DEPTH, SGES, SGES, 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd,
	};
	struct ibv_qp *qp;

	if (type == IBV_QPT_XRC_RECV) {
		init = (struct ibv_qp_init_attr_ex){
			.qp_type = type, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd,
		};
	}
	qp = ibv_create_qp_ex(ctx, &init);
	if (!qp)
		die("QP");
	return qp;
}

static void make_srqs(void)
{
	struct ibv_srq_init_attr init = { .attr = { RQ_DEPTH, SGES, 0 } };
	struct ibv_xrcd_init_attr xinit = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
					    IBV_XRCD_INIT_ATTR_OFLAGS,
					    .fd = -1, .oflags = O_CREAT };
	struct ibv_srq_init_attr_ex ex = {
		.attr = { RQ_DEPTH, SGES, 0 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC, .pd = pd, .cq = cq,
	};

	srq = ibv_create_srq(pd, &init);
	xrcd = ibv_open_xrcd(ctx, &xinit);
	ex.xrcd = xrcd;
	xsrq = xrcd ? ibv_create_srq_ex(ctx, &ex) : NULL;
	if (!srq || !xsrq)
		die("SRQ");
}

static void make_objects(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 64 },
	};
	int i;

	buf = aligned_alloc(PAGE, BUF_SIZE);
	mr = ibv_reg_mr(pd, buf, BUF_SIZE, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	cq = ibv_create_cq(ctx, CQ_DEPTH, NULL, NULL, 0);
	ah = ibv_create_ah(pd, &attr);
	if (!mr || !mw || !cq || !ah)
		die("objects");
	make_srqs();
	for (i = 0; i < 4; i++)
		qps[i] = make_qp(IBV_QPT_RC, i == 3 ? srq : NULL);
	qps[4] = make_qp(IBV_QPT_UC, NULL);
	qps[5] = make_qp(IBV_QPT_UD, NULL);
	qps[6] = make_qp(IBV_QPT_UD, srq);
	qps[7] = make_qp(IBV_QPT_XRC_SEND, NULL);
	qps[8] = make_qp(IBV_QPT_XRC_RECV, NULL);
	qps[9] = make_qp(IBV_QPT_RC, srq);
	for (i = 0; i < QPS; i++) {
		uint32_t dest = i == 7 || i == 8 ? qps[15 - i]->qp_num : qps[i]->qp_num;

		if (connect_self(qps[i], dest, i & 1))
			die("connect");
	}
	keys[num_keys++] = mr->lkey;
	keys[num_keys++] = mr->rkey;
	keys[num_keys++] = mw->rkey;
}

/* ------------------------------------------------------------------ */
/* What a program does with its objects, at the wrong time             */

static void doorbell(struct ibv_qp *qp)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
	} req = {
		.hdr = { IB_USER_VERBS_CMD_POST_SEND, sizeof(req) / 4, 1 },
		.cmd = { .response = (uintptr_t)buf, .qp_handle = qp->handle,
			 .wqe_size = sizeof(struct ib_uverbs_send_wr) },
	};

	if (write(ctx->cmd_fd, &req, sizeof(req)) < 0)
		return;
}

static void post(uint64_t *s)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct ibv_sge sge = { (uintptr_t)buf, below(s, BUF_SIZE / 2), mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_recv_wr rwr = { .sg_list = &sge, .num_sge = 1 }, *bad_r;
	struct ibv_qp *qp = qps[below(s, QPS)];

	wr.opcode = qp->qp_type == IBV_QPT_UD ? IBV_WR_SEND : ops[below(s, 5)];
	wr.send_flags = below(s, 8);
	wr.wr.rdma.remote_addr = (uintptr_t)buf + BUF_SIZE / 2;
	wr.wr.rdma.rkey = mr->rkey;
	wr.qp_type.xrc.remote_srqn = 1;
	if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sge.length = 8;
		wr.wr.atomic.remote_addr = (uintptr_t)buf + BUF_SIZE / 2;
		wr.wr.atomic.rkey = mr->rkey;
	}
	if (qp->qp_type == IBV_QPT_UD) {
		sge.length %= 1024;
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = qp->qp_num;
		wr.wr.ud.remote_qkey = 0x11111111;
	}
	ibv_post_srq_recv(below(s, 2) ? srq : xsrq, &rwr, &bad_r);
	if (!qp->srq && qp->qp_type <= IBV_QPT_UD)
		ibv_post_recv(qp, &rwr, &bad_r);
	if (qp->qp_type != IBV_QPT_XRC_RECV)
		ibv_post_send(qp, &wr, &bad);
	doorbell(qp);
	tally->posts++;
}

static void use_verbs(uint64_t *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_srq_attr sattr = { .max_wr = 1 + below(s, 200), .srq_limit = below(s, 20) };
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp;
	int i;

	tally->verbs++;
	i = below(s, QPS);
	qp = qps[i];
	switch (below(s, 8)) {
	case 0:
		ibv_modify_qp(qp, &attr, IBV_QP_STATE);
		break;
	case 1:
	case 2:
		attr.qp_state = IBV_QPS_RESET;
		ibv_modify_qp(qp, &attr, IBV_QP_STATE);
		connect_self(qp, i == 7 || i == 8 ? qps[15 - i]->qp_num : qp->qp_num, i & 1);
		break;
	case 3:
		attr.qp_state = IBV_QPS_SQD;
		ibv_modify_qp(qp, &attr, IBV_QP_STATE);
		attr.qp_state = IBV_QPS_RTS;
		ibv_modify_qp(qp, &attr, IBV_QP_STATE);
		break;
	case 4:
		ibv_resize_cq(cq, 1 + below(s, 2 * CQ_DEPTH));
		break;
	case 5:
		ibv_modify_srq(below(s, 2) ? srq : xsrq, &sattr,
			       below(s, 2) ? IBV_SRQ_MAX_WR : IBV_SRQ_LIMIT);
		break;
	case 6:
		ibv_req_notify_cq(cq, below(s, 2));
		ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
		break;
	case 7:
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     below(s, 4) ? ALL_ACCESS | IBV_ACCESS_MW_BIND : 0);
		break;
	}
}

static void *verbs_user(void *arg)
{
	uint64_t s = (uintptr_t)arg;

	for (;;) {
		use_verbs(&s);
		usleep(below(&s, 2000));
	}
	return NULL;
}

/* Mappings at odd places, and holes in those that are there. */
static void odd_mapping(uint64_t *s)
{
	struct ring *r = &rings[below(s, num_rings)];
	size_t offset = below(s, 2) ? r->offset : PAGE * below(s, 300);
	size_t size = below(s, 2) ? r->size : PAGE * (1 + below(s, 8));
	uint8_t *p = mmap(NULL, size, below(s, 8), below(s, 4) ? MAP_SHARED : MAP_PRIVATE,
			  ctx->cmd_fd, below(s, 8) ? offset : next(s) & ~(PAGE - 1));

	if (p == MAP_FAILED)
		return;
	mprotect(p, size, below(s, 8));
	if (below(s, 2))
		munmap(p + PAGE * below(s, size / PAGE), PAGE);
	else
		mremap(p, size, size + PAGE, MREMAP_MAYMOVE);
}

/* ------------------------------------------------------------------ */
/* A generation                                                        */

static void *start(void *(*function)(void *), uint64_t *s)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, (void *)(uintptr_t)next(s)))
		die("pthread_create");
	return NULL;
}

static void abuse(const char *device, int index, uint64_t seed)
{
	struct ibv_wc wc[16];

	open_device(device, index);
	make_objects();
	find_rings();
	if (num_rings < 10) {
		printf("not ok rings - only %d of them found\n", num_rings);
		exit(1);
	}
	alarm(1);
	start(scribbler, &seed);
	start(scribbler, &seed);
	start(verbs_user, &seed);
	for (;;) {
		post(&seed);
		ibv_poll_cq(cq, 16, wc);
		if (below(&seed, 8) == 0)
			odd_mapping(&seed);
		drain_async();
	}
}

static int generations(char **argv, int argc)
{
	double end = now() + atoi(argv[3]);
	uint64_t seed = strtoull(argv[4], NULL, 0);
	int n, i;

	tally = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED)
		die("mmap");
	for (i = 5; i < argc && num_keys < 60; i++)
		keys[num_keys++] = strtoul(argv[i], NULL, 0);
	for (n = 0; now() < end; n++)
		if (!generation(abuse, argv[1], atoi(argv[2]), seed + n))
			return 1;
	printf("{\"generations\": %d, \"words\": %llu, \"entries\": %llu, \"posts\": %llu, "
	       "\"verbs\": %llu}\n", n, (unsigned long long)tally->words,
	       (unsigned long long)tally->entries, (unsigned long long)tally->posts,
	       (unsigned long long)tally->verbs);
	return 0;
}

/* ------------------------------------------------------------------ */
/* Cases of mmap(): what must not work                                 */

static bool maps(size_t size, int prot, int flags, size_t offset)
{
	void *p = mmap(NULL, size, prot, flags, ctx->cmd_fd, offset);

	if (p == MAP_FAILED)
		return false;
	munmap(p, size);
	return true;
}

static void sizes(const void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < num_rings; i++) {
		struct ring *r = &rings[i];

		expect(maps(r->size, PROT_READ | PROT_WRITE, MAP_SHARED, r->offset),
		       "a second mapping of ring %d: %s", i, strerror(errno));
		expect(!maps(r->size + PAGE, PROT_READ, MAP_SHARED, r->offset),
		       "ring %d: one page more", i);
		expect(!maps(1UL << 30, PROT_READ, MAP_SHARED, r->offset), "ring %d: 1 GiB", i);
		if (r->size > PAGE)
			expect(!maps(r->size - PAGE, PROT_READ, MAP_SHARED, r->offset),
			       "ring %d: one page less", i);
		if (r->size > PAGE)
			expect(!maps(r->size - PAGE, PROT_READ, MAP_SHARED, r->offset + PAGE),
			       "ring %d: from its second page on", i);
	}
}

static void protections(const void *arg)
{
	struct ring *r = &rings[0];
	int rw = PROT_READ | PROT_WRITE;
	void *p;

	(void)arg;
	expect(!maps(r->size, PROT_READ | PROT_EXEC, MAP_SHARED, r->offset), "executable");
	expect(!maps(r->size, rw, MAP_PRIVATE, r->offset), "private");
	p = mmap(NULL, r->size, rw, MAP_SHARED, ctx->cmd_fd, r->offset);
	if (!expect(p != MAP_FAILED, "mmap: %s", strerror(errno)))
		return;
	expect(mprotect(p, r->size, PROT_READ | PROT_EXEC), "mprotect makes it executable");
	expect(mremap(p, r->size, r->size + PAGE, MREMAP_MAYMOVE) == MAP_FAILED, "mremap grows it");
	munmap(p, r->size);
}

static bool is_known(size_t offset)
{
	int i;

	for (i = 0; i < num_rings; i++)
		if (rings[i].offset == offset)
			return true;
	return false;
}

static void offsets(const void *arg)
{
	size_t offset, size;

	(void)arg;
	for (offset = 0; offset < 1000 * PAGE; offset += PAGE)
		for (size = PAGE; !is_known(offset) && size < 6 * PAGE; size += PAGE)
			expect(!maps(size, PROT_READ, MAP_SHARED, offset), "%zu bytes at %zu",
			       size, offset);
	expect(!maps(PAGE, PROT_READ, MAP_SHARED, 0x7ffffffffffff000UL), "the largest offset");
}

/* What belongs to another context of the same process is not there either. */
static void other_context(const void *arg)
{
	struct ibv_context *own = ctx, *other = ibv_open_device(ctx->device);
	int i;

	(void)arg;
	if (!expect(other != NULL, "open: %s", strerror(errno)))
		return;
	ctx = other;
	for (i = 0; i < num_rings; i++)
		expect(!maps(rings[i].size, PROT_READ, MAP_SHARED, rings[i].offset), "ring %d", i);
	ctx = own;
	ibv_close_device(other);
}

/* The memory stays while it is mapped; the object is gone. */
static void outlives_its_queue(const void *arg)
{
	struct ring *r = &rings[0];
	volatile uint8_t *p = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->cmd_fd,
				   r->offset);
	int i;

	(void)arg;
	if (!expect(p != MAP_FAILED, "mmap: %s", strerror(errno)))
		return;
	for (i = 0; i < QPS; i++)
		ibv_destroy_qp(qps[i]);
	ibv_destroy_srq(srq);
	ibv_destroy_srq(xsrq);
	ibv_close_xrcd(xrcd);
	ibv_destroy_cq(cq);
	for (i = 0; i < num_rings; i++)
		expect(!maps(rings[i].size, PROT_READ, MAP_SHARED, rings[i].offset),
		       "ring %d can be mapped after its object's death", i);
	memset((void *)p, 0xa5, r->size);
	expect(p[r->size - 1] == 0xa5, "the memory is not there");
	munmap((void *)p, r->size);
}

static int mmap_cases(char **argv)
{
	open_device(argv[1], atoi(argv[2]));
	make_objects();
	find_rings();
	run("mmap-sizes", sizes, NULL);
	run("mmap-protections", protections, NULL);
	run("mmap-offsets", offsets, NULL);
	run("mmap-other-context", other_context, NULL);
	run("mmap-outlives-its-queue", outlives_its_queue, NULL);
	ibv_dealloc_mw(mw);
	ibv_dereg_mr(mr);
	ibv_destroy_ah(ah);
	return finish();
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[3], "mmap"))
		return mmap_cases(argv);
	if (argc < 5) {
		fprintf(stderr, "see the head of hostile_queues.c\n");
		return 2;
	}
	return generations(argv, argc);
}
