// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * verbs_errno DEV GID: calls that must fail, with the errno that the man pages promise, and without
 * changing anything; and their neighbours just inside the limit, which must work.
 */
#include "verbs_test.h"

/* An errno of a table: 0 success; EITHER(a, b) where the man pages leave a choice. */
#define EITHER(a, b)	((a) | (b) << 16)

static bool errno_ok(int got, int wanted)
{
	return got == (wanted & 0xffff) || (wanted >> 16 && got == wanted >> 16);
}

static void check_errno(int got, int wanted)
{
	expect(errno_ok(got, wanted), "%s, expected %s", strerror(got), strerror(wanted & 0xffff));
}

/* ------------------------------------------------------------------ */
/* Creation                                                            */

struct qp_case {
	const char *name;
	int wanted;
	void (*change)(struct ibv_qp_init_attr *a);
};

static void qp_send_wr(struct ibv_qp_init_attr *a) { a->cap.max_send_wr = dev_attr.max_qp_wr; }
static void qp_send_wr_over(struct ibv_qp_init_attr *a) { a->cap.max_send_wr = dev_attr.max_qp_wr + 1; }
static void qp_recv_wr(struct ibv_qp_init_attr *a) { a->cap.max_recv_wr = dev_attr.max_qp_wr; }
static void qp_recv_wr_over(struct ibv_qp_init_attr *a) { a->cap.max_recv_wr = dev_attr.max_qp_wr + 1; }
static void qp_send_wr_huge(struct ibv_qp_init_attr *a) { a->cap.max_send_wr = 0xffffffff; }
static void qp_recv_wr_huge(struct ibv_qp_init_attr *a) { a->cap.max_recv_wr = 0x80000001; }
static void qp_send_sge(struct ibv_qp_init_attr *a) { a->cap.max_send_sge = dev_attr.max_sge; }
static void qp_send_sge_over(struct ibv_qp_init_attr *a) { a->cap.max_send_sge = dev_attr.max_sge + 1; }
static void qp_recv_sge(struct ibv_qp_init_attr *a) { a->cap.max_recv_sge = dev_attr.max_sge; }
static void qp_recv_sge_over(struct ibv_qp_init_attr *a) { a->cap.max_recv_sge = dev_attr.max_sge + 1; }
static void qp_recv_sge_huge(struct ibv_qp_init_attr *a) { a->cap.max_recv_sge = 0xffffffff; }
static void qp_inline_huge(struct ibv_qp_init_attr *a) { a->cap.max_inline_data = 1 << 24; }
static void qp_inline_max(struct ibv_qp_init_attr *a) { a->cap.max_inline_data = 512; }
static void qp_zero(struct ibv_qp_init_attr *a) { memset(&a->cap, 0, sizeof(a->cap)); }
static void qp_type(struct ibv_qp_init_attr *a) { a->qp_type = 77; }
static void qp_type_raw(struct ibv_qp_init_attr *a) { a->qp_type = IBV_QPT_RAW_PACKET; }

static const struct qp_case qp_cases[] = {
	{ "create_qp-max_send_wr-at-limit", 0, qp_send_wr },
	{ "create_qp-max_send_wr-above", EINVAL, qp_send_wr_over },
	{ "create_qp-max_send_wr-huge", EINVAL, qp_send_wr_huge },
	{ "create_qp-max_recv_wr-at-limit", 0, qp_recv_wr },
	{ "create_qp-max_recv_wr-above", EINVAL, qp_recv_wr_over },
	{ "create_qp-max_recv_wr-huge", EINVAL, qp_recv_wr_huge },
	{ "create_qp-max_send_sge-at-limit", 0, qp_send_sge },
	{ "create_qp-max_send_sge-above", EINVAL, qp_send_sge_over },
	{ "create_qp-max_recv_sge-at-limit", 0, qp_recv_sge },
	{ "create_qp-max_recv_sge-above", EINVAL, qp_recv_sge_over },
	{ "create_qp-max_recv_sge-huge", EINVAL, qp_recv_sge_huge },
	{ "create_qp-max_inline_data-512", 0, qp_inline_max },
	{ "create_qp-max_inline_data-huge", EINVAL, qp_inline_huge },
	{ "create_qp-all-capacities-zero", 0, qp_zero },
	{ "create_qp-type-unknown", EITHER(EINVAL, EOPNOTSUPP), qp_type },
	{ "create_qp-type-raw-packet", EITHER(EINVAL, EOPNOTSUPP), qp_type_raw },
};

