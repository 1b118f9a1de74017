// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: birth, death, and questions. Attributes are in qp_attr.c. */
#include "objects.h"
#include "verbs_small.h"

static int check_type(const struct ib_qp_init_attr *init)
{
	if (init->create_flags)
		return -EOPNOTSUPP;
	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
	case IB_QPT_GSI:
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static bool has_sq(const struct rxo_qp *qp)
{
	return qp->ib.qp_type != IB_QPT_XRC_TGT;
}

static bool has_rq(const struct rxo_qp *qp)
{
	return !qp->srq && qp->ib.qp_type != IB_QPT_XRC_TGT && qp->ib.qp_type != IB_QPT_XRC_INI;
}

static int check_caps(const struct rxo_qp *qp, const struct ib_qp_cap *cap)
{
	if (has_sq(qp) && (cap->max_send_wr > RXO_MAX_QP_WR || cap->max_send_sge > RXO_MAX_SGE ||
			   cap->max_inline_data > RXO_MAX_INLINE))
		return -EINVAL;
	if (has_rq(qp) && (cap->max_recv_wr > RXO_MAX_QP_WR || cap->max_recv_sge > RXO_MAX_SGE))
		return -EINVAL;
	return 0;
}

static enum ooo_service service(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_UC:
		return OOO_UC;
	case IB_QPT_XRC_INI:
		return OOO_XRC_INI;
	case IB_QPT_XRC_TGT:
		return OOO_XRC_TGT;
	default:
		return OOO_RC;
	}
}

/*
 * Room for the trusted copies of send entries, for a ring (user space only)
 * that they come from, and for one entry at least, which keeps the masks good.
 */
static int create_sq(struct rxo_qp *qp, const struct ib_qp_cap *cap, struct ib_udata *udata)
{
	static const struct ib_qp_cap none;
	u32 depth, data;

	if (!has_sq(qp))
		cap = &none;	/* what user space says there means nothing, and is not checked */
	depth = rxo_ring_depth(cap->max_send_wr);
	qp->sq_max_sge = max(cap->max_send_sge, 1U);
	data = max_t(u32, qp->sq_max_sge * sizeof(struct ooo_sge), ALIGN(cap->max_inline_data, 16));
	qp->max_inline = data;
	qp->ep.sq_depth = depth;
	qp->ep.sq_stride = sizeof(struct ooo_swqe) + data;
	qp->ep.sq = kvcalloc(depth, qp->ep.sq_stride, GFP_KERNEL);
	if (!qp->ep.sq)
		return -ENOMEM;
	qp->sq.depth = depth;
	if (!qp->is_user || !has_sq(qp))
		return 0;
	return rxo_ring_create(&qp->sq, depth, RXE_OOO_SEND_WQE_HDR_SIZE + data, udata);
}

static int create_rq(struct rxo_qp *qp, const struct ib_qp_cap *cap, struct ib_udata *udata)
{
	qp->recv = kzalloc(sizeof(*qp->recv), GFP_KERNEL);
	if (!qp->recv)
		return -ENOMEM;
	if (!has_rq(qp))
		return 0;
	qp->rq_max_sge = max(cap->max_recv_sge, 1U);
	return rxo_ring_create(&qp->rq, rxo_ring_depth(cap->max_recv_wr),
			       rxo_recv_stride(qp->rq_max_sge), udata);
}

static void free_queues(struct rxo_qp *qp)
{
	if (qp->rq.hdr)
		rxo_ring_destroy(&qp->rq);
	if (qp->sq.hdr)
		rxo_ring_destroy(&qp->sq);
	kfree(qp->recv);
	kvfree(qp->ep.sq);
}

static void report_caps(const struct rxo_qp *qp, struct ib_qp_cap *cap)
{
	memset(cap, 0, sizeof(*cap));
	if (has_sq(qp)) {
		cap->max_send_wr = qp->ep.sq_depth;
		cap->max_send_sge = qp->sq_max_sge;
		cap->max_inline_data = qp->max_inline;
	}
	if (has_rq(qp)) {
		cap->max_recv_wr = qp->rq.depth;
		cap->max_recv_sge = qp->rq_max_sge;
	}
}

