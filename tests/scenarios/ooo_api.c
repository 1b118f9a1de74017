// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ooo_api DEVICE: the programming interface of out-of-order placement, tried
 * on a live device as root. Prints `ok NAME`, `not ok NAME - why`. Needs no
 * peer: a QP connects to itself as far as its states go.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/rxe_ooodv.h>

#define OOO	RXE_OOODV_QP_OOO_RW_DATA_PLACEMENT

static const char *dev_name;
static struct ibv_device *device;

/* An open device and what QPs need. */
struct node {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_xrcd *xrcd;
	union ibv_gid gid;
};

static struct node node;

/* ------------------------------------------------------------------ */
/* Report                                                              */

static char reason[256];

__attribute__((format(printf, 1, 2)))
static const char *why(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return reason;
}

/* In a case: give up with a reason. */
#define EXPECT(condition, ...)						\
	do {								\
		if (!(condition))					\
			return why(__VA_ARGS__);			\
	} while (0)

#define PASS_ON(call)							\
	do {								\
		const char *pass_on_why = (call);			\
									\
		if (pass_on_why)					\
			return pass_on_why;				\
	} while (0)

static void fatal(const char *what)
{
	printf("not ok ooo-api-setup - %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ------------------------------------------------------------------ */
/* Devices and queue pairs                                             */

static struct node node_open(void)
{
	struct ibv_xrcd_init_attr xrcd_attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct node n = {};

	n.ctx = ibv_open_device(device);
	if (!n.ctx)
		fatal("ibv_open_device");
	n.pd = ibv_alloc_pd(n.ctx);
	n.cq = ibv_create_cq(n.ctx, 16, NULL, NULL, 0);
	n.xrcd = ibv_open_xrcd(n.ctx, &xrcd_attr);
	if (!n.pd || !n.cq || !n.xrcd)
		fatal("ibv_alloc_pd, ibv_create_cq or ibv_open_xrcd");
	if (ibv_query_gid(n.ctx, 1, 0, &n.gid))
		fatal("ibv_query_gid");
	return n;
}

static void node_close(struct node *n)
{
	ibv_close_xrcd(n->xrcd);
	ibv_destroy_cq(n->cq);
	ibv_dealloc_pd(n->pd);
	ibv_close_device(n->ctx);
}

static const char *type_name(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC: return "RC";
	case IBV_QPT_UC: return "UC";
	case IBV_QPT_UD: return "UD";
	case IBV_QPT_XRC_SEND: return "XRC_SEND";
	case IBV_QPT_XRC_RECV: return "XRC_RECV";
	default: return "?";
	}
}

static struct ibv_qp *qp_create(struct node *n, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.cap = {
			.max_send_wr = 4, .max_recv_wr = 4,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = n->pd,
		.send_cq = n->cq,
		.recv_cq = n->cq,
	};
	struct ibv_qp *qp;

	if (type == IBV_QPT_XRC_RECV) {
		memset(&attr, 0, sizeof(attr));
		attr.qp_type = type;
		attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		attr.xrcd = n->xrcd;
	}
	qp = ibv_create_qp_ex(n->ctx, &attr);
	if (!qp)
		fatal(type_name(type));
	return qp;
}

/* The attributes and their mask that bring a QP of any type to @state. */
static int attr_for(struct node *n, const struct ibv_qp *qp,
		    enum ibv_qp_state state, struct ibv_qp_attr *attr)
{
	const int connect = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			    IBV_QP_RQ_PSN;
	const int respond = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const int request = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	const enum ibv_qp_type type = qp->qp_type;
	int mask = IBV_QP_STATE;

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = state;
	attr->port_num = 1;
	attr->qkey = 0x11111111;
	attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	attr->path_mtu = IBV_MTU_1024;
	attr->dest_qp_num = qp->qp_num;
	attr->max_dest_rd_atomic = 1;
	attr->max_rd_atomic = 1;
	attr->min_rnr_timer = 12;
	attr->timeout = 14;
	attr->retry_cnt = 7;
	attr->rnr_retry = 7;
	attr->ah_attr.is_global = 1;
	attr->ah_attr.grh.dgid = n->gid;
	attr->ah_attr.grh.hop_limit = 1;
	attr->ah_attr.port_num = 1;

	switch (state) {
	case IBV_QPS_INIT:
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
		return mask | (type == IBV_QPT_UD ? IBV_QP_QKEY :
						    IBV_QP_ACCESS_FLAGS);
	case IBV_QPS_RTR:
		if (type == IBV_QPT_UD)
			return mask;
		mask |= connect;
		if (type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV)
			mask |= respond;
		return mask;
	case IBV_QPS_RTS:
		mask |= IBV_QP_SQ_PSN;
		if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND)
			mask |= request;
		if (type == IBV_QPT_XRC_RECV)
			mask |= IBV_QP_TIMEOUT;
		return mask;
	default:
		return mask;
	}
}

