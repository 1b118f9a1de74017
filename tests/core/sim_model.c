// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the requester may send, what it may place, and when its requests may complete. */
#include "sim.h"

static bool is_send(u8 op)
{
	return op == OOO_WR_SEND || op == OOO_WR_SEND_IMM || op == OOO_WR_SEND_INV;
}

static bool is_write(u8 op)
{
	return op == OOO_WR_WRITE || op == OOO_WR_WRITE_IMM;
}

static bool is_atomic(u8 op)
{
	return op == OOO_WR_CMP_SWAP || op == OOO_WR_FETCH_ADD;
}

/* Takes a responder resource: counted against max_rd_atomic. */
static bool is_rd_atomic(u8 op)
{
	return op == OOO_WR_READ || is_atomic(op);
}

bool sim_wr_has_receive(const struct sim_wr *w)
{
	return is_send(w->op) || w->op == OOO_WR_WRITE_IMM;
}

void model_reset(struct sim_ep *e)
{
	struct sim_out *o = &e->out;
	u32 i;

	memset(o, 0, sizeof(*o));
	for (i = 0; i < PSN_MAP; i++)
		o->map[i].psn = ~0u;
	o->next_psn = e->core.attr.sq_psn;
	o->exec_next = o->next_psn;
	o->order_next = o->next_psn;
	o->sent_next = o->next_psn;
	o->rnr_wait_psn = ~0u;
}

/* --- posting --- */

static u32 packets_of(const struct sim_wr *w, u32 mtu)
{
	if (w->op == OOO_WR_LOCAL_INV || w->fault == F_MALFORMED)
		return 0;
	if (is_send(w->op) || is_write(w->op) || w->op == OOO_WR_READ)
		return w->len ? (w->len + mtu - 1) / mtu : 1;
	return 1;
}

static u8 needs_of(const struct sim_wr *w, u32 plen, bool last)
{
	u8 data = plen ? DID_DATA : 0;

	switch (w->op) {
	case OOO_WR_READ:
		return DID_REPLY;
	case OOO_WR_CMP_SWAP:
	case OOO_WR_FETCH_ADD:
	case OOO_WR_FLUSH:
		return DID_EXEC | DID_REPLY;
	case OOO_WR_ATOMIC_WRITE:
		return DID_DATA | DID_REPLY;
	case OOO_WR_WRITE:
		return DID_ARRIVE | data;
	case OOO_WR_SEND_INV:
		return DID_ARRIVE | data | (last ? DID_RECV | DID_INV : 0);
	default:
		return DID_ARRIVE | data | (last ? DID_RECV : 0);
	}
}

static u32 plen_of(const struct sim_wr *w, u32 i, u32 mtu)
{
	if (w->op == OOO_WR_ATOMIC_WRITE)
		return 8;
	if (is_atomic(w->op) || w->op == OOO_WR_FLUSH)
		return 0;
	return min_t(u32, mtu, w->len - i * mtu);
}

/* The next record of the ring is filled in: give it its PSNs. */
void model_posted(struct sim_ep *e, struct sim_wr *w)
{
	struct sim_out *o = &e->out;
	u32 mtu = e->core.attr.mtu;
	u32 i;

	if (w->flags & OOO_SEND_FENCE)
		o->epoch++;
	w->epoch = o->epoch;
	w->psn = o->next_psn;
	w->packets = packets_of(w, mtu);
	for (i = 0; i < w->packets; i++) {
		u32 psn = psn_add(w->psn, i);
		struct sim_psn *p = &o->map[psn & (PSN_MAP - 1)];

		*p = (struct sim_psn){ .psn = psn, .wr = o->posted };
		p->plen = plen_of(w, i, mtu);
		p->need = needs_of(w, p->plen, i == w->packets - 1);
	}
	o->next_psn = psn_add(o->next_psn, w->packets);
	e->sim->stats.requests += w->packets;
	o->posted++;
}

void model_fetched(struct sim_ep *e, u32 index)
{
	e->out.fetched = index + 1;
}

