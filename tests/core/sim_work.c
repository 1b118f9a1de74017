// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The programs on both ends: what they post, when, and with which mistakes. */
#include "sim.h"

/* --- receives --- */

u32 sim_recv_slot(const struct sim_cfg *cfg)
{
	return min_t(u32, cfg->max_msg, 16384);
}

/* Cuts [addr, addr + len) into one to four pieces, some of them perhaps empty. */
static u32 cut(struct sim *sim, struct ooo_sge *sge, u64 addr, u32 len, u32 key)
{
	u32 n = rng_range(&sim->rng, 1, SGE_MAX);
	u32 i, part;

	for (i = 0; i < n; i++) {
		part = i == n - 1 ? len : rng_below(&sim->rng, len + 1);
		sge[i] = (struct ooo_sge){ .addr = addr, .length = part, .lkey = key };
		addr += part;
		len -= part;
	}
	return n;
}

static void spoil_receive(struct sim_rq *r, bool malformed)
{
	u32 i;

	r->malformed = malformed;
	r->bad = !malformed;
	for (i = 0; i < r->nsge; i++)
		r->sge[i].lkey ^= 0x100000;
}

static void fill_receive(struct sim_ep *e, struct sim_rq *r)
{
	struct sim *sim = e->sim;
	struct sim_mr *mr = &e->mr[R_RECV];
	u32 slot = sim_recv_slot(&sim->cfg);

	r->wr_id = 1000 + e->rq_ids++;
	r->length = slot;
	r->bad = false;
	r->malformed = false;
	r->nsge = cut(sim, r->sge, mr->base + (u64)e->rq_slot * slot, slot, mr->key);
	e->rq_slot = (e->rq_slot + 1) % sim->cfg.rq_depth;
	if (rng_chance(&sim->rng, sim->cfg.fault / 8))
		spoil_receive(r, rng_below(&sim->rng, 2));
}

/* Posts receives until the ring is full, or the program is late again. */
void sim_post_recv(struct sim_ep *e)
{
	struct sim *sim = e->sim;

	if (e->core.attr.service == OOO_XRC_INI || sim->draining || e->dead)
		return;
	while (e->rq_posted - e->rq_done < sim->cfg.rq_depth) {
		if (sim->cfg.starve && e->rq_ids > 20)
			return;
		if (e->alarm[A_RECV] != NEVER)
			return;
		if (rng_chance(&sim->rng, sim->cfg.recv_late)) {
			sim_wake(e, A_RECV, sim->now + rng_below(&sim->rng, sim->cfg.recv_delay));
			return;
		}
		fill_receive(e, &e->rq[e->rq_posted & (RQ_MAX - 1)]);
		e->rq_posted++;
	}
}

/* The late program posts at last; at least one. */
void sim_recv_posting(struct sim_ep *e)
{
	struct sim *sim = e->sim;

	if (e->rq_posted - e->rq_done < sim->cfg.rq_depth) {
		fill_receive(e, &e->rq[e->rq_posted & (RQ_MAX - 1)]);
		e->rq_posted++;
	}
	sim_post_recv(e);
	if (e->core.state == OOO_ERR)
		ooo_ep_post_recv(&e->core, sim->now);
}

/* --- choices --- */

static u8 choose_op(struct sim *sim)
{
	const struct sim_mix *m = &sim->cfg.mix;
	const struct {
		u16 weight;
		u8 op;
	} row[] = {
		{ m->send, OOO_WR_SEND }, { m->send_imm, OOO_WR_SEND_IMM },
		{ m->send_inv, OOO_WR_SEND_INV }, { m->write, OOO_WR_WRITE },
		{ m->write_imm, OOO_WR_WRITE_IMM }, { m->read, OOO_WR_READ },
		{ m->cmp_swap, OOO_WR_CMP_SWAP }, { m->fetch_add, OOO_WR_FETCH_ADD },
		{ m->atomic_write, OOO_WR_ATOMIC_WRITE }, { m->flush, OOO_WR_FLUSH },
		{ m->local_inv, OOO_WR_LOCAL_INV },
	};
	u32 i, sum = 0, pick;

	for (i = 0; i < ARRAY_SIZE(row); i++)
		sum += row[i].weight;
	pick = rng_below(&sim->rng, sum);
	for (i = 0; pick >= row[i].weight; i++)
		pick -= row[i].weight;
	return row[i].op;
}

