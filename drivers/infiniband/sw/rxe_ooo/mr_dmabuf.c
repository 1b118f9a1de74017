// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions on dma-buf memory. Our DMA engine is the CPU, so a buffer is not
 * attached to a device but mapped into the kernel, which pins it as well; the
 * exporter is told that the CPU accesses it. Memory behind a bus is refused:
 * plain copies do not work on it everywhere.
 */
#include <linux/dma-buf.h>
#include <linux/iosys-map.h>
#include <linux/module.h>
#include "objects.h"
#include "compat.h"

#if IS_ENABLED(CONFIG_DMA_SHARED_BUFFER)

RXO_IMPORT_NS_DMA_BUF;

static int map_buffer(struct rxo_mr *mr)
{
	struct iosys_map map;
	int err;

	err = dma_buf_vmap_unlocked(mr->dmabuf, &map);
	if (err)
		return err;
	if (map.is_iomem) {
		dma_buf_vunmap_unlocked(mr->dmabuf, &map);
		return -EOPNOTSUPP;
	}
	mr->dmabuf_kva = map.vaddr;
	return 0;
}

static void unmap_buffer(struct rxo_mr *mr)
{
	struct iosys_map map = IOSYS_MAP_INIT_VADDR(mr->dmabuf_kva);

	dma_buf_vunmap_unlocked(mr->dmabuf, &map);
	mr->dmabuf_kva = NULL;
}

static int attach(struct rxo_mr *mr, u64 offset, u64 length, int fd)
{
	struct dma_buf *dmabuf = dma_buf_get(fd);
	int err;

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	mr->dmabuf = dmabuf;
	if (offset > dmabuf->size || length > dmabuf->size - offset)
		return -EINVAL;
	err = map_buffer(mr);
	if (err)
		return err;
	err = dma_buf_begin_cpu_access(dmabuf, DMA_BIDIRECTIONAL);
	if (err) {
		unmap_buffer(mr);
		return err;
	}
	mr->kva = mr->dmabuf_kva + offset;
	return 0;
}

void rxo_dmabuf_release(struct rxo_mr *mr)
{
	if (mr->dmabuf_kva) {
		dma_buf_end_cpu_access(mr->dmabuf, DMA_BIDIRECTIONAL);
		unmap_buffer(mr);
	}
	dma_buf_put(mr->dmabuf);
}

struct ib_mr *rxo_reg_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				int access)
{
	struct rxo_mr *mr;
	int err;

	if (access & (~RXO_MR_ACCESS | IB_ACCESS_ON_DEMAND | IB_ACCESS_FLUSH_PERSISTENT))
		return ERR_PTR(-EOPNOTSUPP);
	if (access & IB_ZERO_BASED)
		iova = 0;
	if (!length || iova + length - 1 < iova)
		return ERR_PTR(-EINVAL);
	mr = rxo_mr_new(pd, RXO_MR_DMABUF, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = attach(mr, offset, length, fd);
	if (err) {
		rxo_mr_free(mr);
		return ERR_PTR(err);
	}
	return rxo_mr_finish_valid(mr, iova, length);
}

#else

struct ib_mr *rxo_reg_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

void rxo_dmabuf_release(struct rxo_mr *mr)
{
}

#endif
