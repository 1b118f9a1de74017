// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A WRITE packet's turn: checked against its message, and placed unless it
 * was when it came early (resp_early_write.c).
 */
#include "resp_priv.h"

/* Has the QP the right, and the key the range? The range must not wrap. */
enum ooo_result ooo_resp_check_reth(struct ooo_ep *ep, const struct ooo_hdr *h, u32 access)
{
	if (!(ep->attr.access & access) || h->va + h->dma_len < h->va)
		return OOO_ACCESS;
	return h->dma_len ? ooo_env_check(ep, h->rkey, h->va, h->dma_len, access) : OOO_OK;
}

static enum resp_verdict start(struct ooo_ep *ep, const struct resp_turn *turn)
{
	const struct ooo_hdr *h = &turn->pkt->h;
	struct ooo_resp *resp = &ep->resp;

	if (h->dma_len > OOO_MAX_LENGTH)
		return RESP_NAK_INVALID;
	if (!turn->placed || turn->recheck) {
		if (ooo_resp_check_reth(ep, h, OOO_ACCESS_REMOTE_WRITE) != OOO_OK)
			return RESP_NAK_ACCESS;
	}
	resp->write.va = h->va;
	resp->write.rkey = h->rkey;
	resp->write.len = h->dma_len;
	resp->write.seq = resp->eseq;
	resp->write.valid = false;
	resp->offset = 0;
	return RESP_DONE;
}

/* The lengths of all packets add up to the RETH's (IBTA 9.7.4.1.6). */
static bool length_ok(const struct ooo_resp *resp, const struct resp_turn *turn)
{
	u64 end = (u64)resp->offset + turn->pkt->payload_len;

	return turn->info & OOO_IS_LAST ? end == resp->write.len : end < resp->write.len;
}

static enum resp_verdict place(struct ooo_ep *ep, const struct resp_turn *turn)
{
	const struct ooo_resp_write *w = &ep->resp.write;
	u64 va = w->va + ep->resp.offset;
	u32 len = turn->pkt->payload_len;
	enum ooo_result res = OOO_OK;

	if (!turn->placed && len)
		res = ooo_env_write(ep, w->rkey, va, turn->pkt);
	else if (turn->recheck && len)
		res = ooo_env_check(ep, w->rkey, va, len, OOO_ACCESS_REMOTE_WRITE);
	if (res == OOO_OK)
		return RESP_DONE;
	return res == OOO_LATER || res == OOO_AGAIN ? RESP_LATER : RESP_NAK_ACCESS;
}

static void commit(struct ooo_ep *ep, const struct resp_turn *turn)
{
	struct ooo_resp *resp = &ep->resp;

	resp->offset += turn->pkt->payload_len;
	resp->write.valid = !(turn->info & OOO_IS_LAST);
	if (turn->placed && (turn->info & OOO_IS_FIRST))
		ooo_resp_early_over(ep, resp->write.seq);
	if (turn->info & OOO_HAS_IMM)
		ooo_resp_recv_done(ep, OOO_WC_SUCCESS, &turn->pkt->h, resp->write.len);
	if (resp->write.valid && (turn->info & OOO_IS_FIRST) && ep->attr.ooo)
		ooo_resp_place_held(ep, &resp->write);
}

enum resp_verdict ooo_resp_exec_write(struct ooo_ep *ep, struct resp_turn *turn)
{
	enum resp_verdict verdict = RESP_DONE;

	if (turn->info & OOO_IS_FIRST)
		verdict = start(ep, turn);
	if (verdict == RESP_DONE && !length_ok(&ep->resp, turn))
		verdict = RESP_NAK_INVALID;
	if (verdict == RESP_DONE && (turn->info & OOO_HAS_IMM))
		verdict = ooo_resp_recv_get(ep, turn->pkt->h.srqn);
	if (verdict == RESP_DONE)
		verdict = place(ep, turn);
	if (verdict == RESP_DONE)
		commit(ep, turn);
	return verdict;
}
