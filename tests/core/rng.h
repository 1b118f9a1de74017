/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The one source of chance: splitmix64, so that a seed means the same run everywhere. */
#ifndef TESTS_CORE_RNG_H
#define TESTS_CORE_RNG_H

#include "types.h"

struct rng {
	u64 state;
};

static inline u64 rng_next(struct rng *r)
{
	u64 z = r->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* 0..n-1; 0 for n == 0. */
static inline u32 rng_below(struct rng *r, u32 n)
{
	return (u32)(((rng_next(r) >> 32) * n) >> 32);
}

/* low..high, both included. */
static inline u32 rng_range(struct rng *r, u32 low, u32 high)
{
	return low + rng_below(r, high - low + 1);
}

/* True @ppm times in a million. */
static inline bool rng_chance(struct rng *r, u32 ppm)
{
	return ppm && rng_below(r, 1000000) < ppm;
}

static inline void rng_fill(struct rng *r, u8 *p, size_t n)
{
	u64 v;

	for (; n >= 8; n -= 8, p += 8) {
		v = rng_next(r);
		memcpy(p, &v, 8);
	}
	v = rng_next(r);
	memcpy(p, &v, n);
}

#endif
