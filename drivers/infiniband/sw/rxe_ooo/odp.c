// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The pages that an on-demand region knows, and how it forgets them.
 *
 * They belong to the process; we hold no reference. What makes their use safe
 * is the order of a change to the mapping: the memory manager calls
 * odp_invalidate() first, which waits for running copies (the lock) and
 * forgets the pages, and only then takes them away. A fault that overlaps
 * with that sees the changed sequence number and starts again.
 */
#include <linux/hmm.h>
#include <linux/sched/mm.h>
#include "objects.h"

#if IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING)

#define LEAF_PAGES	512
#define LEAF_SHIFT	(PAGE_SHIFT + ilog2(LEAF_PAGES))
#define LEAF_SIZE	BIT(LEAF_SHIFT)

/* Of an entry: the struct page's address, and this */
#define ENTRY_WRITABLE	BIT(0)

struct odp_leaf {
	unsigned long entry[LEAF_PAGES];	/* 0: not known; odp->lock */
};

#define BATCH		64	/* pages a call of hmm_range_fault() */
#define ATTEMPTS	100	/* that meet a change of the mapping; then the QP tries again */

void rxo_odp_caps(struct ib_device_attr *attr)
{
	u32 send = IB_ODP_SUPPORT_SEND;
	u32 rc = send | IB_ODP_SUPPORT_RECV | IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_READ |
		 IB_ODP_SUPPORT_ATOMIC | IB_ODP_SUPPORT_SRQ_RECV;

	attr->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	attr->odp_caps.general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	attr->odp_caps.per_transport_caps.rc_odp_caps = rc;
	attr->odp_caps.per_transport_caps.xrc_odp_caps = rc;
	/* A datagram or a UC packet cannot wait for a page. */
	attr->odp_caps.per_transport_caps.uc_odp_caps = send;
	attr->odp_caps.per_transport_caps.ud_odp_caps = send;
}

static unsigned long *entry_of(struct odp_leaf *leaf, unsigned long addr)
{
	return &leaf->entry[(addr >> PAGE_SHIFT) % LEAF_PAGES];
}

static unsigned long entry_at(struct rxo_odp *odp, unsigned long addr)
{
	struct odp_leaf *leaf = xa_load(&odp->leaves, addr >> LEAF_SHIFT);

	return leaf ? *entry_of(leaf, addr) : 0;
}

bool rxo_odp_present(struct rxo_odp *odp, u64 addr, u64 len, bool write)
{
	unsigned long end = addr + len;
	unsigned long entry;

	for (addr &= PAGE_MASK; addr < end; addr += PAGE_SIZE) {
		entry = entry_at(odp, addr);
		if (!entry || (write && !(entry & ENTRY_WRITABLE)))
			return false;
	}
	return true;
}

struct page *rxo_odp_page(const struct rxo_mr *mr, u64 addr)
{
	return (struct page *)(entry_at(mr->odp, addr) & ~ENTRY_WRITABLE);
}

/* What may have been written to through us is dirty, which the mapping does not know. */
static u32 forget(unsigned long *entry, struct page **dirty, u32 num)
{
	if (*entry & ENTRY_WRITABLE)
		dirty[num++] = (struct page *)(*entry & ~ENTRY_WRITABLE);
	*entry = 0;
	return num;
}

/*
 * set_page_dirty() takes locks of the file system's that are taken elsewhere with softirqs on,
 * and a softirq wants odp->lock: so it comes after that. @forgetting is held, so no other
 * invalidation has let the memory manager take the pages away meanwhile.
 */
static void forget_some(struct rxo_odp *odp, struct odp_leaf *leaf, unsigned long start,
			unsigned long end)
{
	struct page *dirty[BATCH];
	u32 num = 0;

	lockdep_assert_held(&odp->forgetting);
	write_lock_bh(&odp->lock);
	for (; start < end; start += PAGE_SIZE)
		num = forget(entry_of(leaf, start), dirty, num);
	write_unlock_bh(&odp->lock);
	while (num)
		set_page_dirty(dirty[--num]);
}

