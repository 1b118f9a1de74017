// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Regions and their keys; scatter and gather lists over them. */
#include <stdlib.h>
#include "sim.h"

static void mr_create(struct sim_ep *e, u32 region, u64 size, u32 access)
{
	struct sim_mr *mr = &e->mr[region];

	mr->mem = malloc(size);		/* of the very size: ASan guards its ends */
	mr->size = size;
	mr->base = ((u64)(e->id * R_NUM + region + 1) << 40) +
		   8ull * rng_below(&e->sim->rng, 512);
	mr->access = access;
	mr->key = sim_new_key(e, region);
	mr->valid = true;
	mr->retiring = false;
}

u32 sim_new_key(struct sim_ep *e, u32 region)
{
	e->key_gen += 1 + rng_below(&e->sim->rng, 5);
	return e->key_gen << 4 | region;
}

static u64 dst_size(const struct sim_cfg *cfg)
{
	return 8192 + (u64)cfg->room * cfg->max_msg;
}

void sim_mem_create(struct sim_ep *e)
{
	const struct sim_cfg *cfg = &e->sim->cfg;
	u32 remote = OOO_ACCESS_REMOTE_WRITE | OOO_ACCESS_REMOTE_READ;
	u32 flush = OOO_ACCESS_FLUSH_GLOBAL | OOO_ACCESS_FLUSH_PERSISTENT;
	u32 i;

	mr_create(e, R_SRC, cfg->max_msg + 4096ull, OOO_ACCESS_REMOTE_READ);
	mr_create(e, R_DST, dst_size(cfg), OOO_ACCESS_LOCAL_WRITE | remote | flush);
	mr_create(e, R_LAND, 4096 + (u64)cfg->room * cfg->max_msg, OOO_ACCESS_LOCAL_WRITE);
	mr_create(e, R_RECV, (u64)sim_recv_slot(cfg) * cfg->rq_depth, OOO_ACCESS_LOCAL_WRITE);
	mr_create(e, R_ATOM, 8 * ATOM_WORDS, OOO_ACCESS_LOCAL_WRITE | remote |
		  OOO_ACCESS_REMOTE_ATOMIC);
	for (i = R_WIN; i < R_NUM; i++)
		mr_create(e, i, WIN_SIZE, OOO_ACCESS_LOCAL_WRITE | remote);

	rng_fill(&e->sim->rng, e->mr[R_SRC].mem, e->mr[R_SRC].size);
	memset(e->mr[R_DST].mem, 0x5a, e->mr[R_DST].size);
	memset(e->mr[R_LAND].mem, 0x11, e->mr[R_LAND].size);
	memset(e->mr[R_ATOM].mem, 0, e->mr[R_ATOM].size);
	memset(e->atom, 0, sizeof(e->atom));
	for (i = R_WIN; i < R_NUM; i++)
		memset(e->mr[i].mem, 0, WIN_SIZE);

	e->dst = cells_new(e->mr[R_DST].size);
	memset(e->dst.val, 0x5a, e->mr[R_DST].size);
}

void sim_mem_destroy(struct sim_ep *e)
{
	u32 i;

	for (i = 0; i < R_NUM; i++) {
		free(e->mr[i].mem);
		e->mr[i].mem = NULL;
	}
	cells_free(&e->dst);
}

struct sim_mr *sim_mr_find(struct sim_ep *e, u32 key, u64 va, u64 len, u32 access)
{
	u32 region = key & 15;
	struct sim_mr *mr = &e->mr[region];

	if (region >= R_NUM || !mr->valid || mr->key != key || (mr->access & access) != access)
		return NULL;
	if (va < mr->base || len > mr->size || va - mr->base > mr->size - len)
		return NULL;
	return mr;
}

/* Finds the piece of the list that holds byte @off; returns its length from there. */
static u32 sge_at(const struct ooo_sge *sge, u32 n, u32 *off, u32 *i)
{
	for (*i = 0; *i < n; (*i)++) {
		if (*off < sge[*i].length)
			return sge[*i].length - *off;
		*off -= sge[*i].length;
	}
	return 0;
}

typedef void (*copy_fn)(u8 *mem, u8 *data, u32 len);

static bool walk(struct sim_ep *e, const struct ooo_sge *sge, u32 n, u32 off, u8 *data,
		 u32 len, u32 access, copy_fn copy)
{
	while (len) {
		u32 in = off, i, part = sge_at(sge, n, &in, &i);
		struct sim_mr *mr;

		if (!part)
			return false;
		part = min_t(u32, part, len);
		mr = sim_mr_find(e, sge[i].lkey, sge[i].addr, sge[i].length, access);
		if (!mr)
			return false;
		if (copy)
			copy(mr->mem + (sge[i].addr - mr->base) + in, data, part);
		data += part;
		off += part;
		len -= part;
	}
	return true;
}

static void copy_in(u8 *mem, u8 *data, u32 len)
{
	memcpy(mem, data, len);
}

static void copy_out(u8 *mem, u8 *data, u32 len)
{
	memcpy(data, mem, len);
}

bool sim_scatter(struct sim_ep *e, const struct ooo_sge *sge, u32 n, u32 off,
		 const u8 *data, u32 len)
{
	u8 *d = (u8 *)data;

	return walk(e, sge, n, off, d, len, OOO_ACCESS_LOCAL_WRITE, NULL) &&
	       walk(e, sge, n, off, d, len, OOO_ACCESS_LOCAL_WRITE, copy_in);
}

bool sim_gather(struct sim_ep *e, const struct ooo_sge *sge, u32 n, u32 off,
		u8 *data, u32 len)
{
	return walk(e, sge, n, off, data, len, 0, copy_out);
}
