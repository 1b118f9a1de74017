// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Each verb with each of its allocations, and each of its copies from and to user space, failing once:
 * /proc/thread-self/fail-nth (Documentation/fault-injection). Such a verb fails with an errno, or does
 * without; then it works, and nothing is lost. And the device's own coming and going, over netlink.
 *
 *	verbs_failing DEVICE GID_INDEX NETDEV
 *
 * NETDEV has no device. Prints a case for each verb; needs a kernel with fault injection.
 */
#include <linux/netlink.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include "verbs_test.h"

#define NTH_MAX		3000

static int fail_nth = -1;
static uint64_t faults;
/* Calls of this verb that have failed, and have had their effect all the same. */
static int half_done;
static const char *netdev;

/* What a case works on: made anew before each attempt. */
static struct end end;
static struct ibv_qp *qp;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_mr *mr;
static struct ibv_xrcd *xrcd;
static struct ibv_ah *ah;
static struct ibv_mw *mw;
static struct ibv_dm *dm;
static struct ibv_pd *own_pd;
static struct ibv_context *own_ctx;
static uint8_t *buf;

/* The @nth allocation or copy from now on fails. */
static void arm(int nth)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", nth);

	if (pwrite(fail_nth, text, n, 0) != n)
		die("fail-nth");
}

/*
 * True: it has failed; false: there were fewer than that. To ask, and to disarm, are copies as
 * well, which may be the ones that fail: then nothing is armed any more.
 */
static bool fired(void)
{
	char text[16] = "";

	if (pread(fail_nth, text, sizeof(text) - 1, 0) < 0) {
		if (errno != EFAULT)
			die("fail-nth");
		return false;
	}
	if (!atoi(text))
		return true;
	if (pwrite(fail_nth, "0", 1, 0) < 0 && errno != EFAULT)
		die("fail-nth");
	return false;
}

struct verb {
	const char *name;
	bool (*before)(void);	/* without faults; NULL: nothing to prepare */
	int (*verb)(void);	/* 0, or an errno */
	void (*after)(void);	/* whether it has worked or not */
};

static int errno_of(bool ok)
{
	return ok ? 0 : errno ? errno : EINVAL;
}

static bool errno_ok(int err)
{
	switch (err) {
	case ENOMEM:
	case EFAULT:
	case EAGAIN:
	case ENOSPC:
	case ENOBUFS:
	case ENXIO:	/* the core's word for a response that could not be written */
	case EINVAL:	/* ... and for attributes that it could not read */
	case EMSGSIZE:	/* netlink: the answer did not fit */
		return true;
	default:
		return false;
	}
}

static bool one(const struct verb *v, int nth, bool *more)
{
	int err;

	if (v->before && !v->before())
		return expect(false, "set-up for fault %d: %s", nth, strerror(errno));
	errno = 0;
	arm(nth);
	err = v->verb();
	*more = fired();
	faults += *more;
	expect(!err || (*more && errno_ok(err)), "fault %d: %s", nth, strerror(err));
	if (err) {
		err = v->verb();
		expect(!err, "after fault %d: %s", nth, strerror(err));
	}
	v->after();
	return true;
}

static void each_fault(const void *arg)
{
	const struct verb *v = arg;
	bool more = true;
	int nth;

	half_done = 0;
	for (nth = 1; more && nth < NTH_MAX && !reason[0]; nth++)
		if (!one(v, nth, &more))
			return;
	expect(!more, "no end after %d faults", nth);
	/* The core answers when everything is done; what is ours must not come after that. */
	expect(half_done <= 1, "%d failed calls have had their effect", half_done);
	printf("# %s: %d places\n", v->name, nth - 2);
}

/* ------------------------------------------------------------------ */

#define GONE(what, destroy) do {			\
	if (what)					\
		destroy(what);				\
	what = NULL;					\
} while (0)

