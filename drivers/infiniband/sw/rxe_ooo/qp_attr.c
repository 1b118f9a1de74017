// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * modify_qp: first everything is checked, then everything is applied, under
 * qp->lock and only if the state is still the one that the checks assumed
 * (errors move a QP at any time). A refused call changes nothing.
 */
#include "objects.h"

/* What a region may have, too: programs pass the same flags to both. */
#define QP_ACCESS	(RXO_MR_ACCESS)

/* A modification as it goes through the steps below. */
struct change {
	const struct ib_qp_attr *attr;
	int mask;
	enum ib_qp_state from, to;
	u32 flags;		/* RXE_OOO_MODIFY_QP_* */
	bool ooo;		/* in force afterwards */
	struct rxo_av av;	/* IB_QP_AV: ready to use */
};

/* ------------------------------------------------------------------ */
/* Checks                                                              */

static bool path_values_ok(struct rxo_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if ((mask & IB_QP_PORT) && attr->port_num != 1)
		return false;
	if ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index >= RXO_MAX_PKEYS)
		return false;
	if ((mask & IB_QP_PATH_MTU) && !rxo_mtu_ok(qp->dev, attr->path_mtu))
		return false;
	if ((mask & IB_QP_DEST_QPN) && attr->dest_qp_num > 0xffffff)
		return false;
	if ((mask & IB_QP_PATH_MIG_STATE) && attr->path_mig_state != IB_MIG_MIGRATED)
		return false;
	return !(mask & (IB_QP_ALT_PATH | IB_QP_RATE_LIMIT));
}

/* Ranges of IBTA 11.2.5.2 (5-bit timers, 3-bit counts) and our limits. */
static bool transport_values_ok(const struct ib_qp_attr *attr, int mask)
{
	if ((mask & IB_QP_ACCESS_FLAGS) && (attr->qp_access_flags & ~QP_ACCESS))
		return false;
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > RXO_MAX_RD_ATOM)
		return false;
	if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > RXO_MAX_RD_ATOM)
		return false;
	if ((mask & IB_QP_TIMEOUT) && attr->timeout > 31)
		return false;
	if ((mask & IB_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31)
		return false;
	if ((mask & IB_QP_RETRY_CNT) && attr->retry_cnt > 7)
		return false;
	return !(mask & IB_QP_RNR_RETRY) || attr->rnr_retry <= 7;
}

/* See struct rxe_ooo_modify_qp_req. */
static bool ooo_flags_ok(const struct rxo_qp *qp, const struct change *c)
{
	u32 both = RXE_OOO_MODIFY_QP_OOO | RXE_OOO_MODIFY_QP_OOO_OFF;

	if (!c->flags)
		return true;
	if ((c->flags & ~both) || c->flags == both)
		return false;
	return rxo_qp_can_ooo(qp) && (c->mask & IB_QP_STATE) && c->from == IB_QPS_INIT &&
	       c->to == IB_QPS_RTR;
}

static int check(struct rxo_qp *qp, struct change *c)
{
	if ((c->mask & IB_QP_CUR_STATE) && c->attr->cur_qp_state != c->from)
		return -EINVAL;
	if (!ib_modify_qp_is_ok(c->from, c->to, qp->ib.qp_type, c->mask))
		return -EINVAL;
	if (!path_values_ok(qp, c->attr, c->mask) || !transport_values_ok(c->attr, c->mask))
		return -EINVAL;
	return ooo_flags_ok(qp, c) ? 0 : -EINVAL;
}

/* ------------------------------------------------------------------ */
/* Effects; qp->lock held                                              */

static void apply_path(struct rxo_qp *qp, struct change *c)
{
	const struct ib_qp_attr *attr = c->attr;
	struct ib_qp_attr *now = &qp->attr;

	if (c->mask & IB_QP_PORT)
		now->port_num = attr->port_num;
	if (c->mask & IB_QP_PKEY_INDEX)
		now->pkey_index = attr->pkey_index;
	if (c->mask & IB_QP_QKEY)
		now->qkey = attr->qkey;
	if (c->mask & IB_QP_DEST_QPN)
		now->dest_qp_num = attr->dest_qp_num;
	if (c->mask & IB_QP_PATH_MTU) {
		now->path_mtu = attr->path_mtu;
		qp->ep.attr.mtu = ib_mtu_enum_to_int(attr->path_mtu);
	}
	if (c->mask & IB_QP_AV) {
		swap(qp->av, c->av);
		now->ah_attr = qp->av.attr;
	}
}

