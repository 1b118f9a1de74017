// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The ICRC against packets whose ICRC somebody else computed: icrc_vectors.py. */
#include <ctype.h>
#include <stdlib.h>
#include "crc32.h"
#include "frame.h"
#include "icrc.h"
#include "rng.h"
#include "unit.h"

static u32 from_hex(const char *line, u8 *out, u32 room)
{
	u32 n = 0;
	unsigned int v;

	while (n < room && isxdigit((unsigned char)line[2 * n]) &&
	       sscanf(line + 2 * n, "%2x", &v) == 1)
		out[n++] = (u8)v;
	return n;
}

static u32 ip_len_of(const u8 *ip)
{
	return ip[0] >> 4 == 6 ? 40 : (ip[0] & 15) * 4u;
}

static bool icrc_matches(const u8 *ip, u32 len)
{
	u32 ip_len = ip_len_of(ip), n, crc;
	u8 prefix[OOO_ICRC_PREFIX_MAX];
	const u8 *rest = ip + ip_len + 8 + OOO_BTH_LEN;

	n = ooo_icrc_prefix(ip, ip_len, ip + ip_len, prefix);
	CHECK_EQ(n, 8 + ip_len + 8 + OOO_BTH_LEN);
	crc = ~crc32_le(crc32_le(~0u, prefix, n), rest, (size_t)(ip + len - rest) - OOO_ICRC_LEN);
	return !memcmp(ip + len - OOO_ICRC_LEN, &crc, OOO_ICRC_LEN);
}

static void check_file(const char *path, u32 at_least)
{
	static char line[16384];
	FILE *f = path ? fopen(path, "r") : NULL;
	static u8 packet[8192];
	u32 count = 0;

	if (!f)
		unit_skip("no packets from scapy");
	while (fgets(line, sizeof(line), f)) {
		u32 len = from_hex(line, packet, sizeof(packet));

		if (!icrc_matches(packet, len))
			unit_fail(__FILE__, __LINE__, "ICRC of packet %u in %s", count, path);
		count++;
	}
	fclose(f);
	CHECK(count >= at_least);
}

static void icrc_of_kept_packets(void)
{
	check_file("icrc_vectors.txt", 20);
}

static void icrc_of_fresh_scapy_packets(void)
{
	check_file(getenv("ICRC_VECTORS"), 200);
}

static void crc32_of_the_check_string(void)
{
	CHECK_EQ((u32)~crc32_le(~0u, (const u8 *)"123456789", 9), 0xcbf43926);
}

static void changes_on_the_way_do_not_matter(void)
{
	struct ooo_hdr h = { .opcode = OOO_OP_SEND_ONLY, .psn = 5 };
	u8 frame[FRAME_MAX];
	u32 v6;

	for (v6 = 0; v6 < 2; v6++) {
		u8 *bth = frame_bth(frame, v6);
		u32 n = ooo_build(&h, 16, bth);

		memset(bth + n, 0xa5, 16);
		frame_finish(frame, v6, 1, n + 16 + 4);
		CHECK(frame_icrc_ok(frame, v6, n + 20));
		frame[v6 ? 7 : 8]--;			/* hop limit */
		frame[1] ^= v6 ? 0x30 : 0xff;		/* ECN, DSCP, flow label */
		bth[4] ^= 0xc0;				/* FECN, BECN */
		(bth - 2)[0] ^= 0x55;			/* UDP checksum */
		CHECK(frame_icrc_ok(frame, v6, n + 20));
		bth[9]++;				/* PSN */
		CHECK(!frame_icrc_ok(frame, v6, n + 20));
	}
}

static void every_flipped_bit_is_seen(void)
{
	struct ooo_hdr h = { .opcode = OOO_OP_WRITE_ONLY, .dma_len = 40 };
	u8 frame[FRAME_MAX];
	u8 *bth = frame_bth(frame, false);
	u32 n = ooo_build(&h, 40, bth), bit;

	memset(bth + n, 0x3c, 40);
	frame_finish(frame, false, 1, n + 44);
	for (bit = 0; bit < 8 * (n + 44); bit++) {
		bth[bit / 8] ^= 1 << bit % 8;
		CHECK(frame_icrc_ok(frame, false, n + 44) == (bit / 8 == 4));
		bth[bit / 8] ^= 1 << bit % 8;
	}
}

static void odd_headers_have_no_icrc(void)
{
	u8 ip[60] = { 0x45 }, udp[20] = { 0 }, prefix[OOO_ICRC_PREFIX_MAX];

	CHECK_EQ(ooo_icrc_prefix(ip, 19, udp, prefix), 0);
	CHECK_EQ(ooo_icrc_prefix(ip, 61, udp, prefix), 0);
	ip[0] = 0x60;
	CHECK_EQ(ooo_icrc_prefix(ip, 48, udp, prefix), 0);
	ip[0] = 0x50;
	CHECK_EQ(ooo_icrc_prefix(ip, 40, udp, prefix), 0);
}

const struct unit_test icrc_tests[] = {
	UNIT_TEST(crc32_of_the_check_string),
	UNIT_TEST(icrc_of_kept_packets),
	UNIT_TEST(icrc_of_fresh_scapy_packets),
	UNIT_TEST(changes_on_the_way_do_not_matter),
	UNIT_TEST(every_flipped_bit_is_seen),
	UNIT_TEST(odd_headers_have_no_icrc),
	{ NULL, NULL },
};
