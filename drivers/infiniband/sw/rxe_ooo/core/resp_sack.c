// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a capable peer is told beyond the acknowledged PSN: which packets are
 * here already, and which were repeated for nothing (docs/wire.md). The peer
 * decides by time what is lost, so nothing is urgent: an ACK goes out when it
 * is asked for, for every 32nd early packet, for one that cannot ask (READ...),
 * and for what was repeated. Once something was repeated, packets do get lost
 * here, and every eighth early packet is told, so that holes are found sooner.
 */
#include "resp_priv.h"

#define EARLY_ACK	32u	/* packets */
#define EARLY_ACK_LOSSY	8u	/* packets, where some were repeated lately: */
#define LOSSY_FOR	1024u	/* early packets since the last repeated one */
#define SWEEP_EVERY	4u	/* SACKs: one of so many tells an older part */
#define SACK_BITS	(64 * OOO_SACK_WORDS)

static bool is_repeated(const struct ooo_ep *ep, const struct ooo_pkt *pkt)
{
	return ep->capable && (pkt->h.rsvd7 & OOO_BTH_RETX);
}

/* Every request that arrives. */
void ooo_resp_note(struct ooo_ep *ep, const struct ooo_pkt *pkt)
{
	if (is_repeated(ep, pkt))
		ep->resp.lossy = LOSSY_FOR;
	if (!pkt->ce)
		return;
	ep->resp.ce++;
	ep->resp.fresh = OOO_FRESH_ACKS;
}

/* A packet came early and is kept. */
void ooo_resp_note_early(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq)
{
	struct ooo_resp *resp = &ep->resp;
	u32 every = resp->lossy ? EARLY_ACK_LOSSY : EARLY_ACK;

	resp->newest = seq;
	if (!ep->capable)
		return;
	if (resp->lossy)
		resp->lossy--;
	resp->early_acks++;
	if (pkt->h.ack_req || is_repeated(ep, pkt) || resp->early_acks >= every ||
	    !(ooo_opcode_info(pkt->h.opcode) & (OOO_IS_SEND | OOO_IS_WRITE)))
		resp->ack_due = true;
}

/* A SEND or WRITE that had been here. */
void ooo_resp_note_needless(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq)
{
	struct ooo_resp *resp = &ep->resp;

	if (!is_repeated(ep, pkt) ||
	    !(ooo_opcode_info(pkt->h.opcode) & (OOO_IS_SEND | OOO_IS_WRITE)))
		return;
	ooo_count(ep, OOO_STAT_NEEDLESS);
	resp->needless++;
	resp->needless_seq = seq;
	resp->fresh = OOO_FRESH_ACKS;
	resp->ack_due = true;
}

/* Where the bitmap starts: it ends with the newest arrival, or tells an older part. */
static u32 choose_base(struct ooo_resp *resp)
{
	u32 low = resp->eseq & ~63u;
	u32 base = (resp->newest & ~63u) - (SACK_BITS - 64);

	if (resp->high - low <= SACK_BITS || ooo_before(base, low))
		return low;
	if (++resp->sweep_turn < SWEEP_EVERY)
		return base;
	resp->sweep_turn = 0;
	resp->sweep += SACK_BITS;
	if (ooo_before(resp->sweep, low) || !ooo_before(resp->sweep, resp->high))
		resp->sweep = low;
	return resp->sweep;
}

static void fill_bitmap(struct ooo_resp *resp, struct ooo_sack *sack)
{
	u32 seq = choose_base(resp);
	u32 end = resp->high, n;

	if (end - (resp->eseq & ~63u) > OOO_WINDOW_MAX)
		end = (resp->eseq & ~63u) + OOO_WINDOW_MAX;	/* the ring of slots ends there */
	sack->base = seq & PSN_MASK;
	for (n = 0; n < OOO_SACK_WORDS && ooo_before(seq, end); n++, seq += 64)
		sack->bits[n] = ooo_slots_word(&resp->slots, seq);
	sack->words = n;
}

/* Adds the extension to an ACK, if there is something to tell. */
void ooo_resp_extend(struct ooo_ep *ep, struct ooo_hdr *hdr)
{
	struct ooo_resp *resp = &ep->resp;

	if (!resp->slots.in_use && !resp->fresh)
		return;
	hdr->rsvd7 |= OOO_BTH_EXT;
	hdr->has_sack = true;
	hdr->sack.window = (u16)ooo_resp_window(ep);
	hdr->sack.ce = resp->ce;
	hdr->sack.needless = resp->needless;
	hdr->sack.needless_psn = resp->needless_seq & PSN_MASK;
	hdr->sack.base = resp->eseq & PSN_MASK;
	if (resp->slots.in_use) {
		fill_bitmap(resp, &hdr->sack);
		ooo_count(ep, OOO_STAT_SACK_SENT);
	}
	if (resp->fresh)
		resp->fresh--;
}