static int go(struct node *n, struct ibv_qp *qp, enum ibv_qp_state state,
	      int extra_mask)
{
	struct ibv_qp_attr attr;
	int mask = attr_for(n, qp, state, &attr);

	return ibv_modify_qp(qp, &attr, mask | extra_mask);
}

/* In the kernel's eyes */
static int state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init_attr;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init_attr))
		return -1;
	return attr.qp_state;
}

/* -1: the query failed */
static int ooo_of(struct ibv_qp *qp)
{
	struct rxe_ooodv_qp_attr attr;

	memset(&attr, 0xff, sizeof(attr));
	if (rxe_ooodv_query_qp(qp, &attr))
		return -1;
	if (!(attr.comp_mask & RXE_OOODV_QP_ATTR_OOO) || attr.reserved[3])
		return -1;
	return attr.ooo;
}

static const char *expect_order(struct ibv_qp *qp, int in_order)
{
	static const struct {
		enum ibv_wr_opcode op;
		const char *name;
		bool placed;		/* is concerned by placement */
	} ops[] = {
		{ IBV_WR_RDMA_WRITE, "WRITE", true },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, "WRITE_WITH_IMM", true },
		{ IBV_WR_RDMA_READ, "READ", true },
		{ IBV_WR_SEND, "SEND", false },
	};
	size_t i;

#if defined(__x86_64__) || defined(__i386__)
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		int want = ops[i].placed ? in_order : 1;
		int got = ibv_query_qp_data_in_order(qp, ops[i].op, 0);
		int caps = ibv_query_qp_data_in_order(
			qp, ops[i].op, IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS);

		EXPECT(got == want, "%s: data_in_order is %d, not %d",
		       ops[i].name, got, want);
		EXPECT(!!(caps & IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG) == want,
		       "%s: data_in_order capabilities %#x", ops[i].name, caps);
	}
#else
	/* libibverbs itself promises nothing elsewhere. */
	(void)i;
	(void)qp;
	(void)in_order;
	(void)ops;
#endif
	return NULL;
}

static int default_file(const char *value)
{
	char path[256];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ooo_default",
		 dev_name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return errno;
	len = write(fd, value, strlen(value));
	len = len < 0 ? errno : 0;
	close(fd);
	return len;
}

static int read_default(void)
{
	char path[256], text[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ooo_default",
		 dev_name);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (!fgets(text, sizeof(text), file))
		text[0] = 0;
	fclose(file);
	if (!strcmp(text, "0\n"))
		return 0;
	return strcmp(text, "1\n") ? -1 : 1;
}

/* ------------------------------------------------------------------ */
/* Capabilities                                                        */

static const char *caps(void)
{
	struct rxe_ooodv_device_attr_ex attr;
	struct ibv_device_attr_ex plain;
	int ret;

	memset(&attr, 0xa5, sizeof(attr));
	ret = rxe_ooodv_query_device_ex(node.ctx, NULL, &attr);
	EXPECT(!ret, "errno %d", ret);
	EXPECT(attr.comp_mask == RXE_OOODV_DEVICE_ATTR_OOO_CAPS,
	       "comp_mask %#llx", (unsigned long long)attr.comp_mask);
	EXPECT(attr.ooo_caps.rc_caps == RXE_OOODV_OOO_RW_DATA_PLACEMENT,
	       "rc_caps %#x", attr.ooo_caps.rc_caps);
	EXPECT(attr.ooo_caps.xrc_caps == RXE_OOODV_OOO_RW_DATA_PLACEMENT,
	       "xrc_caps %#x", attr.ooo_caps.xrc_caps);
	EXPECT(!attr.ooo_caps.ud_caps && !attr.ooo_caps.uc_caps,
	       "ud_caps %#x, uc_caps %#x", attr.ooo_caps.ud_caps,
	       attr.ooo_caps.uc_caps);
	EXPECT(!attr.reserved[0] && !attr.reserved[3], "reserved is not 0");

	ret = ibv_query_device_ex(node.ctx, NULL, &plain);
	EXPECT(!ret, "ibv_query_device_ex: errno %d", ret);
	EXPECT(!memcmp(&plain, &attr.base, sizeof(plain)),
	       "base is not what ibv_query_device_ex gives");
	return NULL;
}

