// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A SEND packet's turn: its payload goes to the receive request's buffers. */
#include "resp_priv.h"

/* The request does not fit what was posted: ours ends with @status, the peer's with @nak. */
static enum resp_verdict fail(struct ooo_ep *ep, enum ooo_status status, enum resp_verdict nak)
{
	if (ooo_is_uc(ep))
		ooo_count(ep, OOO_STAT_ERR_RESP);	/* else the NAK is counted */
	ooo_resp_recv_done(ep, status, NULL, 0);
	return nak;
}

static enum resp_verdict scatter(struct ooo_ep *ep, const struct ooo_pkt *pkt)
{
	struct ooo_resp *resp = &ep->resp;

	if ((u64)resp->offset + pkt->payload_len > resp->rwqe->length)
		return fail(ep, OOO_WC_LOC_LEN_ERR, RESP_NAK_INVALID);
	if (!pkt->payload_len)
		return RESP_DONE;
	switch (ooo_env_scatter_recv(ep, resp->rwqe, resp->offset, pkt)) {
	case OOO_OK:
		return RESP_DONE;
	case OOO_LATER:
	case OOO_AGAIN:
		return RESP_LATER;
	case OOO_LENGTH:
		return fail(ep, OOO_WC_LOC_LEN_ERR, RESP_NAK_INVALID);
	default:
		return fail(ep, OOO_WC_LOC_PROT_ERR, RESP_NAK_OPERATION);
	}
}

/* From here on nothing may be placed under the key; what is placed early is looked at again. */
static enum resp_verdict invalidate(struct ooo_ep *ep, u32 rkey)
{
	ep->resp.invalidations++;
	return ooo_env_invalidate(ep, rkey) == OOO_OK ? RESP_DONE : RESP_NAK_ACCESS;
}

enum resp_verdict ooo_resp_exec_send(struct ooo_ep *ep, struct resp_turn *turn)
{
	const struct ooo_hdr *h = &turn->pkt->h;
	struct ooo_resp *resp = &ep->resp;
	enum resp_verdict verdict;

	if (turn->info & OOO_IS_FIRST)
		resp->offset = 0;
	verdict = ooo_resp_recv_get(ep, h->srqn);
	if (verdict == RESP_DONE)
		verdict = scatter(ep, turn->pkt);
	if (verdict == RESP_DONE && (turn->info & OOO_HAS_IETH))
		verdict = invalidate(ep, h->imm);
	if (verdict != RESP_DONE)
		return verdict;
	resp->offset += turn->pkt->payload_len;
	if (turn->info & OOO_IS_LAST)
		ooo_resp_recv_done(ep, OOO_WC_SUCCESS, h, resp->offset);
	return RESP_DONE;
}
