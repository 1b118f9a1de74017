// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Makes the packet of a work request that has a given PSN, and sends it. */
#include "req_priv.h"

static u8 with_service(const struct ooo_ep *ep, u8 op)
{
	return ooo_service_bits(ep) | op;
}

static u8 send_op(const struct ooo_swqe *wqe, bool first, bool last)
{
	if (!last)
		return first ? OOO_OP_SEND_FIRST : OOO_OP_SEND_MIDDLE;
	switch (wqe->opcode) {
	case OOO_WR_SEND_IMM:
		return first ? OOO_OP_SEND_ONLY_IMM : OOO_OP_SEND_LAST_IMM;
	case OOO_WR_SEND_INV:
		return first ? OOO_OP_SEND_ONLY_INV : OOO_OP_SEND_LAST_INV;
	default:
		return first ? OOO_OP_SEND_ONLY : OOO_OP_SEND_LAST;
	}
}

static u8 write_op(const struct ooo_swqe *wqe, bool first, bool last)
{
	if (wqe->wire == OOO_WIRE_ONLY_ROW)
		return OOO_OP_WRITE_ONLY;
	if (!last)
		return first ? OOO_OP_WRITE_FIRST : OOO_OP_WRITE_MIDDLE;
	if (wqe->opcode == OOO_WR_WRITE_IMM)
		return first ? OOO_OP_WRITE_ONLY_IMM : OOO_OP_WRITE_LAST_IMM;
	return first ? OOO_OP_WRITE_ONLY : OOO_OP_WRITE_LAST;
}

/* Packet @i of a SEND or WRITE: its piece of the payload. */
static void fill_payload(const struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 i,
			 struct ooo_source *src)
{
	src->offset = i << ep->mtu_shift;
	src->len = min_t(u32, wqe->length - src->offset, ep->attr.mtu);
	src->kind = src->len ? OOO_SRC_SWQE : OOO_SRC_NONE;
	src->wqe = wqe;
}

static void fill_send(const struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 i,
		      struct ooo_hdr *hdr, struct ooo_source *src)
{
	bool last = i + 1 == wqe->packets;

	fill_payload(ep, wqe, i, src);
	hdr->opcode = send_op(wqe, !i, last);
	hdr->imm = wqe->imm;
	hdr->solicited = last && (wqe->flags & OOO_SEND_SOLICITED);
}

static void fill_write(const struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 i,
		       struct ooo_hdr *hdr, struct ooo_source *src)
{
	bool row = wqe->wire == OOO_WIRE_ONLY_ROW;
	bool last = i + 1 == wqe->packets;

	fill_payload(ep, wqe, i, src);
	hdr->opcode = write_op(wqe, !i, last);
	hdr->va = wqe->remote_addr + (row ? src->offset : 0);
	hdr->rkey = wqe->rkey;
	hdr->dma_len = row ? src->len : wqe->length;
	hdr->imm = wqe->imm;
	hdr->solicited = last && wqe->opcode == OOO_WR_WRITE_IMM &&
			 (wqe->flags & OOO_SEND_SOLICITED);
}

/* A READ of the responses [@i, @i + @count) of the whole. */
static void fill_read(const struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 i, u32 count,
		      struct ooo_hdr *hdr)
{
	u32 offset = i << ep->mtu_shift;

	hdr->opcode = OOO_OP_READ_REQUEST;
	hdr->va = wqe->remote_addr + offset;
	hdr->rkey = wqe->rkey;
	hdr->dma_len = (u32)min_t(u64, wqe->length - offset, (u64)count << ep->mtu_shift);
}

static void fill_atomic(const struct ooo_swqe *wqe, struct ooo_hdr *hdr)
{
	bool swap = wqe->opcode == OOO_WR_CMP_SWAP;

	hdr->opcode = swap ? OOO_OP_CMP_SWAP : OOO_OP_FETCH_ADD;
	hdr->va = wqe->remote_addr;
	hdr->rkey = wqe->rkey;
	hdr->compare = swap ? wqe->compare_add : 0;
	hdr->swap_add = swap ? wqe->swap : wqe->compare_add;
}

static void fill_flush(const struct ooo_swqe *wqe, struct ooo_hdr *hdr)
{
	hdr->opcode = OOO_OP_FLUSH;
	hdr->va = wqe->remote_addr;
	hdr->rkey = wqe->rkey;
	hdr->dma_len = wqe->length;
	hdr->feth = wqe->flush;
}

static void fill_atomic_write(const struct ooo_ep *ep, const struct ooo_swqe *wqe,
			      struct ooo_hdr *hdr, struct ooo_source *src)
{
	fill_payload(ep, wqe, 0, src);
	hdr->opcode = OOO_OP_ATOMIC_WRITE;
	hdr->va = wqe->remote_addr;
	hdr->rkey = wqe->rkey;
	hdr->dma_len = wqe->length;
}

static void fill(const struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 i, u32 count,
		 struct ooo_hdr *hdr, struct ooo_source *src)
{
	switch (wqe->opcode) {
	case OOO_WR_WRITE:
	case OOO_WR_WRITE_IMM:
		return fill_write(ep, wqe, i, hdr, src);
	case OOO_WR_READ:
		return fill_read(ep, wqe, i, count, hdr);
	case OOO_WR_CMP_SWAP:
	case OOO_WR_FETCH_ADD:
		return fill_atomic(wqe, hdr);
	case OOO_WR_FLUSH:
		return fill_flush(wqe, hdr);
	case OOO_WR_ATOMIC_WRITE:
		return fill_atomic_write(ep, wqe, hdr, src);
	default:
		return fill_send(ep, wqe, i, hdr, src);
	}
}

/* @seq: the packet's; a READ request asks for @count responses from there. */
enum ooo_result ooo_req_emit(struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 seq,
			     u32 count, bool ack_req, bool again)
{
	struct ooo_source src = { .kind = OOO_SRC_NONE };
	struct ooo_hdr hdr;
	enum ooo_result res;

	memset(&hdr, 0, sizeof(hdr));
	fill(ep, wqe, seq - wqe->psn, count, &hdr, &src);
	hdr.opcode = with_service(ep, hdr.opcode);
	hdr.psn = seq & PSN_MASK;
	hdr.ack_req = ack_req;
	if (ep->sack)
		hdr.rsvd7 = OOO_BTH_CAP | (again && ep->capable ? OOO_BTH_RETX : 0);
	hdr.srqn = wqe->xrc_srqn;
	hdr.path = ep->req.on_path;
	res = ooo_env_emit(ep, &hdr, &src);
	if (res == OOO_OK)
		ooo_count(ep, OOO_STAT_TX_PACKETS);
	return res;
}
