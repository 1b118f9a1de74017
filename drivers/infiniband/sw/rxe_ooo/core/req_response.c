// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A READ response or ATOMIC acknowledgment arrives. Its PSN says which bytes
 * of which request it is, whatever its opcode: a replay may start in the
 * middle. With placement out of order it is placed at once, else it waits its
 * turn; either way each PSN is placed once, so a replay never rewrites.
 */
#include "req_priv.h"

static bool answers(const struct ooo_swqe *wqe, u8 opcode)
{
	bool atomic = wqe->opcode == OOO_WR_CMP_SWAP || wqe->opcode == OOO_WR_FETCH_ADD;

	return atomic == (OOO_BTH_OP(opcode) == OOO_OP_ATOMIC_ACK);
}

static bool aeth_ok(const struct ooo_pkt *pkt)
{
	return !(ooo_opcode_info(pkt->h.opcode) & OOO_HAS_AETH) ||
	       OOO_AETH_CLASS(pkt->h.syndrome) == OOO_AETH_ACK;
}

static enum ooo_result scatter(struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 seq,
			       const struct ooo_pkt *pkt)
{
	if (OOO_BTH_OP(pkt->h.opcode) == OOO_OP_ATOMIC_ACK)
		return ooo_env_atomic_result(ep, wqe, pkt->h.orig);
	if (!pkt->payload_len)
		return OOO_OK;
	return ooo_env_scatter_read(ep, wqe, (seq - wqe->psn) << ep->mtu_shift, pkt);
}

/* True when the response is placed; false: it is wanted later, or its request failed. */
static bool place(struct ooo_ep *ep, u32 index, u32 seq, const struct ooo_pkt *pkt,
		  bool *later)
{
	enum ooo_result res = scatter(ep, ooo_sq_entry(ep, index), seq, pkt);

	*later = res == OOO_LATER || res == OOO_AGAIN;
	if (res == OOO_OK)
		return true;
	if (!*later)
		ooo_req_fail_at(ep, index, OOO_WC_LOC_PROT_ERR);
	return false;
}

static void hold(struct ooo_ep *ep, u32 seq, const struct ooo_pkt *pkt)
{
	struct ooo_req_slot *slot = ooo_slots_take(ep, &ep->req.held, seq);

	if (slot)
		slot->pkt = ooo_env_hold(ep, pkt);
	if (slot && slot->pkt) {
		ooo_count(ep, OOO_STAT_HELD);
		ep->req.arrived++;
		return;
	}
	if (slot)
		ooo_slots_drop(ep, &ep->req.held, seq);
	ooo_count(ep, OOO_STAT_DROP_MEMORY);
}

static void accept(struct ooo_ep *ep, u32 index, u32 seq, const struct ooo_pkt *pkt)
{
	bool in_order = seq == ep->req.una;
	bool later = true;

	if ((ep->attr.ooo || in_order) && place(ep, index, seq, pkt, &later)) {
		ooo_req_set_here(ep, seq);
		if (!in_order)
			ooo_count(ep, OOO_STAT_PLACED_OOO);
	} else if (later) {
		hold(ep, seq, pkt);
	}
}

static void duplicate(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq)
{
	ooo_count(ep, OOO_STAT_DUPLICATE_RESP);
	if (ep->capable && (pkt->h.rsvd7 & OOO_BTH_RETX))
		ooo_count(ep, OOO_STAT_SPURIOUS);
	else if (ooo_reorder_duplicate(&ep->req.reorder, ep->tun, seq))
		ooo_count(ep, OOO_STAT_SPURIOUS);
}

/* The response @seq is placed or held. */
bool ooo_req_have(struct ooo_ep *ep, u32 seq)
{
	return ooo_before(seq, ep->req.una) || ooo_req_is_here(ep, seq) ||
	       ooo_slots_find(&ep->req.held, seq);
}

/* How many responses are missing from @from on, up to the next that is here, or @to. */
u32 ooo_req_hole(struct ooo_ep *ep, u32 from, u32 to)
{
	u32 seq = from;

	do
		seq++;
	while (ooo_before(seq, to) && !ooo_req_have(ep, seq));
	return seq - from;
}

/* @seq lies below what was sent. */
void ooo_req_response(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq, u64 now)
{
	struct ooo_swqe *wqe;
	u32 index;

	if (ooo_req_have(ep, seq))
		return duplicate(ep, pkt, seq);
	wqe = ooo_req_find(ep, seq, &index);
	if (!wqe || wqe->req_state == REQ_FAILED || !ooo_req_has_reply(wqe) ||
	    !answers(wqe, pkt->h.opcode) || !aeth_ok(pkt))
		return ooo_count(ep, OOO_STAT_BAD_OPCODE);
	if (pkt->payload_len != ooo_req_reply_len(ep, wqe, seq))
		return ooo_req_fail_at(ep, index, OOO_WC_BAD_RESP_ERR);
	if (ep->capable && ooo_before(seq, ep->req.acked) && !(pkt->h.rsvd7 & OOO_BTH_RETX))
		ooo_req_late_response(ep, seq, now);
	ooo_req_executed(ep, seq + 1, now);
	ep->req.delivered++;
	accept(ep, index, seq, pkt);
	ooo_req_progress(ep, now);
}

/* A held response's turn: NULL when the one for @seq is not there or cannot be placed yet. */
static bool collect_held(struct ooo_ep *ep, u32 seq)
{
	struct ooo_req_slot *slot = ooo_slots_find(&ep->req.held, seq);
	bool later;

	if (!slot || !place(ep, ep->req.done, seq, slot->pkt, &later))
		return false;
	ooo_env_release(ep, slot->pkt);
	ooo_slots_drop(ep, &ep->req.held, seq);
	ep->req.arrived--;
	return true;
}

/* How far from @from to @to the responses of the oldest request are placed. */
u32 ooo_req_collect(struct ooo_ep *ep, u32 from, u32 to)
{
	for (; from != to; from++) {
		if (ooo_req_is_here(ep, from))
			ooo_req_clear_here(ep, from, from + 1);
		else if (!collect_held(ep, from))
			break;
	}
	return from;
}
