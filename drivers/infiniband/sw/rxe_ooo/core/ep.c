// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The endpoint: life cycle, and the entry points, each of which ends in
 * ep_work(): send what can be sent within the budget and arm the timer.
 */
#include "req_priv.h"
#include "resp_priv.h"

static void forget_peer(struct ooo_ep *ep)
{
	ep->sack = false;
	ep->heard = false;
	ep->capable = false;
	ep->paths = 0;
}

void ooo_ep_init(struct ooo_ep *ep)
{
	ep->state = OOO_RESET;
	ep->armed = OOO_NEVER;
	ep->flush_send = false;
	ep->flush_recv = false;
	ep->last_wqe = false;
	forget_peer(ep);
	memset(ep->stat, 0, sizeof(ep->stat));
	ooo_req_init(ep);
	ooo_resp_init(ep);
}

/*
 * The timer is moved only towards the present: most deadlines move away with
 * each packet, and a call that comes early is harmless.
 */
static void arm(struct ooo_ep *ep)
{
	u64 deadline = min_t(u64, ooo_req_deadline(ep), ooo_resp_deadline(ep));

	if (deadline >= ep->armed)
		return;
	ep->armed = deadline;
	ooo_env_arm(ep, deadline);
}

static void disarm(struct ooo_ep *ep)
{
	if (ep->armed == OOO_NEVER)
		return;
	ep->armed = OOO_NEVER;
	ooo_env_arm(ep, OOO_NEVER);
}

static bool flush(struct ooo_ep *ep)
{
	if (ep->flush_send)
		ep->flush_send = ooo_flush_send(ep);
	if (ep->flush_recv)
		ep->flush_recv = ooo_flush_recv(ep);
	return ep->flush_send || ep->flush_recv;
}

/* Replies take at most half of the budget while requests wait. */
static bool ep_work(struct ooo_ep *ep, u64 now)
{
	u32 budget = max_t(u32, ep->tun->budget, 2);
	u32 half = (budget + 1) / 2, rest = budget - half;
	bool more = ep->resp.more, replies, requests;

	replies = ooo_resp_emit(ep, &half, now);
	rest += half;
	requests = ooo_req_send(ep, &rest, now);
	if (replies && rest)
		replies = ooo_resp_emit(ep, &rest, now);
	if (ep->flush_send || ep->flush_recv)
		more = flush(ep);
	else
		more |= replies || requests;
	arm(ep);
	return more;
}

static void enter_err(struct ooo_ep *ep)
{
	ep->state = OOO_ERR;
	ooo_req_release(ep);
	ooo_resp_release(ep);
	ep->resp.more = false;
	ep->flush_send = ep->attr.service != OOO_XRC_TGT;
	ep->flush_recv = true;
}

void ooo_ep_fail(struct ooo_ep *ep, u64 now)
{
	(void)now;
	if (ep->state == OOO_ERR)
		return;
	if (ooo_is_uc(ep)) {	/* only the send queue stops (IBTA 10.3.1) */
		ep->state = OOO_SQE;
		ep->flush_send = true;
	} else {
		enter_err(ep);
	}
	ooo_env_state(ep, ep->state);
}

void ooo_ep_to_reset(struct ooo_ep *ep)
{
	disarm(ep);
	ooo_req_reset(ep);
	ooo_resp_reset(ep);
	ep->flush_send = false;
	ep->flush_recv = false;
	ep->last_wqe = false;
	forget_peer(ep);
	ep->state = OOO_RESET;
}

void ooo_ep_to_init(struct ooo_ep *ep)
{
	ep->state = OOO_INIT;
}

static u32 log2_of(u32 mtu)
{
	u32 shift = 0;

	while (mtu >>= 1)
		shift++;
	return shift;
}

void ooo_ep_to_rtr(struct ooo_ep *ep, u64 now)
{
	(void)now;
	ep->mtu_shift = log2_of(ep->attr.mtu);
	forget_peer(ep);
	ep->sack = ep->tun->sack && !ooo_is_uc(ep);
	if (ep->sack && ep->tun->paths > 1)
		ep->paths = (u8)min_t(u32, ep->tun->paths, OOO_PATHS_MAX);
	ooo_resp_rtr(ep);
	ep->state = OOO_RTR;
}

bool ooo_ep_to_rts(struct ooo_ep *ep, u64 now)
{
	ep->state = OOO_RTS;
	ep->flush_send = false;
	ooo_req_rts(ep, now);
	return ep_work(ep, now);
}

