// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Work requests and messages that make a key valid or invalid. BH disabled. */
#include "objects.h"

/* Regions of user space come and go by verbs only. */
static enum ooo_result invalidate(struct rxo_qp *qp, struct rxo_mr *mr)
{
	switch (mr->type) {
	case RXO_MR_FAST:
		rxo_mr_quiesce(mr, RXO_MR_FREE);
		return OOO_OK;
	case RXO_MW2:
		return rxo_mw_invalidate(qp, mr);
	default:
		return OOO_ACCESS;
	}
}

/* LOCAL_INV and SEND with invalidate. A free key may be freed again. */
enum ooo_result rxo_mr_invalidate(struct rxo_qp *qp, struct rxo_pd *pd, u32 key)
{
	enum ooo_result res = OOO_ACCESS;
	struct rxo_mr *mr;

	rcu_read_lock();
	spin_lock(&qp->dev->key_lock);
	mr = xa_load(&qp->dev->mrs, key >> 8);
	if (mr && mr->key == key && (!pd || mr->pd == pd) && mr->state != RXO_MR_INVALID)
		res = invalidate(qp, mr);
	spin_unlock(&qp->dev->key_lock);
	rcu_read_unlock();
	return res;
}

static enum ooo_result fast_reg(struct rxo_mr *mr, const struct ooo_swqe *wqe)
{
	if (mr->state != RXO_MR_FREE)
		return OOO_INVALID;
	mr->access = wqe->reg_access;
	mr->iova = mr->ib.iova;
	mr->length = mr->ib.length;
	mr->page_shift = ilog2(mr->ib.page_size);
	mr->mem.offset = mr->iova & (mr->ib.page_size - 1);
	WRITE_ONCE(mr->key, wqe->reg_key);
	/* After everything that a look-up will read. */
	smp_store_release(&mr->state, RXO_MR_VALID);
	return OOO_OK;
}

/*
 * REG_MR: the pages that ib_map_mr_sg() has collected become accessible under
 * @wqe's key, which must be free (IBTA 10.6.3.3).
 */
enum ooo_result rxo_mr_fast_reg(struct rxo_qp *qp, const struct ooo_swqe *wqe)
{
	struct rxo_mr *mr = wqe->reg_mr;
	enum ooo_result res;

	if (mr->type != RXO_MR_FAST || mr->pd != to_rpd(qp->ib.pd) ||
	    wqe->reg_key >> 8 != mr->key >> 8)
		return OOO_ACCESS;
	spin_lock(&qp->dev->key_lock);
	res = fast_reg(mr, wqe);
	spin_unlock(&qp->dev->key_lock);
	return res;
}