static void create_qp(const void *arg)
{
	const struct qp_case *c = arg;
	struct ibv_qp_init_attr a, asked;
	struct ibv_qp *qp;
	struct end e;

	if (!end_open(&e))
		return;
	asked = a = init_attr(&e);
	c->change(&a);
	asked = a;
	errno = 0;
	qp = ibv_create_qp(pd, &a);
	check_errno(qp ? 0 : errno, c->wanted);
	if (qp) {
		expect(a.cap.max_send_wr >= asked.cap.max_send_wr &&
		       a.cap.max_recv_wr >= asked.cap.max_recv_wr &&
		       a.cap.max_send_sge >= asked.cap.max_send_sge &&
		       a.cap.max_recv_sge >= asked.cap.max_recv_sge &&
		       a.cap.max_inline_data >= asked.cap.max_inline_data,
		       "capacities below what was asked for");
		ibv_destroy_qp(qp);
	}
	end_close(&e);
}

struct cq_case {
	const char *name;
	int wanted, cqe, vector;
};

static void create_cq(const void *arg)
{
	const struct cq_case *c = arg;
	int cqe = c->cqe > 1 ? dev_attr.max_cqe + c->cqe - 2 : c->cqe;
	struct ibv_cq *cq;

	errno = 0;
	cq = ibv_create_cq(ctx, cqe, NULL, NULL, c->vector < 0 ? ctx->num_comp_vectors : c->vector);
	check_errno(cq ? 0 : errno, c->wanted);
	if (cq) {
		expect(cq->cqe >= cqe, "cqe %d of %d", cq->cqe, cqe);
		ibv_destroy_cq(cq);
	}
}

static const struct cq_case cq_cases[] = {
	{ "create_cq-1", 0, 1, 0 },
	{ "create_cq-0", EINVAL, 0, 0 },
	{ "create_cq-negative", EINVAL, -1, 0 },
	{ "create_cq-above-limit", EINVAL, 3, 0 },
	{ "create_cq-vector-too-high", EINVAL, 1, -1 },
};

static void create_cq_max(const void *arg)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, dev_attr.max_cqe, NULL, NULL, 0);

	(void)arg;
	expect(cq || errno == ENOMEM, "%s", strerror(errno));
	if (cq)
		ibv_destroy_cq(cq);
}

static void resize_cq(const void *arg)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);

	(void)arg;
	if (!expect(cq, "create_cq"))
		return;
	check_errno(ibv_resize_cq(cq, 100), 0);
	expect(cq->cqe >= 100, "cqe %d", cq->cqe);
	check_errno(ibv_resize_cq(cq, 0), EINVAL);
	check_errno(ibv_resize_cq(cq, -5), EINVAL);
	check_errno(ibv_resize_cq(cq, dev_attr.max_cqe + 1), EINVAL);
	expect(cq->cqe >= 100, "a refused resize changed cqe to %d", cq->cqe);
	check_errno(ibv_destroy_cq(cq), 0);
}

#define AT_LIMIT	0xfffffffe
#define ABOVE_LIMIT	0xffffffff

static uint32_t limit(uint32_t value, int of_device)
{
	return value < AT_LIMIT ? value : (uint32_t)of_device + (value == ABOVE_LIMIT);
}

static void srq(const void *arg)
{
	static const struct { int wanted; uint32_t wr, sge; } rows[] = {
		{ 0, 1, 1 }, { 0, AT_LIMIT, 1 }, { 0, 16, AT_LIMIT },
		{ EINVAL, ABOVE_LIMIT, 1 }, { EINVAL, 16, ABOVE_LIMIT }, { EINVAL, 0x80000000, 1 },
	};
	struct ibv_srq_init_attr a;
	struct ibv_srq *s;
	unsigned int i;

	(void)arg;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(&a, 0, sizeof(a));
		a.attr.max_wr = limit(rows[i].wr, dev_attr.max_srq_wr);
		a.attr.max_sge = limit(rows[i].sge, dev_attr.max_srq_sge);
		s = ibv_create_srq(pd, &a);
		expect(errno_ok(s ? 0 : errno, rows[i].wanted), "row %u (%u, %u): %s", i,
		       a.attr.max_wr, a.attr.max_sge, s ? "created" : strerror(errno));
		if (s)
			ibv_destroy_srq(s);
	}
}

