// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The provider's data path, without a kernel. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "wqe.h"

static int wrong;	/* checks of the present test that did not hold */

#define CHECK(condition)						\
	do {								\
		if (!(condition)) {					\
			wrong++;					\
			printf("%s:%d: %s\n", __func__, __LINE__,	\
			       #condition);				\
		}							\
	} while (0)

/* Just below where indices wrap */
#define NEAR_WRAP 0xfffffffdU

static struct ibv_sge sges[4] = {
	{ 0x1000, 16, 7 }, { 0x2000, 32, 8 }, { 0x3000, 64, 9 }, { 0, 0, 0 },
};

static struct ibv_send_wr send_wr(uint64_t id, int num_sge)
{
	return (struct ibv_send_wr) {
		.wr_id = id, .opcode = IBV_WR_SEND, .sg_list = sges,
		.num_sge = num_sge,
	};
}

static struct ibv_recv_wr recv_wr(uint64_t id, int num_sge)
{
	return (struct ibv_recv_wr) {
		.wr_id = id, .sg_list = sges, .num_sge = num_sge,
	};
}

static void send_list_and_full_ring(void)
{
	struct rxe_ooo_qp *qp = fake_qp(IBV_QPT_RC, 4, 2, 0, NEAR_WRAP);
	struct ibv_send_wr wr[6], *bad = NULL;
	struct rxe_ooo_send_wqe *wqe;
	int i;

	for (i = 0; i < 6; i++) {
		wr[i] = send_wr(i, 2);
		wr[i].next = i < 5 ? &wr[i + 1] : NULL;
	}
	doorbells = 0;
	qp->sq.ring.hdr->need_doorbell = 1;
	CHECK(rxe_ooo_post_send(&qp->vqp.qp, wr, &bad) == ENOMEM);
	CHECK(bad == &wr[4]);
	CHECK(doorbells == 1);
	CHECK(qp->sq.ring.hdr->producer == NEAR_WRAP + 4);
	for (i = 0; i < 4; i++) {
		wqe = fake_posted(&qp->sq.ring, i);
		CHECK(wqe && wqe->wr_id == i && wqe->num_sge == 2);
		CHECK(wqe && !memcmp(wqe->sge, sges, 2 * sizeof(sges[0])));
	}

	/* Full: nothing is published, nobody is told. */
	CHECK(rxe_ooo_post_send(&qp->vqp.qp, wr, &bad) == ENOMEM);
	CHECK(bad == &wr[0] && doorbells == 1);
	fake_consume(&qp->sq.ring, 2);
	qp->sq.ring.hdr->need_doorbell = 0;
	wr[1].next = NULL;
	CHECK(!rxe_ooo_post_send(&qp->vqp.qp, wr, &bad));
	CHECK(doorbells == 1);
	CHECK(qp->sq.ring.hdr->producer == NEAR_WRAP + 6);
	fake_qp_free(qp);
}

static void send_limit_below_depth(void)
{
	struct rxe_ooo_qp *qp = fake_qp(IBV_QPT_RC, 4, 1, 0, 0);
	struct ibv_send_wr wr = send_wr(1, 1), *bad;
	int i;

	qp->sq.ring.limit = 3;
	/* Programs that cannot fail pass NULL. */
	for (i = 0; i < 3; i++)
		CHECK(!rxe_ooo_post_send(&qp->vqp.qp, &wr, NULL));
	CHECK(rxe_ooo_post_send(&qp->vqp.qp, &wr, &bad) == ENOMEM);
	fake_qp_free(qp);
}

static void send_bad_requests(void)
{
	struct rxe_ooo_qp *qp = fake_qp(IBV_QPT_RC, 4, 2, 32, 0);
	struct ibv_send_wr wr, good = send_wr(1, 1), *bad;
	int i;

#define REFUSED(change)							\
	do {								\
		wr = send_wr(2, 1);					\
		change;							\
		bad = NULL;						\
		CHECK(rxe_ooo_post_send(&qp->vqp.qp, &wr, &bad) == EINVAL); \
		CHECK(bad == &wr);					\
		CHECK(!fake_posted(&qp->sq.ring, 0));			\
	} while (0)
	REFUSED(wr.num_sge = 3);
	REFUSED(wr.num_sge = -1);
	REFUSED(wr.opcode = IBV_WR_TSO);
	REFUSED(wr.opcode = IBV_WR_DRIVER1);
	REFUSED(wr.opcode = IBV_WR_FLUSH);
	REFUSED(wr.opcode = 12);
	REFUSED(wr.opcode = 16);
	REFUSED(wr.opcode = 255);
	REFUSED(wr.opcode = -1);
	REFUSED(wr.send_flags = IBV_SEND_IP_CSUM);
	REFUSED(wr.send_flags = 1 << 10);
	REFUSED(wr.opcode = IBV_WR_RDMA_READ; wr.send_flags = IBV_SEND_INLINE);
	REFUSED(wr.opcode = IBV_WR_LOCAL_INV; wr.send_flags = IBV_SEND_INLINE);
	REFUSED(wr.opcode = IBV_WR_BIND_MW);
	for (i = IBV_QPS_RESET; i <= IBV_QPS_RTR; i++)
		REFUSED(qp->vqp.qp.state = i);
	qp->vqp.qp.state = IBV_QPS_RTS;
#undef REFUSED

	/* A bad one after a good one: the good one goes. */
	wr = send_wr(2, 3);
	good.next = &wr;
	CHECK(rxe_ooo_post_send(&qp->vqp.qp, &good, &bad) == EINVAL);
	CHECK(bad == &wr);
	CHECK(fake_posted(&qp->sq.ring, 0) && !fake_posted(&qp->sq.ring, 1));
	good.next = NULL;
	for (i = IBV_QPS_RTS; i <= IBV_QPS_ERR; i++) {
		qp->vqp.qp.state = i;
		fake_consume(&qp->sq.ring, 1);
		CHECK(!rxe_ooo_post_send(&qp->vqp.qp, &good, &bad));
	}
	CHECK(!rxe_ooo_post_send(&qp->vqp.qp, NULL, &bad));
	fake_qp_free(qp);
}

static void send_services(void)
{
	static const struct {
		enum ibv_wr_opcode op;
		bool uc, ud;
	} ops[] = {
		{ IBV_WR_SEND, true, true },
		{ IBV_WR_SEND_WITH_IMM, true, true },
		{ IBV_WR_SEND_WITH_INV, true, false },
		{ IBV_WR_RDMA_WRITE, true, false },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, true, false },
		{ IBV_WR_RDMA_READ, false, false },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, false, false },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, false, false },
		{ IBV_WR_ATOMIC_WRITE, false, false },
		{ IBV_WR_LOCAL_INV, true, false },
	};
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_XRC_SEND, IBV_QPT_UC, IBV_QPT_UD,
		IBV_QPT_XRC_RECV,
	};
	struct rxe_ooo_ah ah = { .num = 77 };
	size_t i, t;

	for (t = 0; t < 5; t++) {
		struct rxe_ooo_qp *qp = fake_qp(types[t], 16, 1, 0, 0);

		for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
			struct ibv_send_wr wr = send_wr(i, 1), *bad;
			bool ok = t < 2 || (t == 2 && ops[i].uc) ||
				  (t == 3 && ops[i].ud);

			wr.opcode = ops[i].op;
			if (types[t] == IBV_QPT_UD)
				wr.wr.ud.ah = &ah.ah;
			CHECK(rxe_ooo_post_send(&qp->vqp.qp, &wr, &bad) ==
			      (ok ? 0 : EINVAL));
		}
		fake_qp_free(qp);
	}
}

