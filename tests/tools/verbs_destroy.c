// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Objects destroyed in the worst order, by their owner or by the kernel after
 * the owner was killed. What is in use is refused with EBUSY and goes on
 * working; whatever the order, everything is gone in the end.
 *
 *   verbs_destroy DEVICE GID_INDEX
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "verbs_test.h"

static const char *device_name;

static void expect_busy(int rc, const char *what)
{
	expect(rc == EBUSY, "%s: %d (%s), expected EBUSY", what, rc, strerror(rc));
}

static void expect_done(int rc, const char *what)
{
	expect(!rc, "%s: %s", what, strerror(rc));
}

static int write_once(struct end *e, uint64_t remote, uint32_t rkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)e->buf, .length = 64, .lkey = e->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = { .remote_addr = remote, .rkey = rkey },
	};

	return ibv_post_send(e->qp, &wr, &bad) ? -2 : wait_wc(e->scq);
}

static bool two_connected(struct end *a, struct end *b)
{
	return end_open(a) && end_open(b) && connect_to(a, b->qp->qp_num) &&
	       connect_to(b, a->qp->qp_num);
}

/* ------------------------------------------------------------------ */
/* Everything that a PD can hold; the PD is the real one or a parent domain's */

struct things {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_ah *ah;
	uint8_t *buf;
};

static struct ibv_ah *make_ah(struct ibv_pd *in)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 64 },
	};

	return ibv_create_ah(in, &attr);
}

static struct ibv_srq *make_srq(struct ibv_pd *in)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 1 } };

	return ibv_create_srq(in, &attr);
}

static struct ibv_qp *make_qp(struct ibv_pd *in, struct ibv_cq *cq, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .srq = srq, .sq_sig_all = 1,
		.cap = { .max_send_wr = 8, .max_recv_wr = srq ? 0 : 8, .max_send_sge = 1,
			 .max_recv_sge = srq ? 0 : 1 },
	};

	return ibv_create_qp(in, &attr);
}

