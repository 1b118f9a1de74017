// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A stand-in for kernel and libibverbs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

int doorbells;
int doorbell_result;

static int ring_the_bell(void)
{
	__atomic_add_fetch(&doorbells, 1, __ATOMIC_RELAXED);
	return doorbell_result;
}

int ibv_cmd_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		      struct ibv_send_wr **bad_wr)
{
	return ring_the_bell();
}

int ibv_cmd_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	return ring_the_bell();
}

int ibv_cmd_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **bad_wr)
{
	return ring_the_bell();
}

/* Of cq.c; no test creates a queue with a command. */
int ibv_cmd_create_cq_ex(struct ibv_context *ctx,
			 const struct ibv_cq_init_attr_ex *attr,
			 struct verbs_cq *cq, struct ibv_create_cq_ex *cmd,
			 size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp,
			 size_t resp_size, uint32_t cmd_flags)
{
	return ENOSYS;
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	return ENOSYS;
}

int ibv_cmd_resize_cq(struct ibv_cq *cq, int cqe, struct ibv_resize_cq *cmd,
		      size_t cmd_size, struct ib_uverbs_resize_cq_resp *resp,
		      size_t resp_size)
{
	return ENOSYS;
}

int ibv_cmd_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr,
		      struct ibv_modify_cq *cmd, size_t cmd_size)
{
	return ENOSYS;
}

void rxe_ooo_pd_hold(struct ibv_pd *pd)
{
}

void rxe_ooo_pd_release(struct ibv_pd *pd)
{
}

bool rxe_ooo_pd_single_threaded(const struct ibv_pd *pd)
{
	return false;
}

struct rxe_ooo_ring fake_ring(uint32_t depth, uint32_t stride, uint32_t index)
{
	struct rxe_ooo_ring ring = {
		.depth = depth,
		.stride = stride,
		.limit = depth,
		.index = index,
		.size = RXE_OOO_RING_HDR_SIZE + (size_t)depth * stride,
	};

	ring.hdr = calloc(1, ring.size);
	if (!ring.hdr)
		abort();
	ring.entries = (uint8_t *)ring.hdr + RXE_OOO_RING_HDR_SIZE;
	memset(ring.entries, 0xa5, ring.size - RXE_OOO_RING_HDR_SIZE);
	ring.hdr->producer = index;
	ring.hdr->consumer = index;
	return ring;
}

void fake_ring_free(struct rxe_ooo_ring *ring)
{
	free(ring->hdr);
	ring->hdr = NULL;
}

struct rxe_ooo_qp *fake_qp(enum ibv_qp_type type, uint32_t depth,
			   uint32_t max_sge, uint32_t max_inline,
			   uint32_t index)
{
	uint32_t data = max_inline > 16 * max_sge ? max_inline : 16 * max_sge;
	struct rxe_ooo_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		abort();
	data = data < 16 ? 16 : (data + 15) & ~15U;
	qp->vqp.qp.qp_type = type;
	qp->vqp.qp.state = IBV_QPS_RTS;
	qp->max_inline = max_inline;
	qp->sq.max_sge = max_sge;
	qp->rq.max_sge = max_sge;
	rxe_ooo_lock_init(&qp->sq.lock, false);
	rxe_ooo_lock_init(&qp->rq.lock, false);
	qp->sq.ring = fake_ring(depth, RXE_OOO_SEND_WQE_HDR_SIZE + data, index);
	qp->rq.ring = fake_ring(depth, RXE_OOO_RECV_WQE_HDR_SIZE + 16 * max_sge,
				index);
	return qp;
}

void fake_qp_free(struct rxe_ooo_qp *qp)
{
	fake_ring_free(&qp->sq.ring);
	fake_ring_free(&qp->rq.ring);
	free(qp);
}

struct rxe_ooo_cq *fake_cq(uint32_t depth, uint32_t index)
{
	struct rxe_ooo_cq *cq = calloc(1, sizeof(*cq));

	if (!cq)
		abort();
	rxe_ooo_lock_init(&cq->lock, false);
	cq->ring = fake_ring(depth, sizeof(struct rxe_ooo_cqe), index);
	return cq;
}

void fake_cq_free(struct rxe_ooo_cq *cq)
{
	fake_ring_free(&cq->ring);
	free(cq);
}

void fake_consume(struct rxe_ooo_ring *ring, uint32_t num)
{
	__atomic_store_n(&ring->hdr->consumer, ring->hdr->consumer + num,
			 __ATOMIC_RELEASE);
}

void fake_complete(struct rxe_ooo_cq *cq, uint64_t wr_id, uint32_t qp_num)
{
	struct rxe_ooo_cqe cqe = {
		.wr_id = wr_id,
		.qp_num = qp_num,
		.byte_len = wr_id + 1,
		.timestamp = wr_id * 1000,
	};
	uint32_t index = cq->ring.hdr->producer;

	if (index - cq->ring.hdr->consumer >= cq->ring.depth)
		abort();
	memcpy(rxe_ooo_ring_entry(&cq->ring, index), &cqe, sizeof(cqe));
	__atomic_store_n(&cq->ring.hdr->producer, index + 1, __ATOMIC_RELEASE);
}

void *fake_posted(const struct rxe_ooo_ring *ring, uint32_t i)
{
	if (i >= ring->hdr->producer - ring->hdr->consumer)
		return NULL;
	return rxe_ooo_ring_entry(ring, ring->hdr->consumer + i);
}