static void send_fields(void)
{
	struct rxe_ooo_qp *qp = fake_qp(IBV_QPT_XRC_SEND, 8, 1, 0, 0);
	struct ibv_send_wr wr, *bad;
	struct rxe_ooo_send_wqe *wqe;

	qp->sq_sig_all = true;
	wr = send_wr(1, 1);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.send_flags = IBV_SEND_FENCE;
	wr.wr.atomic.remote_addr = 0x123456789abcULL;
	wr.wr.atomic.rkey = 5;
	wr.wr.atomic.compare_add = 6;
	wr.wr.atomic.swap = 7;
	wr.qp_type.xrc.remote_srqn = 8;
	CHECK(!rxe_ooo_post_send(&qp->vqp.qp, &wr, &bad));
	wqe = fake_posted(&qp->sq.ring, 0);
	CHECK(wqe->remote_addr == 0x123456789abcULL && wqe->rkey == 5);
	CHECK(wqe->atomic.compare_add == 6 && wqe->atomic.swap == 7);
	CHECK(wqe->xrc_remote_srqn == 8);
	CHECK(wqe->flags == (IBV_SEND_FENCE | IBV_SEND_SIGNALED));
	CHECK(!wqe->reserved && !wqe->inline_len);
	CHECK(wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP);

	wr = send_wr(2, 0);
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = htobe32(0x01020304);
	CHECK(!rxe_ooo_post_send(&qp->vqp.qp, &wr, &bad));
	wqe = fake_posted(&qp->sq.ring, 1);
	CHECK(wqe->imm_data == htobe32(0x01020304) && !wqe->num_sge);
	fake_qp_free(qp);
}

