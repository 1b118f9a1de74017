// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A gap in the PSNs: time decides whether its packets are late or lost.
 */
#include "resp_priv.h"

/* Is something above the expected packet here while that is not? */
static bool gap(const struct ooo_ep *ep, u64 now)
{
	const struct ooo_resp *resp = &ep->resp;

	if ((!resp->slots.in_use && !resp->missing) || resp->fatal || resp->blocked)
		return false;
	if (resp->rnr && now < resp->rnr_until)
		return false;	/* the peer waits, too */
	return !ooo_slots_find(&resp->slots, resp->eseq);
}

/* A packet above the expected one was dropped: it shows a gap all the same, once. */
void ooo_resp_missed(struct ooo_ep *ep, u32 seq)
{
	struct ooo_resp *resp = &ep->resp;

	if (!resp->missing || ooo_before(resp->missed, seq + 1))
		resp->missed = seq + 1;
	resp->missing = true;
}

static u32 evidence(const struct ooo_resp *resp)
{
	if (resp->missing && ooo_before(resp->high, resp->missed))
		return resp->missed;
	return resp->high;
}

/* After every packet: opens a gap's clock, or stops it. */
void ooo_resp_watch_gap(struct ooo_ep *ep, u64 now)
{
	struct ooo_resp *resp = &ep->resp;

	if (gap(ep, now)) {
		if (ooo_reorder_open(&resp->reorder, ep->tun, resp->eseq, evidence(resp),
				     now))
			ooo_count(ep, OOO_STAT_GAPS);
	} else if (resp->reorder.open || resp->reorder.asked) {
		ooo_reorder_close(&resp->reorder);
	}
}

static void learn_round_trip(struct ooo_resp *resp, u64 sample)
{
	resp->round_trip -= resp->round_trip / 8;
	resp->round_trip = max_t(u64, resp->round_trip, sample);
}

/* The expected PSN has moved. */
void ooo_resp_gap_moved(struct ooo_ep *ep, u64 now)
{
	struct ooo_resp *resp = &ep->resp;

	if (resp->nak_at) {
		learn_round_trip(resp, min_t(u64, now - resp->nak_at,
					     (u64)ep->tun->reorder_max_us * 1000));
		resp->nak_at = 0;
	}
	if (resp->missing && !ooo_before(resp->eseq, resp->missed))
		resp->missing = false;
	/* What was dropped far ahead, with nothing kept, says nothing of how late this one was. */
	if (resp->missing && !resp->slots.in_use && !resp->reorder.asked_gap) {
		resp->missing = false;
		return ooo_reorder_close(&resp->reorder);
	}
	ooo_reorder_filled(&resp->reorder, ep->tun, now);
}

void ooo_resp_timer(struct ooo_ep *ep, u64 now)
{
	if (ooo_reorder_expired(&ep->resp.reorder, now))
		ooo_resp_nak_sequence(ep, now);
}

u64 ooo_resp_deadline(const struct ooo_ep *ep)
{
	return ep->resp.reorder.deadline;
}
