// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * R_DST as an in-order network would have left it, byte by byte: one value,
 * one of two, or (three or more WRITEs at once) any.
 */
#include <stdlib.h>
#include "sim.h"

static bool overlaps(const struct sim_wr *a, const struct sim_wr *b)
{
	return a->region == b->region && a->len && b->len &&
	       a->roff < b->roff + b->len && b->roff < a->roff + a->len;
}

static bool is_write(const struct sim_wr *w)
{
	return w->op == OOO_WR_WRITE || w->op == OOO_WR_WRITE_IMM;
}

/*
 * Must @earlier be finished before @later starts? Only if a fence stands
 * between them: on an OOO QP for everything, else for READs and atomics.
 */
static bool fenced(struct sim_ep *e, const struct sim_wr *earlier, const struct sim_wr *later)
{
	if (later->epoch == earlier->epoch)
		return false;
	return e->core.attr.ooo || earlier->op == OOO_WR_READ;
}

struct sim_cells cells_new(u64 n)
{
	struct sim_cells c = { .val = malloc(3 * n) };

	c.alt = c.val + n;
	c.mode = c.alt + n;
	memset(c.mode, CELL_ONE, n);
	return c;
}

void cells_free(struct sim_cells *c)
{
	free(c->val);
	c->val = NULL;
}

static struct sim_cells cells_at(const struct sim_cells *c, u64 off)
{
	return (struct sim_cells){ c->val + off, c->alt + off, c->mode + off };
}

static void cells_copy(const struct sim_cells *to, const struct sim_cells *from, u64 n)
{
	memcpy(to->val, from->val, n);
	memcpy(to->alt, from->alt, n);
	memcpy(to->mode, from->mode, n);
}

/* One more value that byte @i may have. */
static void cell_add(const struct sim_cells *c, u64 i, u8 val)
{
	if (c->mode[i] != CELL_ONE) {
		c->mode[i] = CELL_ANY;
	} else if (c->val[i] != val) {
		c->alt[i] = val;
		c->mode[i] = CELL_TWO;
	}
}

static bool cell_allows(const struct sim_cells *c, u64 i, u8 v)
{
	return c->val[i] == v || c->mode[i] == CELL_ANY ||
	       (c->mode[i] == CELL_TWO && c->alt[i] == v);
}

/* The first byte of @mem that must not be so; @n if there is none. */
static u64 cells_compare(const struct sim_cells *c, const u8 *mem, u64 n)
{
	u64 i;

	if (!memcmp(c->val, mem, n))
		return n;
	for (i = 0; i < n; i++)
		if (!cell_allows(c, i, mem[i]))
			break;
	return i;
}

/* The part of @w's range that @other has too, as offsets into @w. */
static void common(const struct sim_wr *w, const struct sim_wr *other, u32 *from, u32 *to)
{
	u64 a = max_t(u64, w->roff, other->roff);
	u64 b = min_t(u64, w->roff + w->len, other->roff + other->len);

	*from = (u32)(a - w->roff);
	*to = (u32)(b - w->roff);
}

/* A READ in flight may return the old bytes or the new ones. */
static void loosen_read(const struct sim_wr *w, struct sim_wr *read, const u8 *data)
{
	u32 i, from, to, shift;

	common(w, read, &from, &to);
	shift = (u32)(w->roff + from - read->roff);
	for (i = from; i < to; i++)
		cell_add(&read->expect, shift + i - from, data[i]);
}

static void apply(struct sim_ep *e, struct sim_wr *w, const u8 *data)
{
	struct sim_cells c = cells_at(&e->peer->dst, w->roff);

	memcpy(c.val, data, w->len);
	memset(c.mode, CELL_ONE, w->len);
}

/* Two WRITEs whose order nothing tells. */
static bool unordered(struct sim_ep *e, const struct sim_wr *v, const struct sim_wr *w)
{
	return is_write(v) && overlaps(v, w) && !fenced(e, v, w) && e->peer->core.attr.ooo;
}

/* Some of the bytes are in flight already: either value may stay there. */
static void apply_unordered(struct sim_ep *e, struct sim_wr *w, u32 index, const u8 *data)
{
	struct sim_out *o = &e->out;
	struct sim_cells c = cells_at(&e->peer->dst, w->roff);
	struct sim_cells old = cells_new(w->len);
	u8 *shared = calloc(1, w->len);
	u32 k, i, from, to;

	cells_copy(&old, &c, w->len);
	apply(e, w, data);
	for (k = o->done; k != index; k++) {
		if (!unordered(e, sim_wr(o, k), w))
			continue;
		common(w, sim_wr(o, k), &from, &to);
		memset(shared + from, 1, to - from);
	}
	for (i = 0; i < w->len; i++) {
		if (!shared[i])
			continue;
		c.val[i] = old.val[i];
		c.alt[i] = old.alt[i];
		c.mode[i] = old.mode[i];
		cell_add(&c, i, data[i]);
		w->overlapped = true;
	}
	free(shared);
	cells_free(&old);
}