static void srq_modify(const void *arg)
{
	struct ibv_srq_init_attr a = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .srq_limit = 8 };
	struct ibv_srq *s = ibv_create_srq(pd, &a);

	(void)arg;
	if (!expect(s, "create_srq: %s", strerror(errno)))
		return;
	check_errno(ibv_modify_srq(s, &attr, IBV_SRQ_LIMIT), 0);
	attr.srq_limit = 100000;
	check_errno(ibv_modify_srq(s, &attr, IBV_SRQ_LIMIT), EINVAL);
	attr.max_wr = dev_attr.max_srq_wr + 1;
	check_errno(ibv_modify_srq(s, &attr, IBV_SRQ_MAX_WR), EINVAL);
	check_errno(ibv_query_srq(s, &attr), 0);
	expect(attr.srq_limit == 8, "limit is %u", attr.srq_limit);
	ibv_destroy_srq(s);
}

/* ------------------------------------------------------------------ */
/* Memory                                                              */

static void reg_mr(const void *arg)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *ro = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct {
		const char *what;
		int wanted;
		void *addr;
		size_t length;
		int access;
	} rows[] = {
		{ "ordinary", 0, page, 4096, ALL_ACCESS },
		{ "unaligned", 0, page + 123, 456, ALL_ACCESS },
		{ "read-only memory, remote read", 0, ro, 4096, IBV_ACCESS_REMOTE_READ },
		{ "read-only memory, local write", EFAULT, ro, 4096, IBV_ACCESS_LOCAL_WRITE },
		{ "not mapped", EFAULT, (void *)0x10000, 4096, IBV_ACCESS_LOCAL_WRITE },
		{ "partly mapped", EFAULT, page, 8192, IBV_ACCESS_LOCAL_WRITE },
		{ "remote write without local write", EINVAL, page, 4096, IBV_ACCESS_REMOTE_WRITE },
		{ "remote atomic without local write", EINVAL, page, 4096, IBV_ACCESS_REMOTE_ATOMIC },
		{ "address wraps", EITHER(EINVAL, EFAULT), (void *)-4096L, 8192, 1 },
		{ "unknown right", EINVAL, page, 4096, 1 << 12 },
	};
	struct ibv_mr *mr;
	unsigned int i;

	(void)arg;
	munmap(page + 4096, 4096);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		errno = 0;
		mr = ibv_reg_mr(pd, rows[i].addr, rows[i].length, rows[i].access);
		expect(errno_ok(mr ? 0 : errno, rows[i].wanted), "%s: %s", rows[i].what,
		       mr ? "registered" : strerror(errno));
		if (mr)
			ibv_dereg_mr(mr);
	}
	munmap(page, 4096);
	munmap(ro, 4096);
}

/* ------------------------------------------------------------------ */
/* Queries, address handles                                            */

static void queries(const void *arg)
{
	struct ibv_port_attr port;
	union ibv_gid g;
	__be16 pkey;

	(void)arg;
	check_errno(ibv_query_port(ctx, 0, &port), EINVAL);
	check_errno(ibv_query_port(ctx, 2, &port), EINVAL);
	expect(ibv_query_gid(ctx, 1, 100000, &g), "GID 100000 exists");
	expect(ibv_query_gid(ctx, 1, -1, &g), "GID -1 exists");
	expect(ibv_query_gid(ctx, 2, 0, &g), "a GID of port 2");
	expect(!ibv_query_pkey(ctx, 1, 0, &pkey) && pkey == 0xffff, "P_Key 0 is not 0xffff");
	expect(ibv_query_pkey(ctx, 1, 1000, &pkey), "P_Key 1000 exists");
}

