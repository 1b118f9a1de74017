// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion in posting order: when its own work and all earlier is done. */
#include "req_priv.h"

static bool oldest_started(const struct ooo_ep *ep)
{
	return ep->req.done != ep->req.cur || ep->req.started;
}

/* Moves una through the oldest request; true when all of it is finished. */
static bool finish(struct ooo_ep *ep, struct ooo_swqe *wqe)
{
	struct ooo_req *req = &ep->req;
	u32 end = wqe->psn + wqe->packets;
	u32 to = ooo_before(req->high, end) ? req->high : end;

	if (ooo_req_has_reply(wqe)) {
		req->una = ooo_req_collect(ep, req->una, to);
	} else {
		if (ooo_before(req->acked, to))
			to = req->acked;
		if (ooo_before(req->una, to)) {
			ooo_req_clear_here(ep, req->una, to);
			req->una = to;
		}
	}
	return req->una == end;
}

static void complete(struct ooo_ep *ep, struct ooo_swqe *wqe)
{
	bool signaled = ep->attr.sq_sig_all || (wqe->flags & OOO_SEND_SIGNALED);
	u32 index = ep->req.done++;

	wqe->status = OOO_WC_SUCCESS;
	ooo_env_send_done(ep, index, signaled);
}

static void moved(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;

	ooo_req_rd_retire(ep);
	if (req->una == req->acked)
		ooo_req_asks_over(ep);
	ooo_reorder_filled(&req->reorder, ep->tun, now);
	if (ooo_before(req->send, req->una))
		req->send = req->una;
	ooo_req_progress(ep, now);
}

static void drained(struct ooo_ep *ep)
{
	if (!ep->req.drain_event || !ooo_req_drained(ep))
		return;
	ep->req.drain_event = false;
	ooo_env_event(ep, OOO_EVENT_SQ_DRAINED);
}

void ooo_req_advance(struct ooo_ep *ep, u64 now)
{
	u32 from = ep->req.una;
	struct ooo_swqe *wqe;

	while (oldest_started(ep)) {
		wqe = ooo_sq_entry(ep, ep->req.done);
		if (wqe->req_state == REQ_FAILED)
			return ooo_req_fatal(ep, wqe->status, now);
		if (finish(ep, wqe))
			complete(ep, wqe);
		else if (wqe->req_state != REQ_FAILED)
			break;
	}
	if (ep->req.una != from)
		moved(ep, now);
	if (ep->req.rnr_wait && ooo_before(ep->req.rnr_seq, ep->req.acked))
		ooo_req_rnr_over(ep, now);
	ooo_req_skip_acked(ep);
	drained(ep);
}