/* @w was posted as number @index: its bytes count from now on. */
void shadow_write(struct sim_ep *e, struct sim_wr *w, u32 index)
{
	static u8 data[1 << 20];
	struct sim_out *o = &e->out;
	bool shared = false;
	u32 k;

	if (w->region != R_DST || !w->len)
		return;
	model_expect(e, w, 0, data, w->len);
	for (k = o->done; k != index; k++) {
		struct sim_wr *v = sim_wr(o, k);

		if (!overlaps(v, w))
			continue;
		v->overlapped = true;
		if (is_write(v))
			shared = true;
		else if (v->expect.val && !fenced(e, v, w))
			loosen_read(w, v, data);
	}
	if (shared)
		apply_unordered(e, w, index, data);
	else
		apply(e, w, data);
}

void shadow_read(struct sim_ep *e, struct sim_wr *w)
{
	struct sim_cells c = cells_at(&e->peer->dst, w->roff);

	if (w->region != R_DST || !w->len)
		return;
	w->expect = cells_new(w->len);
	cells_copy(&w->expect, &c, w->len);
}

static void compare_read(struct sim_ep *e, struct sim_wr *w)
{
	const u8 *got = e->mr[R_LAND].mem + w->land_off;
	u64 i = cells_compare(&w->expect, got, w->len);

	sim_check(e->sim, i == w->len,
		  "READ of %u bytes at 0x%llx returned 0x%02x at byte %llu, expected 0x%02x",
		  w->len, (unsigned long long)w->va, got[i], (unsigned long long)i,
		  w->expect.val[i]);
}

/* A READ completes: its buffer holds what the peer's memory held at its turn. */
void shadow_read_done(struct sim_ep *e, struct sim_wr *w)
{
	if (w->expect.val)
		compare_read(e, w);
	else if (w->region == R_SRC)
		sim_check(e->sim, !memcmp(e->mr[R_LAND].mem + w->land_off,
					  e->peer->mr[R_SRC].mem + w->roff, w->len),
			  "READ of %u bytes completed with wrong data", w->len);
	cells_free(&w->expect);
}

/* A WRITE completes: its bytes are there, unless another one shares them. */
void shadow_write_done(struct sim_ep *e, struct sim_wr *w)
{
	static u8 data[1 << 20];

	if (w->overlapped || w->region != R_DST || !w->len)
		return;
	model_expect(e, w, 0, data, w->len);
	sim_check(e->sim, !memcmp(data, e->peer->mr[R_DST].mem + w->roff, w->len),
		  "WRITE of %u bytes completed but its data is not in memory", w->len);
}

static void spoil_read(const struct sim_wr *w, struct sim_wr *read)
{
	u32 from, to, shift;

	common(w, read, &from, &to);
	shift = (u32)(w->roff + from - read->roff);
	memset(read->expect.mode + shift, CELL_ANY, to - from);
}

/* @w was posted with a fault, but a part of it may be placed before that shows. */
void shadow_spoil(struct sim_ep *e, struct sim_wr *w, u32 index)
{
	struct sim_out *o = &e->out;
	u32 k;

	for (k = o->done; k != index; k++) {
		struct sim_wr *v = sim_wr(o, k);

		if (!overlaps(v, w))
			continue;
		v->overlapped = true;
		if (v->expect.val)
			spoil_read(w, v);
	}
	shadow_forget(e, w);
}

/* @w ended in error: its bytes may be there or not. */
void shadow_forget(struct sim_ep *e, struct sim_wr *w)
{
	u64 size = e->peer->mr[R_DST].size;

	cells_free(&w->expect);
	if (w->region == R_DST && is_write(w) && w->roff < size)
		memset(e->peer->dst.mode + w->roff, CELL_ANY, min_t(u64, w->len, size - w->roff));
}

void shadow_compare(struct sim_ep *owner)
{
	const struct sim_mr *mr = &owner->mr[R_DST];
	u64 i = cells_compare(&owner->dst, mr->mem, mr->size);

	sim_check(owner->sim, i == mr->size,
		  "end of run: byte %llu of endpoint %u's memory is 0x%02x, not 0x%02x",
		  (unsigned long long)i, owner->id, mr->mem[i], owner->dst.val[i]);
}
