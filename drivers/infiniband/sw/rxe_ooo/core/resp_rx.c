// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A request arrives. Its PSN against the expected one decides: its turn,
 * early, a duplicate, or too far ahead.
 */
#include "resp_priv.h"

enum where {
	EXPECTED,
	EARLY,
	KNOWN,		/* early, and a copy of it is already here */
	OLD,
	TOO_FAR,
};

/* PSNs, the expected one included, that are kept. */
u32 ooo_resp_window(const struct ooo_ep *ep)
{
	return min_t(u32, max_t(u32, ep->tun->recv_window, 1), OOO_WINDOW_MAX);
}

static enum where locate(const struct ooo_ep *ep, u32 seq)
{
	const struct ooo_resp *resp = &ep->resp;

	if (ooo_before(seq, resp->eseq))
		return OLD;
	if (seq - resp->eseq >= ooo_resp_window(ep))
		return TOO_FAR;
	if (ooo_slots_find(&resp->slots, seq))
		return KNOWN;
	return seq == resp->eseq ? EXPECTED : EARLY;
}

static void count_request(struct ooo_ep *ep, u8 opcode, u32 info)
{
	if (info & OOO_IS_WRITE)
		ooo_count(ep, OOO_STAT_RX_WRITE);
	else if (OOO_BTH_OP(opcode) == OOO_OP_READ_REQUEST)
		ooo_count(ep, OOO_STAT_RX_READ);
	else if (info & OOO_HAS_ATOMIC)
		ooo_count(ep, OOO_STAT_RX_ATOMIC);
}

static void establish(struct ooo_ep *ep)
{
	if (ep->resp.established)
		return;
	ep->resp.established = true;
	if (ep->state == OOO_RTR)
		ooo_env_event(ep, OOO_EVENT_COMM_EST);
}

static void early(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq)
{
	u64 distance = seq - ep->resp.eseq;

	ooo_count(ep, OOO_STAT_OUT_OF_SEQUENCE);
	if (distance > ep->stat[OOO_STAT_REORDER_MAX])
		ep->stat[OOO_STAT_REORDER_MAX] = distance;
	ooo_resp_early(ep, pkt, seq);
}

void ooo_resp_rx(struct ooo_ep *ep, const struct ooo_pkt *pkt, u64 now)
{
	struct ooo_resp *resp = &ep->resp;
	u32 seq = ooo_unwrap(resp->eseq, pkt->h.psn);
	enum where where = locate(ep, seq);

	establish(ep);
	if (resp->fatal)
		return;
	count_request(ep, pkt->h.opcode, ooo_opcode_info(pkt->h.opcode));
	if (where != OLD && where != TOO_FAR)
		ooo_learn_peer(ep, pkt);
	ooo_resp_note(ep, pkt);
	switch (where) {
	case EXPECTED:
		ooo_resp_turn(ep, pkt, now);
		break;
	case EARLY:
		early(ep, pkt, seq);
		break;
	case KNOWN:
		ooo_count(ep, OOO_STAT_DUPLICATE);
		if (unlikely(ep->paths))
			ooo_resp_ack_again(ep, pkt, now);
		ooo_resp_note_needless(ep, pkt, seq);
		break;
	case OLD:
		if (unlikely(ep->paths))
			ooo_resp_ack_again(ep, pkt, now);
		ooo_resp_duplicate(ep, pkt, seq);
		break;
	case TOO_FAR:
		ooo_count(ep, OOO_STAT_DROP_WINDOW);
		ooo_resp_missed(ep, seq);
		break;
	}
	ooo_resp_drain(ep, now);
	ooo_resp_watch_gap(ep, now);
}
