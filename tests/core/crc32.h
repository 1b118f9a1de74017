/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* CRC-32 as the kernel's crc32_le() has it: reflected, nothing inverted. */
#ifndef TESTS_CORE_CRC32_H
#define TESTS_CORE_CRC32_H

#include "types.h"

void crc32_init(void);
u32 crc32_le(u32 crc, const u8 *p, size_t len);

#endif
