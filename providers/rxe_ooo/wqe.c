// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Entries of a send ring. */
#include <errno.h>
#include <string.h>

#include <ccan/array_size.h>

#include "wqe.h"

static_assert(sizeof(struct rxe_ooo_sge) == sizeof(struct ibv_sge) &&
	      offsetof(struct rxe_ooo_sge, addr) == offsetof(struct ibv_sge, addr) &&
	      offsetof(struct rxe_ooo_sge, length) == offsetof(struct ibv_sge, length) &&
	      offsetof(struct rxe_ooo_sge, lkey) == offsetof(struct ibv_sge, lkey),
	      "elements are copied as they are");
static_assert(offsetof(struct rxe_ooo_send_wqe, sge) == RXE_OOO_SEND_WQE_HDR_SIZE,
	      "the header's size is part of the ABI");
static_assert(sizeof(struct rxe_ooo_cqe) == RXE_OOO_CQE_SIZE,
	      "the entry's size is part of the ABI");

enum {
	T_RC = 1 << 0,
	T_UC = 1 << 1,
	T_UD = 1 << 2,
	T_XRC = 1 << 3,		/* the sending end */
};

/* The tables of ibv_post_send(3) and ibv_wr_post(3), and ATOMIC WRITE. */
static const struct rxe_ooo_op ops[] = {
	[IBV_WR_SEND] = {
		IBV_QP_EX_WITH_SEND,
		T_RC | T_UC | T_UD | T_XRC, RXE_OOO_OP_SGE_OR_INLINE },
	[IBV_WR_SEND_WITH_IMM] = {
		IBV_QP_EX_WITH_SEND_WITH_IMM,
		T_RC | T_UC | T_UD | T_XRC, RXE_OOO_OP_SGE_OR_INLINE },
	[IBV_WR_SEND_WITH_INV] = {
		IBV_QP_EX_WITH_SEND_WITH_INV,
		T_RC | T_UC | T_XRC, RXE_OOO_OP_SGE_OR_INLINE },
	[IBV_WR_RDMA_WRITE] = {
		IBV_QP_EX_WITH_RDMA_WRITE,
		T_RC | T_UC | T_XRC, RXE_OOO_OP_SGE_OR_INLINE },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {
		IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
		T_RC | T_UC | T_XRC, RXE_OOO_OP_SGE_OR_INLINE },
	[IBV_WR_RDMA_READ] = {
		IBV_QP_EX_WITH_RDMA_READ,
		T_RC | T_XRC, RXE_OOO_OP_SGE },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {
		IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
		T_RC | T_XRC, RXE_OOO_OP_SGE },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {
		IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
		T_RC | T_XRC, RXE_OOO_OP_SGE },
	[IBV_WR_ATOMIC_WRITE] = {
		IBV_QP_EX_WITH_ATOMIC_WRITE,
		T_RC | T_XRC, RXE_OOO_OP_SGE_OR_INLINE },
	[IBV_WR_FLUSH] = {
		IBV_QP_EX_WITH_FLUSH,
		T_RC | T_XRC, RXE_OOO_OP_NO_DATA },
	[IBV_WR_LOCAL_INV] = {
		IBV_QP_EX_WITH_LOCAL_INV,
		T_RC | T_UC | T_XRC, RXE_OOO_OP_NO_DATA },
	[IBV_WR_BIND_MW] = {
		IBV_QP_EX_WITH_BIND_MW,
		T_RC | T_UC | T_XRC, RXE_OOO_OP_NO_DATA },
};

static uint8_t type_bit(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return T_RC;
	case IBV_QPT_UC:
		return T_UC;
	case IBV_QPT_UD:
		return T_UD;
	case IBV_QPT_XRC_SEND:
		return T_XRC;
	default:
		return 0;
	}
}

const struct rxe_ooo_op *rxe_ooo_find_op(uint32_t opcode,
					 enum ibv_qp_type type)
{
	if (opcode >= ARRAY_SIZE(ops) ||
	    !(ops[opcode].types & type_bit(type)))
		return NULL;
	return &ops[opcode];
}

uint64_t rxe_ooo_send_ops_of(enum ibv_qp_type type)
{
	uint8_t bit = type_bit(type);
	uint64_t send_ops = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		if (ops[i].types & bit)
			send_ops |= ops[i].send_op;
	return send_ops;
}

void rxe_ooo_wqe_init(const struct rxe_ooo_qp *qp,
		      struct rxe_ooo_send_wqe *wqe, uint64_t wr_id,
		      uint8_t opcode, unsigned int flags)
{
	memset(wqe, 0, RXE_OOO_SEND_WQE_HDR_SIZE);
	wqe->wr_id = wr_id;
	wqe->opcode = opcode;
	wqe->flags = flags;
	if (qp->sq_sig_all)
		wqe->flags |= IBV_SEND_SIGNALED;
}

int rxe_ooo_wqe_set_sges(const struct rxe_ooo_qp *qp,
			 struct rxe_ooo_send_wqe *wqe,
			 const struct ibv_sge *sges, size_t num)
{
	if (num > qp->sq.max_sge)
		return EINVAL;
	wqe->num_sge = num;
	if (num)
		memcpy(wqe->sge, sges, num * sizeof(*sges));
	return 0;
}

int rxe_ooo_wqe_add_inline(const struct rxe_ooo_qp *qp,
			   struct rxe_ooo_send_wqe *wqe, const void *data,
			   size_t len)
{
	wqe->flags |= IBV_SEND_INLINE;
	if (len > qp->max_inline - wqe->inline_len)
		return EINVAL;
	if (len)
		memcpy(wqe->inline_data + wqe->inline_len, data, len);
	wqe->inline_len += len;
	return 0;
}

/* A window of length 0 is unbound: no region is needed then. */
int rxe_ooo_wqe_set_bind(struct rxe_ooo_send_wqe *wqe, const struct ibv_mw *mw,
			 enum ibv_mw_type type, uint32_t rkey,
			 const struct ibv_mw_bind_info *info)
{
	if (!mw || mw->type != type || (info->length && !info->mr))
		return EINVAL;
	wqe->remote_addr = info->addr;
	wqe->rkey = rkey;
	wqe->bind_mw.length = info->length;
	wqe->bind_mw.mr_lkey = info->mr ? info->mr->lkey : 0;
	wqe->bind_mw.mw_rkey = mw->rkey;
	wqe->bind_mw.access = info->mw_access_flags;
	return 0;
}

int rxe_ooo_wqe_set_ud(struct rxe_ooo_send_wqe *wqe, const struct ibv_ah *ah,
		       uint32_t qpn, uint32_t qkey)
{
	if (!ah)
		return EINVAL;
	wqe->ud.ah_num = to_rxe_ooo_ah(ah)->num;
	wqe->ud.remote_qpn = qpn;
	wqe->ud.remote_qkey = qkey;
	return 0;
}
