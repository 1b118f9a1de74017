// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requester's clocks. Sending again starts after a time that follows the
 * round trip: first one packet that probes the tail (RFC 8985 7), then
 * everything. The verbs timeout is the outer promise: without any progress
 * the QP fails after 2 * T * (retry_cnt + 1), which IBTA's T..4T allows.
 */
#include "req_priv.h"

#define BACKOFF_MAX	10	/* doublings */
#define PROBES		4	/* without an answer, before all is sent again to a capable peer */
#define NS_PER_MS	1000000ULL
#define SILENCE		(500 * NS_PER_MS)	/* when T is infinite */
#define ASLEEP		(2 * NS_PER_MS)		/* a timer later than that: we were not running */

static bool outstanding(const struct ooo_ep *ep)
{
	return ep->req.una != ep->req.high;
}

/* When to give up; OOO_NEVER: never. */
static u64 give_up_at(const struct ooo_ep *ep)
{
	u64 t = ooo_req_ack_timeout(ep);

	return t ? ep->req.progress_at + 2 * t * (ep->attr.retry_cnt + 1) : OOO_NEVER;
}

/* The peer got us further. */
void ooo_req_progress(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;

	req->backoff = 0;
	req->late = false;
	req->progress_at = now;
	req->rto_at = now + ooo_req_rto(ep);
	if (req->probed && req->una != req->probe_seq && req->una != req->probe_end)
		req->probed = false;
}

/* A new packet is on the wire (@high has not moved yet). */
void ooo_req_sent(struct ooo_ep *ep, u32 seq, bool asks, u64 now)
{
	struct ooo_req *req = &ep->req;

	if (!outstanding(ep))
		ooo_req_progress(ep, now);
	req->unasked = asks ? 0 : req->unasked + 1;
	if (asks)
		ooo_req_rtt_start(ep, seq, now);
}

/*
 * A capable peer tells all that it misses when it gets the last packet (RFC 8985
 * 7); every other time the first one is sent, in case that it is the only one
 * that the peer can use.
 */
static bool probes_tail(const struct ooo_ep *ep)
{
	const struct ooo_req *req = &ep->req;

	return ep->capable && !(req->backoff & 1) && !ooo_req_rd_find(ep, req->high - 1) &&
	       !ooo_req_is_here(ep, req->high - 1);
}

static void probe(struct ooo_ep *ep)
{
	struct ooo_req *req = &ep->req;

	ooo_count(ep, OOO_STAT_TAIL_PROBES);
	if (probes_tail(ep)) {
		req->probed = false;
		ooo_req_want_unit(ep, req->high - 1, false);
		return;
	}
	req->probed = true;
	req->probe_seq = req->una;
	req->probe_end = req->una + ooo_req_span(ep, req->una, false);
	ooo_req_want_unit(ep, req->una, false);
}

static void go_back(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;

	ooo_count(ep, OOO_STAT_TIMEOUT);
	req->probed = false;
	ooo_req_revoke(ep, req->una, now);
	ooo_req_go_back(ep, ooo_before(req->una, req->acked) ? req->acked : req->una, now);
	if (req->send != req->una)
		ooo_req_want_unit(ep, req->una, true);
}

/* So long without an answer to anything that all may be lost. */
static bool silent(const struct ooo_ep *ep, u64 now)
{
	u64 since = max_t(u64, ep->req.progress_at, ep->req.back_at);
	u64 t = ooo_req_ack_timeout(ep);

	return now - since >= (t ? t / 2 : SILENCE);
}

/* A capable peer's answer to any probe tells what it lacks: only silence is bad news. */
static bool hopeless(const struct ooo_ep *ep, u64 now)
{
	return ep->req.backoff >= PROBES && silent(ep, now);
}

/*
 * A probe costs one packet, so it may be early; sending all again because the
 * answer is slow would make it slower. That waits until the peer's answer to
 * the probe shows that it lacks the rest, or for long silence.
 */
static void probe_or_go_back(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;

	if (ep->capable ? hopeless(ep, now) :
	    (req->probed && req->una == req->probe_end) || silent(ep, now))
		go_back(ep, now);
	else
		probe(ep);
}

static void timed_out(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;
	u64 late = now - req->rto_at;

	req->stalled = false;
	if (late > ASLEEP && !req->late) {
		req->late = true;
		req->progress_at += late;	/* nobody could have got us further */
		req->rto_at = now + ASLEEP;	/* first see what has come meanwhile */
		return;
	}
	if (now >= give_up_at(ep)) {
		ooo_count(ep, OOO_STAT_TIMEOUT);
		return ooo_req_fatal(ep, OOO_WC_RETRY_EXC_ERR, now);
	}
	req->late = false;
	ooo_req_allow_repairs(ep);
	probe_or_go_back(ep, now);
	if (req->backoff < BACKOFF_MAX)
		req->backoff++;
	req->rto_at = min_t(u64, now + ooo_req_rto(ep), give_up_at(ep));
}

/* A response is missing though a later one, or an ACK above it, is here. */
void ooo_req_watch_hole(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;

	if (outstanding(ep) && ooo_before(req->una, req->acked))
		ooo_reorder_open(&req->reorder, ep->tun, req->una, req->acked, now);
	else if (req->reorder.open || req->reorder.asked)
		ooo_reorder_close(&req->reorder);
}

/*
 * It has been missing for too long: an implied NAK (IBTA 9.7.5.2.8). Only the
 * lowest hole is asked for; when there are more behind, the READ's whole rest.
 */
static void ask_again(struct ooo_ep *ep, u64 now)
{
	const struct ooo_req_read *rd = ooo_req_rd_find(ep, ep->req.una);
	bool whole = ep->req.reorder.asked;

	ooo_count(ep, OOO_STAT_IMPLIED_NAK);
	ooo_reorder_ask(&ep->req.reorder, ep->tun, rd ? rd->end : ep->req.una + 1,
			ooo_req_rtt_guard(ep), now);
	ooo_req_want_unit(ep, ep->req.una, whole);
}

void ooo_req_timer(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;

	if (ep->state != OOO_RTS && ep->state != OOO_SQD)
		return;
	if (req->rnr_wait) {
		if (now < req->rnr_until)
			return;
		ooo_req_rnr_over(ep, now);
	}
	if (!outstanding(ep))
		return;
	if (ep->capable) {
		ooo_req_rack(ep, now);
		ooo_req_watch_asks(ep, now);
	} else if (ooo_reorder_expired(&req->reorder, now)) {
		ask_again(ep, now);
	}
	if (now >= req->rto_at)
		timed_out(ep, now);
}

u64 ooo_req_deadline(const struct ooo_ep *ep)
{
	const struct ooo_req *req = &ep->req;

	if (ep->state != OOO_RTS && ep->state != OOO_SQD)
		return OOO_NEVER;
	if (req->rnr_wait)
		return req->rnr_until;
	if (!outstanding(ep))
		return OOO_NEVER;
	if (ep->capable)
		return min_t(u64, req->rto_at, min_t(u64, req->rack_due, req->hole_due));
	return min_t(u64, req->rto_at, req->reorder.deadline);
}
