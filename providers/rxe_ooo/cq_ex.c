// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Extended completion queues: ibv_start_poll() to ibv_end_poll(). The CQ is
 * locked in between. The kernel gets entries back at the end of the batch.
 */
#include <errno.h>

#include "rxe_ooo.h"

/* Look at the next entry, or say that there is none. */
static int cq_ex_advance(struct rxe_ooo_cq *cq, uint32_t index)
{
	if (index == cq->end) {
		cq->end = rxe_ooo_ring_end(&cq->ring);
		if (index == cq->end)
			return ENOENT;
	}
	cq->ring.index = index;
	cq->cur = rxe_ooo_ring_entry(&cq->ring, index);
	cq->vcq.cq_ex.wr_id = cq->cur->wr_id;
	cq->vcq.cq_ex.status = cq->cur->status;
	return 0;
}

static int rxe_ooo_start_poll(struct ibv_cq_ex *ibcq,
			      struct ibv_poll_cq_attr *attr)
{
	struct rxe_ooo_cq *cq = to_rxe_ooo_cq_ex(ibcq);
	int ret;

	if (attr->comp_mask)
		return EINVAL;
	rxe_ooo_lock(&cq->lock);
	cq->cur = NULL;
	cq->end = cq->ring.index;
	ret = cq_ex_advance(cq, cq->ring.index);
	if (ret)
		rxe_ooo_unlock(&cq->lock);
	return ret;
}

static int rxe_ooo_next_poll(struct ibv_cq_ex *ibcq)
{
	struct rxe_ooo_cq *cq = to_rxe_ooo_cq_ex(ibcq);

	return cq_ex_advance(cq, cq->ring.index + 1);
}

/* What was looked at last is polled, whether or not next_poll came after. */
static void rxe_ooo_end_poll(struct ibv_cq_ex *ibcq)
{
	struct rxe_ooo_cq *cq = to_rxe_ooo_cq_ex(ibcq);

	rxe_ooo_ring_consume(&cq->ring, cq->ring.index + 1);
	cq->cur = NULL;
	rxe_ooo_unlock(&cq->lock);
}

static enum ibv_wc_opcode rxe_ooo_read_opcode(struct ibv_cq_ex *ibcq)
{
	return to_rxe_ooo_cq_ex(ibcq)->cur->opcode;
}

static uint32_t rxe_ooo_read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return to_rxe_ooo_cq_ex(ibcq)->cur->vendor_err;
}

static uint32_t rxe_ooo_read_byte_len(struct ibv_cq_ex *ibcq)
{
	return to_rxe_ooo_cq_ex(ibcq)->cur->byte_len;
}

/* Also read for the invalidated key: one union. */
static __be32 rxe_ooo_read_imm_data(struct ibv_cq_ex *ibcq)
{
	return to_rxe_ooo_cq_ex(ibcq)->cur->imm_data;
}

static uint32_t rxe_ooo_read_qp_num(struct ibv_cq_ex *ibcq)
{
	return to_rxe_ooo_cq_ex(ibcq)->cur->qp_num;
}

static uint32_t rxe_ooo_read_src_qp(struct ibv_cq_ex *ibcq)
{
	return to_rxe_ooo_cq_ex(ibcq)->cur->src_qp;
}

static unsigned int rxe_ooo_read_wc_flags(struct ibv_cq_ex *ibcq)
{
	return to_rxe_ooo_cq_ex(ibcq)->cur->wc_flags;
}

/* There are no LIDs on Ethernet. */
static uint32_t rxe_ooo_read_slid(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t rxe_ooo_read_dlid_path_bits(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t rxe_ooo_read_sl(struct ibv_cq_ex *ibcq)
{
	return to_rxe_ooo_cq_ex(ibcq)->cur->sl;
}

/* One clock: CLOCK_REALTIME, nanoseconds. */
static uint64_t rxe_ooo_read_timestamp(struct ibv_cq_ex *ibcq)
{
	return to_rxe_ooo_cq_ex(ibcq)->cur->timestamp;
}

/* All of them: reading what was not asked for costs nothing here. */
void rxe_ooo_cq_ex_set_ops(struct rxe_ooo_cq *cq)
{
	struct ibv_cq_ex *ops = &cq->vcq.cq_ex;

	ops->start_poll = rxe_ooo_start_poll;
	ops->next_poll = rxe_ooo_next_poll;
	ops->end_poll = rxe_ooo_end_poll;
	ops->read_opcode = rxe_ooo_read_opcode;
	ops->read_vendor_err = rxe_ooo_read_vendor_err;
	ops->read_byte_len = rxe_ooo_read_byte_len;
	ops->read_imm_data = rxe_ooo_read_imm_data;
	ops->read_qp_num = rxe_ooo_read_qp_num;
	ops->read_src_qp = rxe_ooo_read_src_qp;
	ops->read_wc_flags = rxe_ooo_read_wc_flags;
	ops->read_slid = rxe_ooo_read_slid;
	ops->read_sl = rxe_ooo_read_sl;
	ops->read_dlid_path_bits = rxe_ooo_read_dlid_path_bits;
	ops->read_completion_ts = rxe_ooo_read_timestamp;
	ops->read_completion_wallclock_ns = rxe_ooo_read_timestamp;
}