static void create_ah(const void *arg)
{
	struct ibv_ah_attr good = { .is_global = 1, .port_num = 1,
				    .grh = { .dgid = gid, .sgid_index = gid_index,
					     .hop_limit = 1 } }, a;
	struct ibv_ah *ah = ibv_create_ah(pd, &good);

	(void)arg;
	expect(ah, "a good one: %s", strerror(errno));
	if (ah)
		ibv_destroy_ah(ah);
	a = good;
	a.is_global = 0;
	expect(!ibv_create_ah(pd, &a) && errno == EINVAL, "without a GRH: %s", strerror(errno));
	a = good;
	a.port_num = 2;
	expect(!ibv_create_ah(pd, &a) && errno == EINVAL, "port 2: %s", strerror(errno));
	a = good;
	a.grh.sgid_index = 255;
	expect(!ibv_create_ah(pd, &a) && errno, "GID index 255: %s", strerror(errno));
	/* Without a route: either refused, or its packets are lost. */
}

/* ------------------------------------------------------------------ */
/* State machine                                                       */

struct modify_case {
	const char *name;
	int wanted;
	enum ibv_qp_state from, to;
	void (*change)(struct ibv_qp_attr *a);
	int add, drop;		/* mask bits */
};

static void m_port(struct ibv_qp_attr *a) { a->port_num = 2; }
static void m_port0(struct ibv_qp_attr *a) { a->port_num = 0; }
static void m_pkey(struct ibv_qp_attr *a) { a->pkey_index = 999; }
static void m_mtu0(struct ibv_qp_attr *a) { a->path_mtu = 0; }
static void m_mtu6(struct ibv_qp_attr *a) { a->path_mtu = 6; }
static void m_mtu_port(struct ibv_qp_attr *a) { a->path_mtu = port_attr.active_mtu; }
static void m_mtu_above(struct ibv_qp_attr *a) { a->path_mtu = port_attr.active_mtu + 1; }
static void m_sgid(struct ibv_qp_attr *a) { a->ah_attr.grh.sgid_index = 250; }
static void m_no_grh(struct ibv_qp_attr *a) { a->ah_attr.is_global = 0; }
static void m_av_port(struct ibv_qp_attr *a) { a->ah_attr.port_num = 3; }
static void m_dest_rd(struct ibv_qp_attr *a) { a->max_dest_rd_atomic = dev_attr.max_qp_rd_atom; }
static void m_dest_rd_over(struct ibv_qp_attr *a) { a->max_dest_rd_atomic = dev_attr.max_qp_rd_atom + 1; }
static void m_rd(struct ibv_qp_attr *a) { a->max_rd_atomic = dev_attr.max_qp_init_rd_atom; }
static void m_rd_over(struct ibv_qp_attr *a) { a->max_rd_atomic = dev_attr.max_qp_init_rd_atom + 1; }
static void m_rnr_timer(struct ibv_qp_attr *a) { a->min_rnr_timer = 32; }
static void m_timeout(struct ibv_qp_attr *a) { a->timeout = 32; }
static void m_retry(struct ibv_qp_attr *a) { a->retry_cnt = 8; }
static void m_rnr_retry(struct ibv_qp_attr *a) { a->rnr_retry = 8; }
static void m_access(struct ibv_qp_attr *a) { a->qp_access_flags = 1 << 30; }
static void m_cur(struct ibv_qp_attr *a) { a->cur_qp_state = IBV_QPS_RTS; }