static const char *caps_input(void)
{
	struct ibv_query_device_ex_input input = { .comp_mask = 1 };
	struct rxe_ooodv_device_attr_ex attr;
	int ret;

	ret = rxe_ooodv_query_device_ex(node.ctx, &input, &attr);
	EXPECT(ret == EINVAL, "comp_mask 1: errno %d", ret);
	input.comp_mask = 0;
	ret = rxe_ooodv_query_device_ex(node.ctx, &input, &attr);
	EXPECT(!ret, "comp_mask 0: errno %d", ret);
	return NULL;
}

/* Sizes that are not ours, nor one that libibverbs' structure ever had. */
static const char *caps_sizes(void)
{
	const size_t base = sizeof(struct ibv_device_attr_ex);
	struct verbs_context *vctx;
	union {
		struct ibv_device_attr_ex attr;
		unsigned char bytes[2048];
	} buf;
	size_t size, i;
	int ret;

	vctx = verbs_get_ctx_op(node.ctx, query_device_ex);
	EXPECT(vctx, "no query_device_ex");
	for (size = base + 1; size <= 1024; size++) {
		memset(&buf, 0xa5, sizeof(buf));
		ret = vctx->query_device_ex(node.ctx, NULL, &buf.attr, size);
		EXPECT(ret == EINVAL, "size base + %zu: errno %d", size - base,
		       ret);
		for (i = 0; i < sizeof(buf); i++)
			EXPECT(buf.bytes[i] == 0xa5,
			       "size base + %zu: byte %zu was written",
			       size - base, i);
	}
	for (size = 0; size < sizeof(struct ibv_device_attr); size += 8) {
		ret = vctx->query_device_ex(node.ctx, NULL, &buf.attr, size);
		EXPECT(ret == EINVAL, "size %zu: errno %d", size, ret);
	}

	memset(&buf, 0xa5, sizeof(buf));
	ret = vctx->query_device_ex(node.ctx, NULL, &buf.attr, base);
	EXPECT(!ret, "size base: errno %d", ret);
	EXPECT(buf.bytes[base] == 0xa5, "size base: written beyond it");
	return NULL;
}

/* ------------------------------------------------------------------ */
/* The attribute bit                                                   */

static const char *bit_on_type(enum ibv_qp_type type)
{
	struct ibv_qp *qp = qp_create(&node, type);
	const char *err;
	int ret;

	EXPECT(ooo_of(qp) == 0, "in RESET ooo is %d", ooo_of(qp));
	ret = go(&node, qp, IBV_QPS_INIT, 0);
	EXPECT(!ret, "INIT: errno %d", ret);
	PASS_ON(expect_order(qp, 1));
	ret = go(&node, qp, IBV_QPS_RTR, OOO);
	EXPECT(!ret, "RTR: errno %d", ret);
	EXPECT(qp->state == IBV_QPS_RTR && state_of(qp) == IBV_QPS_RTR,
	       "state %d", state_of(qp));
	EXPECT(ooo_of(qp) == 1, "in RTR ooo is %d", ooo_of(qp));
	PASS_ON(expect_order(qp, 0));
	ret = go(&node, qp, IBV_QPS_RTS, 0);
	EXPECT(!ret, "RTS: errno %d", ret);
	EXPECT(ooo_of(qp) == 1, "in RTS ooo is %d", ooo_of(qp));
	err = expect_order(qp, 0);
	EXPECT(!err, "in RTS %s", err);

	/* A new life: not asked for, not on. */
	ret = go(&node, qp, IBV_QPS_RESET, 0);
	EXPECT(!ret, "RESET: errno %d", ret);
	EXPECT(ooo_of(qp) == 0, "back in RESET ooo is %d", ooo_of(qp));
	ret = go(&node, qp, IBV_QPS_INIT, 0) ?: go(&node, qp, IBV_QPS_RTR, 0);
	EXPECT(!ret, "second life: errno %d", ret);
	EXPECT(ooo_of(qp) == 0, "in the second life ooo is %d", ooo_of(qp));
	PASS_ON(expect_order(qp, 1));
	ibv_destroy_qp(qp);
	return NULL;
}

