// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "bytes.h"
#include "crc32.h"
#include "frame.h"
#include "icrc.h"

#define UDP_LEN	8

u32 frame_ip_len(bool ipv6)
{
	return ipv6 ? 40 : 20;
}

static void put_ipv4(u8 *ip, u32 id, u32 udp_len)
{
	static const u8 addresses[8] = { 10, 0, 0, 1, 10, 0, 0, 2 };

	memset(ip, 0, 20);
	ip[0] = 0x45;
	ip[1] = id;		/* whatever: the ICRC must not see it */
	ooo_put16(ip + 2, 20 + udp_len);
	ooo_put16(ip + 4, id);
	ip[6] = 0x40;
	ip[8] = 64 - id % 8;
	ip[9] = 17;
	memcpy(ip + 12, addresses, 8);
}

static void put_ipv6(u8 *ip, u32 id, u32 udp_len)
{
	memset(ip, 0, 40);
	ooo_put32(ip, 0x60000000 | (id & 0xfffffff));
	ooo_put16(ip + 4, udp_len);
	ip[6] = 17;
	ip[7] = 64 - id % 8;
	ip[8] = 0xfd;
	ip[23] = 1;
	ip[24] = 0xfd;
	ip[39] = 2;
}

static void put_udp(u8 *udp, u32 udp_len)
{
	ooo_put16(udp, 0xc000);
	ooo_put16(udp + 2, OOO_UDP_PORT);
	ooo_put16(udp + 4, udp_len);
	ooo_put16(udp + 6, 0);
}

u32 frame_icrc(const u8 *frame, bool ipv6, u32 udp_payload)
{
	u32 ip_len = frame_ip_len(ipv6);
	const u8 *udp = frame + ip_len;
	u8 prefix[OOO_ICRC_PREFIX_MAX];
	u32 len = ooo_icrc_prefix(frame, ip_len, udp, prefix);
	u32 crc = crc32_le(~0u, prefix, len);

	return ~crc32_le(crc, udp + UDP_LEN + OOO_BTH_LEN,
			 udp_payload - OOO_BTH_LEN - OOO_ICRC_LEN);
}

void frame_finish(u8 *frame, bool ipv6, u32 id, u32 udp_payload)
{
	u8 *udp = frame + frame_ip_len(ipv6);
	u8 *icrc = udp + UDP_LEN + udp_payload - OOO_ICRC_LEN;
	u32 crc;

	if (ipv6)
		put_ipv6(frame, id, UDP_LEN + udp_payload);
	else
		put_ipv4(frame, id, UDP_LEN + udp_payload);
	put_udp(udp, UDP_LEN + udp_payload);
	crc = frame_icrc(frame, ipv6, udp_payload);
	memcpy(icrc, &crc, sizeof(crc));
}

bool frame_icrc_ok(const u8 *frame, bool ipv6, u32 udp_payload)
{
	const u8 *udp = frame + frame_ip_len(ipv6);
	u32 crc = frame_icrc(frame, ipv6, udp_payload);

	return !memcmp(udp + UDP_LEN + udp_payload - OOO_ICRC_LEN, &crc, sizeof(crc));
}
