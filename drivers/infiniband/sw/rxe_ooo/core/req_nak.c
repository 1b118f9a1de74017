// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A sequence NAK: the peer misses a packet. How much is sent again?
 *
 * A plain responder has dropped everything behind the gap and needs it all
 * (go-back-N). One that keeps what comes early needs the one packet, and if
 * that was only late not even this. Which kind the peer is shows when it
 * acknowledges the lone packet: exactly that, or more. So the first NAKs are
 * answered by a lone packet; several before all that was on the wire is through
 * mean that much is lost, and then everything is sent.
 */
#include "req_priv.h"

#define LONE_ANSWERS	3	/* in one episode */

/* The packet at @seq has been sent again so lately that no answer can be here. */
static bool just_resent(const struct ooo_ep *ep, u32 seq, u64 now)
{
	const struct ooo_req *req = &ep->req;

	return req->back_at && !ooo_before(seq, req->back_seq) &&
	       ooo_before(seq, req->back_to) &&
	       now - req->back_at < ooo_req_rtt_guard(ep);
}

static bool lone_will_do(const struct ooo_ep *ep, u32 seq)
{
	const struct ooo_req *req = &ep->req;

	if (req->naks >= LONE_ANSWERS)
		return false;
	/* A READ's answer does not tell which kind the peer is. */
	return req->holds || (!req->plain && !ooo_req_rd_find(ep, seq));
}

static void send_lone(struct ooo_ep *ep, u32 seq, u64 now)
{
	struct ooo_req *req = &ep->req;

	req->naks++;
	req->lone = true;
	req->back_seq = seq;
	req->back_to = seq + 1;
	req->back_at = now;
	ooo_req_want_unit(ep, seq, true);
}

static void answer(struct ooo_ep *ep, u32 seq, u64 now)
{
	struct ooo_req *req = &ep->req;

	if (!req->naks || !ooo_before(seq, req->episode)) {
		req->episode = req->high;
		req->naks = 0;
	}
	if (lone_will_do(ep, seq))
		return send_lone(ep, seq, now);
	req->episode = req->high;
	ooo_req_go_back(ep, seq, now);
}

/* What has become of the lone packet? */
void ooo_req_judge_peer(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;

	if (!req->lone || !ooo_before(req->back_seq, req->acked))
		return;
	req->lone = false;
	if (req->acked != req->back_to) {
		req->holds = true;
	} else if (!req->holds && ooo_before(req->acked, req->episode)) {
		req->plain = true;
		ooo_req_go_back(ep, req->acked, now);
	}
}

void ooo_req_nak(struct ooo_ep *ep, u32 seq, u64 now)
{
	struct ooo_req *req = &ep->req;

	ooo_count(ep, OOO_STAT_PACKET_SEQ_ERR);
	if (req->rnr_wait)
		return;		/* everything is sent again then */
	if (ooo_before(req->send, req->high)) {
		ooo_req_skip_acked(ep);
		if (!ooo_before(seq, req->send))
			return;	/* its turn comes */
	}
	if (!just_resent(ep, seq, now))
		answer(ep, seq, now);
}
