// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A packet or a request needs pages that are not there: a work item brings
 * them in, and the QP tries again. One request a QP at a time; whatever else
 * is missing is asked for when it is tried the next time.
 */
#include "objects.h"

#if IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING)

/* The rest of a message mostly follows: take up more than one packet's pages. */
#define AHEAD		(64U << 10)	/* bytes */

static struct workqueue_struct *odp_wq;

int rxo_odp_init(void)
{
	odp_wq = alloc_workqueue("rxe_ooo_odp", WQ_UNBOUND, 0);
	return odp_wq ? 0 : -ENOMEM;
}

void rxo_odp_exit(void)
{
	destroy_workqueue(odp_wq);
}

void rxo_odp_queue(struct work_struct *work)
{
	queue_work(odp_wq, work);
}

/* In user addresses */
static u64 address_of(const struct rxo_mr *mr, u64 va)
{
	return va - mr->iova + mr->mem.offset;
}

enum ooo_result rxo_odp_lock(struct rxo_qp *qp, struct rxo_mr *mr, u64 va, u64 len, bool write)
{
	struct rxo_odp *odp = mr->odp;

	if (!odp)
		return OOO_OK;
	read_lock(&odp->lock);
	if (rxo_odp_present(odp, address_of(mr, va), len, write)) {
		__release(&odp->lock);	/* kept; sparse cannot follow */
		return OOO_OK;
	}
	read_unlock(&odp->lock);
	return rxo_fault(qp, mr, address_of(mr, va), len, write);
}

void rxo_odp_unlock(struct rxo_mr *mr)
{
	if (!mr->odp)
		return;
	__acquire(&mr->odp->lock);	/* held; sparse cannot follow */
	read_unlock(&mr->odp->lock);
}

static u64 room_ahead(const struct rxo_mr *mr, u64 addr)
{
	u64 left = mr->length - (addr - mr->mem.offset);

	return min_t(u64, left, AHEAD);
}

/* What is wanted must come; what follows may. */
static int bring_in(const struct rxo_fault_range *want)
{
	unsigned int how = RXO_ODP_READ | (want->write ? RXO_ODP_WRITE : 0);
	u64 ahead = room_ahead(want->mr, want->addr);

	if (ahead > want->len && !rxo_odp_get(want->mr->odp, want->addr, ahead, how))
		return 0;
	return rxo_odp_get(want->mr->odp, want->addr, want->len, how);
}

static void remember_failure(struct rxo_fault *f)
{
	u32 i = f->next_failed++ % RXO_FAULTS_FAILED;

	f->failed[i].range = f->want;
	f->failed[i].until = jiffies + HZ;
}

static void fault_work(struct work_struct *work)
{
	struct rxo_fault *f = container_of(work, struct rxo_fault, work);
	struct rxo_qp *qp = container_of(f, struct rxo_qp, fault);
	struct rxo_mr *mr = f->want.mr;

	if (bring_in(&f->want) == -EFAULT)
		remember_failure(f);
	smp_store_release(&f->busy, false);	/* pairs with rxo_fault() */
	rxo_mr_put(mr);
	rxo_qp_resume(qp);
	rxo_qp_put(qp);
}

void rxo_fault_init(struct rxo_fault *fault)
{
	INIT_WORK(&fault->work, fault_work);
}

static bool same(const struct rxo_fault_range *a, const struct rxo_fault_range *b)
{
	return a->mr == b->mr && a->addr == b->addr && a->len == b->len && a->write == b->write;
}

/* Has this been asked for, in vain? The answer is good once. */
static bool has_failed(struct rxo_fault *f, const struct rxo_fault_range *range)
{
	u32 i;

	for (i = 0; i < RXO_FAULTS_FAILED; i++) {
		if (!same(&f->failed[i].range, range))
			continue;
		f->failed[i].range.mr = NULL;
		if (time_before(jiffies, f->failed[i].until))
			return true;
	}
	return false;
}

enum ooo_result rxo_fault(struct rxo_qp *qp, struct rxo_mr *mr, u64 addr, u32 len, bool write)
{
	struct rxo_fault_range range = { .mr = mr, .addr = addr, .len = len, .write = write };
	struct rxo_fault *f = &qp->fault;

	/* Pairs with fault_work(). That one ends with a resumption as well. */
	if (smp_load_acquire(&f->busy))
		return OOO_LATER;
	if (has_failed(f, &range) || !refcount_inc_not_zero(&qp->refs))
		return OOO_ACCESS;
	refcount_inc(&mr->refs);
	f->want = range;
	f->busy = true;
	rxo_odp_queue(&f->work);
	return OOO_LATER;
}

#endif