static void send_inline(void)
{
	struct rxe_ooo_qp *qp = fake_qp(IBV_QPT_RC, 8, 3, 50, 0);
	char a[] = "hello, ", b[44] = "world";
	struct ibv_sge list[3] = {
		{ (uintptr_t)a, 7, 0 }, { (uintptr_t)b, 43, 0 }, { 0, 0, 0 },
	};
	struct ibv_send_wr wr = send_wr(1, 3), *bad;
	struct rxe_ooo_send_wqe *wqe;

	wr.sg_list = list;
	wr.send_flags = IBV_SEND_INLINE;
	CHECK(!rxe_ooo_post_send(&qp->vqp.qp, &wr, &bad));
	wqe = fake_posted(&qp->sq.ring, 0);
	CHECK(wqe->inline_len == 50 && !wqe->num_sge);
	CHECK(wqe->flags & IBV_SEND_INLINE);
	CHECK(!memcmp(wqe->inline_data, "hello, world\0", 13));
	list[1].length = 44;
	CHECK(rxe_ooo_post_send(&qp->vqp.qp, &wr, &bad) == EINVAL);
	list[1].length = 0xffffffff;
	CHECK(rxe_ooo_post_send(&qp->vqp.qp, &wr, &bad) == EINVAL);
	wr.num_sge = 0;
	CHECK(!rxe_ooo_post_send(&qp->vqp.qp, &wr, &bad));
	wqe = fake_posted(&qp->sq.ring, 1);
	CHECK((wqe->flags & IBV_SEND_INLINE) && !wqe->inline_len);
	fake_qp_free(qp);
}

static void send_windows(void)
{
	struct rxe_ooo_qp *qp = fake_qp(IBV_QPT_RC, 8, 1, 0, 0);
	struct ibv_mw mw1 = { .type = IBV_MW_TYPE_1, .rkey = 0x1ff };
	struct ibv_mw mw2 = { .type = IBV_MW_TYPE_2, .rkey = 0x200 };
	struct ibv_mr mr = { .lkey = 0x300 };
	struct ibv_mw_bind bind = {
		.wr_id = 1,
		.bind_info = { &mr, 0x1000, 64, IBV_ACCESS_REMOTE_READ },
	};
	struct ibv_send_wr wr = send_wr(2, 0), *bad;
	struct rxe_ooo_send_wqe *wqe;

	CHECK(!rxe_ooo_bind_mw(&qp->vqp.qp, &mw1, &bind));
	CHECK(mw1.rkey == 0x100);
	wqe = fake_posted(&qp->sq.ring, 0);
	CHECK(wqe->bind_mw.mw_rkey == 0x1ff && wqe->rkey == 0x100);
	CHECK(wqe->remote_addr == 0x1000 && wqe->bind_mw.length == 64);
	CHECK(wqe->bind_mw.mr_lkey == 0x300);
	CHECK(wqe->bind_mw.access == IBV_ACCESS_REMOTE_READ);
	CHECK(rxe_ooo_bind_mw(&qp->vqp.qp, &mw2, &bind) == EINVAL);
	CHECK(mw2.rkey == 0x200);
	bind.bind_info.mr = NULL;
	CHECK(rxe_ooo_bind_mw(&qp->vqp.qp, &mw1, &bind) == EINVAL);
	bind.bind_info.length = 0;
	CHECK(!rxe_ooo_bind_mw(&qp->vqp.qp, &mw1, &bind));

	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = &mw2;
	wr.bind_mw.rkey = 0x201;
	CHECK(!rxe_ooo_post_send(&qp->vqp.qp, &wr, &bad));
	wr.bind_mw.mw = &mw1;
	CHECK(rxe_ooo_post_send(&qp->vqp.qp, &wr, &bad) == EINVAL);
	fake_qp_free(qp);
}

