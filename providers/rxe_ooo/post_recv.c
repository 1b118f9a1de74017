// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ibv_post_recv() and ibv_post_srq_recv(). */
#include <errno.h>
#include <string.h>

#include "rxe_ooo.h"

static int fill_one(struct rxe_ooo_ring *ring, uint32_t index,
		    uint32_t max_sge, const struct ibv_recv_wr *wr)
{
	struct rxe_ooo_recv_wqe *wqe;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
		return EINVAL;
	if (!rxe_ooo_ring_has_room(ring, index))
		return ENOMEM;

	wqe = rxe_ooo_ring_entry(ring, index);
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	wqe->reserved = 0;
	if (wr->num_sge)
		memcpy(wqe->sge, wr->sg_list,
		       wr->num_sge * sizeof(*wr->sg_list));
	return 0;
}

/*
 * Posts what it can: up to the first bad request. @doorbell: the kernel wants
 * to be told.
 */
static int post_list(struct rxe_ooo_lock *lock, struct rxe_ooo_ring *ring,
		     uint32_t max_sge, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr, bool *doorbell)
{
	uint32_t index;
	int err = 0;

	*doorbell = false;
	rxe_ooo_lock(lock);
	index = ring->index;
	for (; wr; wr = wr->next) {
		err = fill_one(ring, index, max_sge, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
		index++;
	}
	if (index != ring->index)
		*doorbell = rxe_ooo_ring_publish(ring, index);
	rxe_ooo_unlock(lock);
	return err;
}

static int check_recv_queue(const struct rxe_ooo_qp *qp)
{
	const struct ibv_qp *ibqp = &qp->vqp.qp;

	/* With an SRQ, or on an XRC QP, there is no receive queue. */
	if (ibqp->state == IBV_QPS_RESET || ibqp->srq ||
	    ibqp->qp_type == IBV_QPT_XRC_SEND ||
	    ibqp->qp_type == IBV_QPT_XRC_RECV)
		return EINVAL;
	return qp->rq.ring.hdr ? 0 : ENOMEM;
}

int rxe_ooo_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	struct rxe_ooo_qp *qp = to_rxe_ooo_qp(ibqp);
	struct ibv_recv_wr *none;
	bool doorbell;
	int ret, err;

	if (!wr)
		return 0;
	err = check_recv_queue(qp);
	if (err) {
		*bad_wr = wr;
		return err;
	}
	err = post_list(&qp->rq.lock, &qp->rq.ring, qp->rq.max_sge, wr, bad_wr,
			&doorbell);
	if (doorbell) {
		ret = ibv_cmd_post_recv(ibqp, NULL, &none);
		if (ret) {
			*bad_wr = wr;
			return ret;
		}
	}
	return err;
}

int rxe_ooo_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **bad_wr)
{
	struct rxe_ooo_srq *srq = to_rxe_ooo_srq(ibsrq);
	struct ibv_recv_wr *none;
	bool doorbell;
	int ret, err;

	if (!wr)
		return 0;
	err = post_list(&srq->lock, &srq->ring, srq->max_sge, wr, bad_wr,
			&doorbell);
	if (doorbell) {
		ret = ibv_cmd_post_srq_recv(ibsrq, NULL, &none);
		if (ret) {
			*bad_wr = wr;
			return ret;
		}
	}
	return err;
}