/* Where two errnos stand, the kernel's core answers and no driver is asked. */
static const struct modify_case modify_cases[] = {
	{ "init-good", 0, IBV_QPS_RESET, IBV_QPS_INIT, NULL, 0, 0 },
	{ "init-without-port", EINVAL, IBV_QPS_RESET, IBV_QPS_INIT, NULL, 0, IBV_QP_PORT },
	{ "init-without-pkey", EINVAL, IBV_QPS_RESET, IBV_QPS_INIT, NULL, 0, IBV_QP_PKEY_INDEX },
	{ "init-without-access", EINVAL, IBV_QPS_RESET, IBV_QPS_INIT, NULL, 0, IBV_QP_ACCESS_FLAGS },
	{ "init-port-2", EINVAL, IBV_QPS_RESET, IBV_QPS_INIT, m_port, 0, 0 },
	{ "init-port-0", EINVAL, IBV_QPS_RESET, IBV_QPS_INIT, m_port0, 0, 0 },
	{ "init-pkey-999", EINVAL, IBV_QPS_RESET, IBV_QPS_INIT, m_pkey, 0, 0 },
	{ "init-access-unknown", EINVAL, IBV_QPS_RESET, IBV_QPS_INIT, m_access, 0, 0 },
	{ "init-qkey-of-rc", EINVAL, IBV_QPS_RESET, IBV_QPS_INIT, NULL, IBV_QP_QKEY, 0 },
	{ "init-ooo", EINVAL, IBV_QPS_RESET, IBV_QPS_INIT, NULL, QP_ATTR_OOO, 0 },
	{ "init-bit-27", EITHER(EINVAL, EOPNOTSUPP), IBV_QPS_RESET, IBV_QPS_INIT, NULL, 1 << 27, 0 },
	{ "reset-to-rtr", EINVAL, IBV_QPS_RESET, IBV_QPS_RTR, NULL, 0, 0 },
	{ "reset-to-rts", EINVAL, IBV_QPS_RESET, IBV_QPS_RTS, NULL, 0, 0 },
	{ "init-to-rts", EINVAL, IBV_QPS_INIT, IBV_QPS_RTS, NULL, 0, 0 },
	{ "init-to-init", 0, IBV_QPS_INIT, IBV_QPS_INIT, NULL, 0, 0 },
	{ "rtr-good", 0, IBV_QPS_INIT, IBV_QPS_RTR, NULL, 0, 0 },
	{ "rtr-without-av", EINVAL, IBV_QPS_INIT, IBV_QPS_RTR, NULL, 0, IBV_QP_AV },
	{ "rtr-without-mtu", EINVAL, IBV_QPS_INIT, IBV_QPS_RTR, NULL, 0, IBV_QP_PATH_MTU },
	{ "rtr-without-qpn", EINVAL, IBV_QPS_INIT, IBV_QPS_RTR, NULL, 0, IBV_QP_DEST_QPN },
	{ "rtr-without-psn", EINVAL, IBV_QPS_INIT, IBV_QPS_RTR, NULL, 0, IBV_QP_RQ_PSN },
	{ "rtr-without-rd-atomic", EINVAL, IBV_QPS_INIT, IBV_QPS_RTR, NULL, 0,
	  IBV_QP_MAX_DEST_RD_ATOMIC },
	{ "rtr-without-rnr-timer", EINVAL, IBV_QPS_INIT, IBV_QPS_RTR, NULL, 0, IBV_QP_MIN_RNR_TIMER },
	{ "rtr-mtu-0", EINVAL, IBV_QPS_INIT, IBV_QPS_RTR, m_mtu0, 0, 0 },
	{ "rtr-mtu-6", EINVAL, IBV_QPS_INIT, IBV_QPS_RTR, m_mtu6, 0, 0 },
	{ "rtr-mtu-of-port", 0, IBV_QPS_INIT, IBV_QPS_RTR, m_mtu_port, 0, 0 },
	{ "rtr-mtu-above-port", EINVAL, IBV_QPS_INIT, IBV_QPS_RTR, m_mtu_above, 0, 0 },
	{ "rtr-gid-index-250", EITHER(EINVAL, ENODATA), IBV_QPS_INIT, IBV_QPS_RTR, m_sgid, 0, 0 },
	{ "rtr-no-grh", EINVAL, IBV_QPS_INIT, IBV_QPS_RTR, m_no_grh, 0, 0 },
	{ "rtr-av-port-3", EINVAL, IBV_QPS_INIT, IBV_QPS_RTR, m_av_port, 0, 0 },
	{ "rtr-dest-rd-atomic-max", 0, IBV_QPS_INIT, IBV_QPS_RTR, m_dest_rd, 0, 0 },
	{ "rtr-dest-rd-atomic-above", EINVAL, IBV_QPS_INIT, IBV_QPS_RTR, m_dest_rd_over, 0, 0 },
	{ "rtr-rnr-timer-32", EINVAL, IBV_QPS_INIT, IBV_QPS_RTR, m_rnr_timer, 0, 0 },
	{ "rtr-ooo", 0, IBV_QPS_INIT, IBV_QPS_RTR, NULL, QP_ATTR_OOO, 0 },
	{ "rtr-bit-27", EITHER(EINVAL, EOPNOTSUPP), IBV_QPS_INIT, IBV_QPS_RTR, NULL, 1 << 27, 0 },
	{ "rtr-timeout-is-not-for-rtr", EINVAL, IBV_QPS_INIT, IBV_QPS_RTR, NULL, IBV_QP_TIMEOUT, 0 },
	{ "rts-good", 0, IBV_QPS_RTR, IBV_QPS_RTS, NULL, 0, 0 },
	{ "rts-without-timeout", EINVAL, IBV_QPS_RTR, IBV_QPS_RTS, NULL, 0, IBV_QP_TIMEOUT },
	{ "rts-without-retry", EINVAL, IBV_QPS_RTR, IBV_QPS_RTS, NULL, 0, IBV_QP_RETRY_CNT },
	{ "rts-without-rnr-retry", EINVAL, IBV_QPS_RTR, IBV_QPS_RTS, NULL, 0, IBV_QP_RNR_RETRY },
	{ "rts-without-psn", EINVAL, IBV_QPS_RTR, IBV_QPS_RTS, NULL, 0, IBV_QP_SQ_PSN },
	{ "rts-without-rd-atomic", EINVAL, IBV_QPS_RTR, IBV_QPS_RTS, NULL, 0,
	  IBV_QP_MAX_QP_RD_ATOMIC },
	{ "rts-timeout-32", EINVAL, IBV_QPS_RTR, IBV_QPS_RTS, m_timeout, 0, 0 },
	{ "rts-retry-8", EINVAL, IBV_QPS_RTR, IBV_QPS_RTS, m_retry, 0, 0 },
	{ "rts-rnr-retry-8", EINVAL, IBV_QPS_RTR, IBV_QPS_RTS, m_rnr_retry, 0, 0 },
	{ "rts-rd-atomic-max", 0, IBV_QPS_RTR, IBV_QPS_RTS, m_rd, 0, 0 },
	{ "rts-rd-atomic-above", EINVAL, IBV_QPS_RTR, IBV_QPS_RTS, m_rd_over, 0, 0 },
	{ "rts-ooo", EINVAL, IBV_QPS_RTR, IBV_QPS_RTS, NULL, QP_ATTR_OOO, 0 },
	{ "rts-wrong-current-state", EINVAL, IBV_QPS_RTR, IBV_QPS_RTS, m_cur, IBV_QP_CUR_STATE, 0 },
	{ "rts-to-rtr", EINVAL, IBV_QPS_RTS, IBV_QPS_RTR, NULL, 0, 0 },
	{ "rts-to-init", EINVAL, IBV_QPS_RTS, IBV_QPS_INIT, NULL, 0, 0 },
	{ "rts-to-reset", 0, IBV_QPS_RTS, IBV_QPS_RESET, NULL, 0, 0 },
	{ "rts-to-err", 0, IBV_QPS_RTS, IBV_QPS_ERR, NULL, 0, 0 },
	{ "rts-to-sqd", 0, IBV_QPS_RTS, IBV_QPS_SQD, NULL, 0, 0 },
	{ "rtr-to-sqd", EINVAL, IBV_QPS_RTR, IBV_QPS_SQD, NULL, 0, 0 },
	{ "err-to-rts", EINVAL, IBV_QPS_ERR, IBV_QPS_RTS, NULL, 0, 0 },
	{ "err-to-reset", 0, IBV_QPS_ERR, IBV_QPS_RESET, NULL, 0, 0 },
	{ "reset-to-err", EINVAL, IBV_QPS_RESET, IBV_QPS_ERR, NULL, 0, 0 },
	{ "init-to-err", 0, IBV_QPS_INIT, IBV_QPS_ERR, NULL, 0, 0 },
	{ "to-an-unknown-state", EINVAL, IBV_QPS_INIT, 99, NULL, 0, 0 },
};