static void apply_psn_and_access(struct rxo_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	struct ib_qp_attr *now = &qp->attr;
	struct ooo_attr *core = &qp->ep.attr;

	if (mask & IB_QP_RQ_PSN) {
		now->rq_psn = attr->rq_psn & PSN_MASK;
		core->rq_psn = now->rq_psn;
	}
	if (mask & IB_QP_SQ_PSN) {
		now->sq_psn = attr->sq_psn & PSN_MASK;
		core->sq_psn = now->sq_psn;
	}
	if (mask & IB_QP_ACCESS_FLAGS) {
		now->qp_access_flags = attr->qp_access_flags;
		core->access = attr->qp_access_flags;
	}
}

static void apply_transport(struct rxo_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	struct ib_qp_attr *now = &qp->attr;
	struct ooo_attr *core = &qp->ep.attr;

	if (mask & IB_QP_MAX_QP_RD_ATOMIC) {
		now->max_rd_atomic = attr->max_rd_atomic;
		core->max_rd_atomic = attr->max_rd_atomic;
	}
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC) {
		now->max_dest_rd_atomic = attr->max_dest_rd_atomic;
		core->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	}
	if (mask & IB_QP_TIMEOUT) {
		now->timeout = attr->timeout;
		core->timeout = attr->timeout;
	}
	if (mask & IB_QP_RETRY_CNT) {
		now->retry_cnt = attr->retry_cnt;
		core->retry_cnt = attr->retry_cnt;
	}
	if (mask & IB_QP_RNR_RETRY) {
		now->rnr_retry = attr->rnr_retry;
		core->rnr_retry = attr->rnr_retry;
	}
	if (mask & IB_QP_MIN_RNR_TIMER) {
		now->min_rnr_timer = attr->min_rnr_timer;
		core->min_rnr_timer = attr->min_rnr_timer;
	}
}

/* Kernel consumers obey the rules of placement already; user QPs ask for it. */
static bool choose_ooo(const struct rxo_qp *qp, u32 flags)
{
	if (!rxo_qp_can_ooo(qp))
		return false;
	if (flags)
		return flags & RXE_OOO_MODIFY_QP_OOO;
	/* The core creates target QPs for user space without telling us so. */
	if (!qp->is_user && qp->ib.qp_type != IB_QPT_XRC_TGT)
		return true;
	return READ_ONCE(qp->dev->ooo_default);
}

static void to_reset(struct rxo_qp *qp)
{
	ooo_ep_to_reset(&qp->ep);
	rxo_rings_reset(qp);
	qp->sqd_notify = false;
	qp->cq_lost = false;
	qp->ep.attr.ooo = false;
	qp->attr.dest_qp_num = 0;
}

/* True: the core wants to go on soon. */
static bool connected_transition(struct rxo_qp *qp, enum ib_qp_state to, u64 now)
{
	switch (to) {
	case IB_QPS_RESET:
		to_reset(qp);
		return false;
	case IB_QPS_INIT:
		ooo_ep_to_init(&qp->ep);
		return false;
	case IB_QPS_RTR:
		ooo_ep_to_rtr(&qp->ep, now);
		return false;
	case IB_QPS_RTS:
		return ooo_ep_to_rts(&qp->ep, now);
	case IB_QPS_SQD:
		ooo_ep_to_sqd(&qp->ep, now);
		return false;
	default:
		ooo_ep_to_err(&qp->ep, now);
		return false;
	}
}

static bool datagram_transition(struct rxo_qp *qp, enum ib_qp_state to)
{
	if (to == IB_QPS_RESET) {
		to_reset(qp);
		qp->ep.state = OOO_RESET;
		return false;
	}
	qp->ep.state = (enum ooo_state)to;
	if (to == IB_QPS_ERR)
		rxo_ud_flush(qp);
	if (to == IB_QPS_SQD)	/* nothing is ever outstanding */
		ooo_env_event(&qp->ep, OOO_EVENT_SQ_DRAINED);
	return to == IB_QPS_RTS;
}

