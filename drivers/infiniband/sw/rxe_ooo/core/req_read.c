// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests whose answer carries data: READ, ATOMIC, and FLUSH and ATOMIC WRITE,
 * which are answered by an empty READ response (annex A19). A long READ goes
 * out as several requests, so that the requester paces the responder. No more
 * than max_rd_atomic are on the wire; one is on the wire until all responses
 * up to its last have come.
 */
#include "req_priv.h"

bool ooo_req_has_reply(const struct ooo_swqe *wqe)
{
	switch (wqe->opcode) {
	case OOO_WR_READ:
	case OOO_WR_CMP_SWAP:
	case OOO_WR_FETCH_ADD:
	case OOO_WR_FLUSH:
	case OOO_WR_ATOMIC_WRITE:
		return true;
	}
	return false;
}

/* Payload bytes of the response @seq. */
u32 ooo_req_reply_len(const struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 seq)
{
	u32 offset = (seq - wqe->psn) << ep->mtu_shift;

	if (wqe->opcode != OOO_WR_READ)
		return 0;
	return min_t(u32, wqe->length - offset, ep->attr.mtu);
}

bool ooo_req_rd_full(const struct ooo_ep *ep)
{
	const struct ooo_req *req = &ep->req;

	return req->rd_tail - req->rd_head + ooo_req_extra_reads(ep) >= ep->attr.max_rd_atomic;
}

#define PIECE		128u	/* responses that one request asks for, if that is enough */

/* Responses that one request may ask for: max_rd_atomic of them fill the window. */
static u32 most(const struct ooo_ep *ep)
{
	u32 window = ooo_req_window(ep), num = ep->attr.max_rd_atomic;

	if (num <= 1)
		return window;
	return max_t(u32, min_t(u32, window / 2, max_t(u32, PIECE, window / num + 1)), 1);
}

/* How many responses the next request of @wqe may ask for; 0: none now. */
u32 ooo_req_read_room(const struct ooo_ep *ep, const struct ooo_swqe *wqe)
{
	u32 count = min_t(u32, wqe->psn + wqe->packets - ep->req.high, most(ep));

	return ooo_req_rd_full(ep) || count > ooo_req_room(ep) ? 0 : count;
}

/* Will the request that comes after the packet at high have to wait? */
bool ooo_req_read_waits(const struct ooo_ep *ep, const struct ooo_swqe *next)
{
	u32 count = next->opcode == OOO_WR_READ ? ooo_packets(ep, next->length) : 1;

	return ooo_req_rd_full(ep) || min_t(u32, count, most(ep)) + 1 > ooo_req_room(ep);
}

void ooo_req_rd_add(struct ooo_ep *ep, u32 seq, u32 count)
{
	struct ooo_req_read *rd = &ep->req.rd[ep->req.rd_tail++ % OOO_RD_RING];

	rd->seq = seq;
	rd->end = seq + count;
}

/* Forgets those that are answered completely. */
void ooo_req_rd_retire(struct ooo_ep *ep)
{
	struct ooo_req *req = &ep->req;

	while (req->rd_head != req->rd_tail &&
	       !ooo_before(req->una, req->rd[req->rd_head % OOO_RD_RING].end))
		req->rd_head++;
}

/* The request on the wire that covers @seq. */
const struct ooo_req_read *ooo_req_rd_find(const struct ooo_ep *ep, u32 seq)
{
	const struct ooo_req *req = &ep->req;
	const struct ooo_req_read *rd;
	u32 i;

	for (i = req->rd_head; i != req->rd_tail; i++) {
		rd = &req->rd[i % OOO_RD_RING];
		if (ooo_before(seq, rd->seq))
			return NULL;
		if (ooo_before(seq, rd->end))
			return rd;
	}
	return NULL;
}
