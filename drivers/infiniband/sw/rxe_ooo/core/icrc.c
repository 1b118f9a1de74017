// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The part of the ICRC that is not CRC-32: which bytes count as ones. */
#include "icrc.h"
#include "wire.h"

#define LRH_LEN		8
#define UDP_LEN		8

static void mask_ipv4(u8 *ip)
{
	ip[1] = 0xff;		/* type of service */
	ip[8] = 0xff;		/* time to live */
	ip[10] = 0xff;		/* header checksum */
	ip[11] = 0xff;
}

static void mask_ipv6(u8 *ip)
{
	ip[0] |= 0x0f;		/* traffic class */
	ip[1] = 0xff;		/* traffic class and flow label */
	ip[2] = 0xff;
	ip[3] = 0xff;
	ip[7] = 0xff;		/* hop limit */
}

static bool mask_ip(u8 *ip, u32 ip_len)
{
	u32 version = ip[0] >> 4;

	if (version == 4 && ip_len >= 20 && ip_len <= 60)
		mask_ipv4(ip);
	else if (version == 6 && ip_len == 40)
		mask_ipv6(ip);
	else
		return false;
	return true;
}

static void mask_udp_bth(u8 *udp)
{
	udp[6] = 0xff;		/* checksum */
	udp[7] = 0xff;
	udp[UDP_LEN + 4] = 0xff;	/* FECN, BECN and reserved bits */
}

u32 ooo_icrc_prefix(const u8 *ip, u32 ip_len, const u8 *udp, u8 *prefix)
{
	u8 *p = prefix + LRH_LEN;

	if (ip_len < 20 || ip_len > 60)
		return 0;
	memset(prefix, 0xff, LRH_LEN);
	memcpy(p, ip, ip_len);
	if (!mask_ip(p, ip_len))
		return 0;
	memcpy(p + ip_len, udp, UDP_LEN + OOO_BTH_LEN);
	mask_udp_bth(p + ip_len);
	return LRH_LEN + ip_len + UDP_LEN + OOO_BTH_LEN;
}
