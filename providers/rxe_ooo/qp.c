// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: life and state. */
#include <errno.h>
#include <stdlib.h>

#include "rxe_ooo.h"
#include "rxe_ooodv.h"

static int check_create_attr(const struct ibv_qp_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask,
			     IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return EOPNOTSUPP;
	switch (attr->qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
		if (!attr->send_cq || !attr->recv_cq)
			return EINVAL;
		break;
	case IBV_QPT_XRC_SEND:
		if (!attr->send_cq)
			return EINVAL;
		break;
	case IBV_QPT_XRC_RECV:
		break;
	default:
		return EOPNOTSUPP;
	}
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		return rxe_ooo_wr_api_check(attr->qp_type,
					    attr->send_ops_flags);
	return 0;
}

static int wq_init(struct rxe_ooo_wq *wq, bool single_threaded)
{
	return rxe_ooo_lock_init(&wq->lock, single_threaded);
}

static int wq_map(struct rxe_ooo_wq *wq, int fd,
		  const struct rxe_ooo_ring_info *info, uint32_t max_wr,
		  uint32_t min_stride)
{
	int ret = rxe_ooo_ring_map(&wq->ring, fd, info, min_stride);

	if (ret || !wq->ring.hdr)
		return ret;
	if (max_wr < wq->ring.depth)
		wq->ring.limit = max_wr;
	wq->ring.index = wq->ring.hdr->producer;
	return 0;
}

static uint32_t send_stride(const struct rxe_ooo_qp *qp)
{
	uint32_t sges = qp->sq.max_sge * sizeof(struct rxe_ooo_sge);
	uint32_t room = qp->max_inline > sges ? qp->max_inline : sges;

	/* An ATOMIC WRITE needs room for one element in any case. */
	if (room < sizeof(struct rxe_ooo_sge))
		room = sizeof(struct rxe_ooo_sge);
	return RXE_OOO_SEND_WQE_HDR_SIZE + room;
}

static int map_rings(struct rxe_ooo_qp *qp, int fd,
		     const struct rxe_ooo_create_qp_resp *resp,
		     const struct ibv_qp_cap *cap)
{
	int ret;

	qp->max_inline = cap->max_inline_data;
	qp->sq.max_sge = cap->max_send_sge;
	qp->rq.max_sge = cap->max_recv_sge;
	ret = wq_map(&qp->sq, fd, &resp->sq, cap->max_send_wr, send_stride(qp));
	if (ret)
		return ret;
	ret = wq_map(&qp->rq, fd, &resp->rq, cap->max_recv_wr,
		     RXE_OOO_RECV_WQE_HDR_SIZE +
		     qp->rq.max_sge * sizeof(struct rxe_ooo_sge));
	if (ret)
		rxe_ooo_ring_unmap(&qp->sq.ring);
	return ret;
}

/* The kernel's half of a QP, and the rings to it. */
static int qp_create_cmd(struct ibv_context *ctx, struct rxe_ooo_qp *qp,
			 struct ibv_qp_init_attr_ex *attr)
{
	struct rxe_ooo_u_create_qp_resp resp = {};
	struct ibv_create_qp_ex cmd = {};
	int ret;

	ret = ibv_cmd_create_qp_ex2(ctx, &qp->vqp, attr, &cmd, sizeof(cmd),
				    &resp.ibv_resp, sizeof(resp));
	if (ret)
		return ret;
	ret = map_rings(qp, ctx->cmd_fd, &resp.drv_payload, &attr->cap);
	if (ret)
		ibv_cmd_destroy_qp(&qp->vqp.qp);
	return ret;
}

static struct rxe_ooo_qp *qp_alloc(bool single_threaded)
{
	struct rxe_ooo_qp *qp = calloc(1, sizeof(*qp));

	if (!qp) {
		errno = ENOMEM;
		return NULL;
	}
	errno = wq_init(&qp->sq, single_threaded);
	if (errno)
		goto err_free;
	errno = wq_init(&qp->rq, single_threaded);
	if (errno)
		goto err_sq;
	return qp;

err_sq:
	rxe_ooo_lock_destroy(&qp->sq.lock);
err_free:
	free(qp);
	return NULL;
}

static void qp_free(struct rxe_ooo_qp *qp)
{
	rxe_ooo_ring_unmap(&qp->sq.ring);
	rxe_ooo_ring_unmap(&qp->rq.ring);
	rxe_ooo_lock_destroy(&qp->sq.lock);
	rxe_ooo_lock_destroy(&qp->rq.lock);
	free(qp);
}

