// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Bytes to struct ooo_hdr. Every length is checked here, once, before any use. */
#include "bytes.h"
#include "opcode.h"
#include "packet.h"

static void parse_bth(const u8 *p, struct ooo_hdr *hdr)
{
	hdr->opcode = p[0];
	hdr->solicited = p[1] & 0x80;
	hdr->pkey = ooo_get16(p + 2);
	hdr->dest_qpn = ooo_get24(p + 5);
	hdr->ack_req = p[8] & 0x80;
	hdr->rsvd7 = p[8] & 0x7f;
	hdr->psn = ooo_get24(p + 9);
}

/* XRCETH, DETH and FETH: what stands before the operation's own headers. */
static const u8 *parse_addressing(const u8 *p, u32 info, struct ooo_hdr *hdr)
{
	if (info & OOO_HAS_XRCETH) {
		hdr->srqn = ooo_get24(p + 1);
		p += 4;
	}
	if (info & OOO_HAS_DETH) {
		hdr->qkey = ooo_get32(p);
		hdr->src_qpn = ooo_get24(p + 5);
		p += 8;
	}
	if (info & OOO_HAS_FETH) {
		hdr->feth = ooo_get32(p);
		p += 4;
	}
	return p;
}

static const u8 *parse_request(const u8 *p, u32 info, struct ooo_hdr *hdr)
{
	if (info & (OOO_HAS_RETH | OOO_HAS_ATOMIC)) {
		hdr->va = ooo_get64(p);
		hdr->rkey = ooo_get32(p + 8);
		p += 12;
	}
	if (info & OOO_HAS_RETH) {
		hdr->dma_len = ooo_get32(p);
		p += 4;
	}
	if (info & OOO_HAS_ATOMIC) {
		hdr->swap_add = ooo_get64(p);
		hdr->compare = ooo_get64(p + 8);
		p += 16;
	}
	return p;
}

static const u8 *parse_response(const u8 *p, u32 info, struct ooo_hdr *hdr)
{
	if (info & OOO_HAS_AETH) {
		hdr->syndrome = p[0];
		hdr->msn = ooo_get24(p + 1);
		p += 4;
	}
	if (info & OOO_HAS_ATOMIC_ACK) {
		hdr->orig = ooo_get64(p);
		p += 8;
	}
	return p;
}

static void parse_immediate(const u8 *p, u32 info, struct ooo_hdr *hdr)
{
	if (info & OOO_HAS_IMM)
		memcpy(&hdr->imm, p, sizeof(hdr->imm));
	if (info & OOO_HAS_IETH)
		hdr->imm = ooo_get32(p);
}

static void parse_extended(const u8 *p, u32 info, struct ooo_hdr *hdr)
{
	p = parse_addressing(p, info, hdr);
	p = parse_request(p, info, hdr);
	p = parse_response(p, info, hdr);
	parse_immediate(p, info, hdr);
}

static void parse_sack(const u8 *p, struct ooo_sack *sack)
{
	u32 i;

	sack->window = ooo_get16(p + 2);
	sack->ce = ooo_get16(p + 4);
	sack->needless = p[6];
	sack->needless_psn = ooo_get24(p + 9);
	sack->base = ooo_get24(p + 13);
	sack->words = (p[1] * 4 - OOO_EXT_FIXED) / 8;
	for (i = 0; i < sack->words; i++)
		sack->bits[i] = ooo_get64(p + OOO_EXT_FIXED + 8 * i);
}

/*
 * Length of the extension that follows the first @headers bytes; 0: there is
 * none, -1: it is malformed. Of another version only the length is known.
 */
static int extension_len(const u8 *data, u32 avail, u32 headers)
{
	const u8 *p = data + headers;
	u32 len;

	if ((data[8] & (OOO_BTH_CAP | OOO_BTH_EXT)) != (OOO_BTH_CAP | OOO_BTH_EXT) ||
	    !ooo_may_extend(data[0]))
		return 0;
	if (avail < headers + 4)
		return -1;
	len = p[1] * 4;
	if (!len || len > OOO_EXT_MAX || avail < headers + len)
		return -1;
	if (p[0] >> 4 == OOO_EXT_VERSION && (len < OOO_EXT_FIXED || len % 8))
		return -1;
	return len;
}

/* Payload, pad and ICRC end where the datagram ends, on a multiple of four. */
static bool parse_lengths(const u8 *data, u32 len, u32 hdr_len, u32 *payload_len)
{
	u32 pad = (data[1] >> 4) & 3;

	if (len % 4 || len < hdr_len + pad + OOO_ICRC_LEN)
		return false;
	*payload_len = len - hdr_len - pad - OOO_ICRC_LEN;
	return true;
}

bool ooo_parse(const u8 *data, u32 avail, u32 len, struct ooo_hdr *hdr,
	       u32 *hdr_len, u32 *payload_len)
{
	u32 headers;
	int ext;

	avail = min_t(u32, avail, len);
	if (avail < OOO_BTH_LEN || data[1] & 0x0f)	/* transport version 0 */
		return false;
	headers = ooo_hdr_len(data[0]);
	if (!headers || avail < headers)
		return false;
	ext = extension_len(data, avail, headers);
	if (ext < 0 || !parse_lengths(data, len, headers + ext, payload_len))
		return false;

	memset(hdr, 0, sizeof(*hdr));
	parse_bth(data, hdr);
	parse_extended(data + OOO_BTH_LEN, ooo_opcode_info(data[0]), hdr);
	hdr->has_sack = ext && data[headers] >> 4 == OOO_EXT_VERSION;
	if (hdr->has_sack)
		parse_sack(data + headers, &hdr->sack);
	*hdr_len = headers + ext;
	return true;
}
