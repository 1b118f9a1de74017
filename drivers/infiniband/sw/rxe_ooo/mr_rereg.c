// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_rereg_mr(): other memory, another PD, other rights, under the same key.
 *
 * What is new is prepared and checked first; a failure leaves the region as it
 * was. Then the region is BUSY for the moment in which its fields change:
 * copies that run are waited for, look-ups wait. Every packet sees either all
 * of the old region or all of the new.
 */
#include "objects.h"

struct rereg {
	int flags;
	u64 start, length, iova;
	int access;		/* what the region will have */
	struct rxo_pd *pd;
	bool pin;
	struct rxo_mr_memory mem;	/* the new memory; then the old one */
};

static bool writable(int access)
{
	return access & (RXO_ACCESS_WRITES | IB_ACCESS_MW_BIND);
}

static int check_access(const struct rxo_mr *mr, const struct rereg *r)
{
	if (r->access & ~RXO_MR_ACCESS)
		return -EOPNOTSUPP;
	/* What kind of region it is does not change. */
	if ((r->access ^ mr->access) & IB_ACCESS_ON_DEMAND)
		return -EOPNOTSUPP;
	if (mr->type != RXO_MR_USER && (r->access & IB_ACCESS_FLUSH_PERSISTENT))
		return -EOPNOTSUPP;
	if (((r->access ^ mr->access) & IB_ZERO_BASED) && !(r->flags & IB_MR_REREG_TRANS))
		return -EINVAL;
	return 0;
}

static int check(const struct rxo_mr *mr, struct rereg *r)
{
	if (r->flags & ~IB_MR_REREG_SUPPORTED)
		return -EOPNOTSUPP;
	if ((r->flags & IB_MR_REREG_TRANS) && mr->type != RXO_MR_USER)
		return -EOPNOTSUPP;
	if (r->flags & IB_MR_REREG_TRANS) {
		if (r->access & IB_ZERO_BASED)
			r->iova = 0;
		if (!r->length || r->iova + r->length - 1 < r->iova)
			return -EINVAL;
	}
	return check_access(mr, r);
}

/* Pins what is needed: new memory, or the old once more to be written to. */
static int prepare(struct rxo_mr *mr, struct rereg *r)
{
	r->pin = r->flags & IB_MR_REREG_TRANS;
	if (!r->pin && mr->type == RXO_MR_USER && writable(r->access) && !mr->mem.umem->writable) {
		r->pin = true;
		r->start = mr->mem.umem->address;
		r->length = mr->length;
		r->iova = mr->iova;
	}
	if (r->pin)
		return rxo_mr_pin(mr->dev, &r->mem, r->start, r->length, r->access);
	return mr->type == RXO_MR_USER ? rxo_pmem_check(&mr->mem, r->access) : 0;
}

static int apply(struct rxo_mr *mr, struct rereg *r)
{
	if (mr->windows)
		return -EBUSY;
	rxo_mr_quiesce(mr, RXO_MR_BUSY);
	mr->pd = r->pd;
	mr->access = r->access;
	if (r->pin) {
		swap(mr->mem, r->mem);
		mr->iova = r->iova;
		mr->length = r->length;
	}
	smp_store_release(&mr->state, RXO_MR_VALID);	/* after all of it */
	return 0;
}

/* NULL: done in place. */
struct ib_mr *rxo_rereg_mr(struct ib_mr *ib, int flags, u64 start, u64 length, u64 iova,
			   int access, struct ib_pd *pd, struct ib_udata *udata)
{
	struct rxo_mr *mr = to_rmr(ib);
	struct rereg r = {
		.flags = flags,
		.start = start,
		.length = length,
		.iova = iova,
		.access = flags & IB_MR_REREG_ACCESS ? access : mr->access,
		.pd = flags & IB_MR_REREG_PD ? to_rpd(pd) : mr->pd,
	};
	int err;

	err = rxo_udata_in_empty(udata);
	if (!err)
		err = check(mr, &r);
	if (!err)
		err = prepare(mr, &r);
	if (err)
		return ERR_PTR(err);
	spin_lock_bh(&mr->dev->key_lock);
	err = apply(mr, &r);
	spin_unlock_bh(&mr->dev->key_lock);
	rxo_mr_unpin(&r.mem);
	return ERR_PTR(err);
}
