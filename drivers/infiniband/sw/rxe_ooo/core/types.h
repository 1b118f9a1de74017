/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the transport core needs of its surroundings' headers: fixed-width
 * integers, bool, NULL, memset/memcpy and min/max. In the kernel these come
 * from the kernel, in the simulator from libc. Nothing else may be included
 * by the core.
 */
#ifndef RXE_OOO_CORE_TYPES_H
#define RXE_OOO_CORE_TYPES_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/string.h>
#include <linux/minmax.h>
#include <linux/math64.h>
#include <linux/compiler.h>
#include <linux/bitops.h>
#include <linux/unaligned.h>
#include <linux/build_bug.h>

/* Index of the lowest bit that is set; there is one. */
static inline u32 ooo_lowest_bit(u64 v)
{
	return __ffs64(v);
}

static inline u32 ooo_bits_set(u64 v)
{
	return hweight64(v);
}
#else
#include <stdint.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define min_t(type, a, b) \
	({ type __a = (a); type __b = (b); __a < __b ? __a : __b; })
#define max_t(type, a, b) \
	({ type __a = (a); type __b = (b); __a > __b ? __a : __b; })
#ifndef fallthrough
#define fallthrough	__attribute__((__fallthrough__))
#endif
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
static inline u64 div_u64(u64 a, u32 b) { return a / b; }
static inline u32 ooo_lowest_bit(u64 v) { return (u32)__builtin_ctzll(v); }
static inline u32 ooo_bits_set(u64 v) { return (u32)__builtin_popcountll(v); }
static inline u64 div64_u64(u64 a, u64 b) { return a / b; }
#endif

#endif /* RXE_OOO_CORE_TYPES_H */
