// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queues: one form for user space's (mapped) and the kernel's own.
 *
 * A mapping is made of page references: it needs no vm_ops or callback of
 * ours, outlives the object and even the module, and the memory goes with the
 * last of the mapping, the object and a running mmap().
 */
#include <linux/vmalloc.h>
#include "objects.h"

static struct rxo_mmap *to_rmmap(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct rxo_mmap, entry);
}

static int ring_make_mappable(struct rxo_ring *ring, struct ib_udata *udata)
{
	struct rxo_ucontext *uc = rdma_udata_to_drv_context(udata, struct rxo_ucontext, ib);
	struct rxo_mmap *mmap;
	int err;

	mmap = kzalloc(sizeof(*mmap), GFP_KERNEL);
	if (!mmap)
		return -ENOMEM;
	mmap->mem = ring->hdr;
	err = rdma_user_mmap_entry_insert(&uc->ib, &mmap->entry, ring->size);
	if (err) {
		kfree(mmap);
		return err;
	}
	ring->mmap = mmap;
	return 0;
}

/* @udata: of the user's command, NULL for a kernel consumer's ring. */
int rxo_ring_create(struct rxo_ring *ring, u32 depth, u32 stride, struct ib_udata *udata)
{
	int err;

	BUILD_BUG_ON(sizeof(struct rxe_ooo_ring_hdr) != RXE_OOO_RING_HDR_SIZE);
	BUILD_BUG_ON(sizeof(struct rxe_ooo_cqe) != RXE_OOO_CQE_SIZE);
	BUILD_BUG_ON(offsetof(struct rxe_ooo_send_wqe, sge) != RXE_OOO_SEND_WQE_HDR_SIZE);
	BUILD_BUG_ON(offsetof(struct rxe_ooo_recv_wqe, sge) != RXE_OOO_RECV_WQE_HDR_SIZE);

	ring->depth = depth;
	ring->stride = stride;
	ring->size = PAGE_ALIGN(RXE_OOO_RING_HDR_SIZE + (size_t)depth * stride);
	ring->index = 0;
	ring->mmap = NULL;
	ring->hdr = vmalloc_user(ring->size);
	if (!ring->hdr)
		return -ENOMEM;
	ring->entries = (void *)ring->hdr + RXE_OOO_RING_HDR_SIZE;
	if (!udata)
		return 0;
	err = ring_make_mappable(ring, udata);
	if (err) {
		vfree(ring->hdr);
		ring->hdr = NULL;
	}
	return err;
}

void rxo_ring_destroy(struct rxo_ring *ring)
{
	if (ring->mmap)
		rdma_user_mmap_entry_remove(&ring->mmap->entry);
	else
		vfree(ring->hdr);
	ring->mmap = NULL;
	ring->hdr = NULL;
}

void rxo_ring_info(const struct rxo_ring *ring, struct rxe_ooo_ring_info *info)
{
	if (!ring->mmap)
		return;
	info->mmap_offset = rdma_user_mmap_get_offset(&ring->mmap->entry);
	info->mmap_size = ring->size;
	info->depth = ring->depth;
	info->stride = ring->stride;
}

int rxo_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	int err;

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	entry = rdma_user_mmap_entry_get(ib, vma);
	if (!entry)
		return -EINVAL;
	vm_flags_clear(vma, VM_MAYEXEC);
	err = remap_vmalloc_range(vma, to_rmmap(entry)->mem, 0);
	rdma_user_mmap_entry_put(entry);
	return err;
}

void rxo_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct rxo_mmap *mmap = to_rmmap(entry);

	vfree(mmap->mem);
	kfree(mmap);
}
