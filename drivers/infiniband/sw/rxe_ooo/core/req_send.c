// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The send loop: what to send next, within the window and the budget. */
#include "req_priv.h"

/* After the request at @cur nothing follows at once: ask for the ACK now. */
static bool pause_follows(struct ooo_ep *ep)
{
	const struct ooo_swqe *next = ooo_sq_entry(ep, ep->req.cur + 1);

	if (ep->state != OOO_RTS || ooo_req_fetch(ep, ep->req.cur + 1) != OOO_OK)
		return true;
	return (next->flags & OOO_SEND_FENCE) || next->opcode == OOO_WR_LOCAL_INV ||
	       next->req_state == REQ_MALFORMED ||
	       (ooo_req_has_reply(next) && ooo_req_read_waits(ep, next));
}

static bool ends_message(const struct ooo_swqe *wqe, u32 seq)
{
	return seq + 1 == wqe->psn + wqe->packets;
}

/*
 * Packets from one that asks to the next, at the most: several in a window, for the one
 * that asks or its answer may be lost.
 */
static u32 ask_every(const struct ooo_ep *ep)
{
	return min_t(u32, max_t(u32, ooo_req_window(ep) / 4, 1),
		     ooo_req_ack_every(ep));
}

/* Is an ACK on its way that will make room? */
static bool ack_is_due(const struct ooo_ep *ep)
{
	const struct ooo_req *req = &ep->req;

	return req->high - req->una > req->unasked &&
	       !ooo_req_is_here(ep, req->high - 1 - req->unasked);
}

/*
 * The packet that fills the window asks, or nothing would follow; but not one after
 * each ACK that makes room for one: small steps would stay small for ever, and every
 * packet would have an ACK of its own.
 */
static bool fills_window(const struct ooo_ep *ep, u32 room)
{
	if (room > 1 && !ooo_req_fills_peer(ep))
		return false;
	return 2 * (ep->req.unasked + 1) >= ask_every(ep) || !ack_is_due(ep);
}

static bool ack_wanted(struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 seq, u32 room)
{
	if (ep->req.unasked + 1 >= ask_every(ep) || fills_window(ep, room))
		return true;
	if (!ends_message(wqe, seq))
		return false;
	return ep->attr.sq_sig_all || (wqe->flags & OOO_SEND_SIGNALED) || pause_follows(ep);
}

static enum req_step not_sent(struct ooo_ep *ep, const struct ooo_swqe *wqe,
			      enum ooo_result res, u64 now)
{
	if (res == OOO_AGAIN || res == OOO_LATER) {
		if (wqe->psn == ep->req.high)
			ep->req.started = false;	/* nothing of it is on the wire */
		return REQ_STALLED;
	}
	ooo_req_fail_at(ep, ep->req.cur, OOO_WC_LOC_PROT_ERR);
	ooo_req_advance(ep, now);
	return REQ_DONE;
}

static void sent_new(struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 count, bool asks, u64 now)
{
	struct ooo_req *req = &ep->req;

	if (ooo_req_has_reply(wqe))
		ooo_req_rd_add(ep, req->high, count);
	ooo_req_record(ep, req->high, ooo_req_has_reply(wqe), now);
	ooo_req_sent(ep, req->high, asks, now);
	req->high += count;
	req->send = req->high;
	if (req->high == wqe->psn + wqe->packets) {
		req->cur++;
		req->started = false;
	}
	if (ooo_is_uc(ep)) {	/* no answer will come */
		req->acked = req->high;
		ooo_req_advance(ep, now);
	}
}

static enum req_step send_new(struct ooo_ep *ep, u64 now)
{
	bool reply, ack_req = false;
	const struct ooo_swqe *wqe;
	enum req_step step;
	enum ooo_result res;
	u32 count = 1, room;

	if (ep->req.halted)
		return REQ_IDLE;
	room = ooo_req_room(ep);
	if (!room) {
		ep->req.flow.limited = true;
		return REQ_IDLE;
	}
	if (!ep->req.started) {
		step = ooo_req_start(ep, now);
		if (!ep->req.started)
			return step;
	}
	wqe = ooo_sq_entry(ep, ep->req.cur);
	reply = ooo_req_has_reply(wqe);
	if (reply)
		count = ooo_req_read_room(ep, wqe);
	else if (!ooo_is_uc(ep))
		ack_req = ack_wanted(ep, wqe, ep->req.high, room);
	if (!count) {
		ep->req.flow.limited = true;
		return REQ_IDLE;
	}
	if (unlikely(ep->paths))
		ooo_paths_choose(ep, !reply, now);
	res = ooo_req_emit(ep, wqe, ep->req.high, count, ack_req, false);
	if (res != OOO_OK)
		return not_sent(ep, wqe, res, now);
	sent_new(ep, wqe, count, ack_req || reply, now);
	return REQ_DONE;
}

static bool may_send(const struct ooo_ep *ep)
{
	return (ep->state == OOO_RTS || ep->state == OOO_SQD) &&
	       !ep->req.stalled && !ep->req.rnr_wait;
}

/*
 * What is sent again takes room in the window like anything else, but what
 * everything waits for is sent in any case: a lost READ's responses count as in
 * flight, and so do those of the READs behind it.
 */
static bool may_repair(const struct ooo_ep *ep)
{
	const struct ooo_req *req = &ep->req;

	if (!ooo_before(req->una, req->lost_low))
		return true;
	return req->repairs && (ooo_req_in_flight(ep) < ooo_req_window(ep) ||
				req->rd_head != req->rd_tail);
}

static enum req_step next_step(struct ooo_ep *ep, u64 now)
{
	enum req_step step;

	if (ep->req.unit_due)
		return ooo_req_resend_unit(ep, now);
	if (ooo_before(ep->req.send, ep->req.high))
		return ooo_req_resend_next(ep, now);
	if (ep->req.lost && may_repair(ep))
		return ooo_req_resend_lost(ep, now);
	if (ep->req.asks_due) {
		step = ooo_req_send_ask(ep, now);
		if (step != REQ_IDLE)
			return step;
	}
	/* Repairs come first; while they wait for confirmation, what is new keeps ACKs coming. */
	return ep->req.lost && ep->req.repairs ? REQ_IDLE : send_new(ep, now);
}

bool ooo_req_send(struct ooo_ep *ep, u32 *budget, u64 now)
{
	while (may_send(ep)) {
		if (!*budget)
			return true;
		switch (next_step(ep, now)) {
		case REQ_IDLE:
			return false;
		case REQ_STALLED:
			ep->req.stalled = true;
			return false;
		case REQ_DONE:
			(*budget)--;
			break;
		}
	}
	return false;
}