static const char *bit_rc(void) { return bit_on_type(IBV_QPT_RC); }
static const char *bit_xrc_send(void) { return bit_on_type(IBV_QPT_XRC_SEND); }
static const char *bit_xrc_recv(void) { return bit_on_type(IBV_QPT_XRC_RECV); }

/* The bit with a transition that does not take it: EINVAL, and as before. */
static const char *refused(struct ibv_qp *qp, enum ibv_qp_state to)
{
	int before = state_of(qp), on = ooo_of(qp);
	int ret = go(&node, qp, to, OOO);

	EXPECT(ret == EINVAL, "%s %d -> %d: errno %d", type_name(qp->qp_type),
	       before, to, ret);
	EXPECT(state_of(qp) == before, "%s %d -> %d: now in %d",
	       type_name(qp->qp_type), before, to, state_of(qp));
	EXPECT(ooo_of(qp) == on, "%s %d -> %d: ooo was %d, is %d",
	       type_name(qp->qp_type), before, to, on, ooo_of(qp));
	return NULL;
}

static const char *moved(struct ibv_qp *qp, enum ibv_qp_state to, int mask)
{
	int ret = go(&node, qp, to, mask);

	EXPECT(!ret, "%s -> %d: errno %d", type_name(qp->qp_type), to, ret);
	return NULL;
}

/* Every transition but INIT->RTR, and none at all */
static const char *bit_elsewhere_on(enum ibv_qp_type type, int rtr_mask)
{
	struct ibv_qp *qp = qp_create(&node, type);
	struct ibv_qp_attr attr = { .qp_access_flags = 0 };
	int ret;

	PASS_ON(refused(qp, IBV_QPS_INIT));
	PASS_ON(refused(qp, IBV_QPS_RESET));
	PASS_ON(refused(qp, IBV_QPS_RTR));
	PASS_ON(moved(qp, IBV_QPS_INIT, 0));
	PASS_ON(refused(qp, IBV_QPS_INIT));
	PASS_ON(refused(qp, IBV_QPS_ERR));
	PASS_ON(refused(qp, IBV_QPS_RESET));
	ret = ibv_modify_qp(qp, &attr, OOO);
	EXPECT(ret == EINVAL, "%s, the bit alone: errno %d", type_name(type),
	       ret);
	PASS_ON(moved(qp, IBV_QPS_RTR, rtr_mask));
	PASS_ON(refused(qp, IBV_QPS_RTR));
	PASS_ON(refused(qp, IBV_QPS_RTS));
	PASS_ON(moved(qp, IBV_QPS_RTS, 0));
	PASS_ON(refused(qp, IBV_QPS_RTS));
	if (type != IBV_QPT_XRC_RECV)
		PASS_ON(refused(qp, IBV_QPS_SQD));
	PASS_ON(refused(qp, IBV_QPS_ERR));
	PASS_ON(moved(qp, IBV_QPS_ERR, 0));
	PASS_ON(refused(qp, IBV_QPS_RESET));
	PASS_ON(moved(qp, IBV_QPS_RESET, 0));
	ibv_destroy_qp(qp);
	return NULL;
}

static const char *bit_elsewhere(void)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV,
	};
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		PASS_ON(bit_elsewhere_on(types[i], 0));
		PASS_ON(bit_elsewhere_on(types[i], OOO));
	}
	return NULL;
}

static const char *bit_other_services(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UC, IBV_QPT_UD };
	struct ibv_qp *qp;
	size_t i;

	for (i = 0; i < 2; i++) {
		qp = qp_create(&node, types[i]);
		PASS_ON(moved(qp, IBV_QPS_INIT, 0));
		PASS_ON(refused(qp, IBV_QPS_RTR));
		PASS_ON(moved(qp, IBV_QPS_RTR, 0));
		EXPECT(ooo_of(qp) == 0, "%s: ooo is %d", type_name(types[i]),
		       ooo_of(qp));
		PASS_ON(expect_order(qp, 1));
		ibv_destroy_qp(qp);
	}
	return NULL;
}

