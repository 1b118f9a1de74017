// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Mapping of the rings that we share with the kernel. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "ring.h"

static bool ring_info_is_sane(const struct rxe_ooo_ring_info *info,
			      uint32_t min_stride)
{
	uint64_t need = RXE_OOO_RING_HDR_SIZE +
			(uint64_t)info->depth * info->stride;

	return !(info->depth & (info->depth - 1)) &&
	       info->stride >= min_stride && info->stride % 8 == 0 &&
	       need <= info->mmap_size;
}

int rxe_ooo_ring_map(struct rxe_ooo_ring *ring, int fd,
		     const struct rxe_ooo_ring_info *info, uint32_t min_stride)
{
	void *map;

	memset(ring, 0, sizeof(*ring));
	if (!info->depth)
		return 0;
	/* Only a module of another version would answer like that. */
	if (!ring_info_is_sane(info, min_stride))
		return EPROTO;

	map = mmap(NULL, info->mmap_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		   fd, info->mmap_offset);
	if (map == MAP_FAILED)
		return errno;

	ring->hdr = map;
	ring->entries = (uint8_t *)map + RXE_OOO_RING_HDR_SIZE;
	ring->size = info->mmap_size;
	ring->depth = info->depth;
	ring->stride = info->stride;
	ring->limit = info->depth;
	return 0;
}

void rxe_ooo_ring_unmap(struct rxe_ooo_ring *ring)
{
	if (ring->hdr)
		munmap(ring->hdr, ring->size);
	ring->hdr = NULL;
}
