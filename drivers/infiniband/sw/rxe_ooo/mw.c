// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows: a key of its own for a part of a region, bound and unbound
 * by work requests (IBTA 10.6.6, 10.6.7). Ours are of types 1 and 2B: a type 2
 * window is good only on the QP that it was bound through.
 *
 * Everything that changes a window happens under dev->key_lock. A bound window
 * keeps its region: it can neither be deregistered nor reregistered.
 */
#include "objects.h"
#include "verbs_small.h"

#define MW_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |	\
			 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_FLUSH_GLOBAL |	\
			 IB_ACCESS_FLUSH_PERSISTENT)
/* Of no meaning to peers */
#define MW_ACCESS_IGNORED (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_MW_BIND | IB_ACCESS_OPTIONAL)

static atomic64_t last_serial;

int rxo_alloc_mw(struct ib_mw *ib, struct ib_udata *udata)
{
	struct rxo_dev *dev = to_rxo(ib->device);
	struct rxo_mr *mw = to_rmw(ib);
	int err;

	if (ib->type != IB_MW_TYPE_1 && ib->type != IB_MW_TYPE_2)
		return -EINVAL;
	err = rxo_udata_in_empty(udata);
	if (err)
		return err;
	err = rxo_account(&dev->num_mw, RXO_MAX_MW);
	if (err)
		return err;
	mw->dev = dev;
	mw->pd = to_rpd(ib->pd);
	mw->type = ib->type == IB_MW_TYPE_1 ? RXO_MW1 : RXO_MW2;
	mw->state = RXO_MR_FREE;
	err = rxo_mr_publish(mw);
	if (err) {
		atomic_dec(&dev->num_mw);
		return err;
	}
	ib->rkey = mw->key;
	return 0;
}

/* key_lock held: nobody gets through the window any more, the region is free of it. */
static void unbind(struct rxo_mr *mw, enum rxo_mr_state state)
{
	rxo_mr_quiesce(mw, state);
	if (mw->parent)
		mw->parent->windows--;
	mw->parent = NULL;
}

int rxo_dealloc_mw(struct ib_mw *ib)
{
	struct rxo_mr *mw = to_rmw(ib);

	spin_lock_bh(&mw->dev->key_lock);
	unbind(mw, RXO_MR_INVALID);
	spin_unlock_bh(&mw->dev->key_lock);
	xa_erase(&mw->dev->mrs, mw->key >> 8);
	/* The core frees it as soon as we return; look-ups may still hold the pointer. */
	synchronize_rcu_expedited();
	atomic_dec(&mw->dev->num_mw);
	return 0;
}

enum ooo_result rxo_mw_invalidate(struct rxo_qp *qp, struct rxo_mr *mw)
{
	if (mw->state == RXO_MR_VALID && mw->qp_serial != qp->serial)
		return OOO_ACCESS;
	unbind(mw, RXO_MR_FREE);
	return OOO_OK;
}

/* The window that the request names, if this QP may bind it now. */
static struct rxo_mr *find_window(struct rxo_qp *qp, const struct ooo_swqe *wqe)
{
	struct rxo_mr *mw = xa_load(&qp->dev->mrs, wqe->bind_mw_rkey >> 8);

	if (!mw || !rxo_mr_is_window(mw) || mw->pd != to_rpd(qp->ib.pd))
		return NULL;
	if (mw->state == RXO_MR_FREE)
		return mw;
	/* IBTA 10.6.7.2.4: a type 2 window must have been invalidated. */
	return mw->state == RXO_MR_VALID && mw->type == RXO_MW1 ? mw : NULL;
}

static bool may_have_windows(const struct rxo_mr *mr)
{
	switch (mr->type) {
	case RXO_MR_USER:
	case RXO_MR_DM:
	case RXO_MR_ODP:
	case RXO_MR_DMABUF:
		return mr->state == RXO_MR_VALID && (mr->access & IB_ACCESS_MW_BIND);
	default:
		return false;
	}
}

static bool range_ok(const struct rxo_mr *mr, const struct ooo_swqe *wqe)
{
	u64 offset = wqe->remote_addr - mr->iova;

	return wqe->remote_addr >= mr->iova && offset <= mr->length &&
	       wqe->bind_length <= mr->length - offset;
}

/* IBTA 10.6.6.2.4: to be written to remotely, the region must be writable locally. */
static bool rights_ok(const struct rxo_mr *mr, u32 access)
{
	u32 flush = access & (IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT);

	if (access & ~(MW_ACCESS | MW_ACCESS_IGNORED | IB_ZERO_BASED))
		return false;
	if ((access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)) &&
	    !(mr->access & IB_ACCESS_LOCAL_WRITE))
		return false;
	return (flush & mr->access) == flush;
}

static struct rxo_mr *find_region(struct rxo_qp *qp, const struct ooo_swqe *wqe)
{
	struct rxo_mr *mr = xa_load(&qp->dev->mrs, wqe->bind_mr_lkey >> 8);

	if (!mr || mr->key != wqe->bind_mr_lkey || mr->pd != to_rpd(qp->ib.pd) ||
	    !may_have_windows(mr) || !range_ok(mr, wqe) || !rights_ok(mr, wqe->bind_access))
		return NULL;
	return mr;
}

static u64 serial_of(struct rxo_qp *qp)
{
	if (!qp->serial)
		qp->serial = atomic64_inc_return(&last_serial);
	return qp->serial;
}

static void put_in_force(struct rxo_qp *qp, struct rxo_mr *mw, struct rxo_mr *mr,
			 const struct ooo_swqe *wqe)
{
	mw->parent = mr;
	mr->windows++;
	mw->base = wqe->remote_addr;
	mw->iova = wqe->bind_access & IB_ZERO_BASED ? 0 : wqe->remote_addr;
	mw->length = wqe->bind_length;
	mw->access = wqe->bind_access & MW_ACCESS;
	mw->qp_serial = serial_of(qp);
	/* After everything that a look-up will read. */
	smp_store_release(&mw->state, RXO_MR_VALID);
}

static u32 new_key(const struct rxo_mr *mw, u32 rkey)
{
	return (mw->key & ~0xffU) | (rkey & 0xff);
}

static enum ooo_result bind(struct rxo_qp *qp, const struct ooo_swqe *wqe)
{
	struct rxo_mr *mw = find_window(qp, wqe);
	struct rxo_mr *mr = NULL;

	if (!mw)
		return OOO_INVALID;
	/* Only a type 1 window is unbound by a bind, of length 0. */
	if (wqe->bind_length || mw->type == RXO_MW2) {
		mr = find_region(qp, wqe);
		if (!mr || !wqe->bind_length)
			return OOO_INVALID;
	}
	unbind(mw, RXO_MR_FREE);
	WRITE_ONCE(mw->key, new_key(mw, wqe->rkey));
	if (mr)
		put_in_force(qp, mw, mr, wqe);
	return OOO_OK;
}

enum ooo_result rxo_mw_bind(struct rxo_qp *qp, const struct ooo_swqe *wqe)
{
	enum ooo_result res;

	rcu_read_lock();
	spin_lock(&qp->dev->key_lock);
	res = bind(qp, wqe);
	spin_unlock(&qp->dev->key_lock);
	rcu_read_unlock();
	return res;
}
