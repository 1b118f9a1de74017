/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A stand-in for kernel and libibverbs: rings in ordinary memory. */
#ifndef FAKE_H
#define FAKE_H

#include "rxe_ooo.h"

extern int doorbells;		/* rung since reset */
extern int doorbell_result;	/* what the next ones return */

/* Rings that start at @index. */
struct rxe_ooo_ring fake_ring(uint32_t depth, uint32_t stride, uint32_t index);
void fake_ring_free(struct rxe_ooo_ring *ring);

struct rxe_ooo_qp *fake_qp(enum ibv_qp_type type, uint32_t depth,
			   uint32_t max_sge, uint32_t max_inline,
			   uint32_t index);
void fake_qp_free(struct rxe_ooo_qp *qp);
struct rxe_ooo_cq *fake_cq(uint32_t depth, uint32_t index);
void fake_cq_free(struct rxe_ooo_cq *cq);

/* The kernel's half */
void fake_consume(struct rxe_ooo_ring *ring, uint32_t num);
void fake_complete(struct rxe_ooo_cq *cq, uint64_t wr_id, uint32_t qp_num);
/* The @i-th entry that is posted and not consumed; NULL: none. */
void *fake_posted(const struct rxe_ooo_ring *ring, uint32_t i);

#endif
