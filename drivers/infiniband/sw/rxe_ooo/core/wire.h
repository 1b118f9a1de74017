/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * RoCEv2 on the wire: numbers of IBTA volume 1 chapter 9 and annexes A17
 * (RoCEv2), A14 (XRC) and A19 (memory placement extensions).
 * docs/wire.md is the prose.
 */
#ifndef RXE_OOO_CORE_WIRE_H
#define RXE_OOO_CORE_WIRE_H

#define OOO_UDP_PORT		4791
#define OOO_ICRC_LEN		4
#define OOO_BTH_LEN		12
#define OOO_MAX_HDR		64	/* BTH and every extended header that can follow */

/* BTH opcode: service in bits 7:5, operation in bits 4:0 (IBTA table 38). */
enum ooo_bth_service {
	OOO_BTH_RC = 0x00,
	OOO_BTH_UC = 0x20,
	OOO_BTH_RD = 0x40,
	OOO_BTH_UD = 0x60,
	OOO_BTH_CNP = 0x80,
	OOO_BTH_XRC = 0xa0,
};

#define OOO_BTH_SERVICE(opcode)	((opcode) & 0xe0)
#define OOO_BTH_OP(opcode)	((opcode) & 0x1f)

enum ooo_bth_op {
	OOO_OP_SEND_FIRST = 0x00,
	OOO_OP_SEND_MIDDLE = 0x01,
	OOO_OP_SEND_LAST = 0x02,
	OOO_OP_SEND_LAST_IMM = 0x03,
	OOO_OP_SEND_ONLY = 0x04,
	OOO_OP_SEND_ONLY_IMM = 0x05,
	OOO_OP_WRITE_FIRST = 0x06,
	OOO_OP_WRITE_MIDDLE = 0x07,
	OOO_OP_WRITE_LAST = 0x08,
	OOO_OP_WRITE_LAST_IMM = 0x09,
	OOO_OP_WRITE_ONLY = 0x0a,
	OOO_OP_WRITE_ONLY_IMM = 0x0b,
	OOO_OP_READ_REQUEST = 0x0c,
	OOO_OP_READ_RESP_FIRST = 0x0d,
	OOO_OP_READ_RESP_MIDDLE = 0x0e,
	OOO_OP_READ_RESP_LAST = 0x0f,
	OOO_OP_READ_RESP_ONLY = 0x10,
	OOO_OP_ACK = 0x11,
	OOO_OP_ATOMIC_ACK = 0x12,
	OOO_OP_CMP_SWAP = 0x13,
	OOO_OP_FETCH_ADD = 0x14,
	OOO_OP_SEND_LAST_INV = 0x16,
	OOO_OP_SEND_ONLY_INV = 0x17,
	OOO_OP_FLUSH = 0x1c,
	OOO_OP_ATOMIC_WRITE = 0x1d,
};

/* AETH syndrome (IBTA 9.7.5.2): class in bits 6:5, value in bits 4:0. */
#define OOO_AETH_CLASS(s)	((s) & 0x60)
#define OOO_AETH_VALUE(s)	((s) & 0x1f)
enum {
	OOO_AETH_ACK = 0x00,
	OOO_AETH_RNR = 0x20,
	OOO_AETH_NAK = 0x60,
};

#define OOO_AETH_NO_CREDIT	0x1f	/* credit count invalid: no end-to-end flow control */

enum ooo_nak {
	OOO_NAK_SEQUENCE = 0,
	OOO_NAK_INVALID = 1,
	OOO_NAK_ACCESS = 2,
	OOO_NAK_OPERATION = 3,
};

/*
 * The seven bits beside AckReq in byte 8 of the BTH: reserved by IBTA, ignored
 * by receivers, covered by the ICRC. Bits 6:4 are MRC's; ours are below.
 */
enum {
	OOO_BTH_CAP = 0x01,	/* sender keeps what comes early, and understands all of this */
	OOO_BTH_RETX = 0x02,	/* this PSN has been sent before; to a capable peer only */
	OOO_BTH_EXT = 0x04,	/* ACKNOWLEDGE, with CAP: an extension follows the AETH */
};

/*
 * The extension of an ACKNOWLEDGE, version 1, big endian. docs/wire.md.
 *
 *	 0	version (7:4), reserved (3:0)
 *	 1	length of the extension, this byte included, in units of 4 bytes: 4 + 2n
 *	 2	window: PSNs above the acknowledged one that are kept
 *	 4	CE: requests that came with a congestion mark, modulo 2^16
 *	 6	needless: requests marked RETX that had been here already, modulo 2^8
 *	 7	reserved
 *	 8	reserved; PSN (24 bits) of the last one counted in "needless"
 *	12	reserved; PSN (24 bits) of bit 0 of the bitmap
 *	16	bitmap: n (0..4) words of 64 bits; bit i (1 << i) of word w: PSN + 64 w + i is here
 */
#define OOO_EXT_VERSION		1
#define OOO_EXT_FIXED		16	/* bytes */
#define OOO_SACK_WORDS		4	/* of 64 bits, at the most */
#define OOO_EXT_MAX		(OOO_EXT_FIXED + 8 * OOO_SACK_WORDS)	/* in any version */

/* How a WRITE goes onto the wire; chosen once, when its first packet is sent. */
enum ooo_wire_form {
	OOO_WIRE_MESSAGE,	/* FIRST/MIDDLE/LAST or ONLY */
	OOO_WIRE_ONLY_ROW,	/* a row of WRITE ONLY packets, each with its own RETH */
};

#endif /* RXE_OOO_CORE_WIRE_H */
