// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The send queue as the core sees it. User space's entry is copied once into
 * the QP's own memory (ep.sq) and checked there; a kernel consumer's was
 * written and checked there when it was posted. @index is the core's.
 */
#include "objects.h"

static void fill_operation(struct ooo_swqe *wqe, const struct rxe_ooo_send_wqe *h)
{
	switch (h->opcode) {
	case OOO_WR_CMP_SWAP:
	case OOO_WR_FETCH_ADD:
		wqe->compare_add = h->atomic.compare_add;
		wqe->swap = h->atomic.swap;
		break;
	case OOO_WR_BIND_MW:
		wqe->bind_length = h->bind_mw.length;
		wqe->bind_mr_lkey = h->bind_mw.mr_lkey;
		wqe->bind_mw_rkey = h->bind_mw.mw_rkey;
		wqe->bind_access = h->bind_mw.access;
		break;
	case OOO_WR_FLUSH:
		wqe->length = h->flush.length;
		/* FETH (IBTA A19): placement type in bits 3:0, selectivity in 5:4 */
		wqe->flush = (h->flush.type & 0xf) | (h->flush.level & 3) << 4;
		break;
	}
}

static void fill_header(struct ooo_swqe *wqe, const struct rxe_ooo_send_wqe *h)
{
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = h->wr_id;
	wqe->opcode = h->opcode;
	wqe->flags = h->flags;
	wqe->imm = h->invalidate_rkey;	/* same bytes as imm_data */
	wqe->xrc_srqn = h->xrc_remote_srqn;
	wqe->remote_addr = h->remote_addr;
	wqe->rkey = h->rkey;
}

static bool fill_data(const struct rxo_qp *qp, struct ooo_swqe *wqe,
		      const struct rxe_ooo_send_wqe *h, const struct rxe_ooo_send_wqe *shared)
{
	if (h->flags & OOO_SEND_INLINE) {
		if (h->inline_len > qp->max_inline || h->num_sge)
			return false;
		rxo_ring_copy(wqe->sge, shared->inline_data, h->inline_len);
		wqe->length = h->inline_len;
		return true;
	}
	if (h->num_sge > qp->sq_max_sge || h->inline_len)
		return false;
	wqe->num_sge = h->num_sge;
	rxo_ring_copy(wqe->sge, shared->sge, h->num_sge * sizeof(struct ooo_sge));
	return true;
}

static bool copy_entry(const struct rxo_qp *qp, struct ooo_swqe *wqe,
		       const struct rxe_ooo_send_wqe *shared)
{
	struct rxe_ooo_send_wqe h;

	rxo_ring_copy(&h, shared, sizeof(h));
	fill_header(wqe, &h);
	if (rxo_qp_connected(qp))
		fill_operation(wqe, &h);
	else
		rxo_ud_fetch(wqe, &h);
	if (!fill_data(qp, wqe, &h, shared) || !rxo_swqe_ok(qp, wqe))
		return false;
	if (wqe->opcode == OOO_WR_ATOMIC_WRITE && (wqe->flags & OOO_SEND_INLINE))
		memcpy(wqe->atomic_write, wqe->sge, sizeof(wqe->atomic_write));
	return true;
}

/* More than fits beyond what is complete is a lie of user space's. */
static bool user_posted(const struct rxo_qp *qp, u32 i)
{
	return (s32)(qp->sq.index + rxo_ring_posted(&qp->sq, qp->sq.index) - i) > 0;
}

/* Asks for a doorbell before it rests, then looks once more: see struct rxe_ooo_ring_hdr. */
static bool user_posted_or_rest(struct rxo_qp *qp, u32 i)
{
	struct rxe_ooo_ring_hdr *hdr = qp->sq.hdr;

	if (!user_posted(qp, i)) {
		WRITE_ONCE(hdr->need_doorbell, 1);
		smp_mb();	/* the producer writes its index, then reads need_doorbell */
		if (!user_posted(qp, i))
			return false;
	}
	if (READ_ONCE(hdr->need_doorbell))
		WRITE_ONCE(hdr->need_doorbell, 0);
	return true;
}

enum ooo_result rxo_sq_fetch(struct rxo_qp *qp, u32 index)
{
	u32 i = qp->sq_base + index;

	if (!qp->is_user)
		/* Pairs with post_one(): the entry was written before. */
		return smp_load_acquire(&qp->sq_posted) != index ? OOO_OK : OOO_NONE;
	if (!user_posted_or_rest(qp, i))
		return OOO_NONE;
	return copy_entry(qp, ooo_sq_entry(&qp->ep, index), rxo_ring_entry(&qp->sq, i)) ?
	       OOO_OK : OOO_INVALID;
}

enum ooo_result ooo_env_sq_fetch(struct ooo_ep *ep, u32 index)
{
	struct rxo_qp *qp = ep_to_qp(ep);

	if (qp->ib.qp_type == IB_QPT_XRC_TGT)
		return OOO_NONE;
	return rxo_sq_fetch(qp, index);
}

/* Frees the slot before the completion is seen: its reader may post at once. */
void rxo_sq_done(struct rxo_qp *qp, u32 index, bool completion)
{
	const struct ooo_swqe *wqe = ooo_sq_entry(&qp->ep, index);
	struct rxe_ooo_cqe cqe = {
		.wr_id = wqe->wr_id,
		.status = wqe->status,
		.opcode = rxo_wc_opcode(wqe->opcode),
		.byte_len = wqe->length,
	};

	/* Pairs with post_one(): nothing of the entry is read after this. */
	smp_store_release(&qp->sq.index, qp->sq_base + index + 1);
	if (qp->is_user)
		rxo_ring_set_consumer(&qp->sq, qp->sq.index);
	if (completion)
		rxo_cq_push(qp->scq, qp, &cqe, false);
}

void ooo_env_send_done(struct ooo_ep *ep, u32 index, bool completion)
{
	rxo_sq_done(ep_to_qp(ep), index, completion);
}

enum ooo_result ooo_env_local_op(struct ooo_ep *ep, const struct ooo_swqe *wqe)
{
	struct rxo_qp *qp = ep_to_qp(ep);

	switch (wqe->opcode) {
	case OOO_WR_LOCAL_INV:
		return rxo_mr_invalidate(qp, to_rpd(qp->ib.pd), wqe->imm);
	case OOO_WR_BIND_MW:
		return rxo_mw_bind(qp, wqe);
	case OOO_WR_REG_MR:
		return rxo_mr_fast_reg(qp, wqe);
	default:
		return OOO_INVALID;
	}
}

/* RESET: nothing is posted; the rings do not move back, user space may look at them. */
void rxo_rings_reset(struct rxo_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->post_lock, flags);
	qp->sq_posted = 0;
	qp->sq_base = 0;
	if (qp->is_user && qp->sq.hdr) {
		qp->sq_base = rxo_ring_producer(&qp->sq);
		rxo_ring_set_consumer(&qp->sq, qp->sq_base);
		WRITE_ONCE(qp->sq.hdr->need_doorbell, 1);
	}
	qp->sq.index = qp->sq_base;
	if (qp->rq.hdr) {
		qp->rq.index = rxo_ring_producer(&qp->rq);
		rxo_ring_set_consumer(&qp->rq, qp->rq.index);
		WRITE_ONCE(qp->rq.hdr->need_doorbell, 0);
	}
	spin_unlock_irqrestore(&qp->post_lock, flags);
}
