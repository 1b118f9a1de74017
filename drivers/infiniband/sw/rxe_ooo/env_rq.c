// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive requests and their completions: from the QP's own ring, an SRQ, or
 * for XRC the SRQ that a packet names.
 */
#include "objects.h"

/*
 * In ERR every entry is flushed, and user space posts while we do it: a hold
 * takes a bounded number, and asks for a doorbell when it found none.
 */
static bool own_posted(struct rxo_qp *qp)
{
	struct rxo_ring *ring = &qp->rq;

	if (qp->ep.state != OOO_ERR)
		return rxo_ring_posted(ring, ring->index);
	if (!qp->flush_budget) {
		set_bit(RXO_PENDING_RECV, &qp->pending);
		rxo_qp_defer(qp);
		return false;
	}
	qp->flush_budget--;
	if (rxo_ring_posted(ring, ring->index))
		return true;
	WRITE_ONCE(ring->hdr->need_doorbell, 1);
	smp_mb();	/* the producer writes its index, then reads need_doorbell */
	return rxo_ring_posted(ring, ring->index);
}

static enum ooo_result fetch_own(struct rxo_qp *qp)
{
	struct rxo_ring *ring = &qp->rq;
	enum ooo_result res;

	if (!ring->hdr || !own_posted(qp))
		return OOO_NONE;
	res = rxo_recv_copy(ring, ring->index, qp->rq_max_sge, qp->recv) ? OOO_OK : OOO_INVALID;
	qp->recv->pd = to_rpd(qp->ib.pd);
	ring->index++;
	rxo_ring_set_consumer(ring, ring->index);
	return res;
}

/* Under RCU (BH is disabled): the SRQ stays until we are done with it. */
static struct rxo_srq *find_xrc_srq(struct rxo_qp *qp, u32 srqn)
{
	struct rxo_srq *srq = xa_load(&qp->dev->srqs, srqn);

	return srq && srq->ib.ext.xrc.xrcd == qp->ib.xrcd ? srq : NULL;
}

static enum ooo_result fetch_xrc(struct rxo_qp *qp, u32 srqn)
{
	struct rxo_srq *srq = find_xrc_srq(qp, srqn);

	return srq ? rxo_srq_fetch(srq, qp->recv) : OOO_ACCESS;
}

enum ooo_result rxo_rq_fetch(struct rxo_qp *qp)
{
	return qp->srq ? rxo_srq_fetch(qp->srq, qp->recv) : fetch_own(qp);
}

enum ooo_result ooo_env_rq_fetch(struct ooo_ep *ep, u32 srqn, struct ooo_rwqe **rwqe)
{
	struct rxo_qp *qp = ep_to_qp(ep);
	enum ooo_result res;

	if (qp->ib.qp_type == IB_QPT_XRC_TGT) {
		res = fetch_xrc(qp, srqn);
		qp->recv->rwqe.srqn = srqn;
	} else {
		res = rxo_rq_fetch(qp);
	}
	*rwqe = &qp->recv->rwqe;
	return res;
}

/* XRC: the completion queue belongs to the SRQ, which may be gone by now. */
static struct rxo_cq *recv_cq(struct rxo_qp *qp, u32 srqn)
{
	struct rxo_srq *srq;

	if (qp->ib.qp_type != IB_QPT_XRC_TGT)
		return qp->rcq;
	srq = find_xrc_srq(qp, srqn);
	return srq ? to_rcq(srq->ib.ext.cq) : NULL;
}

void ooo_env_recv_done(struct ooo_ep *ep, const struct ooo_recv_done *done)
{
	struct rxo_qp *qp = ep_to_qp(ep);
	struct rxo_cq *cq = recv_cq(qp, done->srqn);
	struct rxe_ooo_cqe cqe = {
		.wr_id = done->wr_id,
		.status = done->status,
		.opcode = done->is_write ? IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV,
		.byte_len = done->byte_len,
		.srq_num = done->srqn,
	};

	if (!cq)
		return;
	if (done->has_imm || done->has_inv) {
		cqe.invalidate_rkey = done->imm;	/* same bytes as imm_data */
		cqe.wc_flags = done->has_imm ? RXO_WC_WITH_IMM : RXO_WC_WITH_INV;
	}
	rxo_cq_push(cq, qp, &cqe, done->solicited);
}

bool ooo_env_has_srq(struct ooo_ep *ep)
{
	struct rxo_qp *qp = ep_to_qp(ep);

	return qp->srq || qp->ib.qp_type == IB_QPT_XRC_TGT;
}
