// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The extension of an ACK arrives: what the peer has above the acknowledged PSN. */
#include "req_priv.h"

static void take_word(struct ooo_ep *ep, u32 seq, u64 bits, u64 now)
{
	const struct ooo_req *req = &ep->req;
	u32 s;

	if (!(seq % 64))
		bits &= ooo_slots_word(&req->sent, seq);	/* the rest is no news */
	for (; bits; bits &= bits - 1) {
		s = seq + ooo_lowest_bit(bits);
		if (!ooo_before(s, req->acked) && ooo_before(s, req->high))
			ooo_req_delivered(ep, s, now);
	}
}

/*
 * After an RNR NAK what is reported may be what that has revoked: an ACK from before
 * that comes late. Everything is going to be sent again.
 */
static bool is_void(const struct ooo_req *req)
{
	return req->rnr_wait && !ooo_before(req->rnr_seq, req->acked);
}

static void take_needless(struct ooo_ep *ep, const struct ooo_sack *sack)
{
	struct ooo_req *req = &ep->req;
	u8 new = sack->needless - req->needless_seen;

	if (!new || new >= 0x80)
		return;		/* no news, or an ACK that another has overtaken */
	req->needless_seen = sack->needless;
	ooo_req_needless(ep, ooo_unwrap(req->una, sack->needless_psn));
}

void ooo_req_sack(struct ooo_ep *ep, const struct ooo_sack *sack, u64 now)
{
	struct ooo_req *req = &ep->req;
	u64 before = req->delivered;
	u32 base = ooo_unwrap(req->una, sack->base);
	u32 i;

	if (sack->words)
		ooo_count(ep, OOO_STAT_SACK_RCVD);
	req->peer_window = max_t(u32, sack->window, 1);
	for (i = 0; i < sack->words && !is_void(req); i++)
		take_word(ep, base + 64 * i, sack->bits[i], now);
	take_needless(ep, sack);
	ooo_req_ce(ep, sack->ce, now);
	if (req->delivered != before)
		ooo_req_progress(ep, now);
}