static u32 choose_len(struct sim *sim, u32 max)
{
	u32 mtu = sim->cfg.mtu;
	const u32 edges[] = { 0, 1, 3, mtu - 1, mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, 2 * mtu + 1 };
	u32 len;

	if (sim->cfg.fixed_len)
		return min_t(u32, sim->cfg.fixed_len, max);
	switch (rng_below(&sim->rng, 4)) {
	case 0:
		len = edges[rng_below(&sim->rng, ARRAY_SIZE(edges))];
		break;
	case 1:
		len = rng_below(&sim->rng, 2 * mtu);
		break;
	case 2:
		len = rng_below(&sim->rng, 8 * mtu);
		break;
	default:
		len = rng_below(&sim->rng, max + 1);
	}
	return min_t(u32, len, max);
}

/* A source: pieces from all over R_SRC, or inline. */
static void choose_source(struct sim_ep *e, struct sim_wr *w)
{
	struct sim *sim = e->sim;
	struct sim_mr *mr = &e->mr[R_SRC];
	u32 left = w->len;

	if (w->len <= INLINE_MAX && rng_chance(&sim->rng, sim->cfg.inl)) {
		w->flags |= OOO_SEND_INLINE;
		rng_fill(&sim->rng, w->inl, w->len);
		return;
	}
	w->nsge = (u8)rng_range(&sim->rng, 1, SGE_MAX);
	for (u32 i = 0; i < w->nsge; i++) {
		u32 part = i == w->nsge - 1u ? left : rng_below(&sim->rng, left + 1);
		u64 off = rng_below(&sim->rng, (u32)(mr->size - part) + 1);

		w->sge[i] = (struct ooo_sge){ mr->base + off, part, mr->key };
		left -= part;
	}
}

/* --- targets --- */

static bool dst_in_flight(struct sim_ep *e, u64 off, u32 len)
{
	struct sim_out *o = &e->out;
	u32 k;

	for (k = o->done; k != o->posted; k++) {
		const struct sim_wr *v = sim_wr(o, k);

		if (v->region == R_DST && v->len && off < v->roff + v->len && v->roff < off + len)
			return true;
	}
	return false;
}

/* A range of R_DST: the next one in a row, or on purpose one that is in use. */
static bool choose_dst(struct sim_ep *e, struct sim_wr *w)
{
	struct sim *sim = e->sim;
	u64 size = e->peer->mr[R_DST].size;

	w->region = R_DST;
	if (rng_chance(&sim->rng, sim->cfg.overlap)) {
		u32 near = min_t(u32, (u32)(size - w->len), 4 * sim->cfg.mtu);

		w->roff = rng_below(&sim->rng, near + 1);
		return true;
	}
	if (e->out.dst_next + w->len > size)
		e->out.dst_next = 4 * sim->cfg.mtu > size / 4 ? 0 : 4 * sim->cfg.mtu;
	w->roff = e->out.dst_next;
	if (dst_in_flight(e, w->roff, w->len))
		return false;
	e->out.dst_next += w->len;
	return true;
}

static bool choose_window(struct sim_ep *e, u32 *region)
{
	u32 i, first = rng_below(&e->sim->rng, 4);

	for (i = 0; i < 4; i++) {
		struct sim_mr *mr;

		*region = R_WIN + (first + i) % 4;
		mr = &e->peer->mr[*region];
		if (!mr->valid && !mr->retiring) {	/* registered anew */
			mr->key = sim_new_key(e->peer, *region);
			mr->valid = true;
		}
		if (mr->valid && !mr->retiring)
			return true;
	}
	return false;
}

static bool choose_write_target(struct sim_ep *e, struct sim_wr *w)
{
	u32 region;

	if (w->len > WIN_SIZE || !rng_chance(&e->sim->rng, 150000) || !choose_window(e, &region))
		return choose_dst(e, w);
	w->region = region;
	w->roff = rng_below(&e->sim->rng, WIN_SIZE - w->len + 1);
	return true;
}