/* Moves the marks over all PSNs that have had what they need. */
void model_advance(struct sim_out *o)
{
	struct sim_psn *p;

	while (o->exec_next != o->next_psn) {
		p = sim_psn(o, o->exec_next);
		if ((p->got & p->need) != p->need)
			break;
		o->exec_next = psn_add(o->exec_next, 1);
		o->moved = true;
	}
	while (o->order_next != o->next_psn) {
		p = sim_psn(o, o->order_next);
		if (((p->got | DID_REPLY) & p->need) != p->need)
			break;
		o->order_next = psn_add(o->order_next, 1);
	}
}

/* --- starting --- */

static bool wr_complete(const struct sim_wr *w, const struct sim_out *o)
{
	if (w->op == OOO_WR_LOCAL_INV)
		return w->result;
	if (psn_diff(o->exec_next, psn_add(w->psn, w->packets)) < 0)
		return false;
	if (w->op == OOO_WR_READ)
		return !w->len || w->landed == w->packets;
	return !is_atomic(w->op) || w->result;
}

static void check_fence(struct sim_ep *e, u32 index)
{
	struct sim_out *o = &e->out;
	u32 k;

	for (k = o->done; k != index; k++) {
		struct sim_wr *v = sim_wr(o, k);

		if (!e->core.attr.ooo && !is_rd_atomic(v->op))
			continue;
		sim_check(e->sim, wr_complete(v, o),
			  "fenced request %u starts before request %u is complete", index, k);
	}
}

static void check_resources(struct sim_ep *e, u32 index)
{
	struct sim_out *o = &e->out;
	u32 k, busy = 0;

	for (k = o->done; k != index; k++)
		if (is_rd_atomic(sim_wr(o, k)->op) && !wr_complete(sim_wr(o, k), o))
			busy++;
	sim_check(e->sim, busy < e->core.attr.max_rd_atomic,
		  "request %u: %u READs and atomics outstanding, max_rd_atomic %u",
		  index, busy + 1, e->core.attr.max_rd_atomic);
}

static void start(struct sim_ep *e, struct sim_wr *w, u32 index)
{
	struct sim_out *o = &e->out;

	sim_check(e->sim, index == o->done || sim_wr(o, index - 1)->started,
		  "request %u starts before %u", index, index - 1);
	sim_check(e->sim, !e->in_sqd, "request %u starts in SQD", index);
	if (w->flags & OOO_SEND_FENCE)
		check_fence(e, index);
	if (is_rd_atomic(w->op))
		check_resources(e, index);
	w->started = true;
	w->started_at = e->sim->now;
}

/* --- emitting --- */

static u8 expected_op(const struct sim_wr *w, u32 i, bool row)
{
	bool first = i == 0, last = i == w->packets - 1;

	switch (w->op) {
	case OOO_WR_SEND:
	case OOO_WR_SEND_IMM:
	case OOO_WR_SEND_INV:
		if (!last)
			return first ? OOO_OP_SEND_FIRST : OOO_OP_SEND_MIDDLE;
		if (w->op == OOO_WR_SEND)
			return first ? OOO_OP_SEND_ONLY : OOO_OP_SEND_LAST;
		if (w->op == OOO_WR_SEND_IMM)
			return first ? OOO_OP_SEND_ONLY_IMM : OOO_OP_SEND_LAST_IMM;
		return first ? OOO_OP_SEND_ONLY_INV : OOO_OP_SEND_LAST_INV;
	case OOO_WR_WRITE:
		if (row)
			return OOO_OP_WRITE_ONLY;
		fallthrough;
	case OOO_WR_WRITE_IMM:
		if (!last)
			return first ? OOO_OP_WRITE_FIRST : OOO_OP_WRITE_MIDDLE;
		if (w->op == OOO_WR_WRITE)
			return first ? OOO_OP_WRITE_ONLY : OOO_OP_WRITE_LAST;
		return first ? OOO_OP_WRITE_ONLY_IMM : OOO_OP_WRITE_LAST_IMM;
	case OOO_WR_READ:
		return OOO_OP_READ_REQUEST;
	case OOO_WR_CMP_SWAP:
		return OOO_OP_CMP_SWAP;
	case OOO_WR_FETCH_ADD:
		return OOO_OP_FETCH_ADD;
	case OOO_WR_FLUSH:
		return OOO_OP_FLUSH;
	default:
		return OOO_OP_ATOMIC_WRITE;
	}
}

