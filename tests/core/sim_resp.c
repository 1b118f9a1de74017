// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the responder may execute, in which order, and what it may answer. */
#include "sim.h"

static struct sim_out *requests_to(struct sim_ep *e)
{
	return &e->peer->out;
}

static void did(struct sim_out *o, struct sim_psn *p, u8 what)
{
	p->got |= what;
	model_advance(o);
}

/* Everything with a lower PSN has been executed. */
static void check_turn(struct sim_ep *e, u32 psn, const char *what)
{
	struct sim_out *o = requests_to(e);

	sim_check(e->sim, psn_diff(o->order_next, psn) >= 0,
		  "%s of PSN %06x executed, but %06x is not", what, psn, o->order_next);
}

/* A packet's record; its request must still be outstanding. */
static struct sim_psn *live_psn(struct sim_ep *e, u32 psn, struct sim_wr **w, const char *what)
{
	struct sim_out *o = requests_to(e);
	struct sim_psn *p = sim_psn(o, psn);

	sim_check(e->sim, p, "%s of PSN %06x that was never sent", what, psn);
	sim_check(e->sim, (s32)(p->wr - sim_first_live(o)) >= 0,
		  "%s of PSN %06x, whose request has completed", what, psn);
	*w = sim_wr(o, p->wr);
	return p;
}