/* The device is gone: the list is refused from its start. */
static void send_dead_device(void)
{
	struct rxe_ooo_qp *qp = fake_qp(IBV_QPT_RC, 8, 1, 0, 0);
	struct ibv_send_wr second = send_wr(2, 1), wr = send_wr(1, 1), *bad;

	wr.next = &second;
	qp->sq.ring.hdr->need_doorbell = 1;
	doorbell_result = EIO;
	CHECK(rxe_ooo_post_send(&qp->vqp.qp, &wr, &bad) == EIO);
	CHECK(bad == &wr);
	doorbell_result = 0;
	fake_qp_free(qp);
}

static void receive(void)
{
	struct rxe_ooo_qp *qp = fake_qp(IBV_QPT_RC, 4, 2, 0, NEAR_WRAP);
	struct ibv_recv_wr wr[5], *bad = NULL;
	struct rxe_ooo_recv_wqe *wqe;
	struct ibv_srq srq;
	int i;

	for (i = 0; i < 5; i++) {
		wr[i] = recv_wr(i, i % 3);
		wr[i].next = i < 4 ? &wr[i + 1] : NULL;
	}
	doorbells = 0;
	CHECK(rxe_ooo_post_recv(&qp->vqp.qp, wr, &bad) == ENOMEM);
	CHECK(bad == &wr[4] && !doorbells);
	for (i = 0; i < 4; i++) {
		wqe = fake_posted(&qp->rq.ring, i);
		CHECK(wqe->wr_id == i && wqe->num_sge == i % 3 && !wqe->reserved);
		CHECK(!memcmp(wqe->sge, sges, i % 3 * sizeof(sges[0])));
	}
	fake_consume(&qp->rq.ring, 4);
	wr[0].next = NULL;
	wr[0].num_sge = 3;
	CHECK(rxe_ooo_post_recv(&qp->vqp.qp, wr, &bad) == EINVAL);
	wr[0].num_sge = -1;
	CHECK(rxe_ooo_post_recv(&qp->vqp.qp, wr, &bad) == EINVAL);
	wr[0].num_sge = 1;
	qp->vqp.qp.state = IBV_QPS_RESET;
	CHECK(rxe_ooo_post_recv(&qp->vqp.qp, wr, &bad) == EINVAL);
	qp->vqp.qp.state = IBV_QPS_INIT;
	qp->rq.ring.hdr->need_doorbell = 1;
	CHECK(!rxe_ooo_post_recv(&qp->vqp.qp, wr, &bad));
	CHECK(doorbells == 1);
	qp->vqp.qp.srq = &srq;
	CHECK(rxe_ooo_post_recv(&qp->vqp.qp, wr, &bad) == EINVAL);
	fake_qp_free(qp);
}

/* ------------------------------------------------------------------ */