static bool choose_read_target(struct sim_ep *e, struct sim_wr *w)
{
	struct sim *sim = e->sim;
	u32 region;
	u64 size;

	w->region = w->len <= 8192 && rng_chance(&sim->rng, 500000) ? R_DST : R_SRC;
	if (w->len <= WIN_SIZE && rng_chance(&sim->rng, 100000) && choose_window(e, &region))
		w->region = region;
	size = e->peer->mr[w->region].size;
	w->roff = rng_below(&sim->rng, (u32)(size - w->len) + 1);
	return true;
}

/* Room in R_LAND for what comes back; a ring in posting order. */
static bool choose_landing(struct sim_ep *e, struct sim_wr *w, u32 len)
{
	struct sim_out *o = &e->out;
	struct sim_mr *mr = &e->mr[R_LAND];
	u64 at = o->land_head % mr->size;
	u64 skip = at + len > mr->size ? mr->size - at : 0;
	u32 k;

	for (k = o->done; k != o->posted; k++)
		if (sim_wr(o, k)->op == OOO_WR_READ || sim_wr(o, k)->op == OOO_WR_CMP_SWAP ||
		    sim_wr(o, k)->op == OOO_WR_FETCH_ADD)
			break;
	o->land_tail = k == o->posted ? o->land_head : sim_wr(o, k)->land_off;
	if (k != o->posted) {
		u64 tail = sim_wr(o, k)->land_off;
		u64 used = (at + mr->size - tail) % mr->size;

		if (used + skip + len >= mr->size)
			return false;
	}
	o->land_head += skip;
	w->land_off = o->land_head % mr->size;
	o->land_head += len;
	w->nsge = (u8)cut(e->sim, w->sge, mr->base + w->land_off, len, mr->key);
	return true;
}

static bool choose_atomic(struct sim_ep *e, struct sim_wr *w)
{
	struct sim *sim = e->sim;

	w->region = R_ATOM;
	w->roff = 8ull * rng_below(&sim->rng, ATOM_WORDS);
	w->len = 8;
	if (w->op == OOO_WR_ATOMIC_WRITE) {
		rng_fill(&sim->rng, w->inl, 8);
		return true;
	}
	w->add = rng_next(&sim->rng);
	w->swap = rng_next(&sim->rng);
	if (w->op == OOO_WR_CMP_SWAP && rng_chance(&sim->rng, 500000))
		w->add = e->peer->atom[w->roff / 8];
	return choose_landing(e, w, 8);
}

/* A program that invalidates memory with a READ of it in flight gets what it asks for. */
static bool is_read_from(struct sim_out *o, u32 region)
{
	u32 k;

	for (k = o->done; k != o->posted; k++)
		if (sim_wr(o, k)->op == OOO_WR_READ && sim_wr(o, k)->region == region)
			return true;
	return false;
}

static bool choose_send(struct sim_ep *e, struct sim_wr *w)
{
	struct sim *sim = e->sim;

	w->len = choose_len(sim, sim_recv_slot(&sim->cfg));
	w->region = R_NUM;
	if (rng_chance(&sim->rng, 300000))
		w->flags |= OOO_SEND_SOLICITED;
	if (w->op == OOO_WR_SEND_IMM)
		w->imm = (u32)rng_next(&sim->rng);
	choose_source(e, w);
	if (w->op == OOO_WR_SEND_INV) {
		u32 region;

		if (!choose_window(e, &region) || is_read_from(&e->out, region))
			return false;
		w->imm = e->peer->mr[region].key;
		e->peer->mr[region].retiring = true;
	}
	return true;
}

/* The owner invalidates a window of its own that nobody is using. */
static bool choose_local_inv(struct sim_ep *e, struct sim_wr *w)
{
	u32 region = R_WIN + rng_below(&e->sim->rng, 4);
	struct sim_out *in = &e->peer->out;
	u32 k;

	if (!e->mr[region].valid || e->mr[region].retiring)
		return false;
	for (k = in->done; k != in->posted; k++)
		if (sim_wr(in, k)->region == region)
			return false;
	e->mr[region].retiring = true;
	w->imm = e->mr[region].key;
	w->region = R_NUM;
	return true;
}

static bool choose_flush(struct sim_ep *e, struct sim_wr *w)
{
	w->len = choose_len(e->sim, 4096);
	w->region = R_DST;
	w->roff = rng_below(&e->sim->rng, (u32)(e->peer->mr[R_DST].size - w->len) + 1);
	w->feth = 1 + rng_below(&e->sim->rng, 2);
	return true;
}

