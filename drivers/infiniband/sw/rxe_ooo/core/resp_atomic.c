// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An ATOMIC's or ATOMIC WRITE's turn: executed once; the reply is kept, and
 * given again to a duplicate.
 */
#include "resp_priv.h"

enum resp_verdict ooo_resp_exec_atomic(struct ooo_ep *ep, struct resp_turn *turn)
{
	const struct ooo_hdr *h = &turn->pkt->h;
	bool swap = OOO_BTH_OP(h->opcode) == OOO_OP_CMP_SWAP;
	u64 operand = swap ? h->compare : h->swap_add;
	enum resp_verdict verdict;
	struct ooo_resp_reply *r;

	if (h->va & 7)
		return RESP_NAK_INVALID;
	if (!(ep->attr.access & OOO_ACCESS_REMOTE_ATOMIC))
		return RESP_NAK_ACCESS;
	verdict = ooo_resp_reply_room(ep);
	if (verdict != RESP_DONE)
		return verdict;
	r = ooo_resp_reply_reserve(ep);
	verdict = ooo_resp_verdict(ooo_env_atomic(ep, h->rkey, h->va, swap, operand,
						  h->swap_add, &r->orig));
	if (verdict != RESP_DONE)
		return verdict;
	r->kind = OOO_REPLY_ATOMIC;
	ooo_resp_reply_commit(ep, 1);
	return RESP_DONE;
}

/* Annex A19: 8 aligned bytes that a REMOTE_WRITE right covers. */
enum resp_verdict ooo_resp_exec_atomic_write(struct ooo_ep *ep, struct resp_turn *turn)
{
	const struct ooo_hdr *h = &turn->pkt->h;
	enum resp_verdict verdict;

	if ((h->va & 7) || h->dma_len != OOO_ATOMIC_WRITE_LEN ||
	    turn->pkt->payload_len != OOO_ATOMIC_WRITE_LEN)
		return RESP_NAK_INVALID;
	if (ooo_resp_check_reth(ep, h, OOO_ACCESS_REMOTE_WRITE) != OOO_OK)
		return RESP_NAK_ACCESS;
	verdict = ooo_resp_reply_room(ep);
	if (verdict == RESP_DONE)
		verdict = ooo_resp_verdict(ooo_env_atomic_write(ep, h->rkey, h->va, turn->pkt));
	if (verdict != RESP_DONE)
		return verdict;
	ooo_resp_reply_reserve(ep)->kind = OOO_REPLY_EMPTY;
	ooo_resp_reply_commit(ep, 1);
	return RESP_DONE;
}
