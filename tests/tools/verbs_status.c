// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * verbs_status DEV GID: what completions, events and states say when requests go wrong; the waits of
 * RNR and retry; completion channels. Pairs of QPs on one device.
 */
#include "verbs_test.h"

struct pair {
	struct end c, s;	/* client and server */
	struct ibv_mr *extra;	/* what a case registers besides */
	struct ibv_pd *other_pd;
};

static bool pair_open(struct pair *p)
{
	memset(p, 0, sizeof(*p));
	return end_open(&p->c) && end_open(&p->s);
}

static bool pair_connect(struct pair *p)
{
	return connect_to(&p->c, p->s.qp->qp_num) && connect_to(&p->s, p->c.qp->qp_num);
}

static void pair_close(struct pair *p)
{
	end_close(&p->c);
	if (p->extra)
		ibv_dereg_mr(p->extra);
	if (p->other_pd)
		ibv_dealloc_pd(p->other_pd);
	end_close(&p->s);
}

/* ------------------------------------------------------------------ */
/* Requests: wr_id, then what; local memory is at the start of the buffer */

static int post(struct end *e, uint64_t wr_id, enum ibv_wr_opcode opcode, uint32_t length,
		uint64_t remote, uint32_t rkey, uint32_t lkey, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, length, lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1,
				  .opcode = opcode, .send_flags = flags }, *bad;
	int rc;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = rkey;
	}
	rc = ibv_post_send(e->qp, &wr, &bad);
	expect(!rc, "post_send: %s", strerror(rc));
	return rc;
}

static void post_send(struct end *e, uint64_t wr_id, uint32_t length, unsigned int flags)
{
	post(e, wr_id, IBV_WR_SEND, length, 0, 0, e->mr->lkey, flags);
}

static void post_write(struct pair *p, uint64_t wr_id, uint32_t length, uint64_t offset)
{
	post(&p->c, wr_id, IBV_WR_RDMA_WRITE, length, (uintptr_t)p->s.buf + offset, p->s.mr->rkey,
	     p->c.mr->lkey, 0);
}

static void post_recv_key(struct end *e, uint64_t wr_id, uint32_t length, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, length, lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;
	int rc = ibv_post_recv(e->qp, &wr, &bad);

	expect(!rc, "post_recv: %s", strerror(rc));
}

static void post_recv(struct end *e, uint64_t wr_id, uint32_t length)
{
	post_recv_key(e, wr_id, length, e->mr->lkey);
}

/* Up to n completions within the time. */
static int wait_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc, double seconds)
{
	double end = now() + seconds;
	int found = 0, rc;

	while (found < n && now() < end) {
		rc = ibv_poll_cq(cq, n - found, wc + found);
		if (rc < 0)
			break;
		found += rc;
		if (!rc)
			usleep(200);
	}
	return found;
}

static bool expect_wc(struct ibv_cq *cq, const char *who, uint64_t wr_id, int status, int or_status)
{
	struct ibv_wc wc;

	if (!expect(wait_cq(cq, 1, &wc, 10) == 1, "%s: no completion", who))
		return false;
	return expect(wc.wr_id == wr_id && ((int)wc.status == status || (int)wc.status == or_status),
		      "%s: request %llu: %s; expected request %llu: %s", who,
		      (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status),
		      (unsigned long long)wr_id, ibv_wc_status_str(status));
}

/* ------------------------------------------------------------------ */
/* One request that goes wrong                                         */

#define WHOLE(p)	((uintptr_t)(p)->s.buf)
#define C_LKEY(p)	((p)->c.mr->lkey)
#define S_RKEY(p)	((p)->s.mr->rkey)
#define NONE		(-1)

struct status_case {
	const char *name;
	void (*prepare)(struct pair *p);	/* before connecting */
	void (*post)(struct pair *p);		/* request 1 */
	int client, or_client;			/* its status; 0 twice: success */
	int server;				/* of the server's receive 2, or NONE */
	int event;				/* asynchronous event at the server, or NONE */
};

static void server_mr(struct pair *p, int access)
{
	p->extra = ibv_reg_mr(pd, p->s.buf, BUF_SIZE, access);
	expect(p->extra, "reg_mr: %s", strerror(errno));
}

