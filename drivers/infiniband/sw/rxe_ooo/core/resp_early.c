// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A packet above the expected PSN: a WRITE on a QP with placement out of order
 * is placed (resp_early_write.c), everything else is held until its turn.
 */
#include "resp_priv.h"

bool ooo_resp_hold(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq)
{
	struct ooo_resp_slot *slot = ooo_slots_take(ep, &ep->resp.slots, seq);

	if (slot)
		slot->held = ooo_env_hold(ep, pkt);
	if (slot && slot->held) {
		ooo_count(ep, OOO_STAT_HELD);
		return true;
	}
	if (slot)
		ooo_slots_drop(ep, &ep->resp.slots, seq);
	ooo_count(ep, OOO_STAT_DROP_MEMORY);
	return false;
}

/* Empties the slot of @seq if it is in use. */
void ooo_resp_forget(struct ooo_ep *ep, u32 seq)
{
	struct ooo_resp_slot *slot = ooo_slots_find(&ep->resp.slots, seq);

	if (!slot)
		return;
	if (slot->held)
		ooo_env_release(ep, slot->held);
	ooo_slots_drop(ep, &ep->resp.slots, seq);
}

void ooo_resp_early(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq)
{
	bool kept = false;

	if (ep->attr.ooo && (ooo_opcode_info(pkt->h.opcode) & OOO_IS_WRITE))
		kept = ooo_resp_place_early(ep, pkt, seq);
	if (!kept)
		kept = ooo_resp_hold(ep, pkt, seq);
	if (!kept)
		return ooo_resp_missed(ep, seq);
	if (!ooo_before(seq, ep->resp.high))
		ep->resp.high = seq + 1;
	ooo_resp_note_early(ep, pkt, seq);
}
