// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Execution in PSN order: the packet with the expected PSN, and then those
 * that came early and wait in slots.
 */
#include "resp_priv.h"

/* FIRST and MIDDLE follow each other, everything else stands alone (IBTA 9.7.4.1). */
static bool follows(const struct ooo_ep *ep, u32 info)
{
	u8 message = ep->resp.message;

	if (info & OOO_IS_FIRST)
		return message == OOO_MSG_NONE;
	if (info & OOO_IS_SEND)
		return message == OOO_MSG_SEND;
	return message == OOO_MSG_WRITE;
}

/* What memory's answer to an operation means for it. */
enum resp_verdict ooo_resp_verdict(enum ooo_result res)
{
	switch (res) {
	case OOO_OK:
		return RESP_DONE;
	case OOO_LATER:
	case OOO_AGAIN:
		return RESP_LATER;
	default:
		return RESP_NAK_ACCESS;
	}
}

static enum resp_verdict dispatch(struct ooo_ep *ep, struct resp_turn *turn)
{
	if (!follows(ep, turn->info))
		return RESP_NAK_INVALID;
	if (turn->info & OOO_IS_SEND)
		return ooo_resp_exec_send(ep, turn);
	if (turn->info & OOO_IS_WRITE)
		return ooo_resp_exec_write(ep, turn);
	switch (OOO_BTH_OP(turn->pkt->h.opcode)) {
	case OOO_OP_READ_REQUEST:
		return ooo_resp_exec_read(ep, turn);
	case OOO_OP_CMP_SWAP:
	case OOO_OP_FETCH_ADD:
		return ooo_resp_exec_atomic(ep, turn);
	case OOO_OP_ATOMIC_WRITE:
		return ooo_resp_exec_atomic_write(ep, turn);
	case OOO_OP_FLUSH:
		return ooo_resp_exec_flush(ep, turn);
	}
	return RESP_NAK_INVALID;
}

static u8 message_after(u32 info)
{
	if (info & OOO_IS_LAST)
		return OOO_MSG_NONE;
	return info & OOO_IS_SEND ? OOO_MSG_SEND : OOO_MSG_WRITE;
}

/* Slots inside a READ's PSNs can only be a confused peer's. */
static void skip_slots(struct ooo_ep *ep, u32 packets)
{
	u32 i;

	for (i = 0; i < packets && i < OOO_WINDOW_MAX && ep->resp.slots.in_use; i++)
		ooo_resp_forget(ep, ep->resp.eseq + i);
}

/* A hole that is filled by a repeated packet is news for a capable peer. */
static bool wants_ack(const struct ooo_ep *ep, const struct ooo_hdr *h)
{
	return h->ack_req || (ep->capable && (h->rsvd7 & OOO_BTH_RETX));
}

static void executed(struct ooo_ep *ep, const struct resp_turn *turn, u64 now)
{
	struct ooo_resp *resp = &ep->resp;

	/* Replied requests counted their message when they reserved the reply. */
	if ((turn->info & OOO_IS_LAST) && (turn->info & (OOO_IS_SEND | OOO_IS_WRITE)))
		resp->msn++;
	resp->message = message_after(turn->info);
	if (turn->info & (OOO_IS_SEND | OOO_IS_WRITE) && wants_ack(ep, &turn->pkt->h))
		resp->ack_due = true;
	skip_slots(ep, turn->packets);
	resp->eseq += turn->packets;
	if (ooo_before(resp->high, resp->eseq))
		resp->high = resp->eseq;
	resp->rnr = false;
	if (resp->nak_due && !resp->fatal)
		resp->nak_due = false;	/* what it would have asked for is here */
	ooo_resp_gap_moved(ep, now);
}

/* Must be kept, in the slot that it may be in already. */
static void postpone(struct ooo_ep *ep, const struct ooo_pkt *pkt, bool in_slot)
{
	struct ooo_resp *resp = &ep->resp;

	resp->blocked = in_slot || ooo_resp_hold(ep, pkt, resp->eseq);
}

static void act(struct ooo_ep *ep, const struct resp_turn *turn, enum resp_verdict verdict,
		bool in_slot, u64 now)
{
	switch (verdict) {
	case RESP_DONE:
		return executed(ep, turn, now);
	case RESP_LATER:
		return postpone(ep, turn->pkt, in_slot);
	case RESP_DROP:
		/* What is in a slot may have been reported and stays for another try. */
		ooo_count(ep, OOO_STAT_DROP_MEMORY);
		return;
	case RESP_RNR:
		return ooo_resp_rnr(ep, now);
	case RESP_NAK_INVALID:
		return ooo_resp_fail(ep, OOO_NAK_INVALID, OOO_EVENT_QP_REQ_ERR);
	case RESP_NAK_ACCESS:
		return ooo_resp_fail(ep, OOO_NAK_ACCESS, OOO_EVENT_QP_ACCESS_ERR);
	case RESP_NAK_OPERATION:
		return ooo_resp_fail(ep, OOO_NAK_OPERATION, OOO_EVENT_QP_FATAL);
	}
}

/* A packet that is expected and in no slot. */
void ooo_resp_turn(struct ooo_ep *ep, const struct ooo_pkt *pkt, u64 now)
{
	struct resp_turn turn = {
		.pkt = pkt,
		.info = ooo_opcode_info(pkt->h.opcode),
		.packets = 1,
	};

	act(ep, &turn, dispatch(ep, &turn), false, now);
}

/* What a placed packet's slot remembers of it. */
static void remember(const struct ooo_resp_slot *slot, struct ooo_pkt *pkt)
{
	memset(pkt, 0, sizeof(*pkt));
	pkt->h.opcode = slot->opcode;
	pkt->h.ack_req = slot->ack_req;
	pkt->h.solicited = slot->solicited;
	pkt->h.va = slot->va;
	pkt->h.rkey = slot->rkey;
	pkt->h.dma_len = slot->dma_len;
	pkt->h.imm = slot->imm;
	pkt->h.srqn = slot->srqn;
	pkt->payload_len = slot->payload_len;
}

static void slot_turn(struct ooo_ep *ep, struct ooo_resp_slot *slot, u64 now)
{
	struct resp_turn turn = { .pkt = slot->held, .packets = 1 };
	struct ooo_pkt placed;

	if (!slot->held) {
		remember(slot, &placed);
		turn.pkt = &placed;
		turn.placed = true;
		turn.recheck = slot->invalidations != ep->resp.invalidations;
	}
	turn.info = ooo_opcode_info(turn.pkt->h.opcode);
	act(ep, &turn, dispatch(ep, &turn), true, now);
}

static bool may_execute(const struct ooo_ep *ep)
{
	return !ep->resp.fatal && !ep->resp.blocked;
}

/* Executes what waits at the expected PSN; true: the budget ended it. */
bool ooo_resp_drain(struct ooo_ep *ep, u64 now)
{
	struct ooo_resp *resp = &ep->resp;
	struct ooo_resp_slot *slot;
	u32 before, n;

	resp->more = false;
	for (n = 0; resp->slots.in_use && may_execute(ep); n++) {
		slot = ooo_slots_find(&resp->slots, resp->eseq);
		if (!slot)
			return false;
		resp->more = n >= OOO_EXEC_BUDGET;
		if (resp->more)
			return true;
		before = resp->eseq;
		slot_turn(ep, slot, now);
		if (resp->eseq == before)
			return false;
	}
	return false;
}
