// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues: created by the kernel, polled without it. */
#include <errno.h>
#include <stdlib.h>

#include "rxe_ooo.h"

#define CQ_SUPPORTED_WC_FLAGS						\
	(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |	\
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static int check_cq_attr(const struct ibv_cq_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS |
			     IBV_CQ_INIT_ATTR_MASK_PD))
		return EOPNOTSUPP;
	if (!check_comp_mask(attr->wc_flags, CQ_SUPPORTED_WC_FLAGS))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    !check_comp_mask(attr->flags, IBV_CREATE_CQ_ATTR_SINGLE_THREADED |
			     IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) &&
	    (!attr->parent_domain ||
	     !to_rxe_ooo_pd(attr->parent_domain)->parent_of))
		return EINVAL;
	return 0;
}

static bool cq_is_single_threaded(const struct ibv_cq_init_attr_ex *attr)
{
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return true;
	return (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) &&
	       rxe_ooo_pd_single_threaded(attr->parent_domain);
}

/* The kernel's half of a CQ, and the ring to it. */
static int cq_create_cmd(struct ibv_context *ctx, struct rxe_ooo_cq *cq,
			 const struct ibv_cq_init_attr_ex *attr)
{
	struct rxe_ooo_u_create_cq_resp resp = {};
	struct ibv_create_cq_ex cmd = {};
	int ret;

	ret = ibv_cmd_create_cq_ex(ctx, attr, &cq->vcq, &cmd, sizeof(cmd),
				   &resp.ibv_resp, sizeof(resp), 0);
	if (ret)
		return ret;
	ret = rxe_ooo_ring_map(&cq->ring, ctx->cmd_fd, &resp.drv_payload.ring,
			       sizeof(struct rxe_ooo_cqe));
	if (!ret && !cq->ring.hdr)
		ret = EPROTO;
	if (ret) {
		/* No event can be outstanding: nobody has seen this CQ. */
		pthread_mutex_init(&cq->vcq.cq.mutex, NULL);
		pthread_cond_init(&cq->vcq.cq.cond, NULL);
		ibv_cmd_destroy_cq(&cq->vcq.cq);
		return ret;
	}
	cq->ring.index = cq->ring.hdr->consumer;
	return 0;
}

static struct rxe_ooo_cq *cq_create(struct ibv_context *ctx,
				    const struct ibv_cq_init_attr_ex *attr)
{
	struct rxe_ooo_cq *cq;
	int ret;

	ret = check_cq_attr(attr);
	if (ret)
		goto err;
	cq = calloc(1, sizeof(*cq));
	if (!cq) {
		ret = ENOMEM;
		goto err;
	}
	ret = rxe_ooo_lock_init(&cq->lock, cq_is_single_threaded(attr));
	if (ret)
		goto err_free;
	ret = cq_create_cmd(ctx, cq, attr);
	if (ret)
		goto err_lock;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		cq->parent = attr->parent_domain;
		rxe_ooo_pd_hold(cq->parent);
	}
	return cq;

err_lock:
	rxe_ooo_lock_destroy(&cq->lock);
err_free:
	free(cq);
err:
	errno = ret;
	return NULL;
}

struct ibv_cq *rxe_ooo_create_cq(struct ibv_context *ctx, int cqe,
				 struct ibv_comp_channel *channel,
				 int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = comp_vector,
	};
	struct rxe_ooo_cq *cq = cq_create(ctx, &attr);

	return cq ? &cq->vcq.cq : NULL;
}

struct ibv_cq_ex *rxe_ooo_create_cq_ex(struct ibv_context *ctx,
				       struct ibv_cq_init_attr_ex *attr)
{
	struct rxe_ooo_cq *cq = cq_create(ctx, attr);

	if (!cq)
		return NULL;
	rxe_ooo_cq_ex_set_ops(cq);
	return &cq->vcq.cq_ex;
}

int rxe_ooo_destroy_cq(struct ibv_cq *ibcq)
{
	struct rxe_ooo_cq *cq = to_rxe_ooo_cq(ibcq);
	int ret = ibv_cmd_destroy_cq(ibcq);

	if (ret)
		return ret;
	rxe_ooo_pd_release(cq->parent);
	rxe_ooo_ring_unmap(&cq->ring);
	rxe_ooo_lock_destroy(&cq->lock);
	free(cq);
	return 0;
}

/* Nobody polls while the kernel moves what is in the old ring to a new one. */
int rxe_ooo_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct rxe_ooo_cq *cq = to_rxe_ooo_cq(ibcq);
	struct rxe_ooo_u_resize_cq_resp resp = {};
	struct rxe_ooo_ring ring, old = {};
	struct ibv_resize_cq cmd = {};
	int ret;

	rxe_ooo_lock(&cq->lock);
	ret = ibv_cmd_resize_cq(ibcq, cqe, &cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp));
	if (ret || !resp.drv_payload.ring.depth)
		goto unlock;
	ret = rxe_ooo_ring_map(&ring, ibcq->context->cmd_fd,
			       &resp.drv_payload.ring,
			       sizeof(struct rxe_ooo_cqe));
	if (ret)
		goto unlock;
	ring.index = __atomic_load_n(&ring.hdr->consumer, __ATOMIC_ACQUIRE);
	old = cq->ring;
	cq->ring = ring;
unlock:
	rxe_ooo_unlock(&cq->lock);
	rxe_ooo_ring_unmap(&old);
	return ret;
}

int rxe_ooo_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(cq, attr, &cmd, sizeof(cmd));
}

static void cqe_to_wc(const struct rxe_ooo_cqe *cqe, struct ibv_wc *wc)
{
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->imm_data = cqe->imm_data;	/* or invalidated_rkey: a union on both sides */
	wc->qp_num = cqe->qp_num;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->wc_flags;
	wc->pkey_index = cqe->pkey_index;
	wc->slid = 0;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = 0;
}

int rxe_ooo_poll_cq(struct ibv_cq *ibcq, int num, struct ibv_wc *wc)
{
	struct rxe_ooo_cq *cq = to_rxe_ooo_cq(ibcq);
	uint32_t index, end;
	int n;

	rxe_ooo_lock(&cq->lock);
	index = cq->ring.index;
	end = rxe_ooo_ring_end(&cq->ring);
	for (n = 0; n < num && index != end; n++)
		cqe_to_wc(rxe_ooo_ring_entry(&cq->ring, index++), &wc[n]);
	if (n)
		rxe_ooo_ring_consume(&cq->ring, index);
	rxe_ooo_unlock(&cq->lock);
	return n;
}

/*
 * Moves the completions of other QPs up to the kernel's end of the ring, and
 * starts there. The kernel writes only above that end, and allots QP numbers
 * cyclically: no new QP has this number yet.
 */
void rxe_ooo_cq_forget_qp(struct ibv_cq *ibcq, uint32_t qp_num)
{
	struct rxe_ooo_cq *cq;
	uint32_t from, to;

	if (!ibcq)
		return;
	cq = to_rxe_ooo_cq(ibcq);
	rxe_ooo_lock(&cq->lock);
	from = rxe_ooo_ring_end(&cq->ring);
	to = from;
	while (from != cq->ring.index) {
		struct rxe_ooo_cqe *cqe = rxe_ooo_ring_entry(&cq->ring, --from);

		if (cqe->qp_num == qp_num)
			continue;
		if (--to != from)
			*(struct rxe_ooo_cqe *)rxe_ooo_ring_entry(&cq->ring, to) = *cqe;
	}
	if (to != from)
		rxe_ooo_ring_consume(&cq->ring, to);
	rxe_ooo_unlock(&cq->lock);
}