static bool make_things(struct things *t, struct ibv_pd *in)
{
	t->pd = in;
	t->buf = aligned_alloc(4096, 4096);
	t->cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	t->srq = make_srq(in);
	t->qp = make_qp(in, t->cq, t->srq);
	t->mr = ibv_reg_mr(in, t->buf, 4096, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	t->mw = ibv_alloc_mw(in, IBV_MW_TYPE_2);
	t->ah = make_ah(in);
	return expect(t->cq && t->srq && t->qp && t->mr && t->mw && t->ah, "set-up: %s",
		      strerror(errno));
}

/* Each of them alone keeps the PD: they go one by one, in every rotation of the order. */
static void pd_in_use(const void *arg)
{
	struct ibv_parent_domain_init_attr parent = { .pd = pd };
	bool in_parent = arg;
	struct things t;
	int first, i;

	for (first = 0; first < 5; first++) {
		struct ibv_pd *in = in_parent ? ibv_alloc_parent_domain(ctx, &parent) :
						ibv_alloc_pd(ctx);

		if (!expect(in, "PD: %s", strerror(errno)) || !make_things(&t, in))
			return;
		for (i = 0; i < 5; i++) {
			expect_busy(ibv_dealloc_pd(in), "dealloc_pd");
			switch ((first + i) % 5) {
			case 0:
				expect_done(ibv_dereg_mr(t.mr), "dereg_mr");
				break;
			case 1:
				expect_done(ibv_dealloc_mw(t.mw), "dealloc_mw");
				break;
			case 2:
				expect_done(ibv_destroy_ah(t.ah), "destroy_ah");
				break;
			case 3:
				if (first != 4)
					expect_busy(ibv_destroy_srq(t.srq), "destroy_srq");
				expect_busy(ibv_destroy_cq(t.cq), "destroy_cq");
				expect_done(ibv_destroy_qp(t.qp), "destroy_qp");
				break;
			case 4:
				if (first == 4) {	/* the SRQ goes before its QP: refused */
					expect_busy(ibv_destroy_srq(t.srq), "destroy_srq");
					expect_done(ibv_destroy_qp(t.qp), "destroy_qp");
					t.qp = make_qp(in, t.cq, NULL);
				}
				expect_done(ibv_destroy_srq(t.srq), "destroy_srq");
				break;
			}
		}
		expect_done(ibv_dealloc_pd(in), "dealloc_pd");
		expect_done(ibv_destroy_cq(t.cq), "destroy_cq");
		free(t.buf);
	}
}

static void parent_domain(const void *arg)
{
	struct ibv_td_init_attr td_attr = {};
	struct ibv_parent_domain_init_attr attr = {};
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 8, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };
	struct ibv_pd *base = ibv_alloc_pd(ctx), *parent;
	struct ibv_td *td = ibv_alloc_td(ctx, &td_attr);
	uint8_t *buf = aligned_alloc(4096, 4096);
	struct ibv_cq_ex *cq;
	struct ibv_mr *mr;

	(void)arg;
	attr.pd = base;
	attr.td = td;
	parent = ibv_alloc_parent_domain(ctx, &attr);
	if (!expect(base && td && parent, "set-up: %s", strerror(errno)))
		return;
	expect_busy(ibv_dealloc_pd(base), "dealloc_pd of the PD inside");
	expect_busy(ibv_dealloc_td(td), "dealloc_td");
	cq_attr.parent_domain = parent;
	cq = ibv_create_cq_ex(ctx, &cq_attr);
	if (!expect(cq, "create_cq_ex: %s", strerror(errno)))
		return;
	expect_busy(ibv_dealloc_pd(parent), "dealloc_pd with a CQ");
	expect_done(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "destroy_cq");
	/* A region that moves takes its weight along. */
	mr = ibv_reg_mr(parent, buf, 4096, ALL_ACCESS);
	expect_busy(ibv_dealloc_pd(parent), "dealloc_pd with a region");
	expect_done(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, base, NULL, 0, 0), "rereg_mr");
	expect_done(ibv_dealloc_pd(parent), "dealloc_pd after the region has moved");
	expect_busy(ibv_dealloc_pd(base), "dealloc_pd with the region");
	expect_done(ibv_dereg_mr(mr), "dereg_mr");
	expect_done(ibv_dealloc_td(td), "dealloc_td");
	expect_done(ibv_dealloc_pd(base), "dealloc_pd");
	free(buf);
}

/* What is imported keeps its parent domain, too, and whoever deregisters lets go of it. */
static void imported_region(const void *arg)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd };
	uint8_t *buf = aligned_alloc(4096, 4096);
	struct ibv_mr *mr, *imported;
	struct ibv_pd *parent;
	int turn;

	(void)arg;
	for (turn = 0; turn < 2; turn++) {
		parent = ibv_alloc_parent_domain(ctx, &attr);
		mr = ibv_reg_mr(pd, buf, 4096, ALL_ACCESS);
		imported = parent && mr ? ibv_import_mr(parent, mr->handle) : NULL;
		if (!expect(imported, "set-up: %s", strerror(errno)))
			return;
		expect(imported->lkey == mr->lkey && imported->length == 4096, "another region");
		expect_busy(ibv_dealloc_pd(parent), "dealloc_pd with an imported region");
		/* One of the two ends the region, the other only its own part. */
		if (turn) {
			expect_done(ibv_dereg_mr(imported), "dereg_mr of the imported one");
			ibv_unimport_mr(mr);
		} else {
			ibv_unimport_mr(imported);
			expect_done(ibv_dereg_mr(mr), "dereg_mr");
		}
		expect_done(ibv_dealloc_pd(parent), "dealloc_pd of the parent domain");
	}
	free(buf);
}

/* ------------------------------------------------------------------ */