static int mask_for(enum ibv_qp_state to)
{
	switch (to) {
	case IBV_QPS_INIT: return INIT_MASK;
	case IBV_QPS_RTR: return RTR_MASK;
	case IBV_QPS_RTS: return RTS_MASK;
	default: return IBV_QP_STATE;
	}
}

static bool bring_to(struct end *e, enum ibv_qp_state state)
{
	static const enum ibv_qp_state path[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
	int i, rc = 0;

	e->attr.dest_qp_num = e->qp->qp_num;
	for (i = 0; i < 3 && !rc && state != IBV_QPS_RESET && path[i] <= state; i++)
		rc = to_state(e, path[i], mask_for(path[i]));
	if (!rc && state == IBV_QPS_ERR)
		rc = to_state(e, IBV_QPS_ERR, IBV_QP_STATE);
	return expect(!rc, "cannot reach state %d: %s", state, strerror(rc));
}

static void modify(const void *arg)
{
	const struct modify_case *c = arg;
	struct ibv_qp_attr attr;
	struct end e;
	int rc;

	if (!end_open(&e))
		return;
	if (bring_to(&e, c->from)) {
		attr = e.attr;
		attr.qp_state = c->to;
		if (c->change)
			c->change(&attr);
		rc = ibv_modify_qp(e.qp, &attr, (mask_for(c->to) | c->add) & ~c->drop);
		check_errno(rc, c->wanted);
		expect(state_of(&e) == (c->wanted ? c->from : c->to), "the state is %d",
		       state_of(&e));
	}
	end_close(&e);
}

/* The attributes come back as they were set. */
static void query_qp(const void *arg)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr q;
	struct end e;

	(void)arg;
	if (!end_open(&e))
		return;
	if (bring_to(&e, IBV_QPS_RTS)) {
		memset(&q, 0xee, sizeof(q));
		check_errno(ibv_query_qp(e.qp, &q, 0xffff, &init), 0);
#define SAME(f) expect(q.f == e.attr.f, #f " is %llu, was set to %llu", \
		       (unsigned long long)q.f, (unsigned long long)e.attr.f)
		SAME(qp_state); SAME(path_mtu); SAME(rq_psn); SAME(dest_qp_num); SAME(sq_psn);
		SAME(qp_access_flags); SAME(max_rd_atomic); SAME(max_dest_rd_atomic);
		SAME(min_rnr_timer); SAME(port_num); SAME(timeout); SAME(retry_cnt); SAME(rnr_retry);
		SAME(ah_attr.port_num); SAME(ah_attr.is_global); SAME(ah_attr.grh.sgid_index);
		SAME(ah_attr.grh.hop_limit);
#undef SAME
		expect(!memcmp(&q.ah_attr.grh.dgid, &gid, 16), "another destination GID");
		expect(q.cap.max_send_wr >= 32 && q.cap.max_recv_sge >= 4 &&
		       q.cap.max_inline_data >= 64, "capacities");
		expect(init.qp_type == IBV_QPT_RC && init.sq_sig_all == 1 &&
		       init.cap.max_send_wr == q.cap.max_send_wr, "init_attr");
	}
	end_close(&e);
}

