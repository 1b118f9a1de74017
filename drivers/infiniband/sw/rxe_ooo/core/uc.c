// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The UC responder (IBTA 9.8.2): no acknowledgements, no resending. A gap
 * drops the message that it hits; the next one starts anew. A request that is
 * wrong is dropped as silently; only a local fault of a receive shows.
 */
#include "resp_priv.h"

/* Drops the message in progress; its receive request serves the next one. */
static void drop_message(struct ooo_resp *resp)
{
	resp->message = OOO_MSG_NONE;
	resp->offset = 0;
	resp->uc_skip = true;
}

static bool follows(const struct ooo_resp *resp, u32 info)
{
	if (info & OOO_IS_SEND)
		return resp->message == OOO_MSG_SEND;
	return resp->message == OOO_MSG_WRITE;
}

/* Does the packet continue what is in progress, or start something? */
static bool wanted(struct ooo_resp *resp, u32 info)
{
	if (info & OOO_IS_FIRST) {
		resp->message = OOO_MSG_NONE;
		resp->uc_skip = false;
		return true;
	}
	return !resp->uc_skip && follows(resp, info);
}

static enum resp_verdict execute(struct ooo_ep *ep, struct resp_turn *turn)
{
	if (turn->info & OOO_IS_SEND)
		return ooo_resp_exec_send(ep, turn);
	return ooo_resp_exec_write(ep, turn);
}

static u8 message_after(u32 info)
{
	if (info & OOO_IS_LAST)
		return OOO_MSG_NONE;
	return info & OOO_IS_SEND ? OOO_MSG_SEND : OOO_MSG_WRITE;
}

static void establish(struct ooo_ep *ep)
{
	if (!ep->resp.established && ep->state == OOO_RTR)
		ooo_env_event(ep, OOO_EVENT_COMM_EST);
	ep->resp.established = true;
}

void ooo_uc_rx(struct ooo_ep *ep, const struct ooo_pkt *pkt)
{
	struct ooo_resp *resp = &ep->resp;
	struct resp_turn turn = {
		.pkt = pkt,
		.info = ooo_opcode_info(pkt->h.opcode),
		.packets = 1,
	};

	establish(ep);
	if (pkt->h.psn != (resp->eseq & PSN_MASK)) {
		ooo_count(ep, OOO_STAT_OUT_OF_SEQUENCE);
		drop_message(resp);
	}
	resp->eseq = psn_add(pkt->h.psn, 1);
	if (!wanted(resp, turn.info))
		return;
	if (execute(ep, &turn) == RESP_DONE)
		resp->message = message_after(turn.info);
	else
		drop_message(resp);
}
