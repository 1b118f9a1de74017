// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions: creation and the end of them. How packets reach their bytes
 * is in mr_access.c, what work requests do to keys in mr_local.c.
 *
 * A key is a 24-bit number in dev->mrs and 8 bits that belong to the consumer
 * for fast registration and type 2 windows and are random otherwise (a stale
 * key of a reused number is then refused in all but one of 256 cases).
 */
#include <linux/mm.h>
#include <linux/random.h>
#include "objects.h"
#include "compat.h"
#include "verbs_small.h"

int rxo_mr_publish(struct rxo_mr *mr)
{
	struct rxo_dev *dev = mr->dev;
	u32 index;
	int err;

	refcount_set(&mr->refs, 1);
	init_completion(&mr->gone);
	atomic_set(&mr->users, 0);
	/* Reserve first: a key must not be found before it is written down. */
	err = xa_alloc_cyclic(&dev->mrs, &index, NULL, XA_LIMIT(1, 0xffffff),
			      &dev->next_key, GFP_KERNEL);
	if (err < 0)
		return err == -EBUSY ? -ENOMEM : err;
	mr->key = index << 8 | get_random_u8();
	xa_store(&dev->mrs, index, mr, GFP_KERNEL);
	return 0;
}

/*
 * Copies raise @users before they look at @state, we change @state before we
 * look at @users: one of the two sees the other. Copies are short and run
 * with BH disabled, so this waits for microseconds.
 */
void rxo_mr_quiesce(struct rxo_mr *mr, enum rxo_mr_state state)
{
	WRITE_ONCE(mr->state, state);
	smp_mb();	/* pairs with mr_enter() */
	while (atomic_read_acquire(&mr->users))
		cpu_relax();
}

struct rxo_mr *rxo_mr_new(struct ib_pd *pd, enum rxo_mr_type type, int access)
{
	struct rxo_dev *dev = to_rxo(pd->device);
	struct rxo_mr *mr;

	if (rxo_account(&dev->num_mr, RXO_MAX_MR))
		return ERR_PTR(-ENOMEM);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr) {
		atomic_dec(&dev->num_mr);
		return ERR_PTR(-ENOMEM);
	}
	mr->dev = dev;
	mr->pd = to_rpd(pd);
	mr->type = type;
	mr->access = access;
	mr->page_shift = PAGE_SHIFT;
	return mr;
}

/* After quiescing, or before it was published: nobody but look-ups under RCU has it. */
void rxo_mr_free(struct rxo_mr *mr)
{
	rxo_mr_unpin(&mr->mem);
	if (mr->odp)
		rxo_odp_destroy(mr->odp);
	if (mr->dmabuf)
		rxo_dmabuf_release(mr);
	atomic_dec(&mr->dev->num_mr);
	kfree_rcu(mr, rcu);
}

/* Publishes and names the region as the verbs layer wants it; consumes it on error. */
struct ib_mr *rxo_mr_finish(struct rxo_mr *mr)
{
	int err = rxo_mr_publish(mr);

	if (err) {
		rxo_mr_free(mr);
		return ERR_PTR(err);
	}
	mr->ib.lkey = mr->key;
	mr->ib.rkey = mr->key;
	mr->ib.length = mr->length;
	mr->ib.iova = mr->iova;
	return &mr->ib;
}

/* The same for one that can be used at once. */
struct ib_mr *rxo_mr_finish_valid(struct rxo_mr *mr, u64 iova, u64 length)
{
	mr->iova = iova;
	mr->length = length;
	mr->state = RXO_MR_VALID;
	return rxo_mr_finish(mr);
}

void rxo_mr_put(struct rxo_mr *mr)
{
	if (refcount_dec_and_test(&mr->refs))
		complete(&mr->gone);
}

/* All of memory, by kernel address: what ib_dma_map_*() yields on a device without DMA. */
struct ib_mr *rxo_get_dma_mr(struct ib_pd *pd, int access)
{
	struct rxo_mr *mr = rxo_mr_new(pd, RXO_MR_DMA, access);

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return rxo_mr_finish_valid(mr, 0, ~0ULL);
}

