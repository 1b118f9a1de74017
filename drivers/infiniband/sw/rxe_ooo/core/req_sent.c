// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What was sent when, and what of it has arrived. A packet has a record from
 * its sending until its arrival is known, by an ACK, a SACK or an answer. Then
 * only a bit is left of it, until everything before it has arrived, too. A
 * peer that cannot tell what it has needs no records.
 */
#include "req_priv.h"

u32 ooo_req_tick(u64 now)
{
	return (u32)(now >> OOO_TICK_SHIFT);
}

static u64 bit_of(u32 seq)
{
	return 1ULL << (seq % 64);
}

static u32 word_of(u32 seq)
{
	return seq % OOO_WINDOW_MAX / 64;
}

bool ooo_req_is_here(const struct ooo_ep *ep, u32 seq)
{
	return ep->req.placed[word_of(seq)] & bit_of(seq);
}

void ooo_req_set_here(struct ooo_ep *ep, u32 seq)
{
	ep->req.placed[word_of(seq)] |= bit_of(seq);
	ep->req.arrived++;
}

/* Forgets the bits of [@from, @to). */
void ooo_req_clear_here(struct ooo_ep *ep, u32 from, u32 to)
{
	struct ooo_req *req = &ep->req;
	u64 mask, *word;

	while (req->arrived && ooo_before(from, to)) {
		word = &req->placed[word_of(from)];
		mask = ~(bit_of(from) - 1);
		if ((from | 63) - from >= to - from)	/* it ends in this word */
			mask &= bit_of(to) - 1;
		req->arrived -= ooo_bits_set(*word & mask);
		*word &= ~mask;
		from = (from | 63) + 1;
	}
}

/*
 * Packets that were sent, are not known to have arrived and do not count as
 * lost; of a READ, the responses that are still to come.
 */
u32 ooo_req_in_flight(const struct ooo_ep *ep)
{
	const struct ooo_req *req = &ep->req;

	return req->high - req->una - req->arrived - req->lost;
}

/* Until the peer has been heard it may be a capable one. */
static bool recording(const struct ooo_ep *ep)
{
	return ep->capable || (ep->sack && !ep->heard);
}

/* Without memory there is no record: the packet is repeated by the timeout only. */
void ooo_req_record(struct ooo_ep *ep, u32 seq, bool reply, u64 now)
{
	struct ooo_req_sent *rec;

	if (!recording(ep))
		return;
	rec = ooo_slots_take(ep, &ep->req.sent, seq);
	if (!rec)
		return;
	rec->at = ooo_req_tick(now);
	rec->before = rec->at;
	rec->flags = reply ? OOO_SENT_REPLY : 0;
	rec->path = ep->req.on_path;
	ooo_path_on(&ep->req, rec);
}

static void not_lost(struct ooo_req *req, struct ooo_req_sent *rec)
{
	if (!(rec->flags & OOO_SENT_LOST))
		return;
	req->lost--;
	rec->flags &= ~OOO_SENT_LOST;
	ooo_path_on(req, rec);
}

void ooo_req_record_again(struct ooo_ep *ep, u32 seq, u64 now)
{
	struct ooo_req *req = &ep->req;
	struct ooo_req_sent *rec = ooo_slots_find(&req->sent, seq);

	if (!rec)
		return;
	not_lost(req, rec);
	rec->flags |= OOO_SENT_RESENT;
	rec->before = rec->at;
	rec->at = ooo_req_tick(now);
	ooo_path_off(req, rec);
	rec->path = req->on_path;
	ooo_path_on(req, rec);
}

/* The packet @seq is at the peer. Known already, or without a record: nothing changes. */
void ooo_req_delivered(struct ooo_ep *ep, u32 seq, u64 now)
{
	struct ooo_req *req = &ep->req;
	struct ooo_req_sent *rec = ooo_slots_find(&req->sent, seq);
	bool reply;

	if (!rec)
		return;
	not_lost(req, rec);
	ooo_req_rack_arrival(ep, seq, rec, now);
	ooo_path_off(req, rec);
	reply = rec->flags & OOO_SENT_REPLY;
	ooo_slots_drop(ep, &req->sent, seq);
	if (reply)
		return;		/* what counts is its answer */
	req->delivered++;
	if (!ooo_req_is_here(ep, seq))
		ooo_req_set_here(ep, seq);
}

/* Everything below @seq has been executed. */
void ooo_req_executed(struct ooo_ep *ep, u32 seq, u64 now)
{
	struct ooo_req *req = &ep->req;
	u32 from = req->acked, s;

	if (!ooo_before(from, seq))
		return;
	req->acked = seq;
	while ((s = ooo_slots_next(&req->sent, from, seq)) != seq) {
		ooo_req_delivered(ep, s, now);
		from = s + 1;
	}
}

/*
 * From @from on everything is going to be sent again in any case, or nothing ever:
 * no packet there waits as lost.
 */
void ooo_req_forgive(struct ooo_ep *ep, u32 from)
{
	struct ooo_req *req = &ep->req;
	u32 s = from;

	while (req->lost && (s = ooo_slots_next(&req->sent, s, req->high)) != req->high)
		not_lost(req, ooo_slots_find(&req->sent, s++));
}

/* It is going to be sent again: has its loss to show, it needs a record as when it was new. */
static void renew(struct ooo_ep *ep, u32 seq, bool reply, u64 now)
{
	struct ooo_req_sent *rec;

	if (ooo_slots_find(&ep->req.sent, seq))
		return;
	ooo_req_record(ep, seq, reply, now);
	rec = ooo_slots_find(&ep->req.sent, seq);
	if (rec)
		rec->flags |= OOO_SENT_RESENT;	/* it tells no round trip */
}

/* The requests from @from on whose answer carries data: none of them is answered. */
static void renew_reads(struct ooo_ep *ep, u32 from, u64 now)
{
	struct ooo_req *req = &ep->req;
	u32 i, seq;

	for (i = req->rd_head; i != req->rd_tail; i++) {
		seq = req->rd[i % OOO_RD_RING].seq;
		if (!ooo_before(seq, from))
			renew(ep, seq, true, now);
	}
}

/*
 * The peer has dropped what it had reported from @from on, and all of that is going to
 * be sent again. Answers that are here stay.
 */
void ooo_req_revoke(struct ooo_ep *ep, u32 from, u64 now)
{
	struct ooo_req *req = &ep->req;
	u32 s;

	ooo_req_forgive(ep, req->una);
	if (ooo_before(from, req->acked))
		from = req->acked;
	for (s = from; req->arrived && ooo_before(s, req->high); s++)
		if (ooo_req_is_here(ep, s) && !ooo_req_rd_find(ep, s)) {
			ooo_req_clear_here(ep, s, s + 1);
			renew(ep, s, false, now);
		}
	renew_reads(ep, from, now);
}