static void check_reth(struct sim_ep *e, const struct sim_wr *w, u32 i, const struct ooo_hdr *h)
{
	u32 mtu = e->core.attr.mtu;
	u32 len = w->len, off = 0;

	if (w->op == OOO_WR_READ || w->row) {
		off = i * mtu;
		len = w->row ? min_t(u32, mtu, w->len - off) : h->dma_len;
	}
	sim_check(e->sim, h->va == w->va + off && h->rkey == w->rkey && h->dma_len == len,
		  "%s has RETH va %llx key %x length %u", sim_op_name(h->opcode),
		  (unsigned long long)h->va, h->rkey, h->dma_len);
	if (w->op != OOO_WR_READ)
		return;
	len = w->len - off;
	sim_check(e->sim, h->dma_len <= len && (h->dma_len || !w->len) &&
		  (h->dma_len == len || h->dma_len % mtu == 0),
		  "READ request of %u bytes at offset %u of %u", h->dma_len, off, w->len);
}

static void check_fields(struct sim_ep *e, const struct sim_wr *w, u32 i, const struct ooo_hdr *h)
{
	u32 info = ooo_opcode_info(h->opcode);
	bool last = i == w->packets - 1;

	if (info & OOO_HAS_RETH)
		check_reth(e, w, i, h);
	if (info & OOO_HAS_ATOMIC)
		sim_check(e->sim, h->va == w->va && h->rkey == w->rkey &&
			  (w->op == OOO_WR_FETCH_ADD ? h->swap_add == w->add :
			   h->compare == w->add && h->swap_add == w->swap),
			  "wrong AtomicETH");
	if (info & (OOO_HAS_IMM | OOO_HAS_IETH))
		sim_check(e->sim, h->imm == w->imm, "wrong immediate or key");
	if (info & OOO_HAS_FETH)
		sim_check(e->sim, h->feth == w->feth, "wrong FETH");
	if (info & OOO_HAS_XRCETH)
		sim_check(e->sim, h->srqn == (w->fault == F_SRQ ? 9 : 7), "wrong XRCETH");
	if (last && sim_wr_has_receive(w))
		sim_check(e->sim, h->solicited == !!(w->flags & OOO_SEND_SOLICITED),
			  "wrong solicited bit");
}

static void check_source(struct sim_ep *e, const struct sim_wr *w, const struct sim_psn *p,
			 u32 i, const struct ooo_source *src)
{
	u32 len = src->kind == OOO_SRC_NONE ? 0 : src->len;

	if (w->op == OOO_WR_READ) {
		sim_check(e->sim, !len, "READ request with payload");
		return;
	}
	sim_check(e->sim, len == p->plen, "%u bytes at PSN %06x, expected %u", len, p->psn,
		  p->plen);
	if (!len || w->op == OOO_WR_ATOMIC_WRITE)
		return;
	sim_check(e->sim, src->kind == OOO_SRC_SWQE && src->wqe->wr_id == p->wr &&
		  src->offset == i * e->core.attr.mtu,
		  "PSN %06x takes its data from the wrong place", p->psn);
}

static bool ends_message(u8 opcode)
{
	return ooo_opcode_info(opcode) & OOO_IS_LAST;
}

/* What the peer's MSN will be after these PSNs; a READ counts at its request. */
static void count_message(struct sim_out *o, u32 psn, u32 covers, bool ends)
{
	u32 i;

	o->msn = psn_add(o->msn, ends);
	for (i = 0; i < covers; i++) {
		struct sim_psn *p = sim_psn(o, psn_add(psn, i));

		p->msn = o->msn;
		p->first = i == 0;
		p->last = i == covers - 1;
	}
}

/* Towards a peer that reports what it has, the window is another matter (sim_rate.c). */
static u32 window(const struct sim_ep *e)
{
	return e->peer_shown && e->tun.sack ? OOO_WINDOW_MAX : e->tun.window;
}

