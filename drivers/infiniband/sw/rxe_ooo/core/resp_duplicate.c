// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A packet below the expected PSN (IBTA 9.7.4.2.1): nothing is placed or
 * executed twice. READ data is sent again, as far as the request lies inside
 * the original one; other replies are repeated from memory; SEND and WRITE are
 * acknowledged again.
 */
#include "resp_priv.h"

static void read_again(struct ooo_ep *ep, const struct ooo_hdr *h, u32 seq)
{
	u32 from, to, index;
	struct ooo_resp_reply *r = ooo_resp_reply_find(ep, seq, &index);
	u64 offset;

	if (!r || r->kind != OOO_REPLY_READ)
		return;
	from = seq - r->seq;
	offset = (u64)from << ep->mtu_shift;
	if (h->va != r->va + offset || h->rkey != r->rkey || offset + h->dma_len > r->len)
		return;
	to = min_t(u32, from + ooo_packets(ep, h->dma_len), r->sent);
	if (from < to)	/* else it has not been sent the first time yet */
		ooo_resp_replay(ep, index, from, to);
}

static void reply_again(struct ooo_ep *ep, u32 seq, enum ooo_reply_kind kind)
{
	u32 index;
	struct ooo_resp_reply *r = ooo_resp_reply_find(ep, seq, &index);

	if (r && r->kind == kind && r->sent)
		ooo_resp_replay(ep, index, 0, 1);
}

void ooo_resp_duplicate(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq)
{
	ooo_count(ep, OOO_STAT_DUPLICATE);
	ooo_reorder_duplicate(&ep->resp.reorder, ep->tun, seq);
	switch (OOO_BTH_OP(pkt->h.opcode)) {
	case OOO_OP_READ_REQUEST:
		return read_again(ep, &pkt->h, seq);
	case OOO_OP_CMP_SWAP:
	case OOO_OP_FETCH_ADD:
		return reply_again(ep, seq, OOO_REPLY_ATOMIC);
	case OOO_OP_ATOMIC_WRITE:
	case OOO_OP_FLUSH:
		return reply_again(ep, seq, OOO_REPLY_EMPTY);
	default:
		if (pkt->h.ack_req)
			ep->resp.ack_due = true;
		ooo_resp_note_needless(ep, pkt, seq);
	}
}