/* INIT->RTR that fails for another reason leaves nothing of the bit behind. */
static const char *bit_not_remembered(void)
{
	struct ibv_qp *qp = qp_create(&node, IBV_QPT_RC);
	struct ibv_qp_attr attr;
	int ret, mask;

	PASS_ON(moved(qp, IBV_QPS_INIT, 0));
	mask = attr_for(&node, qp, IBV_QPS_RTR, &attr);
	ret = ibv_modify_qp(qp, &attr, (mask & ~IBV_QP_RQ_PSN) | OOO);
	EXPECT(ret == EINVAL, "without RQ_PSN: errno %d", ret);
	EXPECT(state_of(qp) == IBV_QPS_INIT, "now in %d", state_of(qp));
	EXPECT(ooo_of(qp) == 0, "ooo is %d", ooo_of(qp));
	PASS_ON(moved(qp, IBV_QPS_RTR, 0));
	EXPECT(ooo_of(qp) == 0, "in RTR ooo is %d", ooo_of(qp));
	ibv_destroy_qp(qp);
	return NULL;
}

static const char *unknown_bits(void)
{
	struct ibv_qp *qp = qp_create(&node, IBV_QPT_RC);
	int bit;

	PASS_ON(moved(qp, IBV_QPS_INIT, 0));
	for (bit = 27; bit < 31; bit++) {
		EXPECT(go(&node, qp, IBV_QPS_RTR, 1 << bit),
		       "bit %d was accepted", bit);
		EXPECT(go(&node, qp, IBV_QPS_RTR, 1 << bit | OOO),
		       "bit %d with 26 was accepted", bit);
		EXPECT(state_of(qp) == IBV_QPS_INIT, "bit %d: now in %d", bit,
		       state_of(qp));
	}
	ibv_destroy_qp(qp);
	return NULL;
}

/* ------------------------------------------------------------------ */
/* rxe_ooodv_set_ooo(), ooo_default, environment                       */

static const char *set_ooo(void)
{
	struct ibv_qp *qp = qp_create(&node, IBV_QPT_RC);
	int ret;

	EXPECT(!rxe_ooodv_set_ooo(qp, 1), "in RESET");
	PASS_ON(expect_order(qp, 0));
	PASS_ON(moved(qp, IBV_QPS_INIT, 0));
	EXPECT(ooo_of(qp) == 0, "in INIT ooo is %d", ooo_of(qp));
	PASS_ON(expect_order(qp, 0));
	EXPECT(!rxe_ooodv_set_ooo(qp, 0), "off, in INIT");
	PASS_ON(expect_order(qp, 1));
	EXPECT(!rxe_ooodv_set_ooo(qp, 1), "on, in INIT");
	ret = rxe_ooodv_set_ooo(qp, 2);
	EXPECT(ret == EINVAL, "2: errno %d", ret);
	ret = rxe_ooodv_set_ooo(qp, -1);
	EXPECT(ret == EINVAL, "-1: errno %d", ret);
	PASS_ON(moved(qp, IBV_QPS_RTR, 0));
	EXPECT(ooo_of(qp) == 1, "in RTR ooo is %d", ooo_of(qp));
	PASS_ON(expect_order(qp, 0));

	ret = rxe_ooodv_set_ooo(qp, 0);
	EXPECT(ret == EINVAL, "in RTR: errno %d", ret);
	PASS_ON(moved(qp, IBV_QPS_RTS, 0));
	ret = rxe_ooodv_set_ooo(qp, 1);
	EXPECT(ret == EINVAL, "in RTS: errno %d", ret);
	PASS_ON(moved(qp, IBV_QPS_ERR, 0));
	ret = rxe_ooodv_set_ooo(qp, 1);
	EXPECT(ret == EINVAL, "in ERR: errno %d", ret);

	/* It stays, through RESET too; the bit has the last word. */
	PASS_ON(moved(qp, IBV_QPS_RESET, 0));
	PASS_ON(moved(qp, IBV_QPS_INIT, 0));
	PASS_ON(moved(qp, IBV_QPS_RTR, 0));
	EXPECT(ooo_of(qp) == 1, "second life: ooo is %d", ooo_of(qp));
	PASS_ON(moved(qp, IBV_QPS_RESET, 0));
	EXPECT(!rxe_ooodv_set_ooo(qp, 0), "off, in RESET");
	PASS_ON(moved(qp, IBV_QPS_INIT, 0));
	PASS_ON(moved(qp, IBV_QPS_RTR, OOO));
	EXPECT(ooo_of(qp) == 1, "set to 0, and the bit: ooo is %d", ooo_of(qp));
	ibv_destroy_qp(qp);
	return NULL;
}