/* A refused destruction changes nothing: the pair still works after each. */
static void refused_and_still_working(const void *arg)
{
	struct end a, b;

	(void)arg;
	if (!two_connected(&a, &b))
		return;
	expect_busy(ibv_destroy_cq(a.scq), "destroy_cq of the send CQ");
	expect_busy(ibv_destroy_cq(b.rcq), "destroy_cq of the receive CQ");
	expect_busy(ibv_destroy_comp_channel(a.channel), "destroy_comp_channel");
	expect_busy(ibv_dealloc_pd(pd), "dealloc_pd");
	expect(!write_once(&a, (uintptr_t)b.buf, b.mr->rkey), "the write fails");
	end_close(&a);
	end_close(&b);
}

/* Memory and keys that go while requests that name them are on their way. */
static void mr_goes_first(const void *arg)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1 };
	struct ibv_sge sge;
	struct end a, b;
	int i, status = 0;

	(void)arg;
	if (!two_connected(&a, &b))
		return;
	sge = (struct ibv_sge){ .addr = (uintptr_t)a.buf, .length = BUF_SIZE, .lkey = a.mr->lkey };
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = (uintptr_t)b.buf;
	wr.wr.rdma.rkey = b.mr->rkey;
	for (i = 0; i < 16; i++)
		expect_done(ibv_post_send(a.qp, &wr, &bad), "post_send");
	expect_done(ibv_dereg_mr(b.mr), "dereg_mr");
	b.mr = NULL;
	memset(b.buf, 0x11, BUF_SIZE);
	for (i = 0; i < 16 && !status; i++)
		status = wait_wc(a.scq);
	expect(!status || status == IBV_WC_REM_ACCESS_ERR, "status %d", status);
	for (i = 0; i < BUF_SIZE; i++)
		if (!expect(b.buf[i] == 0x11, "written to at %d after dereg_mr", i))
			break;
	end_close(&a);
	end_close(&b);
}

/* A window outlives its QP (IBTA 10.6.7.2.2: type 2B dies with it), then goes before its region. */
static void window_outlives_qp(const void *arg)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_BIND_MW };
	struct end a, b, c, d;
	uint32_t rkey;

	(void)arg;
	if (!expect(mw, "alloc_mw: %s", strerror(errno)) || !two_connected(&a, &b) ||
	    !two_connected(&c, &d))
		return;
	ibv_dereg_mr(b.mr);
	b.mr = ibv_reg_mr(pd, b.buf, BUF_SIZE, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = b.mr, .addr = (uintptr_t)b.buf, .length = 4096,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	expect_done(ibv_post_send(b.qp, &wr, &bad), "bind");
	expect(!wait_wc(b.scq), "bind");
	expect(!write_once(&a, (uintptr_t)b.buf, rkey), "write through the window");
	expect_busy(ibv_dereg_mr(b.mr), "dereg_mr of a region with a window");
	expect_done(ibv_destroy_qp(b.qp), "destroy_qp");
	b.qp = NULL;
	expect(write_once(&c, (uintptr_t)b.buf, rkey) == IBV_WC_REM_ACCESS_ERR,
	       "the window works through another QP");
	expect_done(ibv_dealloc_mw(mw), "dealloc_mw");
	expect_done(ibv_dereg_mr(b.mr), "dereg_mr");
	b.mr = NULL;
	end_close(&a);
	end_close(&b);
	end_close(&c);
	end_close(&d);
}

static void device_memory(const void *arg)
{
	struct ibv_alloc_dm_attr attr = { .length = 8192 };
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr);
	struct end a, b;
	struct ibv_mr *mr;
	char bytes[4];

	(void)arg;
	if (!expect(dm, "alloc_dm: %s", strerror(errno)) || !two_connected(&a, &b))
		return;
	mr = ibv_reg_dm_mr(pd, dm, 0, 8192, ALL_ACCESS | IBV_ACCESS_ZERO_BASED);
	if (!expect(mr, "reg_dm_mr: %s", strerror(errno)))
		return;
	expect_busy(ibv_free_dm(dm), "free_dm");
	memset(a.buf, 7, 64);
	expect(!write_once(&a, 0, mr->rkey), "write");
	expect(!ibv_memcpy_from_dm(bytes, dm, 60, 4) && bytes[3] == 7, "memcpy_from_dm");
	expect_done(ibv_dereg_mr(mr), "dereg_mr");
	expect_done(ibv_free_dm(dm), "free_dm");
	end_close(&a);
	end_close(&b);
}