static void transition(struct rxo_qp *qp, const struct change *c)
{
	bool more;

	if (c->from == IB_QPS_INIT && c->to == IB_QPS_RTR)
		qp->ep.attr.ooo = c->ooo;
	if (c->to == IB_QPS_SQD && c->from != IB_QPS_SQD)
		qp->sqd_notify = (c->mask & IB_QP_EN_SQD_ASYNC_NOTIFY) &&
				 c->attr->en_sqd_async_notify;
	qp->attr.qp_state = c->to;
	more = rxo_qp_connected(qp) ? connected_transition(qp, c->to, ktime_get_ns()) :
				      datagram_transition(qp, c->to);
	if (more)
		set_bit(RXO_PENDING_RESUME, &qp->pending);
}

static int apply(struct rxo_qp *qp, struct change *c)
{
	int err = 0;

	rxo_qp_lock(qp);
	if ((enum ib_qp_state)qp->ep.state != c->from) {
		err = -EINVAL;
	} else {
		apply_path(qp, c);
		apply_psn_and_access(qp, c->attr, c->mask);
		apply_transport(qp, c->attr, c->mask);
		if ((c->mask & IB_QP_STATE) && (c->from != c->to || c->to == IB_QPS_RESET ||
						c->to == IB_QPS_ERR))
			transition(qp, c);
	}
	rxo_qp_unlock(qp);
	return err;
}

/* ------------------------------------------------------------------ */

static int prepare_av(struct rxo_qp *qp, struct change *c)
{
	u32 dest = c->mask & IB_QP_DEST_QPN ? c->attr->dest_qp_num : qp->attr.dest_qp_num;
	int err;

	if (!(c->mask & IB_QP_AV))
		return 0;
	err = rxo_av_init(qp->dev, &c->av, &c->attr->ah_attr);
	if (!err)
		rxo_av_set_qpns(&c->av, qp->ib.qp_num, dest);
	if (!err && rxo_qp_connected(qp))
		err = rxo_av_spread(&c->av, READ_ONCE(qp->dev->tun.paths));
	return err;
}

static bool ooo_afterwards(const struct rxo_qp *qp, const struct change *c)
{
	if (c->from == IB_QPS_INIT && c->to == IB_QPS_RTR)
		return choose_ooo(qp, c->flags);
	return c->to != IB_QPS_RESET && qp->ep.attr.ooo;
}

/* Before anything changes: a call that user space sees fail has had no effect. */
static int answer(struct rxo_qp *qp, struct change *c, struct ib_udata *udata)
{
	struct rxe_ooo_modify_qp_resp resp = {
		.ooo_default = READ_ONCE(qp->dev->ooo_default),
	};

	c->ooo = ooo_afterwards(qp, c);
	resp.ooo = c->ooo;
	return rxo_udata_out(udata, &resp, sizeof(resp));
}

static int modify(struct rxo_qp *qp, struct change *c, struct ib_udata *udata)
{
	int err;

	c->from = (enum ib_qp_state)READ_ONCE(qp->ep.state);
	c->to = c->mask & IB_QP_STATE ? c->attr->qp_state : c->from;
	err = check(qp, c);
	if (!err)
		err = prepare_av(qp, c);
	if (!err)
		err = answer(qp, c, udata);
	if (!err)
		err = apply(qp, c);
	/* The old one if it was replaced, the new one if it was not used, or none. */
	rxo_av_destroy(&c->av);
	return err;
}

int rxo_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct rxe_ooo_modify_qp_req req;
	struct rxo_qp *qp = to_rqp(ib);
	struct change *c;
	int err;

	if (mask & ~(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT))
		return -EOPNOTSUPP;
	err = rxo_udata_in(udata, &req, sizeof(req));
	if (err)
		return err;
	if (req.reserved)
		return -EINVAL;
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->attr = attr;
	c->mask = mask;
	c->flags = req.flags;

	mutex_lock(&qp->modify_lock);
	err = modify(qp, c, udata);
	mutex_unlock(&qp->modify_lock);
	kfree(c);
	return err;
}
