/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the programs that misuse verbs share: cases and their report, a device, QPs on it, and pairs
 * of QPs connected to each other over that one device.
 */
#ifndef VERBS_TEST_H
#define VERBS_TEST_H

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define QP_ATTR_OOO	(1 << 26)
#define BUF_SIZE	(64 * 1024)
#define ALL_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define INIT_MASK	(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR_MASK	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | \
			 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_MASK	(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
			 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_device_attr dev_attr;
static struct ibv_port_attr port_attr;
static int gid_index;
static union ibv_gid gid;

/* ------------------------------------------------------------------ */
/* Cases: a failed expectation is remembered, the case goes on or returns */

static const char *current;
static char reason[512];
static int failures, cases;

__attribute__((format(printf, 2, 3), unused))
static bool expect(bool condition, const char *fmt, ...)
{
	va_list ap;

	if (!condition && !reason[0]) {
		va_start(ap, fmt);
		vsnprintf(reason, sizeof(reason), fmt, ap);
		va_end(ap);
	}
	return condition;
}

/* With the environment variable CASE: only those whose names contain it. */
__attribute__((unused))
static void run(const char *name, void (*function)(const void *arg), const void *arg)
{
	const char *only = getenv("CASE");

	if (only && !strstr(name, only))
		return;
	current = name;
	reason[0] = 0;
	function(arg);
	cases++;
	if (reason[0])
		failures++;
	printf(reason[0] ? "not ok %s - %s\n" : "ok %s\n", name, reason);
	fflush(stdout);
}

__attribute__((unused))
static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static void die(const char *what)
{
	printf("not ok set-up - %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ------------------------------------------------------------------ */

static void open_device(const char *name, int index)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			break;
	if (!list || !list[i])
		die("no such device");
	ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	gid_index = index;
	if (!ctx || ibv_query_device(ctx, &dev_attr) || ibv_query_port(ctx, 1, &port_attr) ||
	    ibv_query_gid(ctx, 1, index, &gid))
		die("device");
	pd = ibv_alloc_pd(ctx);
	if (!pd)
		die("PD");
	fcntl(ctx->async_fd, F_SETFL, O_NONBLOCK);
}

/* ------------------------------------------------------------------ */
/* An end: a QP with CQs, a channel and a registered buffer of its own  */

struct end {
	struct ibv_comp_channel *channel;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
	int qp_access, mr_access;
	struct ibv_qp_attr attr;	/* defaults that a case may change before connect() */
};

static struct ibv_qp_init_attr init_attr(struct end *e)
{
	return (struct ibv_qp_init_attr){
		.qp_type = IBV_QPT_RC, .send_cq = e->scq, .recv_cq = e->rcq, .sq_sig_all = 1,
		.cap = { .max_send_wr = 32, .max_recv_wr = 32, .max_send_sge = 4,
			 .max_recv_sge = 4, .max_inline_data = 64 },
	};
}

__attribute__((unused))
static bool end_open(struct end *e)
{
	struct ibv_qp_init_attr init;

	memset(e, 0, sizeof(*e));
	e->qp_access = e->mr_access = ALL_ACCESS;
	e->channel = ibv_create_comp_channel(ctx);
	e->scq = ibv_create_cq(ctx, 128, NULL, e->channel, 0);
	e->rcq = ibv_create_cq(ctx, 128, NULL, e->channel, 0);
	e->buf = aligned_alloc(4096, BUF_SIZE);
	memset(e->buf, 0, BUF_SIZE);
	e->mr = ibv_reg_mr(pd, e->buf, BUF_SIZE, ALL_ACCESS);
	init = init_attr(e);
	e->qp = ibv_create_qp(pd, &init);
	if (!expect(e->channel && e->scq && e->rcq && e->mr && e->qp, "set-up: %s",
		    strerror(errno)))
		return false;
	fcntl(e->channel->fd, F_SETFL, O_NONBLOCK);
	e->attr = (struct ibv_qp_attr){
		.port_num = 1, .qp_access_flags = ALL_ACCESS, .path_mtu = IBV_MTU_1024,
		.rq_psn = 0xfffffe, .sq_psn = 0xfffffe, .max_dest_rd_atomic = 8,
		.max_rd_atomic = 8, .min_rnr_timer = 12, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 64 } },
	};
	return true;
}

/* Events of the end's QP that nobody looked at would block its destruction. */
static void drain_async(void)
{
	struct ibv_async_event event;

	while (!ibv_get_async_event(ctx, &event))
		ibv_ack_async_event(&event);
}

__attribute__((unused))
static void end_close(struct end *e)
{
	drain_async();
	if (e->qp)
		expect(!ibv_destroy_qp(e->qp), "destroy_qp: %s", strerror(errno));
	if (e->mr)
		expect(!ibv_dereg_mr(e->mr), "dereg_mr: %s", strerror(errno));
	if (e->scq)
		expect(!ibv_destroy_cq(e->scq), "destroy_cq: %s", strerror(errno));
	if (e->rcq)
		expect(!ibv_destroy_cq(e->rcq), "destroy_cq: %s", strerror(errno));
	if (e->channel)
		ibv_destroy_comp_channel(e->channel);
	free(e->buf);
}

__attribute__((unused))
static int to_state(struct end *e, enum ibv_qp_state state, int mask)
{
	e->attr.qp_state = state;
	return ibv_modify_qp(e->qp, &e->attr, mask);
}

__attribute__((unused))
static enum ibv_qp_state state_of(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init))
		return IBV_QPS_UNKNOWN;
	return attr.qp_state;
}

__attribute__((unused))
static bool connect_to(struct end *e, uint32_t qpn)
{
	int rc;

	e->attr.dest_qp_num = qpn;
	rc = to_state(e, IBV_QPS_INIT, INIT_MASK);
	if (!rc)
		rc = to_state(e, IBV_QPS_RTR, RTR_MASK);
	if (!rc)
		rc = to_state(e, IBV_QPS_RTS, RTS_MASK);
	return expect(!rc, "connect: %s", strerror(rc));
}

/* Type of the next asynchronous event within the time, or -1. */
__attribute__((unused))
static int async_event(int ms)
{
	struct pollfd fd = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&fd, 1, ms) != 1 || ibv_get_async_event(ctx, &event))
		return -1;
	ibv_ack_async_event(&event);
	return event.event_type;
}

/* The status of the next completion; -1: none within the time. */
__attribute__((unused))
static int wait_wc(struct ibv_cq *cq)
{
	double end = now() + 20;
	struct ibv_wc wc;

	while (now() < end)
		if (ibv_poll_cq(cq, 1, &wc) == 1)
			return wc.status;
	return -1;
}

#define UD_QKEY	0x11111111

/* As end_open(), with a UD QP that can send and receive. */
__attribute__((unused))
static bool ud_open(struct end *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = UD_QKEY };
	struct ibv_qp_init_attr init;
	int rc;

	if (!end_open(e))
		return false;
	ibv_destroy_qp(e->qp);
	init = init_attr(e);
	init.qp_type = IBV_QPT_UD;
	e->qp = ibv_create_qp(pd, &init);
	if (!expect(e->qp, "create_qp: %s", strerror(errno)))
		return false;
	rc = ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			   IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	if (!rc)
		rc = ibv_modify_qp(e->qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (!rc)
		rc = ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return expect(!rc, "to RTS: %s", strerror(rc));
}

__attribute__((unused))
static int finish(void)
{
	expect(!ibv_dealloc_pd(pd), "dealloc_pd");
	ibv_close_device(ctx);
	printf("# %d cases, %d failed\n", cases, failures);
	return failures ? 1 : 0;
}

#endif
