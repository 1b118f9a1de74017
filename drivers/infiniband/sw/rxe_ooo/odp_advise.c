// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ibv_advise_mr(): pages of on-demand regions are brought in before they are needed. */
#include "objects.h"

#if IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING)

struct prefetch {
	struct work_struct work;
	unsigned int how;
	u32 num;
	struct {
		struct rxo_mr *mr;	/* referenced */
		u64 addr;
		u32 len;
	} range[] __counted_by(num);
};

/* The region that @sge lies in, referenced. */
static struct rxo_mr *find(struct ib_pd *pd, const struct ib_sge *sge, unsigned int how)
{
	struct rxo_mr *mr, *found = NULL;
	u64 offset;

	rcu_read_lock();
	mr = xa_load(&to_rxo(pd->device)->mrs, sge->lkey >> 8);
	if (mr && mr->type == RXO_MR_ODP && refcount_inc_not_zero(&mr->refs))
		found = mr;
	rcu_read_unlock();
	if (!found)
		return NULL;
	offset = sge->addr - mr->iova;
	if (mr->key == sge->lkey && mr->pd == to_rpd(pd) && mr->state == RXO_MR_VALID &&
	    sge->addr >= mr->iova && offset <= mr->length && sge->length <= mr->length - offset &&
	    (!(how & RXO_ODP_WRITE) || (mr->access & RXO_ACCESS_WRITES)))
		return mr;
	rxo_mr_put(mr);
	return NULL;
}

static void prefetch_free(struct prefetch *p)
{
	while (p->num--)
		rxo_mr_put(p->range[p->num].mr);
	kfree(p);
}

static int prefetch_run(const struct prefetch *p)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < p->num && !ret; i++)
		ret = rxo_odp_get(p->range[i].mr->odp, p->range[i].addr, p->range[i].len, p->how);
	return ret;
}

static void prefetch_work(struct work_struct *work)
{
	struct prefetch *p = container_of(work, struct prefetch, work);

	prefetch_run(p);	/* advice: nobody waits for an answer */
	prefetch_free(p);
}

static int prefetch_fill(struct prefetch *p, struct ib_pd *pd, const struct ib_sge *sges, u32 n)
{
	struct rxo_mr *mr;
	u32 i;

	for (i = 0; i < n; i++) {
		mr = find(pd, &sges[i], p->how);
		if (!mr)
			return -ENOENT;
		p->num = i + 1;
		p->range[i].mr = mr;
		p->range[i].addr = sges[i].addr - mr->iova + mr->mem.offset;
		p->range[i].len = sges[i].length;
	}
	return 0;
}

static int how_of(enum ib_uverbs_advise_mr_advice advice)
{
	switch (advice) {
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH:
		return RXO_ODP_READ;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		return RXO_ODP_READ | RXO_ODP_WRITE;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

int rxo_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		  struct ib_sge *sg_list, u32 num_sge, struct uverbs_attr_bundle *attrs)
{
	int how = how_of(advice);
	struct prefetch *p;
	int err;

	if (how < 0)
		return how;
	if (flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return -EOPNOTSUPP;
	p = kzalloc(struct_size(p, range, num_sge), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	p->how = how;
	err = prefetch_fill(p, pd, sg_list, num_sge);
	if (!err && !(flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH)) {
		INIT_WORK(&p->work, prefetch_work);
		rxo_odp_queue(&p->work);
		return 0;
	}
	/* What could not be had now is for a fault to bring. */
	if (!err && prefetch_run(p) == -EFAULT)
		err = -EFAULT;
	prefetch_free(p);
	return err;
}

#endif