static bool choose_rest(struct sim_ep *e, struct sim_wr *w)
{
	struct sim *sim = e->sim;

	switch (w->op) {
	case OOO_WR_WRITE_IMM:
		w->imm = (u32)rng_next(&sim->rng);
		if (rng_chance(&sim->rng, 300000))
			w->flags |= OOO_SEND_SOLICITED;
		fallthrough;
	case OOO_WR_WRITE:
		w->len = choose_len(sim, sim->cfg.max_msg);
		choose_source(e, w);
		return choose_write_target(e, w);
	case OOO_WR_READ:
		w->len = choose_len(sim, sim->cfg.max_msg);
		return choose_read_target(e, w) && choose_landing(e, w, w->len);
	case OOO_WR_CMP_SWAP:
	case OOO_WR_FETCH_ADD:
	case OOO_WR_ATOMIC_WRITE:
		return choose_atomic(e, w);
	case OOO_WR_FLUSH:
		return choose_flush(e, w);
	case OOO_WR_LOCAL_INV:
		return choose_local_inv(e, w);
	default:
		return choose_send(e, w);
	}
}

/* --- planted faults --- */

static bool is_remote(u8 op)
{
	return op == OOO_WR_WRITE || op == OOO_WR_WRITE_IMM || op == OOO_WR_READ ||
	       op == OOO_WR_CMP_SWAP || op == OOO_WR_FETCH_ADD || op == OOO_WR_ATOMIC_WRITE ||
	       op == OOO_WR_FLUSH;
}

static bool has_source(u8 op)
{
	return op == OOO_WR_WRITE || op == OOO_WR_WRITE_IMM || op == OOO_WR_SEND ||
	       op == OOO_WR_SEND_IMM;
}

static bool lands(u8 op)
{
	return op == OOO_WR_READ || op == OOO_WR_CMP_SWAP || op == OOO_WR_FETCH_ADD;
}

static bool applies(const struct sim_wr *w, enum sim_fault f)
{
	switch (f) {
	case F_KEY:
	case F_RANGE:
	case F_RIGHT:
		return is_remote(w->op) && w->len && w->region != R_NUM;
	case F_UNALIGNED:
		return w->region == R_ATOM;
	case F_TOO_LONG:
		return w->op == OOO_WR_SEND || w->op == OOO_WR_SEND_IMM;
	case F_LKEY:
		return has_source(w->op) && w->len && !(w->flags & OOO_SEND_INLINE);
	case F_LAND:
		return lands(w->op) && w->len;
	case F_MALFORMED:
		return w->op != OOO_WR_SEND_INV && w->op != OOO_WR_LOCAL_INV;
	case F_SRQ:
		return w->op == OOO_WR_SEND || w->op == OOO_WR_WRITE_IMM;
	case F_STALE:
		return (w->op == OOO_WR_WRITE || w->op == OOO_WR_WRITE_IMM) && w->len &&
		       w->len <= WIN_SIZE;
	default:
		return false;
	}
}

static void plant_too_long(struct sim_ep *e, struct sim_wr *w)
{
	w->flags &= ~OOO_SEND_INLINE;
	w->len = sim_recv_slot(&e->sim->cfg) + rng_range(&e->sim->rng, 1, 2000);
	w->nsge = 1;
	w->sge[0] = (struct ooo_sge){ e->mr[R_SRC].base, w->len, e->mr[R_SRC].key };
	w->status = OOO_WC_REM_INV_REQ_ERR;
}

static void plant_right(struct sim_wr *w)
{
	if (w->op == OOO_WR_READ)
		w->region = R_RECV;
	else if (w->op == OOO_WR_CMP_SWAP || w->op == OOO_WR_FETCH_ADD)
		w->region = R_DST;
	else
		w->region = R_SRC;
	w->roff = 0;
}

