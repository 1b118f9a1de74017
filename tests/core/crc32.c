// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Eight bytes a step over eight tables, little-endian hosts. */
#include "crc32.h"

#define POLY	0xedb88320u	/* Ethernet's polynomial, reflected */

static u32 table[8][256];

void crc32_init(void)
{
	u32 i, k, crc;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? POLY : 0);
		table[0][i] = crc;
	}
	for (i = 0; i < 256; i++)
		for (k = 1; k < 8; k++)
			table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xff];
}

static u32 step8(u32 crc, const u8 *p)
{
	u32 a, b;

	memcpy(&a, p, 4);
	memcpy(&b, p + 4, 4);
	a ^= crc;
	return table[7][a & 0xff] ^ table[6][a >> 8 & 0xff] ^
	       table[5][a >> 16 & 0xff] ^ table[4][a >> 24] ^
	       table[3][b & 0xff] ^ table[2][b >> 8 & 0xff] ^
	       table[1][b >> 16 & 0xff] ^ table[0][b >> 24];
}

u32 crc32_le(u32 crc, const u8 *p, size_t len)
{
	for (; len >= 8; len -= 8, p += 8)
		crc = step8(crc, p);
	for (; len; len--, p++)
		crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xff];
	return crc;
}