static void wr_api(void)
{
	struct rxe_ooo_qp *qp = fake_qp(IBV_QPT_RC, 4, 2, 32, NEAR_WRAP);
	struct ibv_qp_ex *qpx = &qp->vqp.qp_ex;
	struct ibv_data_buf bufs[2] = { { "abc", 3 }, { "defg", 4 } };
	struct rxe_ooo_send_wqe *wqe;
	uint64_t eight = 0x0102030405060708ULL;

	rxe_ooo_wr_api_set_ops(qp);
	doorbells = 0;
	qp->sq.ring.hdr->need_doorbell = 1;
	qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;

	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	ibv_wr_rdma_write_imm(qpx, 5, 0x1000, htobe32(9));
	ibv_wr_set_sge_list(qpx, 2, sges);
	qpx->wr_id = 2;
	ibv_wr_send(qpx);
	ibv_wr_set_inline_data_list(qpx, 2, bufs);
	qpx->wr_id = 3;
	ibv_wr_atomic_write(qpx, 6, 0x2000, &eight);
	qpx->wr_id = 4;
	ibv_wr_flush(qpx, 7, 0x3000, 100, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
	CHECK(!fake_posted(&qp->sq.ring, 0));	/* not before complete */
	CHECK(!ibv_wr_complete(qpx));
	CHECK(doorbells == 1);

	wqe = fake_posted(&qp->sq.ring, 0);
	CHECK(wqe->wr_id == 1 && wqe->flags == IBV_SEND_SIGNALED);
	CHECK(wqe->num_sge == 2 && wqe->rkey == 5 && wqe->imm_data == htobe32(9));
	wqe = fake_posted(&qp->sq.ring, 1);
	CHECK(wqe->wr_id == 2 && wqe->inline_len == 7);
	CHECK(wqe->flags == (IBV_SEND_SIGNALED | IBV_SEND_INLINE));
	CHECK(!memcmp(wqe->inline_data, "abcdefg", 7));
	wqe = fake_posted(&qp->sq.ring, 2);
	CHECK(wqe->inline_len == 8 && !memcmp(wqe->inline_data, &eight, 8));
	wqe = fake_posted(&qp->sq.ring, 3);
	CHECK(wqe->flush.length == 100 && wqe->flush.type == 1 && wqe->flush.level == 1);

	/* Full */
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, 1, 2, 3);
	CHECK(ibv_wr_complete(qpx) == ENOMEM);
	fake_consume(&qp->sq.ring, 4);

	/* Thrown away */
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_abort(qpx);
	CHECK(!fake_posted(&qp->sq.ring, 0));
	ibv_wr_start(qpx);
	CHECK(!ibv_wr_complete(qpx));
	CHECK(doorbells == 1);

#define REFUSED(code, statements)					\
	do {								\
		ibv_wr_start(qpx);					\
		ibv_wr_send(qpx);					\
		statements;						\
		ibv_wr_send(qpx);					\
		ibv_wr_set_sge(qpx, 1, 2, 3);				\
		CHECK(ibv_wr_complete(qpx) == (code));			\
		CHECK(!fake_posted(&qp->sq.ring, 0));			\
	} while (0)
	REFUSED(EINVAL, ibv_wr_set_sge_list(qpx, 3, sges));
	REFUSED(EINVAL, ibv_wr_set_inline_data(qpx, "", 33));
	REFUSED(EINVAL, ibv_wr_set_inline_data(qpx, "", SIZE_MAX));
	REFUSED(EINVAL, ibv_wr_set_ud_addr(qpx, NULL, 1, 1));
	REFUSED(EINVAL, ibv_wr_set_xrc_srqn(qpx, 1));
	REFUSED(EINVAL, ibv_wr_flush(qpx, 1, 2, 3, 0, 0));
	REFUSED(EINVAL, ibv_wr_flush(qpx, 1, 2, 3, 4, 0));
	REFUSED(EINVAL, ibv_wr_flush(qpx, 1, 2, 3, 1, 2));
	REFUSED(EINVAL, ibv_wr_rdma_read(qpx, 1, 2);
		ibv_wr_set_inline_data(qpx, "a", 1));
	REFUSED(EINVAL, ibv_wr_local_inv(qpx, 1); ibv_wr_set_sge(qpx, 1, 2, 3));
	REFUSED(EINVAL, ibv_wr_bind_mw(qpx, NULL, 1, NULL));
	REFUSED(EINVAL, qpx->wr_flags = IBV_SEND_IP_CSUM; ibv_wr_send(qpx);
		qpx->wr_flags = 0);
	REFUSED(ENOMEM, for (int i = 0; i < 4; i++) ibv_wr_send(qpx));
#undef REFUSED
	qp->vqp.qp.state = IBV_QPS_RTR;
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	CHECK(ibv_wr_complete(qpx) == EINVAL);
	fake_qp_free(qp);
}