static void drop_all(void)
{
	drain_async();
	GONE(ah, ibv_destroy_ah);
	GONE(qp, ibv_destroy_qp);
	GONE(srq, ibv_destroy_srq);
	GONE(xrcd, ibv_close_xrcd);
	GONE(cq, ibv_destroy_cq);
	GONE(mw, ibv_dealloc_mw);
	GONE(mr, ibv_dereg_mr);
	GONE(dm, ibv_free_dm);
	GONE(own_pd, ibv_dealloc_pd);
	GONE(own_ctx, ibv_close_device);
	if (end.channel)
		end_close(&end);
	memset(&end, 0, sizeof(end));
}

static bool have_cq(void)
{
	cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	return cq;
}

static bool have_xrcd(void)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};

	xrcd = ibv_open_xrcd(ctx, &init);
	return xrcd;
}

static bool have_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { 16, 2, 0 } };

	srq = ibv_create_srq(pd, &init);
	return srq;
}

static bool have_mr(void)
{
	mr = ibv_reg_mr(pd, buf, BUF_SIZE, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	return mr;
}

static bool have_mr_for_each(void)
{
	return have_mr() && have_cq();
}

static bool have_dm(void)
{
	struct ibv_alloc_dm_attr init = { .length = 8192 };

	dm = ibv_alloc_dm(ctx, &init);
	return dm;
}

static bool have_qp(void)
{
	return end_open(&end);
}

static bool have_init(void)
{
	end.attr.dest_qp_num = 0;
	if (!have_qp())
		return false;
	end.attr.dest_qp_num = end.qp->qp_num;
	return !to_state(&end, IBV_QPS_INIT, INIT_MASK);
}

static bool have_rtr(void)
{
	return have_init() && !to_state(&end, IBV_QPS_RTR, RTR_MASK | QP_ATTR_OOO);
}

static bool have_rts(void)
{
	return have_rtr() && !to_state(&end, IBV_QPS_RTS, RTS_MASK);
}

static int open_it(void)
{
	own_ctx = ibv_open_device(ctx->device);
	return errno_of(own_ctx);
}

static int alloc_pd(void)
{
	own_pd = ibv_alloc_pd(ctx);
	return errno_of(own_pd);
}

static int reg_mr(void) { return errno_of(have_mr()); }
static int create_cq(void) { return errno_of(have_cq()); }
static int open_xrcd(void) { return errno_of(have_xrcd()); }
static int create_srq(void) { return errno_of(have_srq()); }
static int alloc_dm(void) { return errno_of(have_dm()); }

static int reg_odp_mr(void)
{
	mr = ibv_reg_mr(pd, buf, BUF_SIZE, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	return errno_of(mr);
}

static int reg_implicit_mr(void)
{
	mr = ibv_reg_mr(pd, NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	return errno_of(mr);
}

static int reg_dm_mr(void)
{
	mr = ibv_reg_dm_mr(pd, dm, 0, 4096, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	return errno_of(mr);
}

static int rereg_mr(void)
{
	return ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS, NULL,
			    buf, BUF_SIZE / 2, ALL_ACCESS) ? errno_of(false) : 0;
}

static int advise_mr(void)
{
	struct ibv_sge sge = { (uintptr_t)buf, BUF_SIZE, mr->lkey };
	int err = ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);

	return err < 0 ? -err : err;
}

static bool have_odp_mr(void)
{
	return !reg_odp_mr();
}

static int alloc_mw(void)
{
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	return errno_of(mw);
}

static int resize_cq(void)
{
	return ibv_resize_cq(cq, 500) ? errno_of(false) : 0;
}

static int create_cq_ex(void)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = 100, .wc_flags = IBV_CREATE_CQ_SUP_WC_FLAGS,
	};
	struct ibv_cq_ex *ex = ibv_create_cq_ex(ctx, &init);

	cq = ex ? ibv_cq_ex_to_cq(ex) : NULL;
	return errno_of(cq);
}

static int modify_srq(void)
{
	struct ibv_srq_attr attr = { .max_wr = 100, .srq_limit = 3 };

	return ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) ? errno_of(false) : 0;
}

static bool have_xrcd_and_cq(void)
{
	return have_xrcd() && have_cq();
}