void ooo_ep_to_sqd(struct ooo_ep *ep, u64 now)
{
	ep->state = OOO_SQD;
	ep->req.drain_event = true;
	ooo_req_ask(ep);
	ooo_req_advance(ep, now);
	if (ep_work(ep, now))
		ooo_env_kick(ep);
}

void ooo_ep_to_err(struct ooo_ep *ep, u64 now)
{
	if (ep->state == OOO_ERR)
		return;
	disarm(ep);
	enter_err(ep);
	if (ep_work(ep, now))
		ooo_env_kick(ep);
}

bool ooo_ep_sq_drained(const struct ooo_ep *ep)
{
	return ooo_req_drained(ep);
}

static bool takes_requests(const struct ooo_ep *ep)
{
	return ep->state >= OOO_RTR && ep->state <= OOO_SQE &&
	       ep->attr.service != OOO_XRC_INI;
}

static bool takes_responses(const struct ooo_ep *ep)
{
	return (ep->state == OOO_RTS || ep->state == OOO_SQD) &&
	       ep->attr.service != OOO_XRC_TGT;
}

void ooo_learn_peer(struct ooo_ep *ep, const struct ooo_pkt *pkt)
{
	ep->heard = true;
	if (ep->sack && (pkt->h.rsvd7 & OOO_BTH_CAP))
		ep->capable = true;
}

static void rx(struct ooo_ep *ep, const struct ooo_pkt *pkt, u64 now)
{
	u32 info = ooo_opcode_info(pkt->h.opcode);

	if (!info || OOO_BTH_SERVICE(pkt->h.opcode) != ooo_service_bits(ep) ||
	    pkt->payload_len > ep->attr.mtu)
		return ooo_count(ep, OOO_STAT_BAD_OPCODE);
	if (!(info & OOO_IS_RESPONSE ? takes_responses(ep) : takes_requests(ep)))
		return ooo_count(ep, OOO_STAT_BAD_STATE);
	if (pkt->ce)
		ooo_count(ep, OOO_STAT_CE_RCVD);
	if (info & OOO_IS_RESPONSE)
		ooo_req_rx(ep, pkt, now);
	else if (ooo_is_uc(ep))
		ooo_uc_rx(ep, pkt);
	else
		ooo_resp_rx(ep, pkt, now);
}

bool ooo_ep_rx(struct ooo_ep *ep, const struct ooo_pkt *pkt, u64 now)
{
	ooo_count(ep, OOO_STAT_RX_PACKETS);
	rx(ep, pkt, now);
	return ep_work(ep, now);
}

void ooo_ep_cnp(struct ooo_ep *ep, u64 now)
{
	if (!takes_responses(ep))
		return;
	ooo_count(ep, OOO_STAT_CNP);
	ooo_req_cnp(ep, now);
}

bool ooo_ep_post_send(struct ooo_ep *ep, u64 now)
{
	if (ep->state == OOO_ERR || ep->state == OOO_SQE)
		ep->flush_send = ep->attr.service != OOO_XRC_TGT;
	return ep_work(ep, now);
}

void ooo_ep_post_recv(struct ooo_ep *ep, u64 now)
{
	if (ep->state != OOO_ERR)
		return;
	ep->flush_recv = true;
	if (ep_work(ep, now))
		ooo_env_kick(ep);
}

bool ooo_ep_timer(struct ooo_ep *ep, u64 now)
{
	ep->armed = OOO_NEVER;
	ooo_resp_timer(ep, now);
	ooo_req_timer(ep, now);
	return ep_work(ep, now);
}

bool ooo_ep_resume(struct ooo_ep *ep, u64 now)
{
	ep->req.stalled = false;
	ep->resp.stalled = false;
	ep->resp.blocked = false;
	if (takes_requests(ep) && !ooo_is_uc(ep)) {
		ooo_resp_drain(ep, now);
		if (!ep->resp.rnr)	/* then only an arrival tells that the peer goes on */
			ooo_resp_watch_gap(ep, now);
	}
	if (takes_responses(ep))
		ooo_req_advance(ep, now);
	return ep_work(ep, now);
}

void ooo_ep_fatal(struct ooo_ep *ep, enum ooo_event event, u64 now)
{
	if (ep->state < OOO_RTR || ep->state == OOO_ERR)
		return;
	ooo_env_event(ep, event);
	enter_err(ep);
	ooo_env_state(ep, OOO_ERR);
	if (ep_work(ep, now))
		ooo_env_kick(ep);
}
