// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flushing: what is left in the queues of a QP in ERR completes with
 * WR_FLUSH_ERR, in order, a bounded number in one call.
 */
#include "req_priv.h"
#include "resp_priv.h"

/* The oldest entry is filled in, or NONE. */
static enum ooo_result oldest(struct ooo_ep *ep)
{
	struct ooo_req *req = &ep->req;

	if (req->done != req->cur || req->started)
		return OOO_OK;
	return ooo_req_fetch(ep, req->cur);
}

static void flush_one(struct ooo_ep *ep)
{
	struct ooo_req *req = &ep->req;
	u32 index = req->done++;

	if (index == req->cur) {
		req->cur++;
		req->started = false;
	}
	ooo_sq_entry(ep, index)->status = OOO_WC_WR_FLUSH_ERR;
	ooo_env_send_done(ep, index, true);
}

bool ooo_flush_send(struct ooo_ep *ep)
{
	u32 n;

	for (n = 0; n < OOO_FLUSH_BUDGET; n++) {
		if (oldest(ep) != OOO_OK)
			return false;
		flush_one(ep);
	}
	return true;
}

/* A shared queue is not emptied: its consumer learns that this QP takes no more. */
static void last_wqe(struct ooo_ep *ep)
{
	if (ep->last_wqe)
		return;
	ep->last_wqe = true;
	ooo_env_event(ep, OOO_EVENT_LAST_WQE);
}

bool ooo_flush_recv(struct ooo_ep *ep)
{
	struct ooo_resp *resp = &ep->resp;
	enum ooo_result res;
	u32 n;

	if (ep->attr.service == OOO_XRC_INI)
		return false;
	ooo_resp_recv_done(ep, OOO_WC_WR_FLUSH_ERR, NULL, 0);
	if (ooo_env_has_srq(ep)) {
		last_wqe(ep);
		return false;
	}
	for (n = 0; n < OOO_FLUSH_BUDGET; n++) {
		res = ooo_env_rq_fetch(ep, 0, &resp->rwqe);
		if (res != OOO_OK && res != OOO_INVALID) {
			resp->rwqe = NULL;
			return false;
		}
		ooo_resp_recv_done(ep, OOO_WC_WR_FLUSH_ERR, NULL, 0);
	}
	return true;
}