static const char *set_ooo_types(void)
{
	static const struct {
		enum ibv_qp_type type;
		int result;
	} types[] = {
		{ IBV_QPT_RC, 0 }, { IBV_QPT_XRC_SEND, 0 },
		{ IBV_QPT_XRC_RECV, 0 }, { IBV_QPT_UC, EINVAL },
		{ IBV_QPT_UD, EINVAL },
	};
	struct ibv_qp *qp;
	size_t i;
	int ret;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		qp = qp_create(&node, types[i].type);
		ret = rxe_ooodv_set_ooo(qp, 1);
		EXPECT(ret == types[i].result, "%s: errno %d",
		       type_name(types[i].type), ret);
		PASS_ON(moved(qp, IBV_QPS_INIT, 0));
		PASS_ON(moved(qp, IBV_QPS_RTR, 0));
		EXPECT(ooo_of(qp) == !types[i].result, "%s: ooo is %d",
		       type_name(types[i].type), ooo_of(qp));
		ibv_destroy_qp(qp);
	}
	return NULL;
}

/* A QP of which nobody says anything */
static const char *silent_qp(struct node *n, enum ibv_qp_type type, int on)
{
	struct ibv_qp *qp = qp_create(n, type);
	const char *err;

	PASS_ON(moved(qp, IBV_QPS_INIT, 0));
	err = expect_order(qp, !on);
	EXPECT(!err, "%s in INIT: %s", type_name(type), err);
	PASS_ON(moved(qp, IBV_QPS_RTR, 0));
	EXPECT(ooo_of(qp) == on, "%s: ooo is %d", type_name(type), ooo_of(qp));
	err = expect_order(qp, !on);
	EXPECT(!err, "%s in RTR: %s", type_name(type), err);
	ibv_destroy_qp(qp);
	return NULL;
}

static const char *silent_qps(struct node *n, int on)
{
	PASS_ON(silent_qp(n, IBV_QPT_RC, on));
	PASS_ON(silent_qp(n, IBV_QPT_XRC_SEND, on));
	PASS_ON(silent_qp(n, IBV_QPT_XRC_RECV, on));
	PASS_ON(silent_qp(n, IBV_QPT_UC, 0));
	PASS_ON(silent_qp(n, IBV_QPT_UD, 0));
	return NULL;
}

static const char *default_decides(void)
{
	struct rxe_ooodv_qp_attr attr;
	struct ibv_qp *qp;
	int ret;

	EXPECT(read_default() == 0, "ooo_default is not \"0\" at first");
	PASS_ON(silent_qps(&node, 0));
	ret = default_file("1\n");
	EXPECT(!ret, "write 1: errno %d", ret);
	EXPECT(read_default() == 1, "ooo_default is not \"1\"");
	PASS_ON(silent_qps(&node, 1));

	/* Off that was asked for is off. */
	qp = qp_create(&node, IBV_QPT_RC);
	EXPECT(!rxe_ooodv_query_qp(qp, &attr) && attr.ooo_default == 1,
	       "query_qp: ooo_default is %u", attr.ooo_default);
	EXPECT(!rxe_ooodv_set_ooo(qp, 0), "set_ooo");
	PASS_ON(moved(qp, IBV_QPS_INIT, 0));
	PASS_ON(expect_order(qp, 1));
	PASS_ON(moved(qp, IBV_QPS_RTR, 0));
	EXPECT(ooo_of(qp) == 0, "set to 0: ooo is %d", ooo_of(qp));

	/* What was decided stays. */
	ret = default_file("0");
	EXPECT(!ret, "write 0: errno %d", ret);
	EXPECT(!rxe_ooodv_query_qp(qp, &attr) && attr.ooo_default == 0,
	       "query_qp: ooo_default is %u", attr.ooo_default);
	ibv_destroy_qp(qp);
	PASS_ON(silent_qps(&node, 0));
	return NULL;
}