/* ------------------------------------------------------------------ */
/* Posting                                                             */

struct post_case {
	const char *name;
	int wanted;
	void (*change)(struct ibv_send_wr *wr);
};

static void p_sge_over(struct ibv_send_wr *wr) { wr->num_sge = 1000; }
static void p_sge_negative(struct ibv_send_wr *wr) { wr->num_sge = -1; }
static void p_opcode(struct ibv_send_wr *wr) { wr->opcode = 200; }
static void p_tso(struct ibv_send_wr *wr) { wr->opcode = IBV_WR_TSO; }
static void p_inline_long(struct ibv_send_wr *wr)
{
	wr->send_flags = IBV_SEND_INLINE;
	wr->sg_list[0].length = 60000;
}

static const struct post_case post_cases[] = {
	{ "post_send-num_sge-1000", EINVAL, p_sge_over },
	{ "post_send-num_sge-negative", EINVAL, p_sge_negative },
	{ "post_send-opcode-200", EINVAL, p_opcode },
	{ "post_send-opcode-tso", EITHER(EINVAL, EOPNOTSUPP), p_tso },
	{ "post_send-inline-too-long", EITHER(EINVAL, ENOMEM), p_inline_long },
};

/* The first of three requests is good, the second is not: bad_wr names it, the third is not posted. */
static void post(const void *arg)
{
	const struct post_case *c = arg;
	struct ibv_sge sge[3];
	struct ibv_send_wr wr[3], *bad = NULL;
	struct ibv_wc wc[4];
	double end;
	struct end e;
	int i, n = 0, rc;

	if (!end_open(&e))
		return;
	if (!connect_to(&e, e.qp->qp_num))
		goto out;
	for (i = 0; i < 3; i++) {
		sge[i] = (struct ibv_sge){ (uintptr_t)e.buf, 8, e.mr->lkey };
		wr[i] = (struct ibv_send_wr){
			.wr_id = i, .next = i < 2 ? &wr[i + 1] : NULL, .sg_list = &sge[i],
			.num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
			.wr.rdma = { (uintptr_t)e.buf + 100, e.mr->rkey },
		};
	}
	c->change(&wr[1]);
	rc = ibv_post_send(e.qp, wr, &bad);
	check_errno(rc, c->wanted);
	expect(bad == &wr[1], "bad_wr is number %ld", bad ? (long)(bad - wr) : -1L);
	for (end = now() + 1; now() < end && n < 3; )
		n += ibv_poll_cq(e.scq, 3, wc + n);
	expect(n == 1 && wc[0].wr_id == 0 && !wc[0].status, "%d completions, the first %s", n,
	       n ? ibv_wc_status_str(wc[0].status) : "none");
out:
	end_close(&e);
}

