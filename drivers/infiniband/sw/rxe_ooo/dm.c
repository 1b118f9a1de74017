// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory: memory of the kernel's that plays a NIC's. User space maps it
 * to copy to and from it, peers reach it through regions on it.
 */
#include <linux/vmalloc.h>
#include "objects.h"

static struct rxo_dm *to_rdm(struct ib_dm *ib)
{
	return container_of(ib, struct rxo_dm, ib);
}

static int dm_account(struct rxo_dev *dev, u64 bytes)
{
	if (atomic64_add_return(bytes, &dev->dm_bytes) <= RXO_DM_PER_DEVICE)
		return 0;
	atomic64_sub(bytes, &dev->dm_bytes);
	return -ENOMEM;
}

static int dm_make_mappable(struct rxo_dm *dm, struct ib_ucontext *context, size_t size)
{
	struct rxo_mmap *mmap = kzalloc(sizeof(*mmap), GFP_KERNEL);
	int err;

	if (!mmap)
		return -ENOMEM;
	mmap->mem = vmalloc_user(size);
	if (!mmap->mem) {
		kfree(mmap);
		return -ENOMEM;
	}
	err = rdma_user_mmap_entry_insert(context, &mmap->entry, size);
	if (err) {
		vfree(mmap->mem);
		kfree(mmap);
		return err;
	}
	dm->mmap = mmap;
	return 0;
}

struct ib_dm *rxo_alloc_dm(struct ib_device *ib, struct ib_ucontext *context,
			   struct ib_dm_alloc_attr *attr, struct uverbs_attr_bundle *attrs)
{
	size_t size = PAGE_ALIGN(attr->length);
	struct rxo_dev *dev = to_rxo(ib);
	struct rxo_dm *dm;
	int err;

	if (!attr->length || attr->length > RXO_MAX_DM_SIZE || attr->flags)
		return ERR_PTR(-EINVAL);
	/* vmalloc memory is aligned to pages; more cannot be promised. */
	if (attr->alignment > PAGE_SHIFT)
		return ERR_PTR(-EINVAL);
	err = dm_account(dev, size);
	if (err)
		return ERR_PTR(err);
	dm = kzalloc(sizeof(*dm), GFP_KERNEL);
	err = dm ? dm_make_mappable(dm, context, size) : -ENOMEM;
	if (err) {
		kfree(dm);
		atomic64_sub(size, &dev->dm_bytes);
		return ERR_PTR(err);
	}
	dm->ib.length = attr->length;	/* the core sets it too, after this */
	return &dm->ib;
}

/* No region is left on it: the core counts them. A mapping keeps its pages. */
int rxo_dealloc_dm(struct ib_dm *ib, struct uverbs_attr_bundle *attrs)
{
	struct rxo_dm *dm = to_rdm(ib);

	atomic64_sub(PAGE_ALIGN(ib->length), &to_rxo(ib->device)->dm_bytes);
	rdma_user_mmap_entry_remove(&dm->mmap->entry);
	kfree(dm);
	return 0;
}

/* The core has checked the range, and that the region is zero-based. */
struct ib_mr *rxo_reg_dm_mr(struct ib_pd *pd, struct ib_dm *ib, struct ib_dm_mr_attr *attr,
			    struct uverbs_attr_bundle *attrs)
{
	struct rxo_mr *mr;

	if (attr->access_flags & (IB_ACCESS_ON_DEMAND | IB_ACCESS_FLUSH_PERSISTENT))
		return ERR_PTR(-EOPNOTSUPP);
	mr = rxo_mr_new(pd, RXO_MR_DM, attr->access_flags);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->kva = to_rdm(ib)->mmap->mem + attr->offset;
	return rxo_mr_finish_valid(mr, 0, attr->length);
}

void rxo_dm_query(struct ib_dm *ib, struct rxe_ooo_dm_query_resp *resp)
{
	resp->mmap_offset = rdma_user_mmap_get_offset(&to_rdm(ib)->mmap->entry);
	resp->mmap_size = PAGE_ALIGN(ib->length);
	resp->length = ib->length;
}