static void wr_api_addresses(void)
{
	struct rxe_ooo_qp *ud = fake_qp(IBV_QPT_UD, 4, 2, 0, 0);
	struct rxe_ooo_qp *xrc = fake_qp(IBV_QPT_XRC_SEND, 4, 2, 0, 0);
	struct ibv_qp_ex *qpx = &ud->vqp.qp_ex;
	struct rxe_ooo_ah ah = { .num = 77 };
	struct rxe_ooo_send_wqe *wqe;

	rxe_ooo_wr_api_set_ops(ud);
	CHECK(!qpx->wr_rdma_write && !qpx->wr_flush && qpx->wr_send_imm);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, 1, 2, 3);
	CHECK(ibv_wr_complete(qpx) == EINVAL);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_ud_addr(qpx, &ah.ah, 1, 2);
	CHECK(ibv_wr_complete(qpx) == EINVAL);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_ud_addr(qpx, &ah.ah, 0xabc, 0xdef);
	CHECK(!ibv_wr_complete(qpx));
	wqe = fake_posted(&ud->sq.ring, 0);
	CHECK(wqe->ud.ah_num == 77 && wqe->ud.remote_qpn == 0xabc &&
	      wqe->ud.remote_qkey == 0xdef);

	qpx = &xrc->vqp.qp_ex;
	rxe_ooo_wr_api_set_ops(xrc);
	ibv_wr_start(qpx);
	ibv_wr_rdma_write(qpx, 1, 2);
	CHECK(ibv_wr_complete(qpx) == EINVAL);
	ibv_wr_start(qpx);
	ibv_wr_rdma_write(qpx, 1, 2);
	ibv_wr_set_xrc_srqn(qpx, 99);
	ibv_wr_local_inv(qpx, 1);
	CHECK(!ibv_wr_complete(qpx));
	wqe = fake_posted(&xrc->sq.ring, 0);
	CHECK(wqe->xrc_remote_srqn == 99);

	CHECK(!rxe_ooo_wr_api_check(IBV_QPT_RC, IBV_QP_EX_WITH_FLUSH |
				    IBV_QP_EX_WITH_ATOMIC_WRITE));
	CHECK(rxe_ooo_wr_api_check(IBV_QPT_RC, IBV_QP_EX_WITH_TSO) == EOPNOTSUPP);
	CHECK(rxe_ooo_wr_api_check(IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE) ==
	      EOPNOTSUPP);
	CHECK(rxe_ooo_wr_api_check(IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ) ==
	      EOPNOTSUPP);
	CHECK(rxe_ooo_wr_api_check(IBV_QPT_XRC_RECV, IBV_QP_EX_WITH_SEND) ==
	      EOPNOTSUPP);
	fake_qp_free(ud);
	fake_qp_free(xrc);
}

/* ------------------------------------------------------------------ */

static void poll(void)
{
	struct rxe_ooo_cq *cq = fake_cq(4, NEAR_WRAP);
	struct ibv_wc wc[8];
	int i, round;

	CHECK(rxe_ooo_poll_cq(&cq->vcq.cq, 8, wc) == 0);
	for (round = 0; round < 5; round++) {
		for (i = 0; i < 4; i++)
			fake_complete(cq, round * 4 + i, 1);
		CHECK(rxe_ooo_poll_cq(&cq->vcq.cq, 0, wc) == 0);
		CHECK(rxe_ooo_poll_cq(&cq->vcq.cq, -1, wc) == 0);
		CHECK(rxe_ooo_poll_cq(&cq->vcq.cq, 3, wc) == 3);
		CHECK(rxe_ooo_poll_cq(&cq->vcq.cq, 8, wc + 3) == 1);
		for (i = 0; i < 4; i++)
			CHECK(wc[i].wr_id == round * 4 + i);
	}
	CHECK(cq->ring.hdr->consumer == cq->ring.hdr->producer);
	fake_cq_free(cq);
}

static void poll_ex(void)
{
	struct rxe_ooo_cq *cq = fake_cq(4, NEAR_WRAP);
	struct ibv_cq_ex *cqx = &cq->vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {};
	int i;

	rxe_ooo_cq_ex_set_ops(cq);
	CHECK(ibv_start_poll(cqx, &attr) == ENOENT);
	attr.comp_mask = 1;
	CHECK(ibv_start_poll(cqx, &attr) == EINVAL);
	attr.comp_mask = 0;
	for (i = 0; i < 3; i++)
		fake_complete(cq, 10 + i, 5);

	/* One look, one entry */
	CHECK(!ibv_start_poll(cqx, &attr) && cqx->wr_id == 10);
	CHECK(ibv_wc_read_byte_len(cqx) == 11 && ibv_wc_read_qp_num(cqx) == 5);
	CHECK(ibv_wc_read_completion_ts(cqx) == 10000);
	ibv_end_poll(cqx);
	CHECK(cq->ring.hdr->consumer == NEAR_WRAP + 1);

	/* To the end; the kernel adds meanwhile. */
	CHECK(!ibv_start_poll(cqx, &attr) && cqx->wr_id == 11);
	CHECK(!ibv_next_poll(cqx) && cqx->wr_id == 12);
	fake_complete(cq, 13, 5);
	CHECK(!ibv_next_poll(cqx) && cqx->wr_id == 13);
	CHECK(ibv_next_poll(cqx) == ENOENT);
	ibv_end_poll(cqx);
	CHECK(cq->ring.hdr->consumer == NEAR_WRAP + 4);
	CHECK(ibv_start_poll(cqx, &attr) == ENOENT);
	fake_cq_free(cq);
}