static void check_new_psn(struct sim_ep *e, const struct sim_psn *p, const struct ooo_hdr *h)
{
	struct sim_out *o = &e->out;
	u32 covers = 1;

	sim_check(e->sim, p->psn == o->sent_next, "PSN %06x sent, %06x is next", p->psn,
		  o->sent_next);
	if (OOO_BTH_OP(h->opcode) == OOO_OP_READ_REQUEST && h->dma_len)
		covers = (h->dma_len + e->core.attr.mtu - 1) / e->core.attr.mtu;
	sim_check(e->sim, psn_diff(p->psn, o->exec_next) + (s32)covers <= (s32)window(e),
		  "PSN %06x and %u more are beyond the window, %06x is executed", p->psn,
		  covers - 1, o->exec_next);
	count_message(o, p->psn, covers, ends_message(h->opcode));
	o->sent_next = psn_add(o->sent_next, covers);
}

/* Nothing goes to a receiver that is not ready before it said that it may be. */
static void check_rnr_wait(struct sim_ep *e, u32 psn)
{
	struct sim_out *o = &e->out;

	sim_check(e->sim, psn != o->rnr_wait_psn || e->sim->now >= o->rnr_wait_until,
		  "PSN %06x sent again %llu us too early after an RNR NAK", psn,
		  (unsigned long long)(o->rnr_wait_until - e->sim->now) / 1000);
	if (psn == o->rnr_wait_psn)
		o->rnr_told = false;
}

/* What is sent again says so, to a peer that understands it. */
static void check_marked(struct sim_ep *e, const struct ooo_hdr *h)
{
	bool want = e->tun.sack && e->peer_shown;

	sim_check(e->sim, !!(h->rsvd7 & OOO_BTH_RETX) == want, "PSN %06x sent again %s RETX",
		  h->psn, want ? "without" : "with");
}

/* A request leaves. */
void model_request(struct sim_ep *e, const struct ooo_hdr *h, const struct ooo_source *src)
{
	struct sim_out *o = &e->out;
	struct sim_psn *p = sim_psn(o, h->psn);
	struct sim *sim = e->sim;
	struct sim_wr *w;
	u32 i;

	sim_check(sim, e->core.state == OOO_RTS || e->core.state == OOO_SQD,
		  "request sent in state %d", e->core.state);
	sim_check(sim, p && (s32)(p->wr - o->done) >= 0 && (s32)(o->fetched - p->wr) > 0,
		  "request sent with PSN %06x that belongs to nothing outstanding", h->psn);
	w = sim_wr(o, p->wr);
	i = (u32)psn_diff(h->psn, w->psn);
	if (!w->started) {
		start(e, w, p->wr);
		w->row = w->op == OOO_WR_WRITE && w->packets > 1 &&
			 OOO_BTH_OP(h->opcode) == OOO_OP_WRITE_ONLY;
	}
	sim_check(sim, OOO_BTH_OP(h->opcode) == expected_op(w, i, w->row),
		  "packet %u of %u of request %u (op %u) is a %s", i, w->packets, p->wr, w->op,
		  sim_op_name(h->opcode));
	check_source(e, w, p, i, src);
	check_fields(e, w, i, h);
	check_rnr_wait(e, h->psn);
	model_bits(e, h);
	if (psn_diff(h->psn, o->sent_next) < 0) {
		sim->stats.retransmitted++;
		check_marked(e, h);
	} else {
		sim_check(sim, !(h->rsvd7 & OOO_BTH_RETX), "PSN %06x is marked RETX, but new",
			  h->psn);
		check_new_psn(e, p, h);
	}
}

/* --- what comes back --- */

struct sim_wr *model_wr_of(struct sim_ep *e, const struct ooo_swqe *wqe)
{
	struct sim_out *o = &e->out;
	u32 index = (u32)wqe->wr_id;

	sim_check(e->sim, (s32)(index - o->done) >= 0 && (s32)(o->fetched - index) > 0,
		  "a result for request %u that is not outstanding", index);
	sim_check(e->sim, e->core.state == OOO_RTS || e->core.state == OOO_SQD,
		  "a result is stored in state %d", e->core.state);
	return sim_wr(o, index);
}