static void forget_in_leaf(struct rxo_odp *odp, struct odp_leaf *leaf, unsigned long start,
			   unsigned long end)
{
	unsigned long next;

	for (; start < end; start = next) {
		next = min(end, start + BATCH * PAGE_SIZE);
		forget_some(odp, leaf, start, next);
	}
}

static void forget_range(struct rxo_odp *odp, unsigned long start, unsigned long end)
{
	struct odp_leaf *leaf;
	unsigned long index;

	xa_for_each_range(&odp->leaves, index, leaf, start >> LEAF_SHIFT,
			  (end - 1) >> LEAF_SHIFT) {
		unsigned long first = index << LEAF_SHIFT;
		unsigned long last = min(end - 1, first + (LEAF_SIZE - 1));

		forget_in_leaf(odp, leaf, max(start & PAGE_MASK, first),
			       (last & PAGE_MASK) + PAGE_SIZE);
	}
}

static bool odp_invalidate(struct mmu_interval_notifier *notifier,
			   const struct mmu_notifier_range *range, unsigned long seq)
{
	struct rxo_odp *odp = container_of(notifier, struct rxo_odp, notifier);

	if (mmu_notifier_range_blockable(range))
		mutex_lock(&odp->forgetting);
	else if (!mutex_trylock(&odp->forgetting))
		return false;
	/* From here on no fault takes up a page, so this can go in steps. */
	write_lock_bh(&odp->lock);
	mmu_interval_set_seq(notifier, seq);
	write_unlock_bh(&odp->lock);
	forget_range(odp, range->start, range->end);
	mutex_unlock(&odp->forgetting);
	return true;
}

static const struct mmu_interval_notifier_ops odp_notifier_ops = {
	.invalidate = odp_invalidate,
};

/* 0 and all ones: the whole address space (implicit). */
static int check_range(u64 *start, u64 *length)
{
	u64 top = current->mm->task_size;

	if (!*start && *length == U64_MAX) {
		*length = top;
		return 0;
	}
	return *start < top && *length <= top - *start ? 0 : -EFAULT;
}

int rxo_odp_create(struct rxo_mr *mr, u64 start, u64 length)
{
	struct rxo_odp *odp;
	u64 first, last;
	int err;

	if (mr->access & IB_ACCESS_FLUSH_PERSISTENT)
		return -EOPNOTSUPP;
	err = check_range(&start, &length);
	if (err)
		return err;
	odp = kzalloc(sizeof(*odp), GFP_KERNEL);
	if (!odp)
		return -ENOMEM;
	rwlock_init(&odp->lock);
	mutex_init(&odp->forgetting);
	xa_init(&odp->leaves);
	first = start & PAGE_MASK;
	last = PAGE_ALIGN(start + length);
	err = mmu_interval_notifier_insert(&odp->notifier, current->mm, first, last - first,
					   &odp_notifier_ops);
	if (err) {
		kfree(odp);
		return err;
	}
	mr->odp = odp;
	mr->mem.offset = start;
	return 0;
}

/* No copy and no fault is running. */
void rxo_odp_destroy(struct rxo_odp *odp)
{
	struct odp_leaf *leaf;
	unsigned long index;

	/* While the notifier is there the pages are the process's. */
	mutex_lock(&odp->forgetting);
	forget_range(odp, 0, ULONG_MAX);
	mutex_unlock(&odp->forgetting);
	mmu_interval_notifier_remove(&odp->notifier);
	xa_for_each(&odp->leaves, index, leaf)
		kfree(leaf);
	xa_destroy(&odp->leaves);
	kfree(odp);
}

static struct odp_leaf *get_leaf(struct rxo_odp *odp, unsigned long addr)
{
	unsigned long index = addr >> LEAF_SHIFT;
	struct odp_leaf *leaf, *old;

