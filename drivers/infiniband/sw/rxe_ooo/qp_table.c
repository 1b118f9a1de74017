// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* QP numbers, and how a packet finds its QP. */
#include "rxe_ooo.h"

struct rxo_qp *rxo_qp_get(struct rxo_net *rn, u32 qpn)
{
	struct rxo_qp *qp = xa_load(&rn->qps, qpn);

	return qp && refcount_inc_not_zero(&qp->refs) ? qp : NULL;
}

struct rxo_qp *rxo_qp_get_gsi(struct rxo_dev *dev)
{
	struct rxo_qp *qp = rcu_dereference(dev->gsi);

	return qp && refcount_inc_not_zero(&qp->refs) ? qp : NULL;
}

void rxo_qp_put(struct rxo_qp *qp)
{
	if (refcount_dec_and_test(&qp->refs))
		complete(&qp->gone);
}

/* Skips a QP that is being destroyed. */
struct rxo_qp *rxo_qp_next(struct rxo_net *rn, unsigned long *qpn)
{
	struct rxo_qp *qp;

	rcu_read_lock();
	for (qp = xa_find(&rn->qps, qpn, ULONG_MAX, XA_PRESENT); qp;
	     qp = xa_find_after(&rn->qps, qpn, ULONG_MAX, XA_PRESENT))
		if (refcount_inc_not_zero(&qp->refs))
			break;
	rcu_read_unlock();
	return qp;
}

static int add_gsi(struct rxo_qp *qp)
{
	struct rxo_qp *none = NULL;

	if (!try_cmpxchg((struct rxo_qp __force **)&qp->dev->gsi, &none, qp))
		return -EBUSY;
	qp->ib.qp_num = 1;
	return 0;
}

/* Numbers go round, so that one that was freed is not soon in use again. */
static int add_numbered(struct rxo_qp *qp)
{
	struct rxo_net *rn = qp->dev->rn;
	u32 qpn;
	int err;

	/* Stored before it is numbered: not found until then. */
	err = xa_alloc_cyclic(&rn->qps, &qpn, NULL, XA_LIMIT(RXO_QPN_MIN, RXO_QPN_MAX),
			      &rn->next_qpn, GFP_KERNEL);
	if (err < 0)
		return err == -EBUSY ? -ENOMEM : err;
	qp->ib.qp_num = qpn;
	xa_store(&rn->qps, qpn, qp, GFP_KERNEL);	/* the slot is there: no allocation */
	return 0;
}

int rxo_qp_table_add(struct rxo_qp *qp)
{
	int err;

	err = rxo_tx_sock_create(qp);
	if (err)
		return err;
	err = qp->ib.qp_type == IB_QPT_GSI ? add_gsi(qp) : add_numbered(qp);
	if (err)
		rxo_tx_sock_release(qp);
	return err;
}

void rxo_qp_table_del(struct rxo_qp *qp)
{
	if (qp->ib.qp_num == 1)
		rcu_assign_pointer(qp->dev->gsi, NULL);
	else
		xa_erase(&qp->dev->rn->qps, qp->ib.qp_num);
	rxo_tx_sock_detach(qp);
}

void rxo_qp_table_free(struct rxo_qp *qp)
{
	rxo_tx_sock_release(qp);
	rxo_stats_bury(qp->dev, qp->ep.stat);
}
