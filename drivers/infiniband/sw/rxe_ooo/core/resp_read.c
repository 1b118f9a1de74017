// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A READ request's turn: it is checked and its reply is queued (resp_emit.c
 * sends it). It takes as many PSNs as the reply has packets.
 */
#include "resp_priv.h"

enum resp_verdict ooo_resp_exec_read(struct ooo_ep *ep, struct resp_turn *turn)
{
	const struct ooo_hdr *h = &turn->pkt->h;
	struct ooo_resp_reply *r;
	enum resp_verdict room;

	if (h->dma_len > OOO_MAX_LENGTH)
		return RESP_NAK_INVALID;
	if (ooo_resp_check_reth(ep, h, OOO_ACCESS_REMOTE_READ) != OOO_OK)
		return RESP_NAK_ACCESS;
	room = ooo_resp_reply_room(ep);
	if (room != RESP_DONE)
		return room;
	r = ooo_resp_reply_reserve(ep);
	r->kind = OOO_REPLY_READ;
	r->va = h->va;
	r->rkey = h->rkey;
	r->len = h->dma_len;
	turn->packets = ooo_packets(ep, h->dma_len);
	ooo_resp_reply_commit(ep, turn->packets);
	return RESP_DONE;
}