static void check_landing_order(struct sim_ep *e, const struct sim_wr *w, u32 index, u32 i)
{
	struct sim_out *o = &e->out;
	u32 k;

	sim_check(e->sim, i == w->landed, "READ packet %u placed, %u is next", i, w->landed);
	for (k = o->done; i == 0 && k != index; k++)
		sim_check(e->sim, sim_wr(o, k)->op != OOO_WR_READ || wr_complete(sim_wr(o, k), o),
			  "READ data of request %u placed before that of %u", index, k);
}

/* READ data was scattered at @offset of the request that the PSN belongs to. */
void model_landed(struct sim_ep *e, u32 offset, const struct ooo_pkt *pkt)
{
	struct sim_out *o = &e->out;
	struct sim_psn *p = sim_psn(o, pkt->h.psn);
	struct sim *sim = e->sim;
	struct sim_wr *w;
	u32 i;

	sim_check(sim, p && (s32)(p->wr - o->done) >= 0, "READ data for PSN %06x", pkt->h.psn);
	w = sim_wr(o, p->wr);
	sim_check(sim, w->op == OOO_WR_READ, "READ data for PSN %06x, not a READ", p->psn);
	i = (u32)psn_diff(p->psn, w->psn);
	sim_check(sim, offset == i * e->core.attr.mtu && pkt->payload_len == p->plen,
		  "READ data of PSN %06x: %u bytes at offset %u", p->psn, pkt->payload_len, offset);
	sim_check(sim, !(p->got & DID_LAND), "READ data of PSN %06x placed twice", p->psn);
	if (!e->core.attr.ooo)
		check_landing_order(e, w, p->wr, i);
	p->got |= DID_LAND;
	w->landed++;
	o->moved = true;
}

void model_atomic_result(struct sim_ep *e, const struct ooo_swqe *wqe, u64 value)
{
	struct sim_wr *w = model_wr_of(e, wqe);
	struct sim_psn *p = sim_psn(&e->out, w->psn);

	sim_check(e->sim, is_atomic(w->op) && !w->result, "atomic result stored twice");
	sim_check(e->sim, p && p->got & DID_EXEC, "atomic result before it was executed");
	sim_check(e->sim, value == p->orig, "atomic returned %llx, memory held %llx",
		  (unsigned long long)value, (unsigned long long)p->orig);
	w->result = true;
}

void model_local_op(struct sim_ep *e, const struct ooo_swqe *wqe)
{
	struct sim_wr *w = model_wr_of(e, wqe);

	sim_check(e->sim, w->op == OOO_WR_LOCAL_INV && !w->result, "local operation run twice");
	start(e, w, (u32)wqe->wr_id);
	w->result = true;
}

/* --- completion --- */

/* Data of @w as the consumer gave it. */
void model_expect(struct sim_ep *e, const struct sim_wr *w, u32 off, u8 *data, u32 len)
{
	if (w->op == OOO_WR_ATOMIC_WRITE || w->flags & OOO_SEND_INLINE)
		memcpy(data, w->inl + off, len);
	else
		sim_gather(e, w->sge, w->nsge, off, data, len);
}

static void check_success(struct sim_ep *e, struct sim_wr *w, u32 index)
{
	struct sim_out *o = &e->out;

	sim_check(e->sim, !o->failed, "request %u succeeds after one that failed", index);
	sim_check(e->sim, w->fate != FATE_ERR, "request %u (op %u, fault %u) must not succeed",
		  index, w->op, w->fault);
	sim_check(e->sim, wr_complete(w, o), "request %u (op %u) completes before it is done",
		  index, w->op);
	sim_check(e->sim, !sim_wr_has_receive(w) || w->received,
		  "request %u completes before its receive", index);
	if (w->op == OOO_WR_READ)
		shadow_read_done(e, w);
	else if (is_write(w->op))
		shadow_write_done(e, w);
}

