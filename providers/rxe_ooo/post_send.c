// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ibv_post_send() and ibv_bind_mw(). */
#include <errno.h>

#include "wqe.h"

/*
 * libibverbs follows a QP's state through ibv_modify_qp(). What the kernel did
 * by itself (to ERR, to SQE) is no business of ours: it flushes.
 */
int rxe_ooo_check_send_state(const struct rxe_ooo_qp *qp)
{
	switch (qp->vqp.qp.state) {
	case IBV_QPS_RESET:
	case IBV_QPS_INIT:
	case IBV_QPS_RTR:
		return EINVAL;
	default:
		return 0;
	}
}

int rxe_ooo_send_doorbell(struct rxe_ooo_qp *qp)
{
	struct ibv_send_wr *bad_wr;

	return ibv_cmd_post_send(&qp->vqp.qp, NULL, &bad_wr);
}

static int set_data(const struct rxe_ooo_qp *qp, struct rxe_ooo_send_wqe *wqe,
		    const struct rxe_ooo_op *op, const struct ibv_send_wr *wr)
{
	int i, err;

	if (op->data == RXE_OOO_OP_NO_DATA)
		return wr->send_flags & IBV_SEND_INLINE ? EINVAL : 0;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->sq.max_sge)
		return EINVAL;
	if (!(wr->send_flags & IBV_SEND_INLINE))
		return rxe_ooo_wqe_set_sges(qp, wqe, wr->sg_list, wr->num_sge);
	if (op->data != RXE_OOO_OP_SGE_OR_INLINE)
		return EINVAL;

	wqe->flags |= IBV_SEND_INLINE;	/* even of nothing */
	for (i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		err = rxe_ooo_wqe_add_inline(qp, wqe,
					     (void *)(uintptr_t)sge->addr,
					     sge->length);
		if (err)
			return err;
	}
	return 0;
}

static int set_operation(struct rxe_ooo_send_wqe *wqe,
			 const struct ibv_send_wr *wr,
			 enum ibv_mw_type mw_type)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		wqe->imm_data = wr->imm_data;
		SWITCH_FALLTHROUGH;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_WRITE:
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
		return 0;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->atomic.compare_add = wr->wr.atomic.compare_add;
		wqe->atomic.swap = wr->wr.atomic.swap;
		return 0;
	case IBV_WR_SEND_WITH_IMM:
		wqe->imm_data = wr->imm_data;
		return 0;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		wqe->invalidate_rkey = wr->invalidate_rkey;
		return 0;
	case IBV_WR_BIND_MW:
		return rxe_ooo_wqe_set_bind(wqe, wr->bind_mw.mw, mw_type,
					    wr->bind_mw.rkey,
					    &wr->bind_mw.bind_info);
	case IBV_WR_SEND:
		return 0;
	default:
		/* FLUSH: struct ibv_send_wr has no fields for it. */
		return EINVAL;
	}
}

static int set_address(const struct rxe_ooo_qp *qp,
		       struct rxe_ooo_send_wqe *wqe,
		       const struct ibv_send_wr *wr)
{
	switch (qp->vqp.qp.qp_type) {
	case IBV_QPT_UD:
		return rxe_ooo_wqe_set_ud(wqe, wr->wr.ud.ah,
					  wr->wr.ud.remote_qpn,
					  wr->wr.ud.remote_qkey);
	case IBV_QPT_XRC_SEND:
		wqe->xrc_remote_srqn = wr->qp_type.xrc.remote_srqn;
		return 0;
	default:
		return 0;
	}
}

static int fill_one(struct rxe_ooo_qp *qp, uint32_t index,
		    const struct ibv_send_wr *wr, enum ibv_mw_type mw_type)
{
	const struct rxe_ooo_op *op;
	struct rxe_ooo_send_wqe *wqe;
	int err;

	op = rxe_ooo_find_op(wr->opcode, qp->vqp.qp.qp_type);
	if (!op || (wr->send_flags & ~RXE_OOO_SEND_FLAGS))
		return EINVAL;
	if (!qp->sq.ring.hdr || !rxe_ooo_ring_has_room(&qp->sq.ring, index))
		return ENOMEM;

	wqe = rxe_ooo_ring_entry(&qp->sq.ring, index);
	rxe_ooo_wqe_init(qp, wqe, wr->wr_id, wr->opcode,
			 wr->send_flags & ~IBV_SEND_INLINE);
	err = set_data(qp, wqe, op, wr);
	if (err)
		return err;
	err = set_operation(wqe, wr, mw_type);
	if (err)
		return err;
	return set_address(qp, wqe, wr);
}

/*
 * Posts what it can: up to the first bad request. Should the doorbell fail,
 * the device is gone and nothing of the list will be worked on.
 */
static int post_list(struct rxe_ooo_qp *qp, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad_wr, enum ibv_mw_type mw_type)
{
	struct ibv_send_wr *first = wr;
	bool doorbell = false;
	uint32_t index;
	int ret, err;

	if (!wr)
		return 0;
	err = rxe_ooo_check_send_state(qp);
	if (err) {
		*bad_wr = wr;
		return err;
	}

	rxe_ooo_lock(&qp->sq.lock);
	index = qp->sq.ring.index;
	for (; wr; wr = wr->next) {
		err = fill_one(qp, index, wr, mw_type);
		if (err) {
			*bad_wr = wr;
			break;
		}
		index++;
	}
	if (index != qp->sq.ring.index)
		doorbell = rxe_ooo_ring_publish(&qp->sq.ring, index);
	rxe_ooo_unlock(&qp->sq.lock);

	if (doorbell) {
		ret = rxe_ooo_send_doorbell(qp);
		if (ret) {
			*bad_wr = first;
			return ret;
		}
	}
	return err;
}

int rxe_ooo_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		      struct ibv_send_wr **bad_wr)
{
	return post_list(to_rxe_ooo_qp(qp), wr, bad_wr, IBV_MW_TYPE_2);
}

/*
 * Type 1: the provider picks the new key, and it is the window's key as soon
 * as the request is posted.
 */
int rxe_ooo_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		    struct ibv_mw_bind *bind)
{
	struct ibv_send_wr *bad_wr;
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw.mw = mw,
		.bind_mw.rkey = ibv_inc_rkey(mw->rkey),
		.bind_mw.bind_info = bind->bind_info,
	};
	int ret;

	ret = post_list(to_rxe_ooo_qp(qp), &wr, &bad_wr, IBV_MW_TYPE_1);
	if (!ret)
		mw->rkey = wr.bind_mw.rkey;
	return ret;
}