/* Fast registration: a key and room for @max_num_sg pages; invalid until a REG_MR. */
struct ib_mr *rxo_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg)
{
	struct rxo_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > RXO_MAX_FAST_REG_PAGES)
		return ERR_PTR(-EINVAL);
	mr = rxo_mr_new(pd, RXO_MR_FAST, 0);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->mem.addrs = kvcalloc(max_num_sg, sizeof(*mr->mem.addrs), GFP_KERNEL);
	if (!mr->mem.addrs) {
		rxo_mr_free(mr);
		return ERR_PTR(-ENOMEM);
	}
	mr->max_pages = max_num_sg;
	mr->state = RXO_MR_FREE;
	return rxo_mr_finish(mr);
}

static int mr_set_page(struct ib_mr *ib, u64 addr)
{
	struct rxo_mr *mr = to_rmr(ib);

	if (mr->mem.num_pages == mr->max_pages)
		return -ENOMEM;
	mr->mem.addrs[mr->mem.num_pages++] = addr;
	return 0;
}

int rxo_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int nents, unsigned int *offset)
{
	struct rxo_mr *mr = to_rmr(ib);

	mr->mem.num_pages = 0;
	return ib_sg_to_pages(ib, sg, nents, offset, mr_set_page);
}

static int collect_pages(struct rxo_mr_memory *mem)
{
	struct sg_page_iter iter;
	u32 i = 0;

	mem->num_pages = ib_umem_num_pages(mem->umem);
	mem->pages = kvmalloc_array(mem->num_pages, sizeof(*mem->pages), GFP_KERNEL);
	if (!mem->pages)
		return -ENOMEM;
	for_each_sgtable_page(&mem->umem->sgt_append.sgt, &iter, 0) {
		if (i == mem->num_pages)
			return -EINVAL;
		mem->pages[i++] = sg_page_iter_page(&iter);
	}
	return i == mem->num_pages ? 0 : -EINVAL;
}

void rxo_mr_unpin(struct rxo_mr_memory *mem)
{
	if (mem->umem)
		ib_umem_release(mem->umem);
	kvfree(mem->pages);
	memset(mem, 0, sizeof(*mem));
}

int rxo_mr_pin(struct rxo_dev *dev, struct rxo_mr_memory *mem, u64 start, u64 length, int access)
{
	struct ib_umem *umem;
	int err;

	umem = rxo_umem_get(&dev->ib, start, length, access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	memset(mem, 0, sizeof(*mem));
	mem->umem = umem;
	mem->offset = ib_umem_offset(umem);
	err = collect_pages(mem);
	if (!err)
		err = rxo_pmem_check(mem, access);
	if (err)
		rxo_mr_unpin(mem);
	return err;
}

static int check_reg(u64 length, u64 iova, int access, struct ib_udata *udata)
{
	if (access & ~RXO_MR_ACCESS)
		return -EOPNOTSUPP;
	if (!length || iova + length - 1 < iova)
		return -EINVAL;
	return rxo_udata_in_empty(udata);
}

struct ib_mr *rxo_reg_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			 struct ib_udata *udata)
{
	bool odp = access & IB_ACCESS_ON_DEMAND;
	struct rxo_mr *mr;
	int err;

	if (access & IB_ZERO_BASED)
		iova = 0;
	err = check_reg(length, iova, access, udata);
	if (err)
		return ERR_PTR(err);
	mr = rxo_mr_new(pd, odp ? RXO_MR_ODP : RXO_MR_USER, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = odp ? rxo_odp_create(mr, start, length) :
		    rxo_mr_pin(mr->dev, &mr->mem, start, length, access);
	if (err) {
		rxo_mr_free(mr);
		return ERR_PTR(err);
	}
	return rxo_mr_finish_valid(mr, iova, length);
}

/* Windows that are bound to it must go first (IBTA 10.6.7.2.6). */
static int retire(struct rxo_mr *mr)
{
	int err = 0;

	spin_lock_bh(&mr->dev->key_lock);
	if (mr->windows)
		err = -EBUSY;
	else
		rxo_mr_quiesce(mr, RXO_MR_INVALID);
	spin_unlock_bh(&mr->dev->key_lock);
	return err;
}

int rxo_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct rxo_mr *mr = to_rmr(ib);
	int err;

	err = retire(mr);
	if (err)
		return err;
	xa_erase(&mr->dev->mrs, mr->key >> 8);
	/* A page fault for it may be running. */
	rxo_mr_put(mr);
	wait_for_completion(&mr->gone);
	rxo_mr_free(mr);
	return 0;
}