static void init_qp(struct rxo_qp *qp, const struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	qp->dev = to_rxo(qp->ib.device);
	refcount_set(&qp->refs, 1);
	init_completion(&qp->gone);
	mutex_init(&qp->modify_lock);
	spin_lock_init(&qp->post_lock);
	rxo_qp_run_init(qp);
	INIT_LIST_HEAD(&qp->mcast_members);
	qp->is_user = udata;
	qp->port_num = 1;
	qp->sig_type = init->sq_sig_type;
	qp->scq = init->send_cq ? to_rcq(init->send_cq) : NULL;
	qp->rcq = init->recv_cq ? to_rcq(init->recv_cq) : NULL;
	qp->srq = init->srq ? to_rsrq(init->srq) : NULL;
	qp->attr.port_num = 1;
	qp->attr.path_mig_state = IB_MIG_MIGRATED;

	ooo_ep_init(&qp->ep);
	qp->ep.tun = &qp->dev->tun;
	qp->ep.attr.service = service(init->qp_type);
	qp->ep.attr.sq_sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
}

static int answer(struct rxo_qp *qp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct rxe_ooo_create_qp_resp resp = {};

	report_caps(qp, &init->cap);
	rxo_ring_info(&qp->sq, &resp.sq);
	rxo_ring_info(&qp->rq, &resp.rq);
	return rxo_udata_out(udata, &resp, sizeof(resp));
}

/* Nobody finds it any more, and whoever did is done when this returns. */
static void unpublish(struct rxo_qp *qp)
{
	rxo_qp_table_del(qp);
	rxo_qp_run_stop(qp);
	rxo_qp_put(qp);
	wait_for_completion(&qp->gone);
	cancel_work_sync(&qp->work);
	cancel_work_sync(&qp->event_work);
	skb_queue_purge(&qp->backlog);
	rxo_qp_table_free(qp);
	synchronize_rcu_expedited();
}

int rxo_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct rxo_qp *qp = to_rqp(ib);
	int err;

	err = check_type(init);
	if (!err)
		err = rxo_udata_in_empty(udata);
	if (err)
		return err;
	init_qp(qp, init, udata);
	err = check_caps(qp, &init->cap);
	if (!err)
		err = rxo_account(&qp->dev->num_qp, RXO_MAX_QP);
	if (err)
		return err;

	err = create_sq(qp, &init->cap, udata);
	if (!err)
		err = create_rq(qp, &init->cap, udata);
	if (err)
		goto err_queues;
	rxo_rings_reset(qp);
	err = rxo_qp_table_add(qp);
	if (err)
		goto err_queues;
	err = answer(qp, init, udata);
	if (err)
		goto err_table;
	return 0;

err_table:
	unpublish(qp);
err_queues:
	free_queues(qp);
	atomic_dec(&qp->dev->num_qp);
	return err;
}

int rxo_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct rxo_qp *qp = to_rqp(ib);

	if (!list_empty(&qp->mcast_members))
		rxo_mcast_detach_all(qp);
	unpublish(qp);
	rxo_cq_purge(qp->scq, qp);
	if (qp->rcq != qp->scq)
		rxo_cq_purge(qp->rcq, qp);
	rxo_av_destroy(&qp->av);
	free_queues(qp);
	atomic_dec(&qp->dev->num_qp);
	return 0;
}

int rxo_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct rxo_qp *qp = to_rqp(ib);

	memset(init, 0, sizeof(*init));
	mutex_lock(&qp->modify_lock);
	rxo_qp_lock(qp);
	*attr = qp->attr;
	attr->qp_state = (enum ib_qp_state)qp->ep.state;
	attr->cur_qp_state = attr->qp_state;
	attr->sq_draining = rxo_qp_connected(qp) && qp->ep.state == OOO_SQD &&
			    !ooo_ep_sq_drained(&qp->ep);
	rxo_qp_unlock(qp);
	mutex_unlock(&qp->modify_lock);

	report_caps(qp, &attr->cap);
	init->cap = attr->cap;
	init->event_handler = ib->event_handler;
	init->qp_context = ib->qp_context;
	init->send_cq = ib->send_cq;
	init->recv_cq = ib->recv_cq;
	init->srq = ib->srq;
	init->sq_sig_type = qp->sig_type;
	init->qp_type = ib->qp_type;
	return 0;
}