static void mr_read_only(struct pair *p) { server_mr(p, IBV_ACCESS_REMOTE_READ); }
static void mr_local_only(struct pair *p) { server_mr(p, IBV_ACCESS_LOCAL_WRITE); }
static void mr_no_atomic(struct pair *p)
{
	server_mr(p, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
}
static void mr_other_pd(struct pair *p)
{
	p->other_pd = ibv_alloc_pd(ctx);
	p->extra = ibv_reg_mr(p->other_pd, p->s.buf, BUF_SIZE, ALL_ACCESS);
	expect(p->extra, "reg_mr: %s", strerror(errno));
}
static void mr_client_read_only(struct pair *p)
{
	p->extra = ibv_reg_mr(pd, p->c.buf, BUF_SIZE, 0);
	expect(p->extra, "reg_mr: %s", strerror(errno));
}
static void mr_client_short(struct pair *p)
{
	p->extra = ibv_reg_mr(pd, p->c.buf, 8, IBV_ACCESS_LOCAL_WRITE);
	expect(p->extra, "reg_mr: %s", strerror(errno));
}
static void qp_local_only(struct pair *p) { p->s.attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE; }
static void recv_16(struct pair *p) { (void)p; }

#define POST(name, op, length, remote, rkey, lkey)				\
	static void name(struct pair *p)					\
	{									\
		post(&p->c, 1, op, length, remote, rkey, lkey, 0);		\
	}

POST(write_ok, IBV_WR_RDMA_WRITE, 8, WHOLE(p), S_RKEY(p), C_LKEY(p))
POST(write_end, IBV_WR_RDMA_WRITE, 8, WHOLE(p) + BUF_SIZE - 8, S_RKEY(p), C_LKEY(p))
POST(write_bad_rkey, IBV_WR_RDMA_WRITE, 8, WHOLE(p), S_RKEY(p) ^ 0x5a00, C_LKEY(p))
POST(write_bad_key_byte, IBV_WR_RDMA_WRITE, 8, WHOLE(p), S_RKEY(p) ^ 1, C_LKEY(p))
POST(write_past_end, IBV_WR_RDMA_WRITE, 9, WHOLE(p) + BUF_SIZE - 8, S_RKEY(p), C_LKEY(p))
POST(write_before, IBV_WR_RDMA_WRITE, 8, WHOLE(p) - 1, S_RKEY(p), C_LKEY(p))
POST(write_wraps, IBV_WR_RDMA_WRITE, 64, ~0ULL - 15, S_RKEY(p), C_LKEY(p))
POST(write_extra, IBV_WR_RDMA_WRITE, 8, WHOLE(p), p->extra->rkey, C_LKEY(p))
POST(write_empty, IBV_WR_RDMA_WRITE, 0, 0, 0x123456, C_LKEY(p))
POST(write_bad_lkey, IBV_WR_RDMA_WRITE, 8, WHOLE(p), S_RKEY(p), C_LKEY(p) ^ 0x5a00)
POST(read_ok, IBV_WR_RDMA_READ, 4096, WHOLE(p), S_RKEY(p), C_LKEY(p))
POST(read_bad_rkey, IBV_WR_RDMA_READ, 8, WHOLE(p), S_RKEY(p) ^ 0x5a00, C_LKEY(p))
POST(read_past_end, IBV_WR_RDMA_READ, 4096, WHOLE(p) + BUF_SIZE - 4095, S_RKEY(p), C_LKEY(p))
POST(read_extra, IBV_WR_RDMA_READ, 8, WHOLE(p), p->extra->rkey, C_LKEY(p))
POST(read_empty, IBV_WR_RDMA_READ, 0, 0, 0x123456, C_LKEY(p))
POST(read_into_read_only, IBV_WR_RDMA_READ, 8, WHOLE(p), S_RKEY(p), p->extra->lkey)
POST(atomic_ok, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, WHOLE(p), S_RKEY(p), C_LKEY(p))
POST(atomic_bad_rkey, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, WHOLE(p), S_RKEY(p) ^ 0x5a00, C_LKEY(p))
POST(atomic_past_end, IBV_WR_ATOMIC_CMP_AND_SWP, 8, WHOLE(p) + BUF_SIZE, S_RKEY(p), C_LKEY(p))
POST(atomic_misaligned, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, WHOLE(p) + 4, S_RKEY(p), C_LKEY(p))
POST(atomic_extra, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, WHOLE(p), p->extra->rkey, C_LKEY(p))
POST(atomic_short, IBV_WR_ATOMIC_FETCH_AND_ADD, 4, WHOLE(p), S_RKEY(p), C_LKEY(p))
POST(send_16, IBV_WR_SEND, 16, 0, 0, C_LKEY(p))
POST(send_17, IBV_WR_SEND, 17, 0, 0, C_LKEY(p))
POST(send_long, IBV_WR_SEND, 5000, 0, 0, C_LKEY(p))
POST(send_empty, IBV_WR_SEND, 0, 0, 0, C_LKEY(p))
POST(send_bad_lkey, IBV_WR_SEND, 8, 0, 0, C_LKEY(p) ^ 0x5a00)
POST(send_extra, IBV_WR_SEND, 9, 0, 0, p->extra->lkey)

#define ACC	IBV_WC_REM_ACCESS_ERR
#define INV	IBV_WC_REM_INV_REQ_ERR
#define PROT	IBV_WC_LOC_PROT_ERR
#define EV_ACC	IBV_EVENT_QP_ACCESS_ERR
#define EV_REQ	IBV_EVENT_QP_REQ_ERR

static const struct status_case status_cases[] = {
	{ "write-good", NULL, write_ok, 0, 0, NONE, NONE },
	{ "write-last-bytes-of-region", NULL, write_end, 0, 0, NONE, NONE },
	{ "write-wrong-rkey", NULL, write_bad_rkey, ACC, ACC, NONE, EV_ACC },
	{ "write-wrong-key-byte", NULL, write_bad_key_byte, ACC, ACC, NONE, EV_ACC },
	{ "write-past-end", NULL, write_past_end, ACC, ACC, NONE, EV_ACC },
	{ "write-before-start", NULL, write_before, ACC, ACC, NONE, EV_ACC },
	{ "write-address-wraps", NULL, write_wraps, ACC, ACC, NONE, EV_ACC },
	{ "write-region-without-right", mr_read_only, write_extra, ACC, ACC, NONE, EV_ACC },
	{ "write-region-of-another-pd", mr_other_pd, write_extra, ACC, ACC, NONE, EV_ACC },
	{ "write-qp-without-right", qp_local_only, write_ok, INV, ACC, NONE, NONE },
	{ "write-empty-needs-no-key", NULL, write_empty, 0, 0, NONE, NONE },
	{ "write-wrong-lkey", NULL, write_bad_lkey, PROT, PROT, NONE, NONE },
	{ "read-good", NULL, read_ok, 0, 0, NONE, NONE },
	{ "read-wrong-rkey", NULL, read_bad_rkey, ACC, ACC, NONE, EV_ACC },
	{ "read-past-end", NULL, read_past_end, ACC, ACC, NONE, EV_ACC },
	{ "read-region-without-right", mr_local_only, read_extra, ACC, ACC, NONE, EV_ACC },
	{ "read-qp-without-right", qp_local_only, read_ok, INV, ACC, NONE, NONE },
	{ "read-empty-needs-no-key", NULL, read_empty, 0, 0, NONE, NONE },
	{ "read-into-read-only-region", mr_client_read_only, read_into_read_only, PROT,
	  IBV_WC_LOC_ACCESS_ERR, NONE, NONE },
	{ "atomic-good", NULL, atomic_ok, 0, 0, NONE, NONE },
	{ "atomic-wrong-rkey", NULL, atomic_bad_rkey, ACC, ACC, NONE, EV_ACC },
	{ "atomic-past-end", NULL, atomic_past_end, ACC, ACC, NONE, EV_ACC },
	{ "atomic-misaligned", NULL, atomic_misaligned, INV, INV, NONE, EV_REQ },
	{ "atomic-region-without-right", mr_no_atomic, atomic_extra, ACC, ACC, NONE, EV_ACC },
	{ "atomic-qp-without-right", qp_local_only, atomic_ok, INV, ACC, NONE, NONE },
	{ "atomic-result-too-short", NULL, atomic_short, IBV_WC_LOC_LEN_ERR,
	  IBV_WC_LOC_QP_OP_ERR, NONE, NONE },
	{ "send-fills-receive", recv_16, send_16, 0, 0, IBV_WC_SUCCESS, NONE },
	{ "send-empty", recv_16, send_empty, 0, 0, IBV_WC_SUCCESS, NONE },
	{ "send-longer-than-receive", recv_16, send_17, INV, INV, IBV_WC_LOC_LEN_ERR, NONE },
	{ "send-of-packets-longer-than-receive", recv_16, send_long, INV, INV, IBV_WC_LOC_LEN_ERR,
	  NONE },
	{ "send-wrong-lkey", NULL, send_bad_lkey, PROT, PROT, NONE, NONE },
	{ "send-past-region", mr_client_short, send_extra, PROT, PROT, NONE, NONE },
};

static void status(const void *arg)
{
	const struct status_case *c = arg;
	bool local = c->client == PROT || c->client == IBV_WC_LOC_LEN_ERR;
	struct pair p;
	int event;

	if (!pair_open(&p))
		return;
	if (c->prepare)
		c->prepare(&p);
	if (reason[0] || !pair_connect(&p))
		goto out;
	drain_async();
	post_recv(&p.s, 2, 16);
	memset(p.s.buf, 0, BUF_SIZE);
	c->post(&p);
	post_write(&p, 3, 8, 1024);
	if (!expect_wc(p.c.scq, "client", 1, c->client, c->or_client))
		goto out;
	expect_wc(p.c.scq, "client, the next request", 3,
		  c->client ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS, NONE);
	expect(state_of(&p.c) == (c->client ? IBV_QPS_ERR : IBV_QPS_RTS), "client's state %d",
	       state_of(&p.c));
	if (c->server != NONE)
		expect_wc(p.s.rcq, "server", 2, c->server, NONE);
	else if (c->client && !local)	/* the responder's QP is in error: its receive is flushed */
		expect_wc(p.s.rcq, "server", 2, IBV_WC_WR_FLUSH_ERR, NONE);
	expect(state_of(&p.s) == (c->client && !local ? IBV_QPS_ERR : IBV_QPS_RTS),
	       "server's state %d", state_of(&p.s));
	if (c->event != NONE) {
		event = async_event(2000);
		expect(event == c->event, "event %d, expected %d", event, c->event);
	}
out:
	pair_close(&p);
}

/* A receive with a wrong key is the receiver's fault: the sender learns of a remote operation error. */
static void recv_wrong_lkey(const void *arg)
{
	struct pair p;

	(void)arg;
	if (!pair_open(&p))
		return;
	if (pair_connect(&p)) {
		post_recv_key(&p.s, 2, 16, p.s.mr->lkey ^ 0x5a00);
		post_send(&p.c, 1, 8, 0);
		expect_wc(p.s.rcq, "server", 2, IBV_WC_LOC_PROT_ERR, NONE);
		expect_wc(p.c.scq, "client", 1, IBV_WC_REM_OP_ERR, NONE);
	}
	pair_close(&p);
}

/* Nothing is written beyond a region's end by a WRITE of many packets that overruns it. */
static void overrun_stays_inside(const void *arg)
{
	struct pair p;
	int i;

	(void)arg;
	if (!pair_open(&p))
		return;
	p.extra = ibv_reg_mr(pd, p.s.buf, 4096 + 100, ALL_ACCESS);
	if (expect(p.extra, "reg_mr") && pair_connect(&p)) {
		memset(p.c.buf, 0xaa, BUF_SIZE);
		post(&p.c, 1, IBV_WR_RDMA_WRITE, 10000, (uintptr_t)p.s.buf, p.extra->rkey,
		     p.c.mr->lkey, 0);
		expect_wc(p.c.scq, "client", 1, ACC, NONE);
		usleep(100000);
		for (i = 4096 + 100; i < BUF_SIZE; i++)
			if (!expect(!p.s.buf[i], "byte %d beyond the region was written", i))
				break;
	}
	pair_close(&p);
}

/* After dereg_mr returns nothing lands in the region any more. */
static void nothing_after_dereg(const void *arg)
{
	struct ibv_wc wc[16];
	struct pair p;
	uint64_t i;

	(void)arg;
	if (!pair_open(&p))
		return;
	p.extra = ibv_reg_mr(pd, p.s.buf, BUF_SIZE, ALL_ACCESS);
	if (expect(p.extra, "reg_mr") && pair_connect(&p)) {
		memset(p.c.buf, 0xaa, BUF_SIZE);
		for (i = 0; i < 16; i++)
			post(&p.c, i, IBV_WR_RDMA_WRITE, BUF_SIZE, (uintptr_t)p.s.buf,
			     p.extra->rkey, p.c.mr->lkey, 0);
		expect(!ibv_dereg_mr(p.extra), "dereg_mr");
		p.extra = NULL;
		memset(p.s.buf, 0, BUF_SIZE);
		expect(wait_cq(p.c.scq, 16, wc, 10) == 16, "not all requests completed");
		for (i = 0; i < BUF_SIZE; i++)
			if (!expect(!p.s.buf[i], "byte %llu was written after dereg_mr",
				    (unsigned long long)i))
				break;
	}
	pair_close(&p);
}

/* Everything after a failed request is flushed, in order; so is what is posted later, and receives. */
static void flush_in_order(const void *arg)
{
	struct ibv_wc wc[16];
	struct pair p;
	uint64_t i;
	int n;

	(void)arg;
	if (!pair_open(&p))
		return;
	if (!pair_connect(&p))
		goto out;
	for (i = 0; i < 5; i++)
		post_recv(&p.c, 100 + i, 16);
	for (i = 0; i < 10; i++)
		post(&p.c, i, IBV_WR_RDMA_WRITE, 2000, WHOLE(&p),
		     i == 3 ? S_RKEY(&p) ^ 0x5a00 : S_RKEY(&p), C_LKEY(&p), 0);
	n = wait_cq(p.c.scq, 10, wc, 10);
	expect(n == 10, "%d of 10 completions", n);
	for (i = 0; (int)i < n; i++)
		expect(wc[i].wr_id == i &&
		       wc[i].status == (i < 3 ? IBV_WC_SUCCESS : i == 3 ? ACC : IBV_WC_WR_FLUSH_ERR),
		       "completion %llu is of request %llu: %s", (unsigned long long)i,
		       (unsigned long long)wc[i].wr_id, ibv_wc_status_str(wc[i].status));
	for (i = 0; i < 5; i++)
		expect_wc(p.c.rcq, "receives", 100 + i, IBV_WC_WR_FLUSH_ERR, NONE);
	post_write(&p, 20, 8, 0);
	expect_wc(p.c.scq, "posted in ERR", 20, IBV_WC_WR_FLUSH_ERR, NONE);
	post_recv(&p.c, 21, 8);
	expect_wc(p.c.rcq, "posted in ERR", 21, IBV_WC_WR_FLUSH_ERR, NONE);
out:
	pair_close(&p);
}

/* A QP that was in error works again after RESET. */
static void reset_and_reuse(const void *arg)
{
	struct pair p;

	(void)arg;
	if (!pair_open(&p))
		return;
	if (pair_connect(&p)) {
		write_bad_rkey(&p);
		expect_wc(p.c.scq, "client", 1, ACC, NONE);
		expect(!to_state(&p.c, IBV_QPS_RESET, IBV_QP_STATE) &&
		       !to_state(&p.s, IBV_QPS_RESET, IBV_QP_STATE), "to RESET");
		p.c.attr.sq_psn = p.s.attr.rq_psn = 0x123456;
		if (pair_connect(&p)) {
			post_recv(&p.s, 5, 16);
			post_send(&p.c, 4, 16, 0);
			expect_wc(p.c.scq, "client after RESET", 4, IBV_WC_SUCCESS, NONE);
			expect_wc(p.s.rcq, "server after RESET", 5, IBV_WC_SUCCESS, NONE);
		}
	}
	pair_close(&p);
}

/* ------------------------------------------------------------------ */
/* Selective signalling, inline data                                   */

static void unsignaled(const void *arg)
{
	struct ibv_qp_init_attr init;
	struct ibv_wc wc;
	struct pair p;

	(void)arg;
	if (!pair_open(&p))
		return;
	ibv_destroy_qp(p.c.qp);
	init = init_attr(&p.c);
	init.sq_sig_all = 0;
	p.c.qp = ibv_create_qp(pd, &init);
	if (!expect(p.c.qp, "create_qp") || !pair_connect(&p))
		goto out;
	post_write(&p, 1, 8, 0);
	post_write(&p, 2, 8, 0);
	post(&p.c, 3, IBV_WR_RDMA_WRITE, 8, WHOLE(&p), S_RKEY(&p), C_LKEY(&p), IBV_SEND_SIGNALED);
	expect_wc(p.c.scq, "signaled", 3, IBV_WC_SUCCESS, NONE);
	expect(!wait_cq(p.c.scq, 1, &wc, 0.1), "an unsignaled request completed");
	post(&p.c, 4, IBV_WR_RDMA_WRITE, 8, WHOLE(&p), S_RKEY(&p) ^ 0x5a00, C_LKEY(&p), 0);
	expect_wc(p.c.scq, "unsignaled, failed", 4, ACC, NONE);
out:
	pair_close(&p);
}

static void inline_data(const void *arg)
{
	struct ibv_wc wc;
	struct pair p;
	int i;

	(void)arg;
	if (!pair_open(&p))
		return;
	if (pair_connect(&p)) {
		memset(p.c.buf, 0x11, 64);
		/* the key does not matter, and the memory may be used again at once */
		post(&p.c, 1, IBV_WR_RDMA_WRITE, 64, WHOLE(&p), S_RKEY(&p), 0xdead,
		     IBV_SEND_INLINE);
		memset(p.c.buf, 0x22, 64);
		expect(wait_cq(p.c.scq, 1, &wc, 10) == 1 && !wc.status, "no good completion");
		for (i = 0; i < 64; i++)
			if (!expect(p.s.buf[i] == 0x11, "byte %d is %#x", i, p.s.buf[i]))
				break;
	}
	pair_close(&p);
}

/* ------------------------------------------------------------------ */
/* Waiting: RNR and retries                                            */

/* IBTA table 45, RNR NAK timer field: in units of 10 us. */
static const int rnr_10us[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
	2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152
};

struct wait_case {
	const char *name;
	int code, retry;	/* RNR: timer code of the server, rnr_retry of the client */
	int timeout, cnt;	/* retries: timeout and retry_cnt */
};

/* RNR_RETRY_EXC after as many waits as there are retries, each at least what the table says. */
static void rnr_exhausted(const void *arg)
{
	const struct wait_case *w = arg;
	double wait = rnr_10us[w->code] * 1e-5 * w->retry, begin, took;
	struct pair p;

	if (!pair_open(&p))
		return;
	p.s.attr.min_rnr_timer = w->code;
	p.c.attr.rnr_retry = w->retry;
	if (pair_connect(&p)) {
		begin = now();
		post_send(&p.c, 1, 8, 0);
		expect_wc(p.c.scq, "client", 1, IBV_WC_RNR_RETRY_EXC_ERR, NONE);
		took = now() - begin;
		expect(took >= wait && took <= 4 * wait + 0.25, "%.1f ms, %d waits are %.1f ms",
		       took * 1e3, w->retry, wait * 1e3);
		expect(state_of(&p.c) == IBV_QPS_ERR, "client's state %d", state_of(&p.c));
		expect(state_of(&p.s) == IBV_QPS_RTS, "server's state %d", state_of(&p.s));
	}
	pair_close(&p);
}

/* A receive that is posted while the sender waits is found by the next try, and not before. */
static void rnr_then_receive(const void *arg)
{
	const struct wait_case *w = arg;
	double wait = rnr_10us[w->code] * 1e-5, begin, took;
	struct pair p;
	struct ibv_wc wc;

	if (!pair_open(&p))
		return;
	p.s.attr.min_rnr_timer = w->code;
	p.c.attr.rnr_retry = 7;
	if (pair_connect(&p)) {
		memset(p.c.buf, 0x77, 3000);
		begin = now();
		post_send(&p.c, 1, 3000, 0);
		post_send(&p.c, 2, 3000, 0);
		expect(!wait_cq(p.c.scq, 1, &wc, 0.05), "completed without a receive");
		post_recv(&p.s, 10, 3000);
		post_recv(&p.s, 11, 3000);
		expect_wc(p.c.scq, "client", 1, IBV_WC_SUCCESS, NONE);
		took = now() - begin;
		expect_wc(p.c.scq, "client", 2, IBV_WC_SUCCESS, NONE);
		expect_wc(p.s.rcq, "server", 10, IBV_WC_SUCCESS, NONE);
		expect_wc(p.s.rcq, "server", 11, IBV_WC_SUCCESS, NONE);
		expect(p.s.buf[0] == 0x77 && p.s.buf[2999] == 0x77, "content");
		expect(took >= wait && took <= 0.05 + 3 * wait + 0.25, "%.1f ms; a wait is %.1f ms",
		       took * 1e3, wait * 1e3);
	}
	pair_close(&p);
}

/* RETRY_EXC: at least T * (retry_cnt + 1), at most four times that; T = 4.096 us * 2^timeout. */
static void retries_exhausted(const void *arg)
{
	const struct wait_case *w = arg;
	double least = 4.096e-6 * (1 << w->timeout) * (w->cnt + 1), begin, took;
	struct pair p;

	if (!pair_open(&p))
		return;
	p.c.attr.timeout = w->timeout;
	p.c.attr.retry_cnt = w->cnt;
	/* a QP that does not answer: RESET */
	if (connect_to(&p.c, p.s.qp->qp_num)) {
		begin = now();
		post_write(&p, 1, 5000, 0);
		post_write(&p, 2, 8, 0);
		expect_wc(p.c.scq, "client", 1, IBV_WC_RETRY_EXC_ERR, NONE);
		took = now() - begin;
		expect_wc(p.c.scq, "client", 2, IBV_WC_WR_FLUSH_ERR, NONE);
		expect(took >= least && took <= 4 * least, "%.1f ms, at least %.1f, at most %.1f",
		       took * 1e3, least * 1e3, 4 * least * 1e3);
	}
	pair_close(&p);
}

static void timeout_0_waits(const void *arg)
{
	struct pair p;
	struct ibv_wc wc;

	(void)arg;
	if (!pair_open(&p))
		return;
	p.c.attr.timeout = 0;
	p.c.attr.retry_cnt = 0;
	if (connect_to(&p.c, p.s.qp->qp_num)) {
		post_write(&p, 1, 8, 0);
		expect(!wait_cq(p.c.scq, 1, &wc, 2), "gave up: %s", ibv_wc_status_str(wc.status));
		expect(!to_state(&p.c, IBV_QPS_ERR, IBV_QP_STATE), "to ERR");
		expect_wc(p.c.scq, "client", 1, IBV_WC_WR_FLUSH_ERR, NONE);
	}
	pair_close(&p);
}

static const struct wait_case rnr_exhausted_cases[] = {
	{ "rnr-exhausted-no-retry", 12, 0, 0, 0 },
	{ "rnr-exhausted-code-1", 1, 3, 0, 0 },
	{ "rnr-exhausted-code-20", 20, 3, 0, 0 },
	{ "rnr-exhausted-code-24", 24, 6, 0, 0 },
	{ "rnr-exhausted-code-31", 31, 1, 0, 0 },
};
static const struct wait_case rnr_receive_cases[] = {
	{ "rnr-then-receive-code-12", 12, 0, 0, 0 },
	{ "rnr-then-receive-code-26", 26, 0, 0, 0 },
	{ "rnr-then-receive-code-0-is-longest", 0, 0, 0, 0 },
};
static const struct wait_case retry_cases[] = {
	{ "retry-exhausted-timeout-12-count-3", 0, 0, 12, 3 },
	{ "retry-exhausted-timeout-14-count-0", 0, 0, 14, 0 },
	{ "retry-exhausted-timeout-14-count-7", 0, 0, 14, 7 },
	{ "retry-exhausted-timeout-16-count-1", 0, 0, 16, 1 },
};

/* ------------------------------------------------------------------ */
/* States: SQD, RTR                                                    */

static void sqd(const void *arg)
{
	struct ibv_wc wc[8];
	struct pair p;
	int i, event;

	(void)arg;
	if (!pair_open(&p))
		return;
	if (!pair_connect(&p))
		goto out;
	drain_async();
	for (i = 0; i < 4; i++)
		post_write(&p, i, BUF_SIZE, 0);
	p.c.attr.en_sqd_async_notify = 1;
	expect(!to_state(&p.c, IBV_QPS_SQD, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), "to SQD");
	event = async_event(5000);
	expect(event == IBV_EVENT_SQ_DRAINED, "event %d, not SQ_DRAINED", event);
	i = wait_cq(p.c.scq, 4, wc, 0.2);	/* those that had been started */
	post_write(&p, 4, 8, 0);
	expect(!wait_cq(p.c.scq, 1, wc + i, 0.3), "a request was started in SQD");
	/* receiving goes on */
	post_recv(&p.c, 50, 16);
	post_send(&p.s, 51, 16, 0);
	expect_wc(p.c.rcq, "client in SQD", 50, IBV_WC_SUCCESS, NONE);
	expect(!to_state(&p.c, IBV_QPS_RTS, IBV_QP_STATE), "SQD to RTS");
	i += wait_cq(p.c.scq, 5 - i, wc + i, 10);
	expect(i == 5, "%d of 5 requests completed", i);
	while (i--)
		expect((int)wc[i].wr_id == i && !wc[i].status, "completion %d: request %d, %s", i,
		       (int)wc[i].wr_id, ibv_wc_status_str(wc[i].status));
out:
	pair_close(&p);
}

static void communication_established(const void *arg)
{
	struct pair p;
	int event;

	(void)arg;
	if (!pair_open(&p))
		return;
	p.s.attr.dest_qp_num = p.c.qp->qp_num;
	if (connect_to(&p.c, p.s.qp->qp_num) &&
	    expect(!to_state(&p.s, IBV_QPS_INIT, INIT_MASK) &&
		   !to_state(&p.s, IBV_QPS_RTR, RTR_MASK), "to RTR")) {
		drain_async();
		post_recv(&p.s, 2, 16);
		post_send(&p.c, 1, 16, 0);
		expect_wc(p.s.rcq, "server in RTR", 2, IBV_WC_SUCCESS, NONE);
		event = async_event(2000);
		expect(event == IBV_EVENT_COMM_EST, "event %d, not COMM_EST", event);
		expect_wc(p.c.scq, "client", 1, IBV_WC_SUCCESS, NONE);
	}
	pair_close(&p);
}

/* ------------------------------------------------------------------ */
/* Completion channels                                                 */

/* True when the end's channel has an event within the time (of any of its CQs). */
static bool channel_event(struct end *e, int ms)
{
	struct pollfd fd = { .fd = e->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&fd, 1, ms) != 1 || ibv_get_cq_event(e->channel, &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void notify_once(const void *arg)
{
	struct pair p;

	(void)arg;
	if (!pair_open(&p))
		return;
	if (pair_connect(&p)) {
		post_recv(&p.s, 1, 16);
		post_recv(&p.s, 2, 16);
		post_recv(&p.s, 3, 16);
		expect(!channel_event(&p.s, 50), "an event before anything");
		expect(!ibv_req_notify_cq(p.s.rcq, 0), "req_notify");
		post_send(&p.c, 1, 8, 0);
		expect(channel_event(&p.s, 2000), "no event");
		post_send(&p.c, 2, 8, 0);
		expect(!channel_event(&p.s, 200), "an event without being asked for");
		expect(!ibv_req_notify_cq(p.s.rcq, 0), "req_notify");
		post_send(&p.c, 3, 8, 0);
		expect(channel_event(&p.s, 2000), "no event after asking again");
	}
	pair_close(&p);
}

static void notify_solicited(const void *arg)
{
	struct pair p;

	(void)arg;
	if (!pair_open(&p))
		return;
	if (pair_connect(&p)) {
		post_recv(&p.s, 1, 16);
		post_recv(&p.s, 2, 16);
		post_recv(&p.s, 3, 16);
		post_recv(&p.s, 4, 16);
		expect(!ibv_req_notify_cq(p.s.rcq, 1), "req_notify");
		post_send(&p.c, 1, 8, 0);
		expect(!channel_event(&p.s, 200), "an event for an unsolicited SEND");
		post_send(&p.c, 2, 8, IBV_SEND_SOLICITED);
		expect(channel_event(&p.s, 2000), "no event for a solicited SEND");
		expect(!ibv_req_notify_cq(p.s.rcq, 1), "req_notify");
		post(&p.c, 3, IBV_WR_RDMA_WRITE_WITH_IMM, 5000, WHOLE(&p), S_RKEY(&p), C_LKEY(&p),
		     IBV_SEND_SOLICITED);
		expect(channel_event(&p.s, 2000), "no event for a solicited WRITE with immediate");
		expect(!ibv_req_notify_cq(p.s.rcq, 1), "req_notify");
		to_state(&p.s, IBV_QPS_ERR, IBV_QP_STATE);
		expect(channel_event(&p.s, 2000), "no event for an error completion");
	}
	pair_close(&p);
}

/* A datagram of @length bytes to itself. */
static void ud_post(struct end *e, struct ibv_ah *ah, uint64_t wr_id, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, length, e->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND }, *bad;
	int rc;

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = e->qp->qp_num;
	wr.wr.ud.remote_qkey = UD_QKEY;
	rc = ibv_post_send(e->qp, &wr, &bad);
	expect(!rc, "post_send: %s", strerror(rc));
}

/* A datagram is one packet, as long as the port's MTU: a longer one is a local length error. */
static void ud_longer_than_mtu(const void *arg)
{
	uint32_t mtu = 128u << port_attr.active_mtu;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct ibv_wc wc;
	struct ibv_ah *ah;
	struct end e;

	(void)arg;
	if (!ud_open(&e))
		return;
	ah = ibv_create_ah(pd, &e.attr.ah_attr);
	if (!expect(ah, "create_ah: %s", strerror(errno)))
		goto out;
	post_recv(&e, 1, 40 + mtu);
	post_recv(&e, 2, 40 + mtu);
	ud_post(&e, ah, 3, mtu);
	expect_wc(e.scq, "as long as the MTU", 3, IBV_WC_SUCCESS, NONE);
	expect(wait_cq(e.rcq, 1, &wc, 10) == 1 && wc.wr_id == 1 && !wc.status &&
	       wc.byte_len == 40 + mtu, "no datagram of %u bytes came", mtu);
	ud_post(&e, ah, 4, mtu + 1);
	expect_wc(e.scq, "longer", 4, IBV_WC_LOC_LEN_ERR, NONE);
	expect(state_of(&e) == IBV_QPS_SQE, "state %d, not SQE", state_of(&e));
	ud_post(&e, ah, 5, 8);
	expect_wc(e.scq, "in SQE", 5, IBV_WC_WR_FLUSH_ERR, NONE);
	expect(!ibv_modify_qp(e.qp, &attr, IBV_QP_STATE), "SQE to RTS");
	ud_post(&e, ah, 6, 8);
	expect_wc(e.scq, "after SQE", 6, IBV_WC_SUCCESS, NONE);
	expect(wait_cq(e.rcq, 1, &wc, 10) == 1 && wc.wr_id == 2 && !wc.status &&
	       wc.byte_len == 48, "another datagram than the last: %u bytes", wc.byte_len);
	ibv_destroy_ah(ah);
out:
	end_close(&e);
}

static void cq_overrun(const void *arg)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE }, *bad;
	struct pair p;
	double end;
	int posted = 0, event = -1;

	(void)arg;
	if (!pair_open(&p))
		return;
	if (pair_connect(&p)) {
		drain_async();
		sge = (struct ibv_sge){ (uintptr_t)p.c.buf, 8, C_LKEY(&p) };
		wr.wr.rdma.remote_addr = WHOLE(&p);
		wr.wr.rdma.rkey = S_RKEY(&p);
		for (end = now() + 10; now() < end && posted < p.c.scq->cqe + 200; ) {
			if (!ibv_post_send(p.c.qp, &wr, &bad))
				posted++;
			else
				usleep(100);
			if (posted > p.c.scq->cqe) {
				event = async_event(0);
				if (event >= 0)
					break;
			}
		}
		if (event < 0)
			event = async_event(2000);
		expect(event == IBV_EVENT_CQ_ERR, "event %d, not CQ_ERR", event);
		event = async_event(2000);
		expect(event == IBV_EVENT_QP_FATAL, "event %d, not QP_FATAL", event);
		expect(state_of(&p.c) == IBV_QPS_ERR, "its QP is in state %d", state_of(&p.c));
	}
	pair_close(&p);
}

