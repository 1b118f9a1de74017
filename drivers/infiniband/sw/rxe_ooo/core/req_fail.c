// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A request fails: by a NAK, by a local key, by its answer. It keeps its
 * status until its turn to complete; nothing at or above it is sent any more,
 * what lies below is still brought to its end.
 */
#include "req_priv.h"

/* The started request that @seq belongs to; @seq lies in [una, high). */
struct ooo_swqe *ooo_req_find(const struct ooo_ep *ep, u32 seq, u32 *index)
{
	u32 low = ep->req.done, high = ep->req.cur + ep->req.started, mid;
	struct ooo_swqe *wqe;

	if (low == high)
		return NULL;
	while (high - low > 1) {
		mid = low + (high - low) / 2;
		if (ooo_before(seq, ooo_sq_entry(ep, mid)->psn))
			high = mid;
		else
			low = mid;
	}
	*index = low;
	wqe = ooo_sq_entry(ep, low);
	return seq - wqe->psn < wqe->packets ? wqe : NULL;
}

void ooo_req_fail_at(struct ooo_ep *ep, u32 index, enum ooo_status status)
{
	struct ooo_swqe *wqe = ooo_sq_entry(ep, index);
	struct ooo_req *req = &ep->req;

	if (wqe->req_state == REQ_FAILED)
		return;
	wqe->req_state = REQ_FAILED;
	wqe->status = status;
	if (!req->halted || ooo_before(wqe->psn, req->halt))
		req->halt = wqe->psn;
	req->halted = true;
	if (index == req->cur && req->started) {
		req->cur++;
		req->started = false;
	}
	ooo_req_forgive(ep, req->halt);
}

void ooo_req_fail_seq(struct ooo_ep *ep, u32 seq, enum ooo_status status)
{
	u32 index;

	if (ooo_req_find(ep, seq, &index))
		ooo_req_fail_at(ep, index, status);
}

/* The oldest request ends the connection's life (UC: only the send queue's). */
void ooo_req_fatal(struct ooo_ep *ep, enum ooo_status status, u64 now)
{
	u32 index = ep->req.done;
	struct ooo_swqe *wqe = ooo_sq_entry(ep, index);

	wqe->status = status;
	if (index == ep->req.cur) {
		ep->req.cur++;
		ep->req.started = false;
	}
	ep->req.done++;
	ooo_env_send_done(ep, index, true);
	ooo_ep_fail(ep, now);
}
