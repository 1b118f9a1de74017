// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* core/env.h for the simulator: does what is asked, tells the model, and is unhelpful at random. */
#include <stdlib.h>
#include "sim.h"

static const u8 *payload(const struct ooo_pkt *pkt)
{
	return (const u8 *)pkt->payload + pkt->payload_off;
}

/* "A page is being brought in": the core has to come back. */
static bool later(struct sim_ep *e)
{
	struct sim *sim = e->sim;

	if (!rng_chance(&sim->rng, sim->cfg.later))
		return false;
	sim_wake(e, A_RESUME, sim->now + rng_below(&sim->rng, 50000));
	return true;
}

static void alive(struct sim_ep *e, const char *what)
{
	enum ooo_state s = e->core.state;

	sim_check(e->sim, s == OOO_RTR || s == OOO_RTS || s == OOO_SQD || s == OOO_SQE,
		  "%s in state %d", what, s);
}

/* --- send ring --- */

static void fill_swqe(struct sim_ep *e, const struct sim_wr *w, u32 index, struct ooo_swqe *q)
{
	memset(q, 0, e->core.sq_stride);
	q->wr_id = index;
	q->opcode = w->op;
	q->flags = w->flags;
	q->num_sge = w->nsge;
	q->length = w->len;
	q->imm = w->imm;
	q->remote_addr = w->va;
	q->rkey = w->rkey;
	q->flush = w->feth;
	if (e->core.attr.service == OOO_XRC_INI)
		q->xrc_srqn = w->fault == F_SRQ ? 9 : 7;
	if (w->op == OOO_WR_ATOMIC_WRITE) {
		memcpy(q->atomic_write, w->inl, 8);
	} else {
		q->compare_add = w->add;
		q->swap = w->swap;
	}
	if (w->flags & OOO_SEND_INLINE)
		memcpy(q->sge, w->inl, w->len);
	else
		memcpy(q->sge, w->sge, w->nsge * sizeof(w->sge[0]));
}

enum ooo_result ooo_env_sq_fetch(struct ooo_ep *ep, u32 index)
{
	struct sim_ep *e = sim_ep(ep);
	struct sim_out *o = &e->out;

	if (index == o->posted)
		return OOO_NONE;
	sim_check(e->sim, index == o->fetched, "send entry %u fetched, %u is next", index,
		  o->fetched);
	model_fetched(e, index);
	fill_swqe(e, sim_wr(o, index), index, ooo_sq_entry(ep, index));
	return sim_wr(o, index)->fault == F_MALFORMED ? OOO_INVALID : OOO_OK;
}

void ooo_env_send_done(struct ooo_ep *ep, u32 index, bool completion)
{
	struct sim_ep *e = sim_ep(ep);
	struct ooo_swqe *q = ooo_sq_entry(ep, index);

	e->idle_timers = 0;
	model_send_done(e, index, completion, q);
	memset(q, 0xdb, ep->sq_stride);
	if (!e->sim->draining && e->alarm[A_POST] == NEVER)
		sim_wake(e, A_POST, e->sim->now + rng_below(&e->sim->rng, e->sim->cfg.post_gap));
}

enum ooo_result ooo_env_local_op(struct ooo_ep *ep, const struct ooo_swqe *wqe)
{
	struct sim_ep *e = sim_ep(ep);
	u32 region = wqe->imm & 15;

	model_local_op(e, wqe);
	if (region >= R_WIN && region < R_NUM && e->mr[region].key == wqe->imm) {
		e->mr[region].valid = false;
		e->mr[region].retiring = false;
	}
	return OOO_OK;
}

/* --- receive ring --- */

enum ooo_result ooo_env_rq_fetch(struct ooo_ep *ep, u32 srqn, struct ooo_rwqe **rwqe)
{
	struct sim_ep *e = sim_ep(ep);
	struct sim_rq *r = &e->rq[e->rq_fetched & (RQ_MAX - 1)];

