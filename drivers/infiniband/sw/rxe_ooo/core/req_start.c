// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A work request's turn to start: it is copied from the consumer, checked,
 * made to wait where the rules say so, and given its PSNs.
 */
#include "req_priv.h"

enum ooo_result ooo_req_fetch(struct ooo_ep *ep, u32 index)
{
	struct ooo_req *req = &ep->req;
	enum ooo_result res;

	if (index != req->fetched)
		return OOO_OK;
	if (index - req->done >= ep->sq_depth)
		return OOO_NONE;
	res = ooo_env_sq_fetch(ep, index);
	if (res == OOO_NONE)
		return res;
	ooo_sq_entry(ep, index)->req_state = res == OOO_OK ? REQ_FETCHED : REQ_MALFORMED;
	req->fetched++;
	return OOO_OK;
}

static bool is_local(const struct ooo_swqe *wqe)
{
	return wqe->opcode == OOO_WR_LOCAL_INV || wqe->opcode == OOO_WR_BIND_MW ||
	       wqe->opcode == OOO_WR_REG_MR;
}

/*
 * A fence waits for earlier READs and ATOMICs (IBTA 10.8.3.3), with placement
 * out of order for everything earlier. LOCAL_INV waits for everything earlier
 * in any case: a request that has to be sent again needs its key.
 */
static bool must_wait(const struct ooo_ep *ep, const struct ooo_swqe *wqe)
{
	const struct ooo_req *req = &ep->req;
	bool alone = req->done == req->cur;

	if (wqe->opcode == OOO_WR_LOCAL_INV)
		return !alone;
	if (wqe->flags & OOO_SEND_FENCE)
		return ep->attr.ooo ? !alone : req->rd_head != req->rd_tail;
	return ooo_req_has_reply(wqe) && ep->attr.max_rd_atomic && ooo_req_rd_full(ep);
}

static bool allowed(const struct ooo_ep *ep, const struct ooo_swqe *wqe)
{
	switch (wqe->opcode) {
	case OOO_WR_SEND:
	case OOO_WR_SEND_IMM:
	case OOO_WR_WRITE:
	case OOO_WR_WRITE_IMM:
	case OOO_WR_BIND_MW:
		return true;
	case OOO_WR_SEND_INV:
	case OOO_WR_LOCAL_INV:
	case OOO_WR_REG_MR:
		return !ooo_is_uc(ep);
	case OOO_WR_READ:
	case OOO_WR_CMP_SWAP:
	case OOO_WR_FETCH_ADD:
	case OOO_WR_FLUSH:
	case OOO_WR_ATOMIC_WRITE:
		return !ooo_is_uc(ep) && ep->attr.max_rd_atomic;
	}
	return false;
}

static enum ooo_status check(const struct ooo_ep *ep, const struct ooo_swqe *wqe)
{
	if (wqe->req_state == REQ_MALFORMED || !allowed(ep, wqe))
		return OOO_WC_LOC_QP_OP_ERR;
	if (wqe->length > OOO_MAX_LENGTH && wqe->opcode != OOO_WR_FLUSH)
		return OOO_WC_LOC_LEN_ERR;
	return OOO_WC_SUCCESS;
}

static u32 packets_of(const struct ooo_ep *ep, const struct ooo_swqe *wqe)
{
	if (ooo_req_has_reply(wqe) && wqe->opcode != OOO_WR_READ)
		return 1;
	return ooo_packets(ep, wqe->length);
}

/* The format is fixed here: a PSN is always sent again as it was. */
static u8 wire_form(const struct ooo_ep *ep, const struct ooo_swqe *wqe)
{
	if (ep->attr.ooo && wqe->opcode == OOO_WR_WRITE)
		return OOO_WIRE_ONLY_ROW;
	return OOO_WIRE_MESSAGE;
}

static enum req_step fail_start(struct ooo_ep *ep, struct ooo_swqe *wqe,
				enum ooo_status status, u64 now)
{
	wqe->psn = ep->req.high;
	wqe->packets = 0;
	ep->req.started = true;
	ooo_req_fail_at(ep, ep->req.cur, status);
	ooo_req_advance(ep, now);
	return REQ_DONE;
}

static enum req_step run_local(struct ooo_ep *ep, struct ooo_swqe *wqe, u64 now)
{
	if (ooo_env_local_op(ep, wqe) != OOO_OK)
		return fail_start(ep, wqe, wqe->opcode == OOO_WR_BIND_MW ?
				  OOO_WC_MW_BIND_ERR : OOO_WC_LOC_QP_OP_ERR, now);
	wqe->psn = ep->req.high;
	wqe->packets = 0;
	wqe->req_state = REQ_STARTED;
	ep->req.cur++;
	ooo_req_advance(ep, now);
	return REQ_DONE;
}

enum req_step ooo_req_start(struct ooo_ep *ep, u64 now)
{
	struct ooo_swqe *wqe = ooo_sq_entry(ep, ep->req.cur);
	enum ooo_status status;

	if (ep->state != OOO_RTS || ooo_req_fetch(ep, ep->req.cur) != OOO_OK)
		return REQ_IDLE;
	status = check(ep, wqe);
	if (status != OOO_WC_SUCCESS)
		return fail_start(ep, wqe, status, now);
	if (must_wait(ep, wqe))
		return REQ_IDLE;
	if (is_local(wqe))
		return run_local(ep, wqe, now);
	wqe->psn = ep->req.high;
	wqe->packets = packets_of(ep, wqe);
	wqe->wire = wire_form(ep, wqe);
	if (ooo_req_has_reply(wqe) && !ooo_req_read_room(ep, wqe))
		return REQ_IDLE;
	wqe->req_state = REQ_STARTED;
	ep->req.started = true;
	return REQ_DONE;
}