static void forget_qp(void)
{
	uint32_t pattern, depth = 8, i;
	struct ibv_wc wc[8];

	/* Every pattern of two QPs in a full ring that wraps */
	for (pattern = 0; pattern < 256; pattern++) {
		struct rxe_ooo_cq *cq = fake_cq(depth, NEAR_WRAP);
		int kept = 0, n;

		for (i = 0; i < depth; i++)
			fake_complete(cq, i, pattern >> i & 1 ? 1 : 2);
		rxe_ooo_cq_forget_qp(&cq->vcq.cq, 1);
		/* The room is the kernel's again. */
		n = __builtin_popcount(pattern);
		for (i = 0; i < n; i++)
			fake_complete(cq, 100 + i, 3);
		CHECK(rxe_ooo_poll_cq(&cq->vcq.cq, 8, wc) == 8);
		for (i = 0; i < depth; i++)
			if (!(pattern >> i & 1))
				CHECK(wc[kept++].wr_id == i);
		for (i = 0; i < n; i++)
			CHECK(wc[kept++].wr_id == 100 + i);
		fake_cq_free(cq);
	}
	rxe_ooo_cq_forget_qp(NULL, 1);
}

/* ------------------------------------------------------------------ */

static void decisions(void)
{
	const enum rxe_ooo_want D = RXE_OOO_WANT_DEFAULT;
	const enum rxe_ooo_want OFF = RXE_OOO_WANT_OFF, ON = RXE_OOO_WANT_ON;

	CHECK(rxe_ooo_parse_env(NULL) == RXE_OOO_ENV_UNSET);
	CHECK(rxe_ooo_parse_env("") == RXE_OOO_ENV_UNSET);
	CHECK(rxe_ooo_parse_env("01") == RXE_OOO_ENV_UNSET);
	CHECK(rxe_ooo_parse_env("0") == RXE_OOO_ENV_OFF);
	CHECK(rxe_ooo_parse_env("1") == RXE_OOO_ENV_ON);

	CHECK(rxe_ooo_decide(RXE_OOO_ENV_UNSET, D, false) == D);
	CHECK(rxe_ooo_decide(RXE_OOO_ENV_UNSET, D, true) == ON);
	CHECK(rxe_ooo_decide(RXE_OOO_ENV_UNSET, OFF, true) == ON);
	CHECK(rxe_ooo_decide(RXE_OOO_ENV_UNSET, ON, false) == ON);
	CHECK(rxe_ooo_decide(RXE_OOO_ENV_ON, D, false) == ON);
	CHECK(rxe_ooo_decide(RXE_OOO_ENV_ON, OFF, false) == OFF);
	CHECK(rxe_ooo_decide(RXE_OOO_ENV_OFF, ON, true) == OFF);

	CHECK(rxe_ooo_modify_flags(D) == 0);
	CHECK(rxe_ooo_modify_flags(ON) == RXE_OOO_MODIFY_QP_OOO);
	CHECK(rxe_ooo_modify_flags(OFF) == RXE_OOO_MODIFY_QP_OOO_OFF);

	CHECK(rxe_ooo_may_turn_on(RXE_OOO_ENV_UNSET, D, true));
	CHECK(!rxe_ooo_may_turn_on(RXE_OOO_ENV_UNSET, D, false));
	CHECK(!rxe_ooo_may_turn_on(RXE_OOO_ENV_UNSET, OFF, true));
	CHECK(rxe_ooo_may_turn_on(RXE_OOO_ENV_UNSET, ON, false));
	CHECK(!rxe_ooo_may_turn_on(RXE_OOO_ENV_OFF, ON, true));
	CHECK(rxe_ooo_may_turn_on(RXE_OOO_ENV_ON, D, false));
}