/* Under a key that a SEND in flight invalidates: on an OOO QP it may come before that SEND. */
static void plant_stale(struct sim_ep *e, struct sim_wr *w)
{
	struct sim_out *o = &e->out;
	u32 k;

	for (k = o->done; k != o->posted; k++)
		if (sim_wr(o, k)->op == OOO_WR_SEND_INV)
			break;
	if (k == o->posted) {
		w->fault = F_NONE;
		w->fate = FATE_OK;
		return;
	}
	w->stale = sim_wr(o, k)->imm;
	w->region = w->stale & 15;
	w->roff = rng_below(&e->sim->rng, WIN_SIZE - w->len + 1);
}

static void plant(struct sim_ep *e, struct sim_wr *w, enum sim_fault f)
{
	struct sim *sim = e->sim;
	u32 i;

	w->fault = (u8)f;
	w->fate = FATE_ERR;
	w->status = OOO_WC_REM_ACCESS_ERR;
	switch (f) {
	case F_RANGE:
		w->roff = e->peer->mr[w->region].size - w->len + 8;
		break;
	case F_RIGHT:
		plant_right(w);
		break;
	case F_UNALIGNED:
		w->roff += rng_range(&sim->rng, 1, 7);
		w->roff %= 8 * ATOM_WORDS - 8;
		w->roff += w->roff % 8 ? 0 : 1;
		w->status = OOO_WC_REM_INV_REQ_ERR;
		break;
	case F_TOO_LONG:
		plant_too_long(e, w);
		break;
	case F_STALE:
		plant_stale(e, w);
		break;
	case F_LKEY:
	case F_LAND:
		for (i = 0; i < w->nsge; i++)
			w->sge[i].lkey ^= 0x100000;
		w->status = OOO_WC_LOC_PROT_ERR;
		break;
	case F_MALFORMED:
		w->status = OOO_WC_LOC_QP_OP_ERR;
		break;
	case F_SRQ:
		w->status = OOO_WC_REM_INV_REQ_ERR;
		break;
	default:
		break;
	}
}

static void maybe_plant(struct sim_ep *e, struct sim_wr *w)
{
	enum sim_fault f;

	if (rng_chance(&e->sim->rng, e->sim->cfg.stale) && applies(w, F_STALE))
		plant(e, w, F_STALE);
	if (w->fault || !rng_chance(&e->sim->rng, e->sim->cfg.fault))
		return;
	f = rng_range(&e->sim->rng, F_KEY, F_SRQ);
	if (applies(w, f) && (f != F_SRQ || e->core.attr.service == OOO_XRC_INI))
		plant(e, w, f);
}

/* --- posting --- */

/* Where the request points, now that it is known what it is. */
static void set_address(struct sim_ep *e, struct sim_wr *w)
{
	const struct sim_mr *mr;

	if (!is_remote(w->op) || w->region == R_NUM)
		return;
	mr = &e->peer->mr[w->region];
	w->va = mr->base + w->roff;
	w->rkey = mr->key ^ (w->fault == F_KEY ? 0x100000 : 0);
	if (w->fault == F_STALE)
		w->rkey = w->stale;
}

static void record(struct sim_ep *e, struct sim_wr *w)
{
	u32 index = e->out.posted;

	model_posted(e, w);
	if (w->op == OOO_WR_READ && !w->fault)
		shadow_read(e, w);
	if ((w->op == OOO_WR_WRITE || w->op == OOO_WR_WRITE_IMM) && !w->fault)
		shadow_write(e, w, index);
	if (w->fault == F_RANGE || w->fault == F_LKEY || w->fault == F_SRQ)
		shadow_spoil(e, w, index);
}

/* False when the program has to wait first: no room in memory or ring. */
static bool post_one(struct sim_ep *e)
{
	struct sim *sim = e->sim;
	struct sim_out *o = &e->out;
	struct sim_wr *w = sim_wr(o, o->posted);
	u32 outstanding = (u32)psn_diff(o->next_psn, o->exec_next);

	if (o->posted - o->done >= sim->cfg.sq_depth || o->posted >= sim->cfg.quota[e->id] ||
	    (o->failed && o->posted - o->first_failed >= SQ_MAX) ||
	    outstanding + sim->cfg.max_msg / sim->cfg.mtu + 16 > PSN_OUTSTANDING)
		return false;
	memset(w, 0, sizeof(*w));
	w->op = choose_op(sim);
	if (!rng_chance(&sim->rng, sim->cfg.unsignaled))
		w->flags |= OOO_SEND_SIGNALED;
	if (rng_chance(&sim->rng, sim->cfg.fence))
		w->flags |= OOO_SEND_FENCE;
	if (!choose_rest(e, w))
		return false;
	maybe_plant(e, w);
	set_address(e, w);
	record(e, w);
	return true;
}

