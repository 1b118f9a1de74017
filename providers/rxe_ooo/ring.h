/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Our side of a ring that we share with the kernel: see "Rings" in
 * rdma_user_rxe_ooo.h. Index arithmetic is modulo 2^32. None of this locks.
 */
#ifndef RXE_OOO_RING_H
#define RXE_OOO_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_user_rxe_ooo.h>

struct rxe_ooo_ring {
	struct rxe_ooo_ring_hdr *hdr;	/* the mapping; NULL: no such ring */
	uint8_t *entries;
	size_t size;			/* bytes mapped */
	uint32_t depth;			/* entries, a power of two */
	uint32_t stride;		/* bytes */
	uint32_t limit;			/* entries in use at most; <= depth */
	uint32_t index;			/* the next entry to produce or consume */
};

static inline void *rxe_ooo_ring_entry(const struct rxe_ooo_ring *ring,
				       uint32_t index)
{
	return ring->entries +
	       (size_t)(index & (ring->depth - 1)) * ring->stride;
}

/* Producer: may entry @index be written? */
static inline bool rxe_ooo_ring_has_room(const struct rxe_ooo_ring *ring,
					 uint32_t index)
{
	uint32_t consumer = __atomic_load_n(&ring->hdr->consumer,
					    __ATOMIC_ACQUIRE);

	return index - consumer < ring->limit;
}

/*
 * Producer: hand over all entries below @index. True: the kernel rests and
 * wants to be told with a system call.
 */
static inline bool rxe_ooo_ring_publish(struct rxe_ooo_ring *ring,
					uint32_t index)
{
	ring->index = index;
	__atomic_store_n(&ring->hdr->producer, index, __ATOMIC_RELEASE);
	/* Pairs with the kernel's barrier between the two in reverse order. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&ring->hdr->need_doorbell, __ATOMIC_RELAXED);
}

/* Consumer: the index up to which entries can be read. */
static inline uint32_t rxe_ooo_ring_end(const struct rxe_ooo_ring *ring)
{
	return __atomic_load_n(&ring->hdr->producer, __ATOMIC_ACQUIRE);
}

/* Consumer: entries below @index are ours no more. */
static inline void rxe_ooo_ring_consume(struct rxe_ooo_ring *ring,
					uint32_t index)
{
	ring->index = index;
	__atomic_store_n(&ring->hdr->consumer, index, __ATOMIC_RELEASE);
}

/*
 * Producer, after the kernel has forgotten what was in the ring: go on where
 * it stopped.
 */
static inline void rxe_ooo_ring_rewind(struct rxe_ooo_ring *ring)
{
	ring->index = __atomic_load_n(&ring->hdr->consumer, __ATOMIC_ACQUIRE);
	__atomic_store_n(&ring->hdr->producer, ring->index, __ATOMIC_RELEASE);
}

/*
 * Map a ring that a command's answer describes. @min_stride: what the caller
 * needs of an entry. @info->depth 0 leaves a ring without a mapping. Returns
 * 0 or an errno.
 */
int rxe_ooo_ring_map(struct rxe_ooo_ring *ring, int fd,
		     const struct rxe_ooo_ring_info *info, uint32_t min_stride);
void rxe_ooo_ring_unmap(struct rxe_ooo_ring *ring);

#endif /* RXE_OOO_RING_H */