/* The handle goes while datagrams that name it wait to be sent. */
static void ah_goes_first(const void *arg)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .sq_sig_all = 1,
		.cap = { .max_send_wr = 32, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x1234 };
	struct ibv_cq *cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	uint8_t *buf = aligned_alloc(4096, 4096);
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, 4096, ALL_ACCESS);
	struct ibv_ah *ah = make_ah(pd);
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND, .num_sge = 1 };
	struct ibv_sge sge = { .addr = (uintptr_t)buf, .length = 512 };
	struct ibv_qp *qp;
	int i, posted = 0;

	(void)arg;
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	if (!expect(cq && mr && ah && qp, "set-up: %s", strerror(errno)))
		return;
	ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	expect_done(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
	sge.lkey = mr->lkey;
	wr.sg_list = &sge;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp->qp_num;
	wr.wr.ud.remote_qkey = 0x1234;
	for (i = 0; i < 32; i++)
		posted += !ibv_post_send(qp, &wr, &bad);
	expect_done(ibv_destroy_ah(ah), "destroy_ah");
	for (i = 0; i < posted; i++)
		if (!expect(wait_wc(cq) >= 0, "completion %d of %d is missing", i, posted))
			break;
	expect_done(ibv_destroy_qp(qp), "destroy_qp");
	expect_done(ibv_dereg_mr(mr), "dereg_mr");
	expect_done(ibv_destroy_cq(cq), "destroy_cq");
	free(buf);
}

/* ------------------------------------------------------------------ */
/* XRC domains, shared between processes by a file */

static char domain_file[] = "/tmp/verbs_destroy.XXXXXX";

struct xrc {
	struct ibv_xrcd *xrcd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *tgt;
	int fd;
};

static struct ibv_xrcd *open_domain(int fd)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd, .oflags = O_CREAT,
	};

	return ibv_open_xrcd(ctx, &attr);
}

static struct ibv_srq *make_xrc_srq(struct ibv_pd *in, struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 8, .max_sge = 1 }, .srq_type = IBV_SRQT_XRC,
		.pd = in, .xrcd = xrcd, .cq = cq,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
	};

	return ibv_create_srq_ex(ctx, &attr);
}

static struct ibv_qp *make_tgt(struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd,
	};

	return ibv_create_qp_ex(ctx, &attr);
}

static struct ibv_qp *open_tgt(struct ibv_xrcd *xrcd, uint32_t num)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = num, .xrcd = xrcd, .qp_type = IBV_QPT_XRC_RECV,
	};

	return ibv_open_qp(ctx, &attr);
}

static bool xrc_open(struct xrc *x)
{
	x->fd = open(domain_file, O_RDWR);
	x->xrcd = open_domain(x->fd);
	x->cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	x->srq = x->xrcd ? make_xrc_srq(pd, x->xrcd, x->cq) : NULL;
	x->tgt = x->xrcd ? make_tgt(x->xrcd) : NULL;
	return expect(x->fd >= 0 && x->xrcd && x->cq && x->srq && x->tgt, "XRC set-up: %s",
		      strerror(errno));
}

static void xrc_close(struct xrc *x)
{
	expect_done(ibv_destroy_qp(x->tgt), "destroy_qp");
	expect_done(ibv_destroy_srq(x->srq), "destroy_srq");
	expect_done(ibv_destroy_cq(x->cq), "destroy_cq");
	expect_done(ibv_close_xrcd(x->xrcd), "close_xrcd");
	close(x->fd);
}

