// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_wr_*(): requests are built in place in the send ring, between wr_start
 * and wr_complete with the queue locked, and published all at once. The first
 * error is kept for wr_complete; after it nothing more is written.
 */
#include <errno.h>
#include <string.h>

#include "wqe.h"

/* Setters that the present request cannot do without */
enum {
	WR_NEEDS_UD_ADDR = 1 << 0,
	WR_NEEDS_XRC_SRQN = 1 << 1,
};

static struct rxe_ooo_qp *qpx_to_qp(struct ibv_qp_ex *qpx)
{
	return to_rxe_ooo_qp(&qpx->qp_base);
}

static void batch_fail(struct rxe_ooo_wr_batch *batch, int err)
{
	if (err && !batch->err)
		batch->err = err;
	if (batch->err)
		batch->wqe = NULL;
}

static void batch_end_request(struct rxe_ooo_wr_batch *batch)
{
	if (batch->missing)
		batch_fail(batch, EINVAL);
	batch->missing = 0;
	batch->wqe = NULL;
}

static uint8_t setters_needed(const struct rxe_ooo_qp *qp,
			      enum ibv_wr_opcode opcode)
{
	switch (qp->vqp.qp.qp_type) {
	case IBV_QPT_UD:
		return WR_NEEDS_UD_ADDR;
	case IBV_QPT_XRC_SEND:
		/* Local operations have no target. */
		if (opcode == IBV_WR_BIND_MW || opcode == IBV_WR_LOCAL_INV)
			return 0;
		return WR_NEEDS_XRC_SRQN;
	default:
		return 0;
	}
}

/* A new request, or NULL after an error. */
static struct rxe_ooo_send_wqe *wr_begin(struct ibv_qp_ex *qpx,
					 enum ibv_wr_opcode opcode)
{
	struct rxe_ooo_qp *qp = qpx_to_qp(qpx);
	struct rxe_ooo_wr_batch *batch = &qp->batch;

	batch_end_request(batch);
	if (qpx->wr_flags & ~RXE_OOO_SEND_FLAGS)
		batch_fail(batch, EINVAL);
	else if (!batch->err && !rxe_ooo_ring_has_room(&qp->sq.ring, batch->index))
		batch_fail(batch, ENOMEM);
	if (batch->err)
		return NULL;

	batch->missing = setters_needed(qp, opcode);
	batch->wqe = rxe_ooo_ring_entry(&qp->sq.ring, batch->index++);
	/* Whether data are inline, the setter says. */
	rxe_ooo_wqe_init(qp, batch->wqe, qpx->wr_id, opcode,
			 qpx->wr_flags & ~IBV_SEND_INLINE);
	return batch->wqe;
}

static struct rxe_ooo_send_wqe *wr_begin_remote(struct ibv_qp_ex *qpx,
						enum ibv_wr_opcode opcode,
						uint32_t rkey, uint64_t addr)
{
	struct rxe_ooo_send_wqe *wqe = wr_begin(qpx, opcode);

	if (wqe) {
		wqe->remote_addr = addr;
		wqe->rkey = rkey;
	}
	return wqe;
}

static void rxe_ooo_wr_start(struct ibv_qp_ex *qpx)
{
	struct rxe_ooo_qp *qp = qpx_to_qp(qpx);

	rxe_ooo_lock(&qp->sq.lock);
	qp->batch = (struct rxe_ooo_wr_batch) {
		.index = qp->sq.ring.index,
		.err = qp->sq.ring.hdr ? rxe_ooo_check_send_state(qp) : ENOMEM,
	};
}

static int rxe_ooo_wr_complete(struct ibv_qp_ex *qpx)
{
	struct rxe_ooo_qp *qp = qpx_to_qp(qpx);
	bool doorbell = false;
	int err;

	batch_end_request(&qp->batch);
	err = qp->batch.err;
	if (!err && qp->batch.index != qp->sq.ring.index)
		doorbell = rxe_ooo_ring_publish(&qp->sq.ring, qp->batch.index);
	rxe_ooo_unlock(&qp->sq.lock);
	return doorbell ? rxe_ooo_send_doorbell(qp) : err;
}

static void rxe_ooo_wr_abort(struct ibv_qp_ex *qpx)
{
	rxe_ooo_unlock(&qpx_to_qp(qpx)->sq.lock);
}

static void rxe_ooo_wr_send(struct ibv_qp_ex *qpx)
{
	wr_begin(qpx, IBV_WR_SEND);
}

static void rxe_ooo_wr_send_imm(struct ibv_qp_ex *qpx, __be32 imm_data)
{
	struct rxe_ooo_send_wqe *wqe = wr_begin(qpx, IBV_WR_SEND_WITH_IMM);

	if (wqe)
		wqe->imm_data = imm_data;
}

static void rxe_ooo_wr_send_inv(struct ibv_qp_ex *qpx, uint32_t rkey)
{
	struct rxe_ooo_send_wqe *wqe = wr_begin(qpx, IBV_WR_SEND_WITH_INV);

	if (wqe)
		wqe->invalidate_rkey = rkey;
}

