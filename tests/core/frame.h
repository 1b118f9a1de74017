/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A RoCEv2 packet from its IP header to its ICRC, as bytes. */
#ifndef TESTS_CORE_FRAME_H
#define TESTS_CORE_FRAME_H

#include "packet.h"

#define FRAME_MAX	(40 + 8 + OOO_MAX_HDR + 4096 + 4 + OOO_ICRC_LEN)

u32 frame_ip_len(bool ipv6);

/* Where ooo_build() has to put the BTH. */
static inline u8 *frame_bth(u8 *frame, bool ipv6)
{
	return frame + frame_ip_len(ipv6) + 8;
}

/*
 * Puts IP and UDP headers before the @udp_payload bytes at frame_bth(), of
 * which the last four are the ICRC's, and fills those in.
 */
void frame_finish(u8 *frame, bool ipv6, u32 id, u32 udp_payload);

/* The ICRC that the frame should have. */
u32 frame_icrc(const u8 *frame, bool ipv6, u32 udp_payload);

bool frame_icrc_ok(const u8 *frame, bool ipv6, u32 udp_payload);

#endif
