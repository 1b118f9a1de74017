/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a BTH opcode says about its packet (IBTA volume 1 table 38 and annexes
 * A14, A19): the extended headers, in the order of their bits here, the
 * payload rule, and the packet's place in its message. One word an opcode,
 * made from the one table in opcode.c.
 */
#ifndef RXE_OOO_CORE_OPCODE_H
#define RXE_OOO_CORE_OPCODE_H

#include "types.h"

enum {
	/* Extended headers; on the wire they follow the BTH in this order. */
	OOO_HAS_XRCETH = 1 << 0,
	OOO_HAS_DETH = 1 << 1,
	OOO_HAS_FETH = 1 << 2,
	OOO_HAS_RETH = 1 << 3,
	OOO_HAS_ATOMIC = 1 << 4,
	OOO_HAS_AETH = 1 << 5,
	OOO_HAS_ATOMIC_ACK = 1 << 6,
	OOO_HAS_IMM = 1 << 7,
	OOO_HAS_IETH = 1 << 8,
	OOO_HAS_MASK = 0x1ff,

	/* Place in the message: ONLY is both, MIDDLE neither. */
	OOO_IS_FIRST = 1 << 9,
	OOO_IS_LAST = 1 << 10,

	OOO_IS_REQUEST = 1 << 11,
	OOO_IS_RESPONSE = 1 << 12,

	/* What the message is. */
	OOO_IS_SEND = 1 << 13,
	OOO_IS_WRITE = 1 << 14,
	OOO_IS_READ_RESP = 1 << 15,

	/* Payload: none, exactly the MTU, 1..MTU, 0..MTU, or a fixed length. */
	OOO_PAY_NONE = 0 << 16,
	OOO_PAY_MTU = 1 << 16,
	OOO_PAY_SOME = 2 << 16,
	OOO_PAY_ANY = 3 << 16,
	OOO_PAY_ATOMIC_WRITE = 4 << 16,
	OOO_PAY_CNP = 5 << 16,
	OOO_PAY_MASK = 7 << 16,

	/* Services that have the operation. */
	OOO_FOR_RC = 1 << 19,
	OOO_FOR_UC = 1 << 20,
	OOO_FOR_UD = 1 << 21,
	OOO_FOR_XRC = 1 << 22,
};

#define OOO_OPCODE_CNP		0x81	/* congestion notification, annex A17.9 */
#define OOO_CNP_LEN		16	/* its reserved bytes, zero */
#define OOO_ATOMIC_WRITE_LEN	8

/* The OOO_* word of a BTH opcode; 0 for one that does not exist. */
u32 ooo_opcode_info(u8 opcode);

#endif /* RXE_OOO_CORE_OPCODE_H */