static void rxe_ooo_wr_rdma_write(struct ibv_qp_ex *qpx, uint32_t rkey,
				  uint64_t addr)
{
	wr_begin_remote(qpx, IBV_WR_RDMA_WRITE, rkey, addr);
}

static void rxe_ooo_wr_rdma_write_imm(struct ibv_qp_ex *qpx, uint32_t rkey,
				      uint64_t addr, __be32 imm_data)
{
	struct rxe_ooo_send_wqe *wqe;

	wqe = wr_begin_remote(qpx, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr);
	if (wqe)
		wqe->imm_data = imm_data;
}

static void rxe_ooo_wr_rdma_read(struct ibv_qp_ex *qpx, uint32_t rkey,
				 uint64_t addr)
{
	wr_begin_remote(qpx, IBV_WR_RDMA_READ, rkey, addr);
}

static void rxe_ooo_wr_atomic_cmp_swp(struct ibv_qp_ex *qpx, uint32_t rkey,
				      uint64_t addr, uint64_t compare,
				      uint64_t swap)
{
	struct rxe_ooo_send_wqe *wqe;

	wqe = wr_begin_remote(qpx, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr);
	if (wqe) {
		wqe->atomic.compare_add = compare;
		wqe->atomic.swap = swap;
	}
}

static void rxe_ooo_wr_atomic_fetch_add(struct ibv_qp_ex *qpx, uint32_t rkey,
					uint64_t addr, uint64_t add)
{
	struct rxe_ooo_send_wqe *wqe;

	wqe = wr_begin_remote(qpx, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr);
	if (wqe)
		wqe->atomic.compare_add = add;
}

/* The 8 bytes are in the request, whatever the limit on inline data is. */
static void rxe_ooo_wr_atomic_write(struct ibv_qp_ex *qpx, uint32_t rkey,
				    uint64_t addr, const void *data)
{
	struct rxe_ooo_send_wqe *wqe;

	wqe = wr_begin_remote(qpx, IBV_WR_ATOMIC_WRITE, rkey, addr);
	if (wqe) {
		wqe->flags |= IBV_SEND_INLINE;
		wqe->inline_len = 8;
		memcpy(wqe->inline_data, data, 8);
	}
}

static bool flush_is_valid(size_t len, uint8_t type, uint8_t level)
{
	const uint8_t types = IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT;

	return len <= UINT32_MAX && type && !(type & ~types) &&
	       (level == IBV_FLUSH_RANGE || level == IBV_FLUSH_MR);
}

static void rxe_ooo_wr_flush(struct ibv_qp_ex *qpx, uint32_t rkey,
			     uint64_t addr, size_t len, uint8_t type,
			     uint8_t level)
{
	struct rxe_ooo_send_wqe *wqe;

	wqe = wr_begin_remote(qpx, IBV_WR_FLUSH, rkey, addr);
	if (!wqe)
		return;
	if (!flush_is_valid(len, type, level)) {
		batch_fail(&qpx_to_qp(qpx)->batch, EINVAL);
		return;
	}
	wqe->flush.length = len;
	wqe->flush.type = type;
	wqe->flush.level = level;
}

static void rxe_ooo_wr_local_inv(struct ibv_qp_ex *qpx, uint32_t rkey)
{
	struct rxe_ooo_send_wqe *wqe = wr_begin(qpx, IBV_WR_LOCAL_INV);

	if (wqe)
		wqe->invalidate_rkey = rkey;
}

static void rxe_ooo_wr_bind_mw(struct ibv_qp_ex *qpx, struct ibv_mw *mw,
			       uint32_t rkey,
			       const struct ibv_mw_bind_info *info)
{
	struct rxe_ooo_send_wqe *wqe = wr_begin(qpx, IBV_WR_BIND_MW);

	if (wqe)
		batch_fail(&qpx_to_qp(qpx)->batch,
			   rxe_ooo_wqe_set_bind(wqe, mw, IBV_MW_TYPE_2, rkey,
						info));
}

/*
 * The request that takes data with this setter, or NULL. Data that are set a
 * second time replace the first.
 */
static struct rxe_ooo_send_wqe *data_setter(struct rxe_ooo_qp *qp,
					    bool is_inline)
{
	struct rxe_ooo_send_wqe *wqe = qp->batch.wqe;
	const struct rxe_ooo_op *op;

	if (!wqe)
		return NULL;
	op = rxe_ooo_find_op(wqe->opcode, qp->vqp.qp.qp_type);
	if (!op || op->data == RXE_OOO_OP_NO_DATA ||
	    (is_inline && op->data != RXE_OOO_OP_SGE_OR_INLINE)) {
		batch_fail(&qp->batch, EINVAL);
		return NULL;
	}
	wqe->flags &= ~IBV_SEND_INLINE;
	wqe->inline_len = 0;
	wqe->num_sge = 0;
	return wqe;
}

