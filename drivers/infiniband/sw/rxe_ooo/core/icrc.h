/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The invariant CRC of RoCEv2 (IBTA annex A17.3.3): CRC-32 with Ethernet's
 * polynomial over the packet from the IP header to the last pad byte, with
 * every field that a router may change read as ones and eight bytes of ones
 * in front (they stand for InfiniBand's LRH).
 *
 * The CRC itself is the environment's. It is what the kernel calls crc32_le():
 *
 *	len = ooo_icrc_prefix(ip, ip_len, udp, prefix);
 *	crc = crc32_le(~0, prefix, len);
 *	crc = crc32_le(crc, bth + OOO_BTH_LEN, the rest up to and with the pad);
 *	the last four bytes of the packet are ~crc, little endian
 */
#ifndef RXE_OOO_CORE_ICRC_H
#define RXE_OOO_CORE_ICRC_H

#include "types.h"

/* Eight ones, an IPv4 header with all its options (an IPv6 one has 40), UDP, BTH */
#define OOO_ICRC_PREFIX_MAX	(8 + 60 + 8 + 12)

/*
 * Fills @prefix with what the CRC sees in place of the IP header (@ip_len
 * bytes at @ip: 20..60 for IPv4, exactly 40 for IPv6, as its version says),
 * of the UDP header and of the BTH (20 bytes at @udp). Returns its length, or
 * 0 for a header that is neither.
 */
u32 ooo_icrc_prefix(const u8 *ip, u32 ip_len, const u8 *udp, u8 *prefix);

#endif /* RXE_OOO_CORE_ICRC_H */
