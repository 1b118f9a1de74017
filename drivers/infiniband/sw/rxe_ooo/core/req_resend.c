// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sending again: either one packet or request (a probe of the tail, the
 * lowest missing response, the packet that a NAK names), or everything from a
 * PSN on (go-back-N, which a plain responder needs).
 */
#include "req_priv.h"

/* How many PSNs the packet that starts at @seq stands for: a READ's to its end or the hole's. */
static u32 span(struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 seq, bool whole)
{
	const struct ooo_req_read *rd;

	if (!ooo_req_has_reply(wqe))
		return 1;
	rd = ooo_req_rd_find(ep, seq);
	if (!rd)
		return 1;
	return whole ? rd->end - seq : ooo_req_hole(ep, seq, rd->end);
}

u32 ooo_req_span(struct ooo_ep *ep, u32 seq, bool whole)
{
	u32 index;
	const struct ooo_swqe *wqe = ooo_req_find(ep, seq, &index);

	return wqe ? span(ep, wqe, seq, whole) : 1;
}

/* Sends the packet or request at @seq again; *@count PSNs are dealt with. */
enum req_step ooo_req_resend(struct ooo_ep *ep, u32 seq, bool whole, bool ack_req,
			     u32 *count, u64 now)
{
	struct ooo_swqe *wqe;
	enum ooo_result res;
	u32 index;

	wqe = ooo_req_find(ep, seq, &index);
	if (!wqe || (ep->req.halted && !ooo_before(seq, ep->req.halt))) {
		*count = ep->req.high - seq;
		return REQ_DONE;
	}
	*count = span(ep, wqe, seq, whole);
	ack_req |= seq + *count == ep->req.high;
	if (unlikely(ep->paths))
		ooo_paths_choose_again(ep, seq, now);
	res = ooo_req_emit(ep, wqe, seq, *count, ack_req && !ooo_req_has_reply(wqe), true);
	if (res == OOO_AGAIN || res == OOO_LATER)
		return REQ_STALLED;
	if (res != OOO_OK) {
		ooo_req_fail_at(ep, index, OOO_WC_LOC_PROT_ERR);
		ooo_req_advance(ep, now);
		return REQ_DONE;
	}
	ooo_count(ep, OOO_STAT_RETRANSMIT);
	ooo_req_record_again(ep, seq, now);
	if (ep->req.timed - seq < *count)
		ep->req.timing = false;		/* Karn: whose answer would it be? */
	return REQ_DONE;
}

void ooo_req_want_unit(struct ooo_ep *ep, u32 seq, bool whole)
{
	ep->req.unit_due = true;
	ep->req.unit_seq = seq;
	ep->req.unit_whole = whole;
}

/* Nothing more will be sent for a while: what did not ask for an ACK does so now. */
void ooo_req_ask(struct ooo_ep *ep)
{
	struct ooo_req *req = &ep->req;

	if (req->unasked && !req->started && req->una != req->high && !req->unit_due)
		ooo_req_want_unit(ep, req->high - 1, true);
}

/* It has been answered while it waited to be sent again. */
static bool answered(const struct ooo_ep *ep, u32 seq)
{
	const struct ooo_req *req = &ep->req;

	if (ooo_before(seq, req->una) || seq == req->high)
		return true;
	return ooo_before(seq, req->acked) && !ooo_req_rd_find(ep, seq);
}

enum req_step ooo_req_resend_unit(struct ooo_ep *ep, u64 now)
{
	enum req_step step;
	u32 count;

	ep->req.unit_due = false;
	if (answered(ep, ep->req.unit_seq))
		return REQ_DONE;
	step = ooo_req_resend(ep, ep->req.unit_seq, ep->req.unit_whole, true, &count, now);
	if (step == REQ_STALLED)
		ep->req.unit_due = true;
	return step;
}

/* The peer has it, as it says, though it is not acknowledged yet. */
static bool is_reported(const struct ooo_ep *ep, u32 seq)
{
	return ooo_req_is_here(ep, seq) && !ooo_req_rd_find(ep, seq);
}

enum req_step ooo_req_resend_next(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;
	bool ack_req = req->unasked + 1 >= ooo_req_ack_every(ep);
	enum req_step step;
	u32 count;

	while (req->arrived && ooo_before(req->send, req->high) && is_reported(ep, req->send))
		req->send++;
	if (req->send == req->high)
		return REQ_DONE;
	step = ooo_req_resend(ep, req->send, true, ack_req, &count, now);
	if (step == REQ_STALLED || !ooo_before(req->send, req->high))
		return step;
	req->send += count;
	req->unasked = ack_req ? 0 : req->unasked + 1;
	if (req->send == req->high)
		req->back_at = now;
	return step;
}

/*
 * A READ that the peer has begun to answer is not asked for again from its
 * middle here: if the rest is lost, that shows as a hole or by time.
 */
static u32 unit_boundary(const struct ooo_ep *ep, u32 seq)
{
	const struct ooo_req_read *rd = ooo_req_rd_find(ep, seq);

	return rd && rd->seq != seq ? rd->end : seq;
}

void ooo_req_go_back(struct ooo_ep *ep, u32 seq, u64 now)
{
	struct ooo_req *req = &ep->req;

	req->back_seq = seq;
	req->back_to = req->high;
	req->back_at = now;
	req->lone = false;
	req->send = unit_boundary(ep, seq);
	ooo_req_forgive(ep, req->una);
	req->unasked = 0;
	req->timing = false;
	req->rto_at = now + ooo_req_rto(ep);
}

/* While going back: what has been acknowledged meanwhile is left out. */
void ooo_req_skip_acked(struct ooo_ep *ep)
{
	struct ooo_req *req = &ep->req;

	if (ooo_before(req->send, req->acked))
		req->send = unit_boundary(ep, req->acked);
}