static void xrcd_in_use(const void *arg)
{
	struct xrc x;

	(void)arg;
	if (!xrc_open(&x))
		return;
	expect_busy(ibv_close_xrcd(x.xrcd), "close_xrcd with a QP and an SRQ");
	expect_busy(ibv_destroy_cq(x.cq), "destroy_cq of an XRC SRQ");
	expect_done(ibv_destroy_srq(x.srq), "destroy_srq");
	expect_busy(ibv_close_xrcd(x.xrcd), "close_xrcd with a QP");
	x.srq = make_xrc_srq(pd, x.xrcd, x.cq);
	expect_done(ibv_destroy_qp(x.tgt), "destroy_qp");
	expect_busy(ibv_close_xrcd(x.xrcd), "close_xrcd with an SRQ");
	x.tgt = make_tgt(x.xrcd);
	xrc_close(&x);
}

/* An XRC initiator QP that is connected to @x's target. */
static bool xrc_client(struct end *e, struct xrc *x)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_SEND, .sq_sig_all = 1, .pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.cap = { .max_send_wr = 32, .max_send_sge = 1 },
	};
	int rc;

	if (!end_open(e))
		return false;
	ibv_destroy_qp(e->qp);
	init.send_cq = e->scq;
	e->qp = ibv_create_qp_ex(ctx, &init);
	if (!expect(e->qp, "create_qp: %s", strerror(errno)))
		return false;
	e->attr.dest_qp_num = e->qp->qp_num;
	e->attr.qp_state = IBV_QPS_INIT;
	rc = ibv_modify_qp(x->tgt, &e->attr, INIT_MASK);
	e->attr.qp_state = IBV_QPS_RTR;
	if (!rc)
		rc = ibv_modify_qp(x->tgt, &e->attr, RTR_MASK);
	e->attr.dest_qp_num = x->tgt->qp_num;
	if (!rc)
		rc = to_state(e, IBV_QPS_INIT, INIT_MASK);
	if (!rc)
		rc = to_state(e, IBV_QPS_RTR, RTR_MASK & ~(IBV_QP_MAX_DEST_RD_ATOMIC |
							   IBV_QP_MIN_RNR_TIMER));
	if (!rc)
		rc = to_state(e, IBV_QPS_RTS, RTS_MASK);
	return expect(!rc, "connect: %s", strerror(rc));
}

/* One SEND, with a receive in the SRQ for it. */
static void xrc_send(struct end *e, struct xrc *x)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, 8, e->mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };

	ibv_get_srq_num(x->srq, &wr.qp_type.xrc.remote_srqn);
	expect_done(ibv_post_srq_recv(x->srq, &recv, &bad_recv), "post_srq_recv");
	expect_done(ibv_post_send(e->qp, &wr, &bad), "post_send");
}

static bool await_event(int type)
{
	double end = now() + 20;
	int got = -1;

	while (got != type && now() < end)
		got = async_event(1000);
	return got == type;
}

/* A target QP has no CQ of its own: it fails with that of the SRQ that its peer names. */
static void xrc_cq_overrun(const void *arg)
{
	struct ibv_qp_attr attr = { 0 };
	struct ibv_qp_init_attr init;
	struct xrc x;
	struct end e;
	int i;

	(void)arg;
	if (!xrc_open(&x))
		return;
	if (xrc_client(&e, &x)) {
		for (i = 0; i < x.cq->cqe && !reason[0]; i++) {
			xrc_send(&e, &x);
			expect(!wait_wc(e.scq), "SEND %d", i);
		}
		expect_done(ibv_query_qp(x.tgt, &attr, IBV_QP_STATE, &init), "query_qp");
		expect(attr.qp_state == IBV_QPS_RTR, "state %d before", attr.qp_state);
		xrc_send(&e, &x);
		expect(await_event(IBV_EVENT_CQ_ERR), "no CQ_ERR");
		expect(await_event(IBV_EVENT_QP_FATAL), "no QP_FATAL");
		expect_done(ibv_query_qp(x.tgt, &attr, IBV_QP_STATE, &init), "query_qp");
		expect(attr.qp_state == IBV_QPS_ERR, "state %d", attr.qp_state);
	}
	end_close(&e);
	xrc_close(&x);
}

