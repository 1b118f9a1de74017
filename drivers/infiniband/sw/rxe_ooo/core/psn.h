/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packet sequence numbers: modulo 2^24, compared within half the circle (IBTA 9.7.1). */
#ifndef RXE_OOO_CORE_PSN_H
#define RXE_OOO_CORE_PSN_H

#include "types.h"

#define PSN_BITS	24
#define PSN_MASK	0xffffffu

static inline u32 psn_add(u32 psn, u32 n)
{
	return (psn + n) & PSN_MASK;
}

/* Signed distance from @b to @a, in [-2^23, 2^23). */
static inline s32 psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << (32 - PSN_BITS)) >> (32 - PSN_BITS);
}

#endif /* RXE_OOO_CORE_PSN_H */
