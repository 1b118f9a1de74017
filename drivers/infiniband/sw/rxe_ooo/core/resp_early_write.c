// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A WRITE packet arrives before its turn on a QP with placement out of order.
 *
 * If its address is known it is placed at once and its slot remembers the
 * rest: from its own RETH (ONLY, FIRST), or, for MIDDLE and LAST, from the
 * FIRST of its message: each packet before it carries one path MTU. Otherwise
 * it is held, and placed when that FIRST arrives. Anything that does not look
 * right is held as well: the error is reported in its turn.
 */
#include "resp_priv.h"

static bool covers(const struct ooo_ep *ep, const struct ooo_resp_write *w, u32 seq)
{
	return w->valid && seq - w->seq < ooo_packets(ep, w->len);
}

/* An early message's entry lives until the expected PSN has passed its FIRST. */
static bool is_early(const struct ooo_ep *ep, const struct ooo_resp_write *w)
{
	return w->valid && !ooo_before(w->seq, ep->resp.eseq);
}

/* The message that the MIDDLE or LAST packet @seq belongs to. */
static const struct ooo_resp_write *find_write(const struct ooo_ep *ep, u32 seq)
{
	const struct ooo_resp_write *w, *best = NULL;
	u32 i;

	if (covers(ep, &ep->resp.write, seq))
		best = &ep->resp.write;
	for (i = 0; i < OOO_EARLY_MESSAGES; i++) {
		w = &ep->resp.early[i];
		if (is_early(ep, w) && covers(ep, w, seq) &&
		    (!best || ooo_before(best->seq, w->seq)))
			best = w;
	}
	return best;
}

/* Where in its message the packet lies; its length must fit there. */
static bool offset_of(const struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 info,
		      const struct ooo_resp_write *w, u32 seq, u32 *offset)
{
	u64 start = (u64)(seq - w->seq) << ep->mtu_shift;
	u64 end = start + pkt->payload_len;

	*offset = (u32)start;
	return info & OOO_IS_LAST ? end == w->len : end < w->len;
}

static void from_reth(const struct ooo_hdr *h, u32 seq, struct ooo_resp_write *w)
{
	w->va = h->va;
	w->rkey = h->rkey;
	w->len = h->dma_len;
	w->seq = seq;
	w->valid = h->dma_len <= OOO_MAX_LENGTH;
}

/* Finds out which message the packet belongs to and whether it may be placed. */
static bool resolve(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 info, u32 seq,
		    struct ooo_resp_write *w, u32 *offset)
{
	const struct ooo_resp_write *known;

	if (info & OOO_IS_FIRST) {
		from_reth(&pkt->h, seq, w);
		return w->valid && offset_of(ep, pkt, info, w, seq, offset) &&
		       ooo_resp_check_reth(ep, &pkt->h, OOO_ACCESS_REMOTE_WRITE) == OOO_OK;
	}
	known = find_write(ep, seq);
	if (!known)
		return false;
	*w = *known;
	return offset_of(ep, pkt, info, w, seq, offset);
}

static bool place(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 info, u32 seq,
		  struct ooo_resp_write *w)
{
	u32 offset;

	if (!resolve(ep, pkt, info, seq, w, &offset))
		return false;
	return !pkt->payload_len ||
	       ooo_env_write(ep, w->rkey, w->va + offset, pkt) == OOO_OK;
}

static void fill_slot(const struct ooo_ep *ep, const struct ooo_pkt *pkt,
		      struct ooo_resp_slot *slot)
{
	slot->held = NULL;
	slot->va = pkt->h.va;
	slot->rkey = pkt->h.rkey;
	slot->dma_len = pkt->h.dma_len;
	slot->imm = pkt->h.imm;
	slot->srqn = pkt->h.srqn;
	slot->invalidations = ep->resp.invalidations;
	slot->payload_len = pkt->payload_len;
	slot->opcode = pkt->h.opcode;
	slot->ack_req = pkt->h.ack_req;
	slot->solicited = pkt->h.solicited;
}

/* So that its MIDDLEs and LAST can be placed; without a free entry they are held. */
static void remember_message(struct ooo_ep *ep, const struct ooo_resp_write *w)
{
	u32 i;

	for (i = 0; i < OOO_EARLY_MESSAGES; i++)
		if (!is_early(ep, &ep->resp.early[i]))
			break;
	if (i < OOO_EARLY_MESSAGES)
		ep->resp.early[i] = *w;
}

/* The turn of an early FIRST: its entry must not come to life when sequence numbers wrap. */
void ooo_resp_early_over(struct ooo_ep *ep, u32 seq)
{
	u32 i;

	for (i = 0; i < OOO_EARLY_MESSAGES; i++)
		if (ep->resp.early[i].seq == seq)
			ep->resp.early[i].valid = false;
}

bool ooo_resp_place_early(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq)
{
	struct ooo_resp_slot *slot = ooo_slots_take(ep, &ep->resp.slots, seq);
	u32 info = ooo_opcode_info(pkt->h.opcode);
	struct ooo_resp_write w;

	if (!slot)
		return false;
	if (!place(ep, pkt, info, seq, &w)) {
		ooo_slots_drop(ep, &ep->resp.slots, seq);
		return false;
	}
	fill_slot(ep, pkt, slot);
	ooo_count(ep, OOO_STAT_PLACED_OOO);
	if ((info & (OOO_IS_FIRST | OOO_IS_LAST)) == OOO_IS_FIRST) {
		remember_message(ep, &w);
		ooo_resp_place_held(ep, &w);
	}
	return true;
}

static void place_one_held(struct ooo_ep *ep, u32 seq)
{
	struct ooo_resp_slot *slot = ooo_slots_find(&ep->resp.slots, seq);
	struct ooo_resp_write w;
	struct ooo_pkt *pkt;
	u32 info;

	if (!slot || !slot->held)
		return;
	pkt = slot->held;
	info = ooo_opcode_info(pkt->h.opcode);
	if (!(info & OOO_IS_WRITE) || (info & OOO_IS_FIRST) || !place(ep, pkt, info, seq, &w))
		return;
	fill_slot(ep, pkt, slot);
	ooo_env_release(ep, pkt);
	ooo_count(ep, OOO_STAT_PLACED_OOO);
}

/* The FIRST of @w is here: so can the packets be that waited for their address. */
void ooo_resp_place_held(struct ooo_ep *ep, const struct ooo_resp_write *w)
{
	u32 end = w->seq + ooo_packets(ep, w->len);
	u32 seq;

	if (ooo_before(ep->resp.high, end))
		end = ep->resp.high;
	for (seq = w->seq + 1; ep->resp.slots.in_use && ooo_before(seq, end); seq++)
		place_one_held(ep, seq);
}