/* ------------------------------------------------------------------ */

static void srq_events(const void *arg)
{
	struct ibv_srq_init_attr sinit = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 4 };
	struct ibv_srq *srq = ibv_create_srq(pd, &sinit);
	struct ibv_qp_init_attr init;
	struct ibv_recv_wr wr, *bad;
	struct ibv_sge sge;
	struct pair p;
	int i, event;

	(void)arg;
	if (!expect(srq, "create_srq: %s", strerror(errno)) || !pair_open(&p))
		return;
	ibv_destroy_qp(p.s.qp);
	init = init_attr(&p.s);
	init.srq = srq;
	p.s.qp = ibv_create_qp(pd, &init);
	if (!expect(p.s.qp, "create_qp: %s", strerror(errno)) || !pair_connect(&p))
		goto out;
	drain_async();
	for (i = 0; i < 8; i++) {
		sge = (struct ibv_sge){ (uintptr_t)p.s.buf + 64 * i, 64, p.s.mr->lkey };
		wr = (struct ibv_recv_wr){ .wr_id = i, .sg_list = &sge, .num_sge = 1 };
		expect(!ibv_post_srq_recv(srq, &wr, &bad), "post_srq_recv");
	}
	expect(!ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), "limit");
	expect(ibv_destroy_srq(srq) == EBUSY, "an SRQ in use was destroyed");
	for (i = 0; i < 4; i++)
		post_send(&p.c, i, 64, 0);
	for (i = 0; i < 4; i++)
		expect_wc(p.s.rcq, "server", i, IBV_WC_SUCCESS, NONE);
	event = async_event(100);
	expect(event == -1, "event %d with 4 of 4 left", event);
	post_send(&p.c, 9, 64, 0);
	event = async_event(2000);
	expect(event == IBV_EVENT_SRQ_LIMIT_REACHED, "event %d, not SRQ_LIMIT_REACHED", event);
	to_state(&p.s, IBV_QPS_ERR, IBV_QP_STATE);
	event = async_event(2000);
	expect(event == IBV_EVENT_QP_LAST_WQE_REACHED, "event %d, not LAST_WQE_REACHED", event);
