// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* struct ooo_hdr to bytes. */
#include "bytes.h"
#include "opcode.h"
#include "packet.h"

/* MigReq: "migrated", the state of every QP without path migration (IBTA 17.2.8). */
#define BTH_MIGREQ	0x40

static u32 extended_len(u32 info)
{
	static const u8 len[] = { 4, 8, 4, 16, 28, 4, 8, 4, 4 };
	u32 sum = 0;
	u32 i;

	for (i = 0; i < sizeof(len); i++)
		if (info & 1 << i)
			sum += len[i];
	return sum;
}

u32 ooo_hdr_len(u8 opcode)
{
	u32 info = ooo_opcode_info(opcode);

	return info ? OOO_BTH_LEN + extended_len(info) : 0;
}

u32 ooo_hdr_size(const struct ooo_hdr *hdr)
{
	u32 len = ooo_hdr_len(hdr->opcode);

	return hdr->has_sack ? len + OOO_EXT_FIXED + 8 * hdr->sack.words : len;
}

static void build_bth(const struct ooo_hdr *hdr, u32 payload_len, u8 *p)
{
	u32 pad = -payload_len & 3;

	p[0] = hdr->opcode;
	p[1] = (hdr->solicited ? 0x80 : 0) | BTH_MIGREQ | pad << 4;
	ooo_put16(p + 2, hdr->pkey);
	p[4] = 0;
	ooo_put24(p + 5, hdr->dest_qpn);
	p[8] = (hdr->ack_req ? 0x80 : 0) | (hdr->rsvd7 & 0x7f);
	ooo_put24(p + 9, hdr->psn);
}

static u8 *build_addressing(const struct ooo_hdr *hdr, u32 info, u8 *p)
{
	if (info & OOO_HAS_XRCETH) {
		ooo_put32(p, hdr->srqn & 0xffffff);
		p += 4;
	}
	if (info & OOO_HAS_DETH) {
		ooo_put32(p, hdr->qkey);
		ooo_put32(p + 4, hdr->src_qpn & 0xffffff);
		p += 8;
	}
	if (info & OOO_HAS_FETH) {
		ooo_put32(p, hdr->feth);
		p += 4;
	}
	return p;
}

static u8 *build_request(const struct ooo_hdr *hdr, u32 info, u8 *p)
{
	if (info & (OOO_HAS_RETH | OOO_HAS_ATOMIC)) {
		ooo_put64(p, hdr->va);
		ooo_put32(p + 8, hdr->rkey);
		p += 12;
	}
	if (info & OOO_HAS_RETH) {
		ooo_put32(p, hdr->dma_len);
		p += 4;
	}
	if (info & OOO_HAS_ATOMIC) {
		ooo_put64(p, hdr->swap_add);
		ooo_put64(p + 8, hdr->compare);
		p += 16;
	}
	return p;
}

static u8 *build_response(const struct ooo_hdr *hdr, u32 info, u8 *p)
{
	if (info & OOO_HAS_AETH) {
		p[0] = hdr->syndrome;
		ooo_put24(p + 1, hdr->msn);
		p += 4;
	}
	if (info & OOO_HAS_ATOMIC_ACK) {
		ooo_put64(p, hdr->orig);
		p += 8;
	}
	return p;
}

static u8 *build_immediate(const struct ooo_hdr *hdr, u32 info, u8 *p)
{
	if (info & OOO_HAS_IMM) {
		memcpy(p, &hdr->imm, sizeof(hdr->imm));
		p += 4;
	}
	if (info & OOO_HAS_IETH) {
		ooo_put32(p, hdr->imm);
		p += 4;
	}
	return p;
}

static u8 *build_sack(const struct ooo_sack *sack, u8 *p)
{
	u32 i;

	p[0] = OOO_EXT_VERSION << 4;
	p[1] = OOO_EXT_FIXED / 4 + 2 * sack->words;
	ooo_put16(p + 2, sack->window);
	ooo_put16(p + 4, sack->ce);
	p[6] = sack->needless;
	p[7] = 0;
	ooo_put32(p + 8, sack->needless_psn);
	ooo_put32(p + 12, sack->base);
	p += OOO_EXT_FIXED;
	for (i = 0; i < sack->words; i++, p += 8)
		ooo_put64(p, sack->bits[i]);
	return p;
}

u32 ooo_build(const struct ooo_hdr *hdr, u32 payload_len, u8 *data)
{
	u32 info = ooo_opcode_info(hdr->opcode);
	u8 *p = data + OOO_BTH_LEN;

	build_bth(hdr, payload_len, data);
	p = build_addressing(hdr, info, p);
	p = build_request(hdr, info, p);
	p = build_response(hdr, info, p);
	p = build_immediate(hdr, info, p);
	if (hdr->has_sack)
		p = build_sack(&hdr->sack, p);
	return p - data;
}