/* The memory goes away under requests in flight: each may now fail. */
static void deregister(struct sim_ep *e)
{
	u32 k, region = R_WIN + rng_below(&e->sim->rng, 4);
	struct sim_out *in = &e->peer->out;

	if (e->mr[region].retiring)
		return;
	trace(e->sim, "%c deregisters window %u\n", 'A' + e->id, region);
	e->mr[region].valid = false;
	for (k = in->done; k != in->posted; k++) {
		struct sim_wr *w = sim_wr(in, k);

		if (w->region != region || w->fate == FATE_ERR)
			continue;
		w->fate = FATE_MAYBE;
		w->status = OOO_WC_REM_ACCESS_ERR;
	}
}

static void begin_sqd(struct sim_ep *e)
{
	struct sim *sim = e->sim;

	if (e->in_sqd || e->core.state != OOO_RTS)
		return;
	trace(sim, "%c to SQD\n", 'A' + e->id);
	e->in_sqd = true;
	e->drained = false;
	ooo_ep_to_sqd(&e->core, sim->now);
	sim_wake(e, A_SQD, sim->now + rng_below(&sim->rng, 100000));
}

static void maybe_kill(struct sim_ep *e)
{
	struct sim *sim = e->sim;

	if (e->dead || !rng_chance(&sim->rng, sim->cfg.kill))
		return;
	trace(sim, "%c is moved to ERR\n", 'A' + e->id);
	e->dead = true;
	ooo_ep_to_err(&e->core, sim->now);
}

/* The program destroys its QP: nothing completes, nothing is left behind. */
static void maybe_destroy(struct sim_ep *e)
{
	struct sim *sim = e->sim;
	struct sim_out *o = &e->out;

	if (e->destroyed || !rng_chance(&sim->rng, sim->cfg.destroy))
		return;
	trace(sim, "%c is destroyed\n", 'A' + e->id);
	ooo_ep_to_reset(&e->core);
	sim_check(sim, !e->held && !e->allocated && e->alarm[A_TIMER] == NEVER,
		  "RESET leaves %u packets held, %lld bytes allocated, or a timer", e->held,
		  (long long)e->allocated);
	e->dead = true;
	e->destroyed = true;
	e->in_sqd = false;
	e->alarm[A_RESUME] = NEVER;
	if (!o->failed)
		o->first_failed = o->done;
	o->failed = true;
	for (; o->done != o->posted; o->done++)
		shadow_forget(e, sim_wr(o, o->done));
	sim->cfg.quota[e->id] = o->posted;
}

/* A program that has seen an error posts a little more, and then stops. */
static void limit_dead(struct sim_ep *e)
{
	struct sim *sim = e->sim;

	if (e->dead)
		sim->cfg.quota[e->id] = min_t(u32, sim->cfg.quota[e->id], e->out.done + SQ_MAX / 4);
	if (e->out.failed && e->out.posted - e->out.first_failed >= SQ_MAX)
		sim->cfg.quota[e->id] = e->out.posted;
}

void sim_post_some(struct sim_ep *e)
{
	struct sim *sim = e->sim;
	struct sim_out *o = &e->out;
	u32 n = rng_range(&sim->rng, 1, 8);
	bool full = false;

	if (e->destroyed)
		return;
	limit_dead(e);
	while (n-- && !full)
		full = !post_one(e);
	if (rng_chance(&sim->rng, sim->cfg.dereg))
		deregister(e);
	if (ooo_ep_post_send(&e->core, sim->now))
		sim_wake(e, A_RESUME, sim->now + rng_below(&sim->rng, 3000));
	maybe_kill(e);
	maybe_destroy(e);
	if (rng_chance(&sim->rng, sim->cfg.sqd))
		begin_sqd(e);
	/* When full, the next completion wakes us. */
	if (o->posted < sim->cfg.quota[e->id] && (!full || o->posted == o->done))
		sim_wake(e, A_POST, sim->now + (full ? 1000 : 1) +
			 rng_below(&sim->rng, sim->cfg.post_gap));
}