static const char *default_stays_decided(void)
{
	struct ibv_qp *qp = qp_create(&node, IBV_QPT_RC);
	int ret;

	ret = default_file("1");
	EXPECT(!ret, "write 1: errno %d", ret);
	PASS_ON(moved(qp, IBV_QPS_INIT, 0));
	PASS_ON(moved(qp, IBV_QPS_RTR, 0));
	ret = default_file("0");
	EXPECT(!ret, "write 0: errno %d", ret);
	EXPECT(ooo_of(qp) == 1, "ooo is %d", ooo_of(qp));
	PASS_ON(moved(qp, IBV_QPS_RTS, 0));
	EXPECT(ooo_of(qp) == 1, "in RTS ooo is %d", ooo_of(qp));
	ibv_destroy_qp(qp);
	return NULL;
}

static const char *default_bad_values(void)
{
	static const char * const values[] = { "2", "-1", "x" };
	size_t i;
	int ret;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		ret = default_file(values[i]);
		EXPECT(ret == EINVAL, "\"%s\": errno %d", values[i], ret);
		EXPECT(read_default() == 0, "\"%s\" changed it", values[i]);
	}
	return NULL;
}

static const char *with_env(const char *value, const char *(*f)(struct node *))
{
	const char *err;
	struct node n;

	if (value)
		setenv("RXE_OOO_DATA_PLACEMENT", value, 1);
	n = node_open();
	unsetenv("RXE_OOO_DATA_PLACEMENT");
	err = f(&n);
	if (!err)
		node_close(&n);
	return err;
}

static const char *qps_on(struct node *n) { return silent_qps(n, 1); }
static const char *qps_off(struct node *n) { return silent_qps(n, 0); }

static const char *asking_qp(struct node *n, int set, int mask, int on)
{
	struct ibv_qp *qp = qp_create(n, IBV_QPT_RC);

	if (set >= 0)
		EXPECT(!rxe_ooodv_set_ooo(qp, set), "set_ooo %d", set);
	PASS_ON(moved(qp, IBV_QPS_INIT, 0));
	PASS_ON(moved(qp, IBV_QPS_RTR, mask));
	EXPECT(ooo_of(qp) == on, "set_ooo %d, mask %#x: ooo is %d", set, mask,
	       ooo_of(qp));
	PASS_ON(expect_order(qp, !on));
	ibv_destroy_qp(qp);
	return NULL;
}

static const char *asking_all_off(struct node *n)
{
	PASS_ON(asking_qp(n, 1, 0, 0));
	PASS_ON(asking_qp(n, -1, OOO, 0));
	return asking_qp(n, 1, OOO, 0);
}

static const char *asking_with_on(struct node *n)
{
	PASS_ON(asking_qp(n, 0, 0, 0));
	PASS_ON(asking_qp(n, 0, OOO, 1));
	return asking_qp(n, -1, OOO, 1);
}

static const char *env_on(void)
{
	PASS_ON(with_env("1", qps_on));
	return with_env("1", asking_with_on);
}

static const char *env_off(void)
{
	int ret = default_file("1");

	EXPECT(!ret, "ooo_default: errno %d", ret);
	PASS_ON(with_env("0", qps_off));
	PASS_ON(with_env("0", asking_all_off));
	ret = default_file("0");
	EXPECT(!ret, "ooo_default: errno %d", ret);
	return NULL;
}

static const char *env_other(void)
{
	PASS_ON(with_env("", qps_off));
	PASS_ON(with_env("2", qps_off));
	PASS_ON(with_env("yes", qps_off));
	return with_env(NULL, qps_off);
}

/* ------------------------------------------------------------------ */

