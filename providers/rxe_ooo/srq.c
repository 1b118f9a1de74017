// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues, those of XRC included. */
#include <errno.h>
#include <stdlib.h>

#include "rxe_ooo.h"

static uint32_t recv_stride(uint32_t max_sge)
{
	return RXE_OOO_RECV_WQE_HDR_SIZE + max_sge * sizeof(struct rxe_ooo_sge);
}

static void srq_limit_ring(struct rxe_ooo_ring *ring, uint32_t max_wr)
{
	if (max_wr && max_wr < ring->depth)
		ring->limit = max_wr;
	ring->index = __atomic_load_n(&ring->hdr->producer, __ATOMIC_ACQUIRE);
}

/* The kernel's half of an SRQ, and the ring to it. */
static int srq_create_cmd(struct ibv_context *ctx, struct rxe_ooo_srq *srq,
			  struct ibv_srq_init_attr_ex *attr)
{
	struct rxe_ooo_u_create_srq_resp resp = {};
	struct ibv_create_xsrq cmd = {};
	int ret;

	ret = ibv_cmd_create_srq_ex(ctx, &srq->vsrq, attr, &cmd, sizeof(cmd),
				    &resp.ibv_resp, sizeof(resp));
	if (ret)
		return ret;
	ret = rxe_ooo_ring_map(&srq->ring, ctx->cmd_fd, &resp.drv_payload.ring,
			       recv_stride(attr->attr.max_sge));
	if (!ret && !srq->ring.hdr)
		ret = EPROTO;
	if (ret) {
		ibv_cmd_destroy_srq(&srq->vsrq.srq);
		return ret;
	}
	srq->max_sge = attr->attr.max_sge;
	srq_limit_ring(&srq->ring, attr->attr.max_wr);
	return 0;
}

struct ibv_srq *rxe_ooo_create_srq_ex(struct ibv_context *ctx,
				      struct ibv_srq_init_attr_ex *attr)
{
	struct rxe_ooo_srq *srq;
	int ret;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		ret = EINVAL;
		goto err;
	}
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) &&
	    attr->srq_type == IBV_SRQT_TM) {
		ret = EOPNOTSUPP;
		goto err;
	}
	srq = calloc(1, sizeof(*srq));
	if (!srq) {
		ret = ENOMEM;
		goto err;
	}
	ret = rxe_ooo_lock_init(&srq->lock,
				rxe_ooo_pd_single_threaded(attr->pd));
	if (ret)
		goto err_free;
	ret = srq_create_cmd(ctx, srq, attr);
	if (ret)
		goto err_lock;
	srq->vsrq.srq.srq_context = attr->srq_context;
	srq->vsrq.srq.pd = attr->pd;
	rxe_ooo_pd_hold(attr->pd);
	return &srq->vsrq.srq;

err_lock:
	rxe_ooo_lock_destroy(&srq->lock);
err_free:
	free(srq);
err:
	errno = ret;
	return NULL;
}

struct ibv_srq *rxe_ooo_create_srq(struct ibv_pd *pd,
				   struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex attr_ex = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_BASIC,
		.pd = pd,
	};
	struct ibv_srq *srq = rxe_ooo_create_srq_ex(pd->context, &attr_ex);

	if (srq)
		attr->attr = attr_ex.attr;
	return srq;
}

/*
 * The command has no response, so the kernel writes where we tell it to.
 * Nobody posts while it moves what is in the old ring to a new one.
 */
int rxe_ooo_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		       int mask)
{
	struct rxe_ooo_srq *srq = to_rxe_ooo_srq(ibsrq);
	struct rxe_ooo_modify_srq_resp resp = {};
	struct rxe_ooo_u_modify_srq cmd = {};
	struct rxe_ooo_ring ring, old = {};
	int ret;

	cmd.drv_payload.resp_addr = (uintptr_t)&resp;
	rxe_ooo_lock(&srq->lock);
	ret = ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd.ibv_cmd, sizeof(cmd));
	if (ret || !resp.ring.depth)
		goto unlock;
	ret = rxe_ooo_ring_map(&ring, ibsrq->context->cmd_fd, &resp.ring,
			       recv_stride(srq->max_sge));
	if (ret)
		goto unlock;
	srq_limit_ring(&ring, mask & IBV_SRQ_MAX_WR ? attr->max_wr : 0);
	old = srq->ring;
	srq->ring = ring;
unlock:
	rxe_ooo_unlock(&srq->lock);
	rxe_ooo_ring_unmap(&old);
	return ret;
}

int rxe_ooo_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return ibv_cmd_query_srq(srq, attr, &cmd, sizeof(cmd));
}

int rxe_ooo_get_srq_num(struct ibv_srq *ibsrq, uint32_t *num)
{
	struct rxe_ooo_srq *srq = to_rxe_ooo_srq(ibsrq);

	if (srq->vsrq.srq_type != IBV_SRQT_XRC)
		return EOPNOTSUPP;
	*num = srq->vsrq.srq_num;
	return 0;
}

int rxe_ooo_destroy_srq(struct ibv_srq *ibsrq)
{
	struct rxe_ooo_srq *srq = to_rxe_ooo_srq(ibsrq);
	int ret = ibv_cmd_destroy_srq(ibsrq);

	if (ret)
		return ret;
	rxe_ooo_pd_release(ibsrq->pd);
	rxe_ooo_ring_unmap(&srq->ring);
	rxe_ooo_lock_destroy(&srq->lock);
	free(srq);
	return 0;
}