	sim_check(e->sim, !e->cur_valid, "a receive is fetched while another is in use");
	if (ep->attr.service == OOO_XRC_TGT && srqn != 7)
		return OOO_ACCESS;
	if (e->rq_fetched == e->rq_posted)
		return OOO_NONE;
	memcpy(e->cur_sge, r->sge, sizeof(r->sge));
	e->cur = (struct ooo_rwqe){
		.wr_id = r->wr_id,
		.num_sge = r->nsge,
		.length = r->length,
		.srqn = ep->attr.service == OOO_XRC_TGT ? srqn : 0,
		.sge = e->cur_sge,
	};
	e->cur_valid = true;
	e->rq_fetched++;
	*rwqe = &e->cur;
	return r->malformed ? OOO_INVALID : OOO_OK;
}

void ooo_env_recv_done(struct ooo_ep *ep, const struct ooo_recv_done *done)
{
	struct sim_ep *e = sim_ep(ep);

	e->idle_timers = 0;
	sim_check(e->sim, e->cur_valid, "a receive completes that was not fetched");
	model_recv_done(e, done);
	e->cur_valid = false;
	memset(&e->cur, 0xdb, sizeof(e->cur));
	sim_post_recv(e);
}

bool ooo_env_has_srq(struct ooo_ep *ep)
{
	return sim_ep(ep)->sim->cfg.srq[sim_ep(ep)->id];
}

/* --- memory --- */

enum ooo_result ooo_env_check(struct ooo_ep *ep, u32 rkey, u64 va, u64 len, u32 access)
{
	struct sim_ep *e = sim_ep(ep);

	alive(e, "access check");
	if (!len)
		return OOO_OK;
	return sim_mr_find(e, rkey, va, len, access) ? OOO_OK : OOO_ACCESS;
}

enum ooo_result ooo_env_write(struct ooo_ep *ep, u32 rkey, u64 va, const struct ooo_pkt *pkt)
{
	struct sim_ep *e = sim_ep(ep);
	struct sim_mr *mr;

	alive(e, "WRITE placement");
	if (later(e))
		return OOO_LATER;
	if (!pkt->payload_len)
		return OOO_OK;
	mr = sim_mr_find(e, rkey, va, pkt->payload_len, OOO_ACCESS_REMOTE_WRITE);
	if (!mr)
		return OOO_ACCESS;
	model_write(e, va, pkt, payload(pkt));
	memcpy(mr->mem + (va - mr->base), payload(pkt), pkt->payload_len);
	return OOO_OK;
}

enum ooo_result ooo_env_scatter_recv(struct ooo_ep *ep, struct ooo_rwqe *rwqe, u32 offset,
				     const struct ooo_pkt *pkt)
{
	struct sim_ep *e = sim_ep(ep);

	alive(e, "receive");
	sim_check(e->sim, e->cur_valid && rwqe == &e->cur, "scatter to a receive not in use");
	if (later(e))
		return OOO_LATER;
	if ((u64)offset + pkt->payload_len > rwqe->length)
		return OOO_LENGTH;
	if (!sim_scatter(e, rwqe->sge, rwqe->num_sge, offset, payload(pkt), pkt->payload_len))
		return OOO_ACCESS;
	model_scatter(e, offset, pkt, payload(pkt));
	return OOO_OK;
}

enum ooo_result ooo_env_scatter_read(struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 offset,
				     const struct ooo_pkt *pkt)
{
	struct sim_ep *e = sim_ep(ep);

	model_wr_of(e, wqe);
	if (later(e))
		return OOO_LATER;
	if (!sim_scatter(e, wqe->sge, wqe->num_sge, offset, payload(pkt), pkt->payload_len))
		return OOO_ACCESS;
	model_landed(e, offset, pkt);
	return OOO_OK;
}

enum ooo_result ooo_env_atomic_result(struct ooo_ep *ep, const struct ooo_swqe *wqe, u64 value)
{
	struct sim_ep *e = sim_ep(ep);
	u8 bytes[8];