/* A queue takes what its capacity says, then ENOMEM, and works on after a poll. */
static void queue_full(const void *arg)
{
	bool send = arg;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_sge sge;
	struct ibv_send_wr swr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *sbad;
	struct ibv_recv_wr rwr = { .sg_list = &sge, .num_sge = 1 }, *rbad;
	uint32_t posted = 0, cap;
	struct ibv_wc wc;
	struct end e;
	double end;
	int rc = 0;

	if (!end_open(&e))
		return;
	/* Nobody receives: sends stay where they are. */
	if (!connect_to(&e, e.qp->qp_num))
		goto out;
	sge = (struct ibv_sge){ (uintptr_t)e.buf, 8, e.mr->lkey };
	ibv_query_qp(e.qp, &attr, IBV_QP_CAP, &init);
	cap = send ? attr.cap.max_send_wr : attr.cap.max_recv_wr;
	while (!rc && posted <= cap) {
		rc = send ? ibv_post_send(e.qp, &swr, &sbad) : ibv_post_recv(e.qp, &rwr, &rbad);
		posted += !rc;
	}
	expect(posted == cap, "%u requests fit, the capacity is %u", posted, cap);
	check_errno(rc, ENOMEM);
	to_state(&e, IBV_QPS_ERR, IBV_QP_STATE);
	for (end = now() + 5; now() < end && posted; )
		if (ibv_poll_cq(send ? e.scq : e.rcq, 1, &wc) == 1) {
			expect(wc.status == IBV_WC_WR_FLUSH_ERR, "status %d", wc.status);
			posted--;
		}
	expect(!posted, "%u requests were not flushed", posted);
out:
	end_close(&e);
}

/* ------------------------------------------------------------------ */

static void in_use(const void *arg)
{
	struct end e;

	(void)arg;
	if (!end_open(&e))
		return;
	check_errno(ibv_destroy_cq(e.scq), EBUSY);
	check_errno(ibv_destroy_comp_channel(e.channel), EBUSY);
	check_errno(ibv_dealloc_pd(pd), EBUSY);
	end_close(&e);
}

#define RUN_TABLE(table, function)						\
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {		\
		snprintf(name, sizeof(name), "%s", (table)[i].name);		\
		run(name, function, &(table)[i]);				\
	}

int main(int argc, char **argv)
{
	char name[64];
	unsigned int i;

	if (argc != 3)
		return 2;
	open_device(argv[1], atoi(argv[2]));
	RUN_TABLE(qp_cases, create_qp);
	RUN_TABLE(cq_cases, create_cq);
	run("create_cq-at-limit", create_cq_max, NULL);
	run("resize_cq", resize_cq, NULL);
	run("create_srq", srq, NULL);
	run("modify_srq", srq_modify, NULL);
	run("reg_mr", reg_mr, NULL);
	run("queries", queries, NULL);
	run("create_ah", create_ah, NULL);
	for (i = 0; i < sizeof(modify_cases) / sizeof(modify_cases[0]); i++) {
		snprintf(name, sizeof(name), "modify_qp-%s", modify_cases[i].name);
		run(name, modify, &modify_cases[i]);
	}
	run("query_qp", query_qp, NULL);
	RUN_TABLE(post_cases, post);
	run("send-queue-full", queue_full, "send");
	run("receive-queue-full", queue_full, NULL);
	run("destroy-in-use", in_use, NULL);
	return finish();
}
