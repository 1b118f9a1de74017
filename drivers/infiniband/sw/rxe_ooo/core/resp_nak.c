// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Negative acknowledgements. They are owed at a PSN and sent when every reply
 * before it has been (resp_emit.c); an error ends the QP then, not before.
 */
#include "resp_priv.h"

#define NS_PER_MS	1000000ULL

static void owe(struct ooo_resp *resp, u8 syndrome, u32 seq)
{
	resp->nak_due = true;
	resp->nak = syndrome;
	resp->nak_seq = seq;
}

void ooo_resp_fail_at(struct ooo_ep *ep, u32 seq, enum ooo_nak code, enum ooo_event event)
{
	struct ooo_resp *resp = &ep->resp;

	owe(resp, OOO_AETH_NAK | code, seq);
	resp->fatal = true;
	resp->event = event;
	ooo_reorder_close(&resp->reorder);
}

void ooo_resp_fail(struct ooo_ep *ep, enum ooo_nak code, enum ooo_event event)
{
	ooo_resp_fail_at(ep, ep->resp.eseq, code, event);
}

/*
 * What is in flight behind the packet that found no receive request brings
 * copies of it, too; those are not answered again at once. A peer that lost
 * our NAK asks later.
 */
static u64 rnr_quiet(const struct ooo_ep *ep)
{
	u64 some = max_t(u64, 2 * ep->resp.reorder.window, 4 * NS_PER_MS);

	return min_t(u64, ooo_rnr_ns(ep->attr.min_rnr_timer), some);
}

void ooo_resp_rnr(struct ooo_ep *ep, u64 now)
{
	struct ooo_resp *resp = &ep->resp;

	if (resp->rnr && now - resp->rnr_at < rnr_quiet(ep))
		return;
	resp->rnr = true;
	resp->rnr_at = now;
	resp->rnr_until = now + ooo_rnr_ns(ep->attr.min_rnr_timer);
	owe(resp, OOO_AETH_RNR | (ep->attr.min_rnr_timer & 31), resp->eseq);
}

void ooo_resp_nak_sequence(struct ooo_ep *ep, u64 now)
{
	struct ooo_resp *resp = &ep->resp;

	/* A capable peer is told what is here, and finds out for itself what is lost. */
	if (ep->capable && resp->slots.in_use)
		resp->ack_due = true;
	else if (!resp->nak_due)
		owe(resp, OOO_AETH_NAK | OOO_NAK_SEQUENCE, resp->eseq);
	ooo_reorder_ask(&resp->reorder, ep->tun, resp->high, resp->round_trip, now);
	resp->missing = false;
	if (!resp->nak_at)
		resp->nak_at = now;
}