/* A child does what it is told, with a device of its own; then it is killed, or ends. */
struct child {
	pid_t pid;
	int to, from;
};

static bool child_start(struct child *c, void (*function)(int in, int out))
{
	int to[2], from[2];

	if (!expect(!pipe(to) && !pipe(from), "pipe"))
		return false;
	fflush(stdout);
	c->pid = fork();
	if (!c->pid) {
		close(to[1]);
		close(from[0]);
		function(to[0], from[1]);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	c->to = to[1];
	c->from = from[0];
	return true;
}

static uint32_t hear(int fd)
{
	uint32_t word = 0;

	return read(fd, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

static void say(int fd, uint32_t word)
{
	if (write(fd, &word, sizeof(word)) != sizeof(word))
		_exit(3);
}

/* Its exit status; 256 and the signal's number if it was killed. */
static int child_end(struct child *c, bool kill_it)
{
	int status;

	if (kill_it)
		kill(c->pid, SIGKILL);
	close(c->to);
	close(c->from);
	waitpid(c->pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

/* In a child: what the parent has opened is not its own. */
static void open_own_device(void)
{
	open_device(device_name, gid_index);
}

static void xrc_maker(int in, int out)
{
	struct xrc x;

	open_own_device();
	if (!xrc_open(&x))
		_exit(2);
	say(out, x.tgt->qp_num);
	if (!hear(in))
		_exit(0);	/* leaves all to the kernel */
	xrc_close(&x);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
}

/* Domain and target QP were made by a process that is gone: they go with their last user. */
static void xrc_maker_goes(const void *arg)
{
	const char *how = arg;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ALL_ACCESS,
	};
	struct ibv_xrcd *xrcd;
	struct child child;
	struct ibv_qp *qp;
	int fd, status;
	uint32_t num;

	if (!child_start(&child, xrc_maker))
		return;
	num = hear(child.from);
	fd = open(domain_file, O_RDWR);
	xrcd = open_domain(fd);
	qp = xrcd ? open_tgt(xrcd, num) : NULL;
	expect(num && xrcd && qp, "open: %s", strerror(errno));
	if (*how == 'd')	/* destroys */
		say(child.to, 1);
	status = child_end(&child, *how == 'k');
	expect(status == (*how == 'k' ? 256 + SIGKILL : 0), "the child: %d", status);
	if (!qp)
		return;
	expect_busy(ibv_close_xrcd(xrcd), "close_xrcd");
	expect_done(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), "query_qp");
	expect(attr.qp_state == IBV_QPS_RESET, "state %d", attr.qp_state);
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.pkey_index = 0;
	attr.qp_access_flags = ALL_ACCESS;
	expect_done(ibv_modify_qp(qp, &attr, INIT_MASK), "modify_qp");
	expect_done(ibv_destroy_qp(qp), "destroy_qp");
	qp = open_tgt(xrcd, num);
	expect(!qp, "the QP is still there after its last user");
	expect_done(ibv_close_xrcd(xrcd), "close_xrcd");
	close(fd);
}

/* The opener is killed: the maker does not notice. */
static void xrc_opener(int in, int out)
{
	uint32_t num = hear(in);
	struct ibv_xrcd *xrcd;

	open_own_device();
	xrcd = open_domain(open(domain_file, O_RDWR));
	say(out, xrcd && open_tgt(xrcd, num) ? 1 : 0);
	hear(in);
}

static void xrc_opener_killed(const void *arg)
{
	struct child child;
	struct xrc x;

	(void)arg;
	if (!xrc_open(&x))
		return;
	if (child_start(&child, xrc_opener)) {
		say(child.to, x.tgt->qp_num);
		expect(hear(child.from), "the child cannot open the QP");
		child_end(&child, true);
	}
	xrc_close(&x);
}

/* ------------------------------------------------------------------ */
/* The owner is killed with one of everything, bound and busy */

static void own_everything(int in, int out)
{
	struct ibv_td_init_attr td_attr = {};
	struct ibv_alloc_dm_attr dm_attr = {};
	struct ibv_parent_domain_init_attr parent = {};
	struct ibv_device_attr_ex attr_ex = {};
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_BIND_MW };
	struct things t, u;
	struct end a, b;
	struct xrc x;
	struct ibv_dm *dm;
	uint8_t *odp;
	int i;

	open_own_device();
	ibv_query_device_ex(ctx, NULL, &attr_ex);
	parent.pd = pd;
	parent.td = ibv_alloc_td(ctx, &td_attr);
	if (!make_things(&t, pd) || !make_things(&u, ibv_alloc_parent_domain(ctx, &parent)) ||
	    !two_connected(&a, &b) || !xrc_open(&x))
		_exit(2);
	/* All of the device's memory: if it leaked, the next one would have none. */
	dm_attr.length = attr_ex.max_dm_size;
	for (i = 0; (dm = ibv_alloc_dm(ctx, &dm_attr)); i++)
		ibv_reg_dm_mr(pd, dm, 0, 4096, ALL_ACCESS | IBV_ACCESS_ZERO_BASED);
	odp = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ibv_reg_mr(pd, odp, 1 << 20, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	wr.bind_mw.mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	wr.bind_mw.rkey = ibv_inc_rkey(wr.bind_mw.mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = t.mr, .addr = (uintptr_t)t.buf, .length = 4096,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	if (ibv_post_send(b.qp, &wr, &bad) || wait_wc(b.scq))
		_exit(3);
	say(out, 1 + i);
	for (;;)
		write_once(&a, (uintptr_t)b.buf, b.mr->rkey);
	hear(in);
}

static void owner_killed(const void *arg)
{
	uint32_t first = 0, n;
	struct child child;
	int i;

	(void)arg;
	for (i = 0; i < 4; i++) {
		if (!child_start(&child, own_everything))
			return;
		n = hear(child.from);
		usleep(20000);
		child_end(&child, true);
		first = first ?: n;
		if (!expect(n > 1 && n == first, "owner %d could make %u, the first %u", i, n,
			    first))
			return;
	}
}

/* Nothing is destroyed before the device is closed. */
static void closes_everything(int in, int out)
{
	struct things t;
	struct end a, b;
	struct xrc x;

	(void)in;
	open_own_device();
	say(out, make_things(&t, pd) && two_connected(&a, &b) && xrc_open(&x));
	say(out, !ibv_close_device(ctx));
}

static void device_closed_first(const void *arg)
{
	struct child child;

	(void)arg;
	if (!child_start(&child, closes_everything))
		return;
	expect(hear(child.from), "set-up");
	expect(hear(child.from), "close_device");
	expect(!child_end(&child, false), "the child fails");
}

int main(int argc, char **argv)
{
	if (argc != 3 || close(mkstemp(domain_file)))
		return 2;
	device_name = argv[1];
	open_device(argv[1], atoi(argv[2]));
	run("pd-in-use", pd_in_use, NULL);
	run("parent-domain-in-use", pd_in_use, "parent");
	run("parent-domain-around-pd", parent_domain, NULL);
	run("imported-region-in-parent-domain", imported_region, NULL);
	run("refused-and-still-working", refused_and_still_working, NULL);
	run("mr-goes-first", mr_goes_first, NULL);
	run("window-outlives-qp", window_outlives_qp, NULL);
	run("device-memory-in-use", device_memory, NULL);
	run("ah-goes-first", ah_goes_first, NULL);
	run("xrcd-in-use", xrcd_in_use, NULL);
	run("xrc-target-fails-with-the-cq-of-its-srq", xrc_cq_overrun, NULL);
	run("xrc-maker-destroys", xrc_maker_goes, "destroys");
	run("xrc-maker-exits", xrc_maker_goes, "exits");
	run("xrc-maker-killed", xrc_maker_goes, "killed");
	run("xrc-opener-killed", xrc_opener_killed, NULL);
	run("device-closed-first", device_closed_first, NULL);
	run("owner-of-everything-killed", owner_killed, NULL);
	unlink(domain_file);
	return finish();
}