/* IBTA table 46, in units of 10 us. */
static const u32 rnr_10us[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
	1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

/* @e is told to wait; a second copy before it sends again changes nothing. */
static void rnr_arrived(struct sim_ep *e, const struct ooo_hdr *h)
{
	struct sim_out *o = &e->out;

	if (h->psn != o->exec_next || (o->rnr_told && o->rnr_wait_psn == h->psn))
		return;
	o->rnr_told = true;
	o->rnr_wait_psn = h->psn;
	o->rnr_wait_until = e->sim->now + 10000ull * rnr_10us[OOO_AETH_VALUE(h->syndrome)];
}

static void response_arrived(struct sim_ep *e, const struct ooo_hdr *h)
{
	e->out.last_response = e->sim->now;
	if (OOO_BTH_OP(h->opcode) == OOO_OP_ACK &&
	    OOO_AETH_CLASS(h->syndrome) == OOO_AETH_RNR)
		rnr_arrived(e, h);
}

void model_arrived(struct sim_ep *e, const struct ooo_hdr *h)
{
	struct sim_psn *p;

	if (ooo_opcode_info(h->opcode) & OOO_IS_RESPONSE) {
		response_arrived(e, h);
		return;
	}
	p = sim_psn(requests_to(e), h->psn);
	if (p)
		p->arrived = true;
	if (p && !e->dead)
		did(requests_to(e), p, DID_ARRIVE);
}

static void check_data(struct sim_ep *e, const struct sim_wr *w, const struct sim_psn *p,
		       const u8 *data, u32 len)
{
	u32 off = (u32)psn_diff(p->psn, w->psn) * e->core.attr.mtu;
	u8 want[4096];

	sim_check(e->sim, len == p->plen, "%u bytes of PSN %06x, expected %u", len, p->psn,
		  p->plen);
	sim_check(e->sim, !(p->got & DID_DATA), "data of PSN %06x placed twice", p->psn);
	model_expect(e->peer, w, off, want, len);
	sim_check(e->sim, !memcmp(want, data, len), "wrong data placed for PSN %06x", p->psn);
}

void model_write(struct sim_ep *e, u64 va, const struct ooo_pkt *pkt, const u8 *data)
{
	struct sim_wr *w;
	struct sim_psn *p = live_psn(e, pkt->h.psn, &w, "WRITE");
	u32 off = (u32)psn_diff(p->psn, w->psn) * e->core.attr.mtu;

	sim_check(e->sim, w->op == OOO_WR_WRITE || w->op == OOO_WR_WRITE_IMM,
		  "WRITE of PSN %06x, not a WRITE", p->psn);
	sim_check(e->sim, va == w->va + off, "WRITE of PSN %06x placed at %llx, not %llx", p->psn,
		  (unsigned long long)va, (unsigned long long)(w->va + off));
	check_data(e, w, p, data, pkt->payload_len);
	if (!e->core.attr.ooo)
		check_turn(e, p->psn, "WRITE");
	model_window(e, pkt);
	did(requests_to(e), p, DID_DATA);
}

void model_scatter(struct sim_ep *e, u32 offset, const struct ooo_pkt *pkt, const u8 *data)
{
	struct sim_wr *w;
	struct sim_psn *p = live_psn(e, pkt->h.psn, &w, "SEND");

	sim_check(e->sim, sim_wr_has_receive(w) && w->op != OOO_WR_WRITE_IMM,
		  "receive data for PSN %06x, not a SEND", p->psn);
	sim_check(e->sim, offset == (u32)psn_diff(p->psn, w->psn) * e->core.attr.mtu,
		  "SEND of PSN %06x placed at offset %u", p->psn, offset);
	if (!pkt->payload_len)
		return;
	check_data(e, w, p, data, pkt->payload_len);
	check_turn(e, p->psn, "SEND");
	did(requests_to(e), p, DID_DATA);
}

/* --- operations that come without a packet: matched in posting order --- */

/* A cursor never lags behind the requests that the ring still knows. */
static void catch_up(const struct sim_out *o, u32 *cursor)
{
	if ((s32)(*cursor - sim_first_live(o)) < 0)
		*cursor = sim_first_live(o);
}

static bool is_exec(u8 op)
{
	return op == OOO_WR_CMP_SWAP || op == OOO_WR_FETCH_ADD || op == OOO_WR_FLUSH;
}

static struct sim_wr *next_exec(struct sim_ep *e, const char *what, struct sim_psn **p)
{
	struct sim_out *o = requests_to(e);
	struct sim_wr *w;

	catch_up(o, &o->exec_at);
	while (o->exec_at != o->posted && !is_exec(sim_wr(o, o->exec_at)->op))
		o->exec_at++;
	sim_check(e->sim, o->exec_at != o->posted, "%s executed that nobody asked for", what);
	w = sim_wr(o, o->exec_at++);
	*p = sim_psn(o, w->psn);
	check_turn(e, w->psn, what);
	return w;
}

static void apply_atomic(struct sim_ep *e, const struct sim_wr *w, u64 orig)
{
	u64 *word = &e->atom[(w->va - e->mr[R_ATOM].base) / 8];

	sim_check(e->sim, orig == *word, "atomic finds %llx in memory, expected %llx",
		  (unsigned long long)orig, (unsigned long long)*word);
	if (w->op == OOO_WR_FETCH_ADD)
		*word += w->add;
	else if (*word == w->add)
		*word = w->swap;
}

void model_atomic(struct sim_ep *e, u64 va, bool cmp_swap, u64 a, u64 b, u64 orig)
{
	struct sim_psn *p;
	struct sim_wr *w = next_exec(e, "atomic", &p);

	sim_check(e->sim, w->op == (cmp_swap ? OOO_WR_CMP_SWAP : OOO_WR_FETCH_ADD) &&
		  w->va == va && w->add == a && (!cmp_swap || w->swap == b),
		  "atomic executed that is not the next one (twice?)");
	apply_atomic(e, w, orig);
	p->orig = orig;
	did(requests_to(e), p, DID_EXEC);
}

void model_flush(struct sim_ep *e, u64 va, u64 len)
{
	struct sim_psn *p;
	struct sim_wr *w = next_exec(e, "FLUSH", &p);

	sim_check(e->sim, w->op == OOO_WR_FLUSH && w->va == va && w->len == len,
		  "FLUSH executed that is not the next one");
	did(requests_to(e), p, DID_EXEC);
}

void model_atomic_write(struct sim_ep *e, u64 va, const struct ooo_pkt *pkt, const u8 *data)
{
	struct sim_wr *w;
	struct sim_psn *p = live_psn(e, pkt->h.psn, &w, "ATOMIC WRITE");

	sim_check(e->sim, w->op == OOO_WR_ATOMIC_WRITE && w->va == va,
		  "ATOMIC WRITE of PSN %06x at the wrong place", p->psn);
	check_data(e, w, p, data, pkt->payload_len);
	check_turn(e, p->psn, "ATOMIC WRITE");
	if (w->region == R_ATOM)
		memcpy(&e->atom[(va - e->mr[R_ATOM].base) / 8], data, 8);
	did(requests_to(e), p, DID_DATA);
}

/* --- receives --- */

static u32 last_psn(const struct sim_wr *w)
{
	return psn_add(w->psn, w->packets - 1);
}

static void check_data_done(struct sim_ep *e, const struct sim_psn *p, const char *what)
{
	sim_check(e->sim, !(p->need & DID_DATA) || p->got & DID_DATA,
		  "%s before the data of PSN %06x", what, p->psn);
}

void model_invalidate(struct sim_ep *e, u32 rkey)
{
	struct sim_out *o = requests_to(e);
	struct sim_psn *p;
	struct sim_wr *w;

	catch_up(o, &o->inv_at);
	while (o->inv_at != o->posted && sim_wr(o, o->inv_at)->op != OOO_WR_SEND_INV)
		o->inv_at++;
	sim_check(e->sim, o->inv_at != o->posted, "invalidation that nobody asked for");
	w = sim_wr(o, o->inv_at++);
	sim_check(e->sim, w->imm == rkey, "wrong key invalidated");
	p = sim_psn(o, last_psn(w));
	check_turn(e, p->psn, "invalidation");
	check_data_done(e, p, "invalidation");
	did(o, p, DID_INV);
}

static struct sim_wr *next_recv(struct sim_ep *e)
{
	struct sim_out *o = requests_to(e);

	catch_up(o, &o->recv_at);
	while (o->recv_at != o->posted && !sim_wr_has_receive(sim_wr(o, o->recv_at)))
		o->recv_at++;
	sim_check(e->sim, o->recv_at != o->posted, "receive completion without a message");
	return sim_wr(o, o->recv_at);
}

static void check_recv_fields(struct sim_ep *e, const struct sim_wr *w,
			      const struct ooo_recv_done *d)
{
	bool imm = w->op == OOO_WR_SEND_IMM || w->op == OOO_WR_WRITE_IMM;
	bool inv = w->op == OOO_WR_SEND_INV;

	sim_check(e->sim, d->byte_len == w->len, "byte_len %u of a message of %u", d->byte_len,
		  w->len);
	sim_check(e->sim, d->is_write == (w->op == OOO_WR_WRITE_IMM) && d->has_imm == imm &&
		  d->has_inv == inv && (!(imm || inv) || d->imm == w->imm),
		  "receive completion of the wrong kind");
	sim_check(e->sim, d->solicited == !!(w->flags & OOO_SEND_SOLICITED),
		  "solicited flag is %d", d->solicited);
	sim_check(e->sim, e->core.attr.service != OOO_XRC_TGT || d->srqn == 7, "wrong SRQ number");
}

static void check_recv_data(struct sim_ep *e, const struct sim_wr *w, const struct sim_rq *r)
{
	static u8 want[1 << 20], got[1 << 20];

	if (w->op == OOO_WR_WRITE_IMM || !w->len)
		return;
	model_expect(e->peer, w, 0, want, w->len);
	sim_gather(e, r->sge, r->nsge, 0, got, w->len);
	sim_check(e->sim, !memcmp(want, got, w->len), "received data is wrong");
}

static void recv_success(struct sim_ep *e, const struct sim_rq *r, const struct ooo_recv_done *d)
{
	struct sim_out *o = requests_to(e);
	struct sim_wr *w = next_recv(e);
	struct sim_psn *p = sim_psn(o, last_psn(w));

	o->recv_at++;
	check_turn(e, p->psn, "receive completion");
	check_data_done(e, p, "receive completion");
	sim_check(e->sim, !(p->need & DID_INV) || p->got & DID_INV,
		  "receive completion before the invalidation");
	check_recv_fields(e, w, d);
	check_recv_data(e, w, r);
	w->received = true;
	did(o, p, DID_RECV);
}

static void recv_failure(struct sim_ep *e, const struct sim_rq *r, const struct ooo_recv_done *d)
{
	struct sim_wr *w;

	if (d->status == OOO_WC_WR_FLUSH_ERR) {
		sim_check(e->sim, e->dead, "receive flushed on a live QP");
		return;
	}
	w = next_recv(e);
	sim_check(e->sim, (d->status == OOO_WC_LOC_LEN_ERR && w->fault == F_TOO_LONG) ||
		  (d->status == OOO_WC_LOC_PROT_ERR && r->bad) ||
		  (d->status == OOO_WC_LOC_QP_OP_ERR && r->malformed) || w->fate != FATE_OK,
		  "receive fails with status %u", d->status);
	e->recv_failed = true;
}

void model_recv_done(struct sim_ep *e, const struct ooo_recv_done *d)
{
	struct sim_rq *r = &e->rq[e->rq_done & (RQ_MAX - 1)];

	trace(e->sim, "%c receive %llu done, status %u, %u bytes\n", 'A' + e->id,
	      (unsigned long long)d->wr_id, d->status, d->byte_len);
	sim_check(e->sim, e->rq_done + 1 == e->rq_fetched, "a receive completes out of turn");
	sim_check(e->sim, d->wr_id == r->wr_id, "receive %llu completes, %llu is next",
		  (unsigned long long)d->wr_id, (unsigned long long)r->wr_id);
	if (d->status == OOO_WC_SUCCESS)
		recv_success(e, r, d);
	else
		recv_failure(e, r, d);
	e->rq_done++;
	e->sim->stats.completions++;
}

/* --- answers --- */

/* All PSNs below @psn are executed and, where they ask for it, answered. */
static void check_cumulative(struct sim_ep *e, u32 psn, const char *what)
{
	struct sim_out *o = requests_to(e);

	sim_check(e->sim, psn_diff(o->exec_next, psn) >= 0,
		  "%s for PSN %06x, but %06x is not executed or not answered", what, psn,
		  o->exec_next);
}

/* The MSN says how many messages have been executed up to @psn (IBTA 9.7.7.1). */
static void check_msn(struct sim_ep *e, const struct ooo_hdr *h, u32 psn)
{
	struct sim_out *o = requests_to(e);
	struct sim_psn *p = sim_psn(o, psn);
	u32 want = p ? p->msn : 0;

	if (p || psn == psn_add(e->core.attr.rq_psn, -1))
		sim_check(e->sim, h->msn == want, "%s for PSN %06x has MSN %x, not %x",
			  sim_op_name(h->opcode), h->psn, h->msn, want);
}

static void check_rnr(struct sim_ep *e, u32 psn)
{
	struct sim_out *o = requests_to(e);
	struct sim_wr *w;
	struct sim_psn *p = live_psn(e, psn, &w, "RNR NAK");

	check_cumulative(e, p->psn, "RNR NAK");
	sim_check(e->sim, sim_wr_has_receive(w), "RNR NAK for PSN %06x, needs no receive", psn);
	if (o->rnr_psn != psn || !o->rnr_naks)
		o->rnr_naks = 0;
	o->rnr_psn = psn;
	o->rnr_naks++;
	e->sim->stats.rnrs++;
}

static bool error_allowed(struct sim_ep *e, const struct sim_wr *w, u8 code)
{
	static const u8 status[] = {
		[OOO_NAK_INVALID] = OOO_WC_REM_INV_REQ_ERR,
		[OOO_NAK_ACCESS] = OOO_WC_REM_ACCESS_ERR,
		[OOO_NAK_OPERATION] = OOO_WC_REM_OP_ERR,
	};

	if (code >= sizeof(status))
		return false;
	if (w->fate != FATE_OK && w->status == status[code])
		return true;
	/* The receive itself is at fault. */
	return code == OOO_NAK_OPERATION && sim_wr_has_receive(w) && e->recv_failed;
}

static void check_nak(struct sim_ep *e, const struct ooo_hdr *h)
{
	struct sim_out *o = requests_to(e);
	u8 code = OOO_AETH_VALUE(h->syndrome);
	struct sim_psn *p;
	struct sim_wr *w;

	e->sim->stats.naks++;
	check_cumulative(e, h->psn, "NAK");
	if (code == OOO_NAK_SEQUENCE)
		return;
	p = live_psn(e, h->psn, &w, "error NAK");
	sim_check(e->sim, error_allowed(e, w, code),
		  "NAK code %u for PSN %06x of request %u (op %u, fault %u)", code, p->psn, p->wr,
		  w->op, w->fault);
	o->nak = true;
	o->nak_psn = h->psn;
	o->nak_code = code;
}

static void check_ack(struct sim_ep *e, const struct ooo_hdr *h)
{
	switch (OOO_AETH_CLASS(h->syndrome)) {
	case OOO_AETH_ACK:
		check_cumulative(e, psn_add(h->psn, 1), "ACK");
		check_msn(e, h, h->psn);
		break;
	case OOO_AETH_RNR:
		check_rnr(e, h->psn);
		check_msn(e, h, psn_add(h->psn, -1));
		break;
	case OOO_AETH_NAK:
		check_nak(e, h);
		check_msn(e, h, psn_add(h->psn, -1));
		break;
	default:
		sim_fail(e->sim, "ACK with syndrome 0x%02x", h->syndrome);
	}
}

static void check_read_response(struct sim_ep *e, struct sim_psn *p, const struct ooo_source *src)
{
	u32 len = src->kind == OOO_SRC_NONE ? 0 : src->len;
	bool read = p->need == DID_REPLY;

	sim_check(e->sim, p->need & DID_REPLY, "READ response for PSN %06x, not a READ", p->psn);
	sim_check(e->sim, ((p->got | DID_REPLY) & p->need) == p->need,
		  "PSN %06x answered before it is executed", p->psn);
	sim_check(e->sim, len == (read ? p->plen : 0), "READ response of %u bytes for PSN %06x",
		  len, p->psn);
	if (read && !(p->got & DID_REPLY))
		check_turn(e, p->psn, "READ");
}

/* A first answer is cut as its request was; a replay may be cut anywhere. */
static void check_read_op(struct sim_ep *e, const struct sim_psn *p, const struct ooo_hdr *h)
{
	u32 info = ooo_opcode_info(h->opcode);

	if (info & OOO_HAS_AETH)
		check_msn(e, h, h->psn);
	if (p->got & DID_REPLY)
		return;
	sim_check(e->sim, !!(info & OOO_IS_FIRST) == p->first && !!(info & OOO_IS_LAST) == p->last,
		  "PSN %06x answered by a %s", p->psn, sim_op_name(h->opcode));
}

static void check_source_va(struct sim_ep *e, struct sim_psn *p, const struct ooo_source *src)
{
	struct sim_out *o = requests_to(e);
	struct sim_wr *w = sim_wr(o, p->wr);
	u64 va;

	if (src->kind == OOO_SRC_NONE || !src->len || (s32)(p->wr - sim_first_live(o)) < 0)
		return;
	va = w->va + (u64)psn_diff(p->psn, w->psn) * e->core.attr.mtu;
	sim_check(e->sim, src->va == va && src->rkey == w->rkey,
		  "READ response for PSN %06x reads the wrong place", p->psn);
}

/* Nothing is kept or placed beyond the receive window. */
void model_window(struct sim_ep *e, const struct ooo_pkt *pkt)
{
	struct sim_out *o = requests_to(e);

	if (ooo_opcode_info(pkt->h.opcode) & OOO_IS_REQUEST)
		sim_check(e->sim, psn_diff(pkt->h.psn, o->order_next) <= (s32)e->tun.recv_window,
			  "PSN %06x kept beyond the receive window", pkt->h.psn);
}

/*
 * A plain responder in front of ours: what is early is dropped, and reported
 * once for each lack of progress. True: drop, and send @nak if it has an opcode.
 */
bool model_plain_drops(struct sim_ep *e, const struct ooo_hdr *h, struct ooo_hdr *nak)
{
	struct sim_out *o = requests_to(e);
	u32 next = o->order_next;

	memset(nak, 0, sizeof(*nak));
	if (!(ooo_opcode_info(h->opcode) & OOO_IS_REQUEST) || psn_diff(h->psn, next) <= 0)
		return false;
	e->sim->stats.refused++;
	if (e->dead || next != o->exec_next || (e->plain_nak && e->plain_psn == next))
		return true;
	e->plain_nak = true;
	e->plain_psn = next;
	nak->opcode = OOO_BTH_SERVICE(h->opcode) | OOO_OP_ACK;
	nak->psn = next;
	nak->syndrome = OOO_AETH_NAK | OOO_NAK_SEQUENCE;
	nak->msn = sim_psn(o, psn_add(next, -1)) ? sim_psn(o, psn_add(next, -1))->msn : 0;
	return true;
}

/*
 * The bits of docs/wire.md: the capability always or never; the others only
 * to a peer that has shown it.
 */
void model_bits(struct sim_ep *e, const struct ooo_hdr *h)
{
	u8 bits = h->rsvd7;

	sim_check(e->sim, !!(bits & OOO_BTH_CAP) == !!e->tun.sack,
		  "capability is %d, but the bit is %d", e->tun.sack, bits & OOO_BTH_CAP);
	sim_check(e->sim, !(bits & ~(OOO_BTH_CAP | OOO_BTH_RETX | OOO_BTH_EXT)),
		  "reserved bits 0x%02x", bits);
	sim_check(e->sim, e->peer_shown || !(bits & (OOO_BTH_RETX | OOO_BTH_EXT)),
		  "bits 0x%02x to a peer that has shown nothing", bits);
	sim_check(e->sim, !!(bits & OOO_BTH_EXT) == h->has_sack &&
		  (!h->has_sack || ooo_may_extend(h->opcode)), "extension and bit disagree");
}

/* One PSN of a bitmap. What was reported once is reported until it is executed. */
static void check_sack_bit(struct sim_ep *e, const struct ooo_hdr *h, u32 psn, bool here)
{
	struct sim_out *o = requests_to(e);
	struct sim_psn *p = sim_psn(o, psn);

	if (psn_diff(psn, h->psn) <= 0)
		return;
	if (!here) {
		sim_check(e->sim, !p || !p->reported || e->dead,
			  "PSN %06x was reported to be here, and is not any more", psn);
		return;
	}
	sim_check(e->sim, p && psn_diff(psn, o->sent_next) < 0,
		  "SACK for PSN %06x that was not sent", psn);
	sim_check(e->sim, p->arrived, "SACK for PSN %06x that has not arrived", psn);
	p->reported = true;
}

static void check_sack(struct sim_ep *e, const struct ooo_hdr *h)
{
	const struct ooo_sack *s = &h->sack;
	u32 i, k;

	sim_check(e->sim, s->words <= OOO_SACK_WORDS && s->window, "bad SACK");
	for (i = 0; i < s->words; i++)
		for (k = 0; k < 64; k++)
			check_sack_bit(e, h, psn_add(s->base, 64 * i + k), s->bits[i] >> k & 1);
}

void model_response(struct sim_ep *e, const struct ooo_hdr *h, const struct ooo_source *src)
{
	struct sim_out *o = requests_to(e);
	struct sim_psn *p = sim_psn(o, h->psn);
	u8 op = OOO_BTH_OP(h->opcode);

	sim_check(e->sim, e->core.state >= OOO_RTR && e->core.state < OOO_ERR,
		  "response sent in state %d", e->core.state);
	model_bits(e, h);
	if (op == OOO_OP_ACK) {
		check_ack(e, h);
		if (h->has_sack)
			check_sack(e, h);
		return;
	}
	if (!p)			/* a replay for a duplicate that is very old */
		return;
	check_cumulative(e, h->psn, "response");
	if (op == OOO_OP_ATOMIC_ACK) {
		sim_check(e->sim, p->got & DID_EXEC && h->orig == p->orig,
			  "atomic at PSN %06x answered with %llx, was %llx", p->psn,
			  (unsigned long long)h->orig, (unsigned long long)p->orig);
		check_msn(e, h, h->psn);
	} else {
		check_read_response(e, p, src);
		check_read_op(e, p, h);
		check_source_va(e, p, src);
	}
	did(o, p, DID_REPLY);
}