static void check_retry_time(struct sim_ep *e, const struct sim_wr *w, u32 index)
{
	struct sim_out *o = &e->out;
	const struct ooo_attr *a = &e->core.attr;
	u64 limit = (4096ull << a->timeout) * (a->retry_cnt + 1u);
	u64 from = max_t(u64, w->started_at, o->last_done);
	u64 now = e->sim->now;

	/* A READ whose memory went away may never be answered again. */
	sim_check(e->sim, e->sim->cfg.dead || e->peer->dead ||
		  (w->op == OOO_WR_READ && w->fate == FATE_MAYBE),
		  "request %u (op %u): retries exhausted, but packets do arrive", index, w->op);
	sim_check(e->sim, a->timeout, "retries exhausted with timeout 0");
	sim_check(e->sim, now - from >= limit, "retries exhausted after %llu us, not %llu",
		  (unsigned long long)(now - from) / 1000, (unsigned long long)limit / 1000);
	from = max_t(u64, from, o->last_response);
	sim_check(e->sim, now - from <= 4 * limit + MS, "retries exhausted only after %llu us",
		  (unsigned long long)(now - from) / 1000);
}

static u8 status_of_nak(u8 code)
{
	switch (code) {
	case OOO_NAK_INVALID:
		return OOO_WC_REM_INV_REQ_ERR;
	case OOO_NAK_ACCESS:
		return OOO_WC_REM_ACCESS_ERR;
	default:
		return OOO_WC_REM_OP_ERR;
	}
}

static void check_remote_error(struct sim_ep *e, const struct sim_wr *w, u32 index, u8 status)
{
	struct sim_out *o = &e->out;
	s32 i = psn_diff(o->nak_psn, w->psn);

	sim_check(e->sim, o->nak && i >= 0 && i < (s32)w->packets &&
		  status == status_of_nak(o->nak_code),
		  "request %u (op %u) fails with status %u that the peer did not report",
		  index, w->op, status);
}

static void check_first_error(struct sim_ep *e, const struct sim_wr *w, u32 index, u8 status)
{
	switch (status) {
	case OOO_WC_REM_INV_REQ_ERR:
	case OOO_WC_REM_ACCESS_ERR:
	case OOO_WC_REM_OP_ERR:
		check_remote_error(e, w, index, status);
		break;
	case OOO_WC_RETRY_EXC_ERR:
		check_retry_time(e, w, index);
		break;
	case OOO_WC_RNR_RETRY_EXC_ERR:
		sim_check(e->sim, e->core.attr.rnr_retry < 7 &&
			  e->out.rnr_naks > e->core.attr.rnr_retry,
			  "request %u: RNR retries exhausted after %u RNR NAKs", index,
			  e->out.rnr_naks);
		break;
	case OOO_WC_WR_FLUSH_ERR:
		sim_check(e->sim, e->dead, "request %u flushed on a QP in state %d", index,
			  e->core.state);
		break;
	default:
		sim_check(e->sim, w->fate == FATE_ERR && status == w->status,
			  "request %u (op %u, fault %u) fails with status %u", index, w->op,
			  w->fault, status);
	}
}

static void check_failure(struct sim_ep *e, struct sim_wr *w, u32 index, u8 status)
{
	struct sim_out *o = &e->out;

	e->sim->stats.errors++;
	if (o->failed)
		sim_check(e->sim, status == OOO_WC_WR_FLUSH_ERR,
			  "request %u has status %u after the first error", index, status);
	else
		check_first_error(e, w, index, status);
	if (!o->failed)
		o->first_failed = index;
	o->failed = true;
	e->dead = true;
	shadow_forget(e, w);
}

void model_send_done(struct sim_ep *e, u32 index, bool completion, const struct ooo_swqe *wqe)
{
	struct sim_out *o = &e->out;
	struct sim_wr *w = sim_wr(o, index);
	bool want = e->core.attr.sq_sig_all || w->flags & OOO_SEND_SIGNALED ||
		    wqe->status != OOO_WC_SUCCESS;

	trace(e->sim, "%c send %u (op %u, psn %06x) done, status %u\n", 'A' + e->id, index,
	      w->op, w->psn, wqe->status);
	sim_check(e->sim, index == o->done && (s32)(o->fetched - index) > 0,
		  "request %u completes, %u is next", index, o->done);
	sim_check(e->sim, completion == want, "request %u: completion %s", index,
		  want ? "missing" : "not asked for");
	if (wqe->status == OOO_WC_SUCCESS)
		check_success(e, w, index);
	else
		check_failure(e, w, index, wqe->status);
	e->sim->stats.completions++;
	o->last_done = e->sim->now;
	o->moved = true;
	o->done++;
}
