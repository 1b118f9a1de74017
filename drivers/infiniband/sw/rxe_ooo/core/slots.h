/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A sparse array indexed by sequence number: what arrived early waits here.
 * Memory comes in chunks of 64 slots when the first of them is used and goes
 * when the last is emptied, so a connection in order uses none.
 */
#ifndef RXE_OOO_CORE_SLOTS_H
#define RXE_OOO_CORE_SLOTS_H

#include "types.h"

struct ooo_ep;

/* The widest window: sequence numbers in use lie within this distance. */
#define OOO_WINDOW_MAX	8192u
#define OOO_CHUNK_SLOTS	64u
#define OOO_CHUNKS	(OOO_WINDOW_MAX / OOO_CHUNK_SLOTS)

struct ooo_slots {
	u32 in_use;		/* slots */
	u32 size;		/* bytes a slot */
	void *spare;		/* one empty chunk, against alloc/free at every gap */
	void *chunk[OOO_CHUNKS];
	u64 used[OOO_CHUNKS];	/* a bit for each slot of the chunk */
};

void ooo_slots_init(struct ooo_slots *s, u32 size);

/* Gives back all memory; the caller has released what the slots point to. */
void ooo_slots_exit(struct ooo_ep *ep, struct ooo_slots *s);

/* Which of the 64 slots from @seq (a multiple of 64) on are occupied: a bit for each. */
u64 ooo_slots_word(const struct ooo_slots *s, u32 seq);

/* The first occupied slot in [@from, @to), @to when there is none. */
u32 ooo_slots_next(const struct ooo_slots *s, u32 from, u32 to);

/* The slot of @seq, NULL when it is empty. */
void *ooo_slots_find(const struct ooo_slots *s, u32 seq);

/* Occupies the empty slot of @seq, zeroed; NULL when there is no memory. */
void *ooo_slots_take(struct ooo_ep *ep, struct ooo_slots *s, u32 seq);

/* Empties an occupied slot. */
void ooo_slots_drop(struct ooo_ep *ep, struct ooo_slots *s, u32 seq);

#endif /* RXE_OOO_CORE_SLOTS_H */