/* Another context opens the target QP: the kernel answers for it. */
static const char *opened_qp_of(struct node *other, struct ibv_xrcd *xrcd,
				struct ibv_qp *qp, int on)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = qp->qp_num,
		.xrcd = xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_qp *opened;
	int ret;

	opened = ibv_open_qp(other->ctx, &attr);
	EXPECT(opened, "ibv_open_qp: errno %d", errno);
	EXPECT(ooo_of(opened) == on, "ooo is %d", ooo_of(opened));
	PASS_ON(expect_order(opened, !on));
	ret = rxe_ooodv_set_ooo(opened, 1);
	EXPECT(ret == EINVAL, "set_ooo in RTR: errno %d", ret);
	ret = ibv_destroy_qp(opened);
	EXPECT(!ret, "destroy: errno %d", ret);
	return NULL;
}

static const char *opened_qp(void)
{
	char path[] = "/tmp/ooo_api.XXXXXX";
	int fd = mkstemp(path);
	struct ibv_xrcd_init_attr xrcd_attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = O_CREAT,
	};
	struct node a = node_open(), b = node_open(), with_xrcd;
	struct ibv_xrcd *xrcd_a, *xrcd_b;
	struct ibv_qp *qp;
	int on;

	EXPECT(fd >= 0, "mkstemp: errno %d", errno);
	xrcd_a = ibv_open_xrcd(a.ctx, &xrcd_attr);
	xrcd_b = ibv_open_xrcd(b.ctx, &xrcd_attr);
	unlink(path);
	EXPECT(xrcd_a && xrcd_b, "ibv_open_xrcd: errno %d", errno);
	with_xrcd = a;
	with_xrcd.xrcd = xrcd_a;
	for (on = 0; on < 2; on++) {
		qp = qp_create(&with_xrcd, IBV_QPT_XRC_RECV);
		PASS_ON(moved(qp, IBV_QPS_INIT, 0));
		PASS_ON(moved(qp, IBV_QPS_RTR, on ? OOO : 0));
		PASS_ON(opened_qp_of(&b, xrcd_b, qp, on));
		ibv_destroy_qp(qp);
	}
	EXPECT(!ibv_close_xrcd(xrcd_a), "ibv_close_xrcd");
	EXPECT(!ibv_close_xrcd(xrcd_b), "ibv_close_xrcd of the other");
	close(fd);
	node_close(&a);
	node_close(&b);
	return NULL;
}

static const struct {
	const char *name;
	const char *(*run)(void);
} cases[] = {
	{ "ooo-caps", caps },
	{ "ooo-caps-input", caps_input },
	{ "ooo-caps-wrong-sizes", caps_sizes },
	{ "ooo-bit-rc", bit_rc },
	{ "ooo-bit-xrc-send", bit_xrc_send },
	{ "ooo-bit-xrc-recv", bit_xrc_recv },
	{ "ooo-bit-elsewhere-einval", bit_elsewhere },
	{ "ooo-bit-uc-ud-einval", bit_other_services },
	{ "ooo-bit-not-remembered", bit_not_remembered },
	{ "ooo-unknown-bits-refused", unknown_bits },
	{ "ooo-set", set_ooo },
	{ "ooo-set-types", set_ooo_types },
	{ "ooo-default", default_decides },
	{ "ooo-default-decided-once", default_stays_decided },
	{ "ooo-default-bad-values", default_bad_values },
	{ "ooo-env-on", env_on },
	{ "ooo-env-off", env_off },
	{ "ooo-env-other", env_other },
	{ "ooo-opened-xrc-qp", opened_qp },
};

static struct ibv_device *find_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	if (!list)
		return NULL;
	for (i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), dev_name))
			return list[i];
	return NULL;
}

int main(int argc, char *argv[])
{
	const char *err;
	int failed = 0;
	size_t i;

	if (argc < 2) {
		fprintf(stderr, "usage: ooo_api DEVICE [CASE]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	dev_name = argv[1];
	device = find_device();
	if (!device) {
		printf("not ok ooo-api-setup - no device %s\n", dev_name);
		return 1;
	}
	if (!rxe_ooodv_is_supported(device)) {
		printf("not ok ooo-api-setup - %s is not a device of rxe_ooo\n",
		       dev_name);
		return 1;
	}
	node = node_open();
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc > 2 && strcmp(argv[2], cases[i].name))
			continue;
		err = cases[i].run();
		if (err) {
			failed = 1;
			printf("not ok %s - %s\n", cases[i].name, err);
			default_file("0");
		} else {
			printf("ok %s\n", cases[i].name);
		}
	}
	return failed;
}
