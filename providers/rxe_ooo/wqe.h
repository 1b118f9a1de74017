/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How to fill an entry of a send ring: shared by ibv_post_send() and
 * ibv_wr_*(). All of it returns 0 or an errno, and may leave a half-filled
 * entry behind, which does no harm before it is published.
 */
#ifndef RXE_OOO_WQE_H
#define RXE_OOO_WQE_H

#include "rxe_ooo.h"

/* What of enum ibv_send_flags we know */
#define RXE_OOO_SEND_FLAGS						\
	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |	\
	 IBV_SEND_INLINE)

enum rxe_ooo_op_data {
	RXE_OOO_OP_NO_DATA,
	RXE_OOO_OP_SGE,			/* scatter/gather elements only */
	RXE_OOO_OP_SGE_OR_INLINE,
};

struct rxe_ooo_op {
	uint32_t send_op;		/* IBV_QP_EX_WITH_*; 0: no such opcode */
	uint8_t types;			/* bit set of 1 << enum ibv_qp_type: see wqe.c */
	uint8_t data;			/* enum rxe_ooo_op_data */
};

/* NULL: no such operation on QPs of that type. */
const struct rxe_ooo_op *rxe_ooo_find_op(uint32_t opcode,
					 enum ibv_qp_type type);

/* The IBV_QP_EX_WITH_* that QPs of a type can do. */
uint64_t rxe_ooo_send_ops_of(enum ibv_qp_type type);

/* An entry without data, addresses and keys. @flags without INLINE. */
void rxe_ooo_wqe_init(const struct rxe_ooo_qp *qp,
		      struct rxe_ooo_send_wqe *wqe, uint64_t wr_id,
		      uint8_t opcode, unsigned int flags);
int rxe_ooo_wqe_set_sges(const struct rxe_ooo_qp *qp,
			 struct rxe_ooo_send_wqe *wqe,
			 const struct ibv_sge *sges, size_t num);
/* Append to the inline data. */
int rxe_ooo_wqe_add_inline(const struct rxe_ooo_qp *qp,
			   struct rxe_ooo_send_wqe *wqe, const void *data,
			   size_t len);
int rxe_ooo_wqe_set_bind(struct rxe_ooo_send_wqe *wqe, const struct ibv_mw *mw,
			 enum ibv_mw_type type, uint32_t rkey,
			 const struct ibv_mw_bind_info *info);
int rxe_ooo_wqe_set_ud(struct rxe_ooo_send_wqe *wqe, const struct ibv_ah *ah,
		       uint32_t qpn, uint32_t qkey);

#endif /* RXE_OOO_WQE_H */