static int create_xrc_srq(void)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { 16, 2, 0 }, .srq_type = IBV_SRQT_XRC, .pd = pd, .cq = cq, .xrcd = xrcd,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
	};

	srq = ibv_create_srq_ex(ctx, &init);
	return errno_of(srq);
}

static int create_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type, .send_cq = cq, .recv_cq = cq, .cap = { 16, 16, 2, 2, 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd,
	};

	if (type == IBV_QPT_XRC_RECV)
		init = (struct ibv_qp_init_attr_ex){
			.qp_type = type, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd,
		};
	qp = ibv_create_qp_ex(ctx, &init);
	return errno_of(qp);
}

static int create_rc(void) { return create_qp(IBV_QPT_RC); }
static int create_uc(void) { return create_qp(IBV_QPT_UC); }
static int create_ud(void) { return create_qp(IBV_QPT_UD); }
static int create_xrc_ini(void) { return create_qp(IBV_QPT_XRC_SEND); }
static int create_xrc_tgt(void) { return create_qp(IBV_QPT_XRC_RECV); }
static int to_init(void)
{
	end.attr.dest_qp_num = end.qp->qp_num;
	return to_state(&end, IBV_QPS_INIT, INIT_MASK);
}
static int to_rtr(void)
{
	int err = to_state(&end, IBV_QPS_RTR, RTR_MASK | QP_ATTR_OOO);

	if (err != EINVAL || state_of(&end) != IBV_QPS_RTR)
		return err;
	half_done++;
	return 0;
}
static int to_rts(void) { return to_state(&end, IBV_QPS_RTS, RTS_MASK); }
static int to_err(void) { return to_state(&end, IBV_QPS_ERR, IBV_QP_STATE); }
static int to_reset(void) { return to_state(&end, IBV_QPS_RESET, IBV_QP_STATE); }

static int query_qp(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(end.qp, &attr, IBV_QP_STATE, &init) ? errno_of(false) : 0;
}

static int create_ah(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 64 },
	};

	ah = ibv_create_ah(pd, &attr);
	return errno_of(ah);
}

static bool have_ud(void)
{
	return have_cq() && !create_ud();
}

static const union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };

static int attach_mcast(void)
{
	return ibv_attach_mcast(qp, &group, 0) ? errno_of(false) : 0;
}

static void leave_mcast(void)
{
	ibv_detach_mcast(qp, &group, 0);
	drop_all();
}

/* Packets wait for memory, they are not lost: the message arrives whatever fails. */
static int message(void)
{
	struct ibv_sge sge = { (uintptr_t)end.buf, 20000, end.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE }, *bad;
	int err, status;

	wr.wr.rdma.remote_addr = (uintptr_t)end.buf + BUF_SIZE / 2;
	wr.wr.rdma.rkey = end.mr->rkey;
	memset(end.buf, 0x3c, 20000);
	err = ibv_post_send(end.qp, &wr, &bad);
	/* The doorbell was not heard; the request is posted all the same, the next one rings again. */
	if (err && err != ENOMEM && err != EFAULT && err != EINVAL)
		return err;
	if (err)
		ibv_post_send(end.qp, &wr, &bad);
	status = wait_wc(end.scq);
	if (!expect(status == IBV_WC_SUCCESS, "completion status %d", status))
		return 0;
	expect(!memcmp(end.buf, end.buf + BUF_SIZE / 2, 20000), "other bytes arrived");
	return 0;
}

/* ------------------------------------------------------------------ */
/* The device itself: what iproute2 says to the kernel                 */

static uint32_t put_attr(uint8_t *at, uint16_t type, const char *text)
{
	struct nlattr *attr = (void *)at;

	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + strlen(text) + 1;
	strcpy((char *)at + NLA_HDRLEN, text);
	return NLA_ALIGN(attr->nla_len);
}