	model_wr_of(e, wqe);
	if (later(e))
		return OOO_LATER;
	memcpy(bytes, &value, 8);
	if (!sim_scatter(e, wqe->sge, wqe->num_sge, 0, bytes, 8))
		return OOO_ACCESS;
	model_atomic_result(e, wqe, value);
	return OOO_OK;
}

enum ooo_result ooo_env_atomic(struct ooo_ep *ep, u32 rkey, u64 va, bool cmp_swap,
			       u64 compare_add, u64 swap, u64 *orig)
{
	struct sim_ep *e = sim_ep(ep);
	struct sim_mr *mr;
	u64 old, new;

	alive(e, "atomic");
	sim_check(e->sim, !(va & 7), "unaligned atomic executed");
	if (later(e))
		return OOO_LATER;
	mr = sim_mr_find(e, rkey, va, 8, OOO_ACCESS_REMOTE_ATOMIC);
	if (!mr)
		return OOO_ACCESS;
	memcpy(&old, mr->mem + (va - mr->base), 8);
	model_atomic(e, va, cmp_swap, compare_add, swap, old);
	new = cmp_swap ? (old == compare_add ? swap : old) : old + compare_add;
	memcpy(mr->mem + (va - mr->base), &new, 8);
	*orig = old;
	return OOO_OK;
}

enum ooo_result ooo_env_atomic_write(struct ooo_ep *ep, u32 rkey, u64 va,
				     const struct ooo_pkt *pkt)
{
	struct sim_ep *e = sim_ep(ep);
	struct sim_mr *mr;

	alive(e, "ATOMIC WRITE");
	sim_check(e->sim, !(va & 7), "unaligned ATOMIC WRITE executed");
	if (later(e))
		return OOO_LATER;
	mr = sim_mr_find(e, rkey, va, 8, OOO_ACCESS_REMOTE_WRITE);
	if (!mr)
		return OOO_ACCESS;
	model_atomic_write(e, va, pkt, payload(pkt));
	memcpy(mr->mem + (va - mr->base), payload(pkt), 8);
	return OOO_OK;
}

enum ooo_result ooo_env_flush(struct ooo_ep *ep, u32 rkey, u64 va, u64 len, u32 type, bool whole)
{
	struct sim_ep *e = sim_ep(ep);

	alive(e, "FLUSH");
	sim_check(e->sim, type & 3, "FLUSH of no type");
	if (later(e))
		return OOO_LATER;
	if (!whole && len && !sim_mr_find(e, rkey, va, len, OOO_ACCESS_FLUSH_GLOBAL))
		return OOO_ACCESS;
	model_flush(e, va, len);
	return OOO_OK;
}

enum ooo_result ooo_env_invalidate(struct ooo_ep *ep, u32 rkey)
{
	struct sim_ep *e = sim_ep(ep);
	u32 region = rkey & 15;

	alive(e, "invalidation");
	if (region < R_WIN || region >= R_NUM || e->mr[region].key != rkey ||
	    !e->mr[region].valid)
		return OOO_ACCESS;
	model_invalidate(e, rkey);
	e->mr[region].valid = false;
	return OOO_OK;
}

/* --- packets --- */

static bool refuse(struct sim_ep *e)
{
	struct sim *sim = e->sim;

	if (!rng_chance(&sim->rng, sim->cfg.again))
		return false;
	sim_wake(e, A_RESUME, sim->now + rng_below(&sim->rng, 20000));
	return true;
}

enum ooo_result ooo_env_emit(struct ooo_ep *ep, const struct ooo_hdr *hdr,
			     const struct ooo_source *src)
{
	struct sim_ep *e = sim_ep(ep);
	u32 info = ooo_opcode_info(hdr->opcode);
	enum ooo_result result;

	sim_check(e->sim, info, "unknown opcode 0x%02x emitted", hdr->opcode);
	if (refuse(e))
		return OOO_AGAIN;
	result = sim_net_send(e, hdr, src);
	if (result != OOO_OK)
		return result;
	e->idle_timers = 0;
	if (info & OOO_IS_REQUEST)
		model_request(e, hdr, src);
	else
		model_response(e, hdr, src);
	return OOO_OK;
}