static void rxe_ooo_wr_set_sge_list(struct ibv_qp_ex *qpx, size_t num_sge,
				    const struct ibv_sge *sg_list)
{
	struct rxe_ooo_qp *qp = qpx_to_qp(qpx);
	struct rxe_ooo_send_wqe *wqe = data_setter(qp, false);

	if (wqe)
		batch_fail(&qp->batch,
			   rxe_ooo_wqe_set_sges(qp, wqe, sg_list, num_sge));
}

static void rxe_ooo_wr_set_sge(struct ibv_qp_ex *qpx, uint32_t lkey,
			       uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	rxe_ooo_wr_set_sge_list(qpx, 1, &sge);
}

static void rxe_ooo_wr_set_inline_data_list(struct ibv_qp_ex *qpx,
					    size_t num_buf,
					    const struct ibv_data_buf *bufs)
{
	struct rxe_ooo_qp *qp = qpx_to_qp(qpx);
	struct rxe_ooo_send_wqe *wqe = data_setter(qp, true);
	size_t i;

	if (!wqe)
		return;
	wqe->flags |= IBV_SEND_INLINE;
	for (i = 0; i < num_buf && !qp->batch.err; i++)
		batch_fail(&qp->batch,
			   rxe_ooo_wqe_add_inline(qp, wqe, bufs[i].addr,
						  bufs[i].length));
}

static void rxe_ooo_wr_set_inline_data(struct ibv_qp_ex *qpx, void *addr,
				       size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	rxe_ooo_wr_set_inline_data_list(qpx, 1, &buf);
}

static void rxe_ooo_wr_set_ud_addr(struct ibv_qp_ex *qpx, struct ibv_ah *ah,
				   uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct rxe_ooo_wr_batch *batch = &qpx_to_qp(qpx)->batch;

	if (!batch->wqe)
		return;
	if (qpx->qp_base.qp_type != IBV_QPT_UD) {
		batch_fail(batch, EINVAL);
		return;
	}
	batch_fail(batch, rxe_ooo_wqe_set_ud(batch->wqe, ah, remote_qpn,
					     remote_qkey));
	batch->missing &= ~WR_NEEDS_UD_ADDR;
}

static void rxe_ooo_wr_set_xrc_srqn(struct ibv_qp_ex *qpx,
				    uint32_t remote_srqn)
{
	struct rxe_ooo_wr_batch *batch = &qpx_to_qp(qpx)->batch;

	if (!batch->wqe)
		return;
	if (qpx->qp_base.qp_type != IBV_QPT_XRC_SEND) {
		batch_fail(batch, EINVAL);
		return;
	}
	batch->wqe->xrc_remote_srqn = remote_srqn;
	batch->missing &= ~WR_NEEDS_XRC_SRQN;
}

int rxe_ooo_wr_api_check(enum ibv_qp_type type, uint64_t send_ops)
{
	return check_comp_mask(send_ops, rxe_ooo_send_ops_of(type)) ?
		       0 : EOPNOTSUPP;
}

/*
 * Every builder that QPs of the type can have: what was not asked for works
 * too, which beats a jump to address 0.
 */
void rxe_ooo_wr_api_set_ops(struct rxe_ooo_qp *qp)
{
	uint64_t ops = rxe_ooo_send_ops_of(qp->vqp.qp.qp_type);
	struct ibv_qp_ex *qpx = &qp->vqp.qp_ex;

	qpx->wr_start = rxe_ooo_wr_start;
	qpx->wr_complete = rxe_ooo_wr_complete;
	qpx->wr_abort = rxe_ooo_wr_abort;
	qpx->wr_set_sge = rxe_ooo_wr_set_sge;
	qpx->wr_set_sge_list = rxe_ooo_wr_set_sge_list;
	qpx->wr_set_inline_data = rxe_ooo_wr_set_inline_data;
	qpx->wr_set_inline_data_list = rxe_ooo_wr_set_inline_data_list;
	qpx->wr_set_ud_addr = rxe_ooo_wr_set_ud_addr;
	qpx->wr_set_xrc_srqn = rxe_ooo_wr_set_xrc_srqn;

#define SET_BUILDER(flag, name)						\
	do {								\
		if (ops & IBV_QP_EX_WITH_##flag)			\
			qpx->wr_##name = rxe_ooo_wr_##name;		\
	} while (0)
	SET_BUILDER(SEND, send);
	SET_BUILDER(SEND_WITH_IMM, send_imm);
	SET_BUILDER(SEND_WITH_INV, send_inv);
	SET_BUILDER(RDMA_WRITE, rdma_write);
	SET_BUILDER(RDMA_WRITE_WITH_IMM, rdma_write_imm);
	SET_BUILDER(RDMA_READ, rdma_read);
	SET_BUILDER(ATOMIC_CMP_AND_SWP, atomic_cmp_swp);
	SET_BUILDER(ATOMIC_FETCH_AND_ADD, atomic_fetch_add);
	SET_BUILDER(ATOMIC_WRITE, atomic_write);
	SET_BUILDER(FLUSH, flush);
	SET_BUILDER(LOCAL_INV, local_inv);
	SET_BUILDER(BIND_MW, bind_mw);
#undef SET_BUILDER

	qp->vqp.comp_mask |= VERBS_QP_EX;
}