	leaf = xa_load(&odp->leaves, index);
	if (leaf)
		return leaf;
	leaf = kzalloc(sizeof(*leaf), GFP_KERNEL);
	if (!leaf)
		return NULL;
	old = xa_cmpxchg(&odp->leaves, index, NULL, leaf, GFP_KERNEL);
	if (!old)
		return leaf;
	kfree(leaf);
	return xa_is_err(old) ? NULL : old;
}

static void take_up(struct odp_leaf *leaf, unsigned long addr, unsigned long pfn)
{
	unsigned long entry;

	if (!(pfn & HMM_PFN_VALID))
		return;
	entry = (unsigned long)hmm_pfn_to_page(pfn);
	if (pfn & HMM_PFN_WRITE)
		entry |= ENTRY_WRITABLE;
	*entry_of(leaf, addr) = entry;
}

/* -EAGAIN: the mapping has changed meanwhile. */
static int take_up_range(struct rxo_odp *odp, struct odp_leaf *leaf,
			 const struct hmm_range *range)
{
	unsigned long i, n = (range->end - range->start) >> PAGE_SHIFT;
	int err = 0;

	write_lock_bh(&odp->lock);
	if (mmu_interval_read_retry(&odp->notifier, range->notifier_seq))
		err = -EAGAIN;
	else
		for (i = 0; i < n; i++)
			take_up(leaf, range->start + (i << PAGE_SHIFT), range->hmm_pfns[i]);
	write_unlock_bh(&odp->lock);
	return err;
}

static int fault_range(struct rxo_odp *odp, struct hmm_range *range)
{
	struct mm_struct *mm = odp->notifier.mm;
	int err;

	range->notifier_seq = mmu_interval_read_begin(&odp->notifier);
	mmap_read_lock(mm);
	err = hmm_range_fault(range);
	mmap_read_unlock(mm);
	if (err == -EBUSY)
		return -EAGAIN;
	return err ? -EFAULT : 0;
}

/* At most BATCH pages, of one leaf. */
static int get_batch(struct rxo_odp *odp, unsigned long start, unsigned long end,
		     unsigned int how)
{
	unsigned long pfns[BATCH];
	struct hmm_range range = {
		.notifier = &odp->notifier,
		.start = start,
		.end = end,
		.hmm_pfns = pfns,
	};
	struct odp_leaf *leaf = get_leaf(odp, start);
	int i, err = -EAGAIN;

	if (!leaf)
		return -EAGAIN;
	if (how)
		range.default_flags |= HMM_PFN_REQ_FAULT;
	if (how & RXO_ODP_WRITE)
		range.default_flags |= HMM_PFN_REQ_WRITE;
	for (i = 0; i < ATTEMPTS && err == -EAGAIN; i++) {
		memset(pfns, 0, sizeof(pfns));
		err = fault_range(odp, &range);
		if (!err)
			err = take_up_range(odp, leaf, &range);
	}
	return err;
}

int rxo_odp_get(struct rxo_odp *odp, u64 addr, u64 len, unsigned int how)
{
	unsigned long start = addr & PAGE_MASK;
	unsigned long end = PAGE_ALIGN(addr + len);
	unsigned long next;
	int err = 0;

	/* An implicit region's keys name more than a process can map, up to the wrap. */
	if (end < start || (end && end - 1 > odp->notifier.interval_tree.last))
		return -EFAULT;
	/* The process may be gone, with all of its memory. */
	if (!mmget_not_zero(odp->notifier.mm))
		return -EFAULT;
	for (; start < end && !err; start = next) {
		next = min3(end, start + BATCH * PAGE_SIZE, (start | (LEAF_SIZE - 1)) + 1);
		err = get_batch(odp, start, next, how);
		cond_resched();
	}
	mmput(odp->notifier.mm);
	return err;
}

#endif
