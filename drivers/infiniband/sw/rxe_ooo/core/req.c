// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The requester's life cycle, and its end of the receive path. */
#include "req_priv.h"

void ooo_req_init(struct ooo_ep *ep)
{
	struct ooo_req *req = &ep->req;

	memset(req, 0, sizeof(*req));
	ooo_slots_init(&req->held, sizeof(struct ooo_req_slot));
	ooo_slots_init(&req->sent, sizeof(struct ooo_req_sent));
	ooo_reorder_init(&req->reorder);
	req->rack_due = OOO_NEVER;
	req->hole_due = OOO_NEVER;
	req->rto_at = OOO_NEVER;
}

/* The first time in RTS; later ones (from SQD or SQE) go on where it was. */
void ooo_req_rts(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;

	req->drain_event = false;
	if (req->done == req->fetched)
		req->halted = false;	/* SQE has flushed what failed */
	if (req->active)
		return;
	req->active = true;
	req->una = ep->attr.sq_psn;
	req->acked = req->una;
	req->send = req->una;
	req->high = req->una;
	req->rnr_left = ep->attr.rnr_retry;
	req->progress_at = now;
}

/* Lets go of held responses. */
void ooo_req_release(struct ooo_ep *ep)
{
	struct ooo_req *req = &ep->req;
	struct ooo_req_slot *slot;
	u32 seq;

	for (seq = req->una; req->held.in_use && ooo_before(seq, req->high); seq++) {
		slot = ooo_slots_find(&req->held, seq);
		if (!slot)
			continue;
		ooo_env_release(ep, slot->pkt);
		ooo_slots_drop(ep, &req->held, seq);
	}
	ooo_slots_exit(ep, &req->held);
	ooo_slots_exit(ep, &req->sent);
	ooo_paths_exit(ep);
}

void ooo_req_reset(struct ooo_ep *ep)
{
	ooo_req_release(ep);
	ooo_req_init(ep);
}

bool ooo_req_drained(const struct ooo_ep *ep)
{
	return ep->req.done == ep->req.cur && !ep->req.started;
}

/* Its answer may have ended the connection. */
static bool takes_responses_still(const struct ooo_ep *ep)
{
	return ep->state == OOO_RTS || ep->state == OOO_SQD;
}

void ooo_req_rx(struct ooo_ep *ep, const struct ooo_pkt *pkt, u64 now)
{
	struct ooo_req *req = &ep->req;
	u32 seq = ooo_unwrap(req->una, pkt->h.psn);

	if (!ooo_before(seq, req->high))
		return;		/* answers nothing that was sent */
	if (!ooo_before(seq, req->una - 1))	/* "nothing yet", too */
		ooo_learn_peer(ep, pkt);
	if (OOO_BTH_OP(pkt->h.opcode) == OOO_OP_ACK)
		ooo_req_ack(ep, pkt, seq, now);
	else
		ooo_req_response(ep, pkt, seq, now);
	ooo_req_judge_peer(ep, now);
	ooo_req_rtt_sample(ep, now);
	ooo_req_advance(ep, now);
	if (!takes_responses_still(ep))
		return;
	if (ep->capable) {
		ooo_req_rack(ep, now);
		ooo_req_watch_asks(ep, now);
	} else {
		ooo_req_watch_hole(ep, now);
	}
	ooo_req_flow(ep, now);
}
