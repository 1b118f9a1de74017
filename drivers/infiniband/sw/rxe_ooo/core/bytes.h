/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Big-endian fields at any address; the compiler makes single loads of them. */
#ifndef RXE_OOO_CORE_BYTES_H
#define RXE_OOO_CORE_BYTES_H

#include "types.h"

static inline u32 ooo_get16(const u8 *p)
{
	return (u32)p[0] << 8 | p[1];
}

static inline u32 ooo_get24(const u8 *p)
{
	return (u32)p[0] << 16 | (u32)p[1] << 8 | p[2];
}

static inline u32 ooo_get32(const u8 *p)
{
	return ooo_get16(p) << 16 | ooo_get16(p + 2);
}

static inline u64 ooo_get64(const u8 *p)
{
	return (u64)ooo_get32(p) << 32 | ooo_get32(p + 4);
}

static inline void ooo_put16(u8 *p, u32 v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static inline void ooo_put24(u8 *p, u32 v)
{
	p[0] = v >> 16;
	p[1] = v >> 8;
	p[2] = v;
}

static inline void ooo_put32(u8 *p, u32 v)
{
	ooo_put16(p, v >> 16);
	ooo_put16(p + 2, v);
}

static inline void ooo_put64(u8 *p, u64 v)
{
	ooo_put32(p, v >> 32);
	ooo_put32(p + 4, v);
}

#endif /* RXE_OOO_CORE_BYTES_H */
