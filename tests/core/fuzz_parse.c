// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* libFuzzer: any bytes as a UDP payload; what parses is built again and must be the same. */
#include <stdlib.h>
#include "opcode.h"
#include "packet.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

/* The bits that a receiver ignores and the builder sets in its own way. */
static void normalise(u8 *p, u32 info, bool sack)
{
	u8 *ext = p + OOO_BTH_LEN;

	p[1] = (p[1] & ~0x70) | 0x40;	/* MigReq; the pad count is checked apart */
	p[4] = 0;
	if (info & OOO_HAS_XRCETH) {
		ext[0] = 0;
		ext += 4;
	}
	if (info & OOO_HAS_DETH)
		ext[4] = 0;
	if (sack)	/* behind the AETH */
		ext[4] &= 0xf0, ext[4 + 7] = 0, ext[4 + 8] = 0, ext[4 + 12] = 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u8 in[OOO_MAX_HDR] = { 0 }, out[OOO_MAX_HDR] = { 0 };
	u32 hdr_len, payload_len, mtu;
	struct ooo_hdr h;

	if (size > 10000 || !ooo_parse(data, size, size, &h, &hdr_len, &payload_len))
		return 0;
	check(hdr_len <= OOO_MAX_HDR && (hdr_len == ooo_hdr_size(&h) ||
	      ooo_may_extend(h.opcode)));
	check(hdr_len + payload_len + (-payload_len & 3) + OOO_ICRC_LEN <= size + 3);
	check(h.opcode == data[0] && ooo_opcode_info(h.opcode));
	for (mtu = 256; mtu <= 4096; mtu *= 2)
		check(!ooo_packet_length_ok(h.opcode, payload_len, mtu) || payload_len <= mtu);
	if (hdr_len != ooo_hdr_size(&h))	/* an extension of a version to come */
		return 0;
	check(ooo_build(&h, payload_len, out) == hdr_len);
	memcpy(in, data, hdr_len);
	normalise(in, ooo_opcode_info(h.opcode), h.has_sack);
	normalise(out, ooo_opcode_info(h.opcode), h.has_sack);
	check(!memcmp(in, out, hdr_len));
	return 0;
}