static int link_add(void)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	uint8_t msg[512] = {}, answer[1024];
	struct nlmsghdr *h = (void *)msg, *r = (void *)answer;
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA), err = 0;
	uint32_t n = NLMSG_HDRLEN;

	if (fd < 0)
		return errno;
	n += put_attr(msg + n, RDMA_NLDEV_ATTR_DEV_NAME, "failing");
	n += put_attr(msg + n, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	n += put_attr(msg + n, RDMA_NLDEV_ATTR_LINK_TYPE, "rxe_ooo");
	h->nlmsg_len = n;
	h->nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK);
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	if (sendto(fd, msg, n, 0, (struct sockaddr *)&to, sizeof(to)) != (ssize_t)n)
		err = errno;
	else if (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) < (ssize_t)NLMSG_HDRLEN)
		err = errno == EAGAIN ? ENOBUFS : errno;	/* no memory for the answer */
	else if (r->nlmsg_type == NLMSG_ERROR)
		err = -((struct nlmsgerr *)NLMSG_DATA(r))->error;
	close(fd);
	return err == EEXIST ? 0 : err;		/* it was there before its answer failed */
}

static void link_del(void)
{
	if (system("rdma link del failing 2>/dev/null") < 0)
		die("system");
}

/* ------------------------------------------------------------------ */

static const struct verb verbs[] = {
	{ "open-device", NULL, open_it, drop_all },
	{ "alloc-pd", NULL, alloc_pd, drop_all },
	{ "reg-mr", NULL, reg_mr, drop_all },
	{ "reg-mr-on-demand", NULL, reg_odp_mr, drop_all },
	{ "reg-mr-implicit", NULL, reg_implicit_mr, drop_all },
	{ "rereg-mr", have_mr_for_each, rereg_mr, drop_all },
	{ "advise-mr", have_odp_mr, advise_mr, drop_all },
	{ "alloc-mw", NULL, alloc_mw, drop_all },
	{ "alloc-dm", NULL, alloc_dm, drop_all },
	{ "reg-dm-mr", have_dm, reg_dm_mr, drop_all },
	{ "create-cq", NULL, create_cq, drop_all },
	{ "create-cq-ex", NULL, create_cq_ex, drop_all },
	{ "resize-cq", have_cq, resize_cq, drop_all },
	{ "create-srq", NULL, create_srq, drop_all },
	{ "modify-srq", have_srq, modify_srq, drop_all },
	{ "open-xrcd", NULL, open_xrcd, drop_all },
	{ "create-xrc-srq", have_xrcd_and_cq, create_xrc_srq, drop_all },
	{ "create-qp-rc", have_cq, create_rc, drop_all },
	{ "create-qp-uc", have_cq, create_uc, drop_all },
	{ "create-qp-ud", have_cq, create_ud, drop_all },
	{ "create-qp-xrc-ini", have_cq, create_xrc_ini, drop_all },
	{ "create-qp-xrc-tgt", have_xrcd, create_xrc_tgt, drop_all },
	{ "to-init", have_qp, to_init, drop_all },
	{ "to-rtr", have_init, to_rtr, drop_all },
	{ "to-rts", have_rtr, to_rts, drop_all },
	{ "to-err", have_rts, to_err, drop_all },
	{ "to-reset", have_rts, to_reset, drop_all },
	{ "query-qp", have_rts, query_qp, drop_all },
	{ "create-ah", NULL, create_ah, drop_all },
	{ "attach-mcast", have_ud, attach_mcast, leave_mcast },
	{ "message", have_rts, message, drop_all },
};

static const struct verb device = { "link-add", NULL, link_add, link_del };

int main(int argc, char **argv)
{
	size_t i;
	int rc;

	if (argc != 4) {
		fprintf(stderr, "usage: verbs_failing DEVICE GID_INDEX NETDEV\n");
		return 2;
	}
	netdev = argv[3];
	open_device(argv[1], atoi(argv[2]));
	buf = aligned_alloc(4096, BUF_SIZE);
	memset(buf, 0, BUF_SIZE);
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR);
	if (fail_nth < 0) {
		printf("skip fail-nth - this kernel has no fault injection\n");
		return 0;
	}
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		run(verbs[i].name, each_fault, &verbs[i]);
	run(device.name, each_fault, &device);
	rc = finish();
	printf("{\"faults\": %llu, \"verbs\": %d}\n", (unsigned long long)faults, cases);
	return rc;
}