struct ibv_qp *rxe_ooo_create_qp_ex(struct ibv_context *ctx,
				    struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_pd *pd = attr->comp_mask & IBV_QP_INIT_ATTR_PD ?
				    attr->pd : NULL;
	struct rxe_ooo_qp *qp;
	int ret;

	ret = check_create_attr(attr);
	if (ret) {
		errno = ret;
		return NULL;
	}
	qp = qp_alloc(rxe_ooo_pd_single_threaded(pd));
	if (!qp)
		return NULL;
	ret = qp_create_cmd(ctx, qp, attr);
	if (ret) {
		qp_free(qp);
		errno = ret;
		return NULL;
	}
	qp->pd = pd;
	rxe_ooo_pd_hold(pd);
	qp->sq_sig_all = attr->sq_sig_all;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		rxe_ooo_wr_api_set_ops(qp);
	return &qp->vqp.qp;
}

struct ibv_qp *rxe_ooo_create_qp(struct ibv_pd *pd,
				 struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp = rxe_ooo_create_qp_ex(pd->context, &attr_ex);

	if (qp)
		attr->cap = attr_ex.cap;
	return qp;
}

/* An XRC target QP that someone else made: it has no queues of its own. */
struct ibv_qp *rxe_ooo_open_qp(struct ibv_context *ctx,
			       struct ibv_qp_open_attr *attr)
{
	struct ib_uverbs_create_qp_resp resp = {};
	struct ibv_open_qp cmd = {};
	struct rxe_ooo_qp *qp;
	int ret;

	qp = qp_alloc(false);
	if (!qp)
		return NULL;
	ret = ibv_cmd_open_qp(ctx, &qp->vqp, sizeof(qp->vqp), attr, &cmd,
			      sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		qp_free(qp);
		errno = ret;
		return NULL;
	}
	return &qp->vqp.qp;
}

int rxe_ooo_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		     struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd;

	return ibv_cmd_query_qp(qp, attr, mask, init_attr, &cmd, sizeof(cmd));
}

static bool type_can_place(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND ||
	       type == IBV_QPT_XRC_RECV;
}

/*
 * The one transition that decides about placement. What state a QP is in that
 * was opened, only the kernel knows: it checks again in any case.
 */
static bool is_placement_transition(const struct ibv_qp *qp,
				    const struct ibv_qp_attr *attr, int mask)
{
	return type_can_place(qp->qp_type) && (mask & IBV_QP_STATE) &&
	       attr->qp_state == IBV_QPS_RTR &&
	       (qp->state == IBV_QPS_INIT || qp->state == IBV_QPS_UNKNOWN);
}

/*
 * What was in the queues of a QP that was reset is gone, completions
 * included (IBTA 10.3.1, Reset).
 */
static void qp_forget_work(struct rxe_ooo_qp *qp)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;

	rxe_ooo_cq_forget_qp(ibqp->send_cq, ibqp->qp_num);
	if (ibqp->recv_cq != ibqp->send_cq)
		rxe_ooo_cq_forget_qp(ibqp->recv_cq, ibqp->qp_num);
}

static void wq_rewind(struct rxe_ooo_wq *wq)
{
	if (!wq->ring.hdr)
		return;
	rxe_ooo_lock(&wq->lock);
	rxe_ooo_ring_rewind(&wq->ring);
	rxe_ooo_unlock(&wq->lock);
}

static void qp_after_reset(struct rxe_ooo_qp *qp)
{
	wq_rewind(&qp->sq);
	wq_rewind(&qp->rq);
	qp_forget_work(qp);
}

int rxe_ooo_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	bool bit = mask & RXE_OOODV_QP_OOO_RW_DATA_PLACEMENT;
	struct rxe_ooo_qp *qp = to_rxe_ooo_qp(ibqp);
	struct rxe_ooo_u_modify_qp_resp resp = {};
	struct rxe_ooo_u_modify_qp cmd = {};
	struct rxe_ooo_context *ctx;
	int ret;

	ctx = to_rxe_ooo_context(ibqp->context);
	if (is_placement_transition(ibqp, attr, mask))
		cmd.drv_payload.flags =
			rxe_ooo_modify_flags(rxe_ooo_decide(ctx->env, qp->want,
							    bit));
	else if (bit)
		return EINVAL;

	/* The kernel core refuses what it does not know: ours goes beside it. */
	mask &= ~RXE_OOODV_QP_OOO_RW_DATA_PLACEMENT;
	ret = ibv_cmd_modify_qp_ex(ibqp, attr, mask, &cmd.ibv_cmd, sizeof(cmd),
				   &resp.ibv_resp, sizeof(resp));
	if (ret)
		return ret;
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET)
		qp_after_reset(qp);
	return 0;
}

int rxe_ooo_destroy_qp(struct ibv_qp *ibqp)
{
	struct rxe_ooo_qp *qp = to_rxe_ooo_qp(ibqp);
	int ret = ibv_cmd_destroy_qp(ibqp);

	if (ret)
		return ret;
	qp_forget_work(qp);
	rxe_ooo_pd_release(qp->pd);
	qp_free(qp);
	return 0;
}
