// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting. User space writes its rings itself; an empty list is its doorbell.
 * A kernel consumer's send requests go straight into the core's ring, its
 * receive requests into a ring of the same form as user space's.
 */
#include "objects.h"

static void fill_kernel_operation(struct ooo_swqe *wqe, const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
	case IB_WR_ATOMIC_WRITE:
		wqe->remote_addr = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		wqe->remote_addr = atomic_wr(wr)->remote_addr;
		wqe->rkey = atomic_wr(wr)->rkey;
		wqe->compare_add = atomic_wr(wr)->compare_add;
		wqe->swap = atomic_wr(wr)->swap;
		break;
	case IB_WR_REG_MR:
		wqe->reg_mr = to_rmr(reg_wr(wr)->mr);
		wqe->reg_key = reg_wr(wr)->key;
		wqe->reg_access = reg_wr(wr)->access;
		break;
	default:
		break;
	}
}

static bool fill_kernel_data(const struct rxo_qp *qp, struct ooo_swqe *wqe,
			     const struct ib_send_wr *wr)
{
	u8 *inline_data = (u8 *)wqe->sge;
	int i;

	if (wr->num_sge < 0 || wr->num_sge > qp->sq_max_sge)
		return false;
	if (!(wr->send_flags & IB_SEND_INLINE)) {
		wqe->num_sge = wr->num_sge;
		for (i = 0; i < wr->num_sge; i++) {
			wqe->sge[i].addr = wr->sg_list[i].addr;
			wqe->sge[i].length = wr->sg_list[i].length;
			wqe->sge[i].lkey = wr->sg_list[i].lkey;
		}
		return true;
	}
	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > qp->max_inline - wqe->length)
			return false;
		memcpy(inline_data + wqe->length, (void *)(uintptr_t)sge->addr, sge->length);
		wqe->length += sge->length;
	}
	return true;
}

static int post_one(struct rxo_qp *qp, const struct ib_send_wr *wr)
{
	struct ooo_swqe *wqe = ooo_sq_entry(&qp->ep, qp->sq_posted);

	/* Pairs with rxo_sq_done(): the slot is not read any more. */
	if (qp->sq_posted - smp_load_acquire(&qp->sq.index) >= qp->sq.depth)
		return -ENOMEM;
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->flags = wr->send_flags;
	wqe->imm = wr->ex.invalidate_rkey;	/* same bytes as imm_data */
	if (wr->opcode > U8_MAX || !fill_kernel_data(qp, wqe, wr))
		return -EINVAL;
	if (rxo_qp_connected(qp))
		fill_kernel_operation(wqe, wr);
	else
		rxo_ud_fill(wqe, wr);
	if (!rxo_swqe_ok(qp, wqe))
		return -EINVAL;
	/* Pairs with rxo_sq_fetch(): the entry is complete. */
	smp_store_release(&qp->sq_posted, qp->sq_posted + 1);
	return 0;
}

/* IBTA 10.3.1: posting to the send queue before RTS is an immediate error. */
static bool may_post_send(const struct rxo_qp *qp)
{
	switch (READ_ONCE(qp->ep.state)) {
	case OOO_RESET:
	case OOO_INIT:
	case OOO_RTR:
		return false;
	default:
		return true;
	}
}

static int post_send_list(struct rxo_qp *qp, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad_wr)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->post_lock, flags);
	for (; wr && !err; wr = wr->next) {
		*bad_wr = wr;
		err = post_one(qp, wr);
	}
	spin_unlock_irqrestore(&qp->post_lock, flags);
	return err;
}

int rxo_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr)
{
	struct rxo_qp *qp = to_rqp(ib);
	int err = 0;

	*bad_wr = wr;
	if (wr) {
		if (qp->is_user || qp->ib.qp_type == IB_QPT_XRC_TGT || !may_post_send(qp))
			return -EINVAL;
		err = post_send_list(qp, wr, bad_wr);
	}
	rxo_qp_wake(qp, RXO_PENDING_SEND);
	return err;
}

static int post_recv_list(struct rxo_qp *qp, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad_wr)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->post_lock, flags);
	for (; wr && !err; wr = wr->next) {
		*bad_wr = wr;
		err = rxo_recv_post(&qp->rq, &qp->rq_posted, qp->rq_max_sge, wr);
	}
	spin_unlock_irqrestore(&qp->post_lock, flags);
	return err;
}

int rxo_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr)
{
	struct rxo_qp *qp = to_rqp(ib);
	int err = 0;

	*bad_wr = wr;
	if (wr) {
		if (qp->is_user || !qp->rq.hdr || READ_ONCE(qp->ep.state) == OOO_RESET)
			return -EINVAL;
		err = post_recv_list(qp, wr, bad_wr);
	}
	/* Receives wait for packets; only in ERR somebody has to flush them. */
	if (READ_ONCE(qp->ep.state) == OOO_ERR)
		rxo_qp_wake(qp, RXO_PENDING_RECV);
	return err;
}