/* ------------------------------------------------------------------ */
/* A kernel that rests and is woken: no request may be left behind.    */

#define STRESS_REQUESTS 200000

static struct rxe_ooo_qp *stress_qp;
static int stress_seen, stress_wrong;

static void *stress_poster(void *arg)
{
	uint64_t base = (uintptr_t)arg << 32, i;
	struct ibv_send_wr wr, *bad;

	for (i = 0; i < STRESS_REQUESTS / 2; ) {
		wr = send_wr(base + i, 0);
		if (!rxe_ooo_post_send(&stress_qp->vqp.qp, &wr, &bad))
			i++;
		else
			sched_yield();
	}
	return NULL;
}

/* Everything that is posted; requests of one thread in their order. */
static void stress_consume(struct rxe_ooo_ring *ring)
{
	static uint32_t next[2];
	uint32_t end = __atomic_load_n(&ring->hdr->producer, __ATOMIC_ACQUIRE);
	uint32_t index = ring->hdr->consumer;

	for (; index != end; index++, stress_seen++) {
		struct rxe_ooo_send_wqe *wqe = rxe_ooo_ring_entry(ring, index);

		if ((uint32_t)wqe->wr_id != next[wqe->wr_id >> 32]++)
			stress_wrong++;
	}
	__atomic_store_n(&ring->hdr->consumer, index, __ATOMIC_RELEASE);
}

static bool stress_work(struct rxe_ooo_ring *ring)
{
	return __atomic_load_n(&ring->hdr->producer, __ATOMIC_ACQUIRE) !=
	       ring->hdr->consumer;
}

static void *stress_kernel(void *arg)
{
	struct rxe_ooo_ring *ring = &stress_qp->sq.ring;
	int heard = 0;

	while (stress_seen < STRESS_REQUESTS) {
		stress_consume(ring);
		__atomic_store_n(&ring->hdr->need_doorbell, 1, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (stress_work(ring) || stress_seen == STRESS_REQUESTS)
			continue;
		/* Rests: from here on only a doorbell wakes it. */
		while (__atomic_load_n(&doorbells, __ATOMIC_ACQUIRE) == heard)
			sched_yield();
		heard = __atomic_load_n(&doorbells, __ATOMIC_ACQUIRE);
		__atomic_store_n(&ring->hdr->need_doorbell, 0, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void doorbell_stress(void)
{
	pthread_t kernel, poster[2];
	uintptr_t i;

	stress_qp = fake_qp(IBV_QPT_RC, 8, 1, 0, NEAR_WRAP);
	doorbells = 0;
	pthread_create(&kernel, NULL, stress_kernel, NULL);
	for (i = 0; i < 2; i++)
		pthread_create(&poster[i], NULL, stress_poster, (void *)i);
	for (i = 0; i < 2; i++)
		pthread_join(poster[i], NULL);
	pthread_join(kernel, NULL);
	CHECK(stress_seen == STRESS_REQUESTS && !stress_wrong);
	fake_qp_free(stress_qp);
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "send_list_and_full_ring", send_list_and_full_ring },
	{ "send_limit_below_depth", send_limit_below_depth },
	{ "send_bad_requests", send_bad_requests },
	{ "send_services", send_services },
	{ "send_fields", send_fields },
	{ "send_inline", send_inline },
	{ "send_windows", send_windows },
	{ "send_dead_device", send_dead_device },
	{ "receive", receive },
	{ "wr_api", wr_api },
	{ "wr_api_addresses", wr_api_addresses },
	{ "poll", poll },
	{ "poll_ex", poll_ex },
	{ "forget_qp", forget_qp },
	{ "decisions", decisions },
	{ "doorbell_stress", doorbell_stress },
};

int main(void)
{
	size_t i, count = sizeof(tests) / sizeof(tests[0]);
	int failed = 0;

	for (i = 0; i < count; i++) {
		wrong = 0;
		tests[i].run();
		failed += wrong != 0;
		printf("%s provider: %s\n", wrong ? "not ok" : "ok", tests[i].name);
	}
	printf("provider data path: %zu passed, %d failed\n", count - failed, failed);
	return failed != 0;
}
