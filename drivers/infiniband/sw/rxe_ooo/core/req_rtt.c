// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Round trip and retransmission timeout (RFC 6298). One packet at a time is
 * timed, resent ones never (Karn). The verbs timeout T bounds the result, so
 * that several attempts fit into what T and retry_cnt promise.
 */
#include "req_priv.h"

#define NS_PER_MS	1000000ULL
#define RTO_INITIAL	(30 * NS_PER_MS)
#define RTO_MIN		(8 * NS_PER_MS)
#define RTO_MAX		(1000 * NS_PER_MS)	/* when T is infinite */

/* T of IBTA 9.7.6.1.3: 4.096 us * 2^timeout; 0: infinite. */
u64 ooo_req_ack_timeout(const struct ooo_ep *ep)
{
	return ep->attr.timeout ? 4096ULL << (ep->attr.timeout & 31) : 0;
}

void ooo_req_rtt_start(struct ooo_ep *ep, u32 seq, u64 now)
{
	if (ep->req.timing)
		return;
	ep->req.timing = true;
	ep->req.timed = seq;
	ep->req.timed_at = now;
}

/* A round trip was measured. */
void ooo_req_rtt_take(struct ooo_req *req, u64 rtt)
{
	u64 err = rtt > req->srtt ? rtt - req->srtt : req->srtt - rtt;

	if (!req->srtt) {
		req->srtt = max_t(u64, rtt, 1);
		req->rttvar = rtt / 2;
		return;
	}
	req->rttvar = req->rttvar - req->rttvar / 4 + err / 4;
	req->srtt = req->srtt - req->srtt / 8 + rtt / 8;
}

void ooo_req_rtt_sample(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;

	if (!req->timing || !ooo_before(req->timed, req->acked))
		return;
	req->timing = false;
	if (!ep->capable)	/* else each record is timed: req_rack.c */
		ooo_req_rtt_take(req, now - req->timed_at);
}

/* An answer to something sent now will probably be here after this time. */
u64 ooo_req_rtt_guard(const struct ooo_ep *ep)
{
	const struct ooo_req *req = &ep->req;

	return req->srtt ? req->srtt + 4 * req->rttvar : RTO_MIN;
}

/* What a capable peer misses is found out after the reordering window, without a timeout. */
static u64 quiet_time(const struct ooo_ep *ep)
{
	u64 rtt = ooo_req_rtt_guard(ep), usual = ep->req.srtt;

	if (unlikely(ep->req.path))
		usual = max_t(u64, usual, ooo_paths_slowest(ep));
	return ep->capable ? max_t(u64, rtt, usual + ooo_req_reo(ep)) : rtt;
}

/* The backoff ends at T/4, but nothing is sent again sooner than the path needs. */
u64 ooo_req_rto(const struct ooo_ep *ep)
{
	u64 base = ep->req.srtt ? max_t(u64, quiet_time(ep), RTO_MIN) : RTO_INITIAL;
	u64 t = ooo_req_ack_timeout(ep);
	u64 most = max_t(u64, t ? t / 4 : RTO_MAX, base);
	u64 rto = min_t(u64, base << ep->req.backoff, most);

	return t ? min_t(u64, rto, t) : rto;
}
