// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The peer has no receive request: wait as long as it says, then send again
 * from there. One wait and one retry an underrun: a copy of the NAK that
 * comes while waiting changes nothing.
 */
#include "req_priv.h"

#define RNR_FOR_EVER	7

/* IBTA table 46, in units of 10 us. */
static const u32 rnr_10us[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
	16384, 24576, 32768, 49152,
};

u64 ooo_rnr_ns(u8 code)
{
	return rnr_10us[code & 31] * 10000ULL;
}

void ooo_req_rnr(struct ooo_ep *ep, u8 code, u32 seq, u64 now)
{
	struct ooo_req *req = &ep->req;

	if (req->rnr_wait && seq == req->rnr_seq)
		return;
	ooo_count(ep, OOO_STAT_RNR_RCVD);
	if (req->rnr_seq != seq)
		req->rnr_left = ep->attr.rnr_retry;
	req->rnr_seq = seq;
	if (!req->rnr_left)
		return ooo_req_fail_seq(ep, seq, OOO_WC_RNR_RETRY_EXC_ERR);
	if (req->rnr_left != RNR_FOR_EVER)
		req->rnr_left--;
	req->rnr_wait = true;
	req->unit_due = false;
	req->rnr_until = now + ooo_rnr_ns(code);
	ooo_req_revoke(ep, seq, now);
	ooo_req_go_back(ep, seq, now);
}

/* The wait is over, or the peer has got what it lacked a receive request for. */
void ooo_req_rnr_over(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;

	req->rnr_wait = false;
	req->backoff = 0;
	req->progress_at = now;
	req->rto_at = now + ooo_req_rto(ep);
}
