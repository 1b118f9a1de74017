// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The sparse array of slots.h. */
#include "core.h"

void ooo_slots_init(struct ooo_slots *s, u32 size)
{
	memset(s, 0, sizeof(*s));
	s->size = size;
}

static u32 chunk_bytes(const struct ooo_slots *s)
{
	return s->size * OOO_CHUNK_SLOTS;
}

void ooo_slots_exit(struct ooo_ep *ep, struct ooo_slots *s)
{
	u32 i;

	for (i = 0; i < OOO_CHUNKS; i++)
		if (s->chunk[i])
			ooo_env_free(ep, s->chunk[i], chunk_bytes(s));
	if (s->spare)
		ooo_env_free(ep, s->spare, chunk_bytes(s));
	ooo_slots_init(s, s->size);
}

static u32 chunk_of(u32 seq)
{
	return (seq / OOO_CHUNK_SLOTS) % OOO_CHUNKS;
}

static u64 bit_of(u32 seq)
{
	return 1ULL << (seq % OOO_CHUNK_SLOTS);
}

static void *slot_of(const struct ooo_slots *s, u32 seq)
{
	return (u8 *)s->chunk[chunk_of(seq)] + (size_t)(seq % OOO_CHUNK_SLOTS) * s->size;
}

void *ooo_slots_find(const struct ooo_slots *s, u32 seq)
{
	if (!s->in_use || !(s->used[chunk_of(seq)] & bit_of(seq)))
		return NULL;
	return slot_of(s, seq);
}

u64 ooo_slots_word(const struct ooo_slots *s, u32 seq)
{
	return s->used[chunk_of(seq)];
}

u32 ooo_slots_next(const struct ooo_slots *s, u32 from, u32 to)
{
	u64 word;

	while (s->in_use && (s32)(to - from) > 0) {
		word = s->used[chunk_of(from)] & ~(bit_of(from) - 1);
		from &= ~(OOO_CHUNK_SLOTS - 1);
		if (!word) {
			from += OOO_CHUNK_SLOTS;
			continue;
		}
		from += ooo_lowest_bit(word);
		return (s32)(to - from) > 0 ? from : to;
	}
	return to;
}

static void *new_chunk(struct ooo_ep *ep, struct ooo_slots *s)
{
	void *chunk = s->spare;

	s->spare = NULL;
	return chunk ? chunk : ooo_env_alloc(ep, chunk_bytes(s));
}

void *ooo_slots_take(struct ooo_ep *ep, struct ooo_slots *s, u32 seq)
{
	void **chunk = &s->chunk[chunk_of(seq)];
	void *slot;

	if (!*chunk)
		*chunk = new_chunk(ep, s);
	if (!*chunk)
		return NULL;
	s->used[chunk_of(seq)] |= bit_of(seq);
	s->in_use++;
	slot = slot_of(s, seq);
	memset(slot, 0, s->size);
	return slot;
}

static void free_chunk(struct ooo_ep *ep, struct ooo_slots *s, u32 i)
{
	if (!s->spare)
		s->spare = s->chunk[i];
	else
		ooo_env_free(ep, s->chunk[i], chunk_bytes(s));
	s->chunk[i] = NULL;
}

void ooo_slots_drop(struct ooo_ep *ep, struct ooo_slots *s, u32 seq)
{
	u32 i = chunk_of(seq);

	s->used[i] &= ~bit_of(seq);
	s->in_use--;
	if (!s->used[i])
		free_chunk(ep, s, i);
}