struct ooo_pkt *ooo_env_hold(struct ooo_ep *ep, const struct ooo_pkt *pkt)
{
	struct sim_ep *e = sim_ep(ep);
	struct sim *sim = e->sim;
	struct ooo_pkt *copy;

	alive(e, "a packet is held");
	model_window(e, pkt);
	if (e->held >= sim->cfg.held_max || rng_chance(&sim->rng, sim->cfg.hold_null)) {
		sim->stats.refused++;
		return NULL;
	}
	copy = malloc(sizeof(*copy) + pkt->payload_len);
	*copy = *pkt;
	copy->payload = copy + 1;
	copy->payload_off = 0;
	memcpy(copy->payload, payload(pkt), pkt->payload_len);
	if (++e->held > e->held_peak)
		e->held_peak = e->held;
	return copy;
}

void ooo_env_release(struct ooo_ep *ep, struct ooo_pkt *pkt)
{
	struct sim_ep *e = sim_ep(ep);

	sim_check(e->sim, e->held, "a packet is released that was not held");
	e->held--;
	free(pkt);
}

void *ooo_env_alloc(struct ooo_ep *ep, u32 bytes)
{
	struct sim_ep *e = sim_ep(ep);

	sim_check(e->sim, bytes <= 4 << 20, "%u bytes asked for", bytes);
	if (rng_chance(&e->sim->rng, e->sim->cfg.alloc_null)) {
		e->sim->stats.refused++;
		return NULL;
	}
	e->allocated += bytes;
	sim_check(e->sim, e->allocated <= 1 << 20, "%lld bytes in use for reordering",
		  (long long)e->allocated);
	return calloc(1, bytes);
}

void ooo_env_free(struct ooo_ep *ep, void *mem, u32 bytes)
{
	struct sim_ep *e = sim_ep(ep);

	if (!mem)
		return;
	e->allocated -= bytes;
	free(mem);
}

/* --- time and events --- */

void ooo_env_arm(struct ooo_ep *ep, u64 deadline)
{
	struct sim_ep *e = sim_ep(ep);
	struct sim *sim = e->sim;

	if (deadline != NEVER)
		deadline = max_t(u64, deadline, sim->now) + rng_below(&sim->rng, 2000);
	e->alarm[A_TIMER] = deadline;
}

void ooo_env_kick(struct ooo_ep *ep)
{
	struct sim_ep *e = sim_ep(ep);

	sim_wake(e, A_RESUME, e->sim->now + rng_below(&e->sim->rng, 5000));
}

void ooo_env_event(struct ooo_ep *ep, enum ooo_event event)
{
	struct sim_ep *e = sim_ep(ep);

	trace(e->sim, "%c event %d\n", 'A' + e->id, event);
	if (event == OOO_EVENT_COMM_EST) {
		sim_check(e->sim, ep->state == OOO_RTR && !e->established,
			  "communication established event in state %d, or twice", ep->state);
		e->established = true;
	}
	if (event == OOO_EVENT_SQ_DRAINED) {
		sim_check(e->sim, e->in_sqd && !e->drained, "drained without being asked");
		e->drained = true;
	}
	if (event == OOO_EVENT_LAST_WQE) {
		sim_check(e->sim, ooo_env_has_srq(ep) && !e->last_wqe,
			  "last WQE event out of place");
		e->last_wqe = true;
	}
}

void ooo_env_state(struct ooo_ep *ep, enum ooo_state state)
{
	struct sim_ep *e = sim_ep(ep);

	trace(e->sim, "%c state %d\n", 'A' + e->id, state);
	if (state != OOO_ERR)
		return;
	e->dead = true;
	if (ep->attr.service != OOO_XRC_INI)	/* the program has not noticed yet */
		sim_wake(e, A_RECV, e->sim->now + rng_below(&e->sim->rng, 50000));
}