out:
	pair_close(&p);
	expect(!ibv_destroy_srq(srq), "destroy_srq");
}

/* Destroyed in mid-transfer: returns, and nothing completes afterwards. */
static void destroy_busy(const void *arg)
{
	struct ibv_wc wc;
	struct pair p;
	int i, round;

	(void)arg;
	for (round = 0; round < 20 && !reason[0]; round++) {
		if (!pair_open(&p))
			return;
		if (pair_connect(&p)) {
			for (i = 0; i < 30; i++)
				post(&p.c, i, i & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
				     BUF_SIZE, WHOLE(&p), S_RKEY(&p), C_LKEY(&p), 0);
			usleep(round * 300);
			expect(!ibv_destroy_qp(p.s.qp), "destroy_qp");
			p.s.qp = NULL;
			expect(!ibv_destroy_qp(p.c.qp), "destroy_qp");
			p.c.qp = NULL;
			while (ibv_poll_cq(p.c.scq, 1, &wc) == 1)
				;
			expect(!wait_cq(p.c.scq, 1, &wc, 0.02), "a completion after destroy_qp");
		}
		pair_close(&p);
	}
}

#define RUN_TABLE(table, function)						\
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)			\
		run((table)[i].name, function, &(table)[i])

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc != 3)
		return 2;
	open_device(argv[1], atoi(argv[2]));
	RUN_TABLE(status_cases, status);
	run("receive-wrong-lkey", recv_wrong_lkey, NULL);
	run("write-overrun-stays-inside", overrun_stays_inside, NULL);
	run("nothing-is-written-after-dereg", nothing_after_dereg, NULL);
	run("flush-in-order", flush_in_order, NULL);
	run("reset-and-reuse", reset_and_reuse, NULL);
	run("unsignaled", unsignaled, NULL);
	run("inline-data", inline_data, NULL);
	RUN_TABLE(rnr_exhausted_cases, rnr_exhausted);
	RUN_TABLE(rnr_receive_cases, rnr_then_receive);
	RUN_TABLE(retry_cases, retries_exhausted);
	run("timeout-0-waits-for-ever", timeout_0_waits, NULL);
	run("send-queue-drain", sqd, NULL);
	run("communication-established", communication_established, NULL);
	run("notify-once", notify_once, NULL);
	run("notify-solicited", notify_solicited, NULL);
	run("ud-longer-than-mtu", ud_longer_than_mtu, NULL);
	run("cq-overrun", cq_overrun, NULL);
	run("srq-events", srq_events, NULL);
	run("destroy-in-mid-transfer", destroy_busy, NULL);
	return finish();
}
