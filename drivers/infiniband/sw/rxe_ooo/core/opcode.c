// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The opcode table: everything else about opcodes is derived from it. */
#include "opcode.h"
#include "packet.h"

#define FIRST		OOO_IS_FIRST
#define MIDDLE		0
#define LAST		OOO_IS_LAST
#define ONLY		(OOO_IS_FIRST | OOO_IS_LAST)

#define SEND		(OOO_IS_REQUEST | OOO_IS_SEND)
#define RDMA_WRITE	(OOO_IS_REQUEST | OOO_IS_WRITE)
#define REQUEST		(OOO_IS_REQUEST | ONLY)
#define RESPONSE	(OOO_IS_RESPONSE | ONLY)
#define READ_RESP	(OOO_IS_RESPONSE | OOO_IS_READ_RESP)

#define RC_XRC		(OOO_FOR_RC | OOO_FOR_XRC)
#define CONNECTED	(RC_XRC | OOO_FOR_UC)
#define ALL		(CONNECTED | OOO_FOR_UD)

static const u32 ooo_operations[32] = {
	[OOO_OP_SEND_FIRST] = CONNECTED | SEND | FIRST | OOO_PAY_MTU,
	[OOO_OP_SEND_MIDDLE] = CONNECTED | SEND | MIDDLE | OOO_PAY_MTU,
	[OOO_OP_SEND_LAST] = CONNECTED | SEND | LAST | OOO_PAY_SOME,
	[OOO_OP_SEND_LAST_IMM] = CONNECTED | SEND | LAST | OOO_PAY_SOME | OOO_HAS_IMM,
	[OOO_OP_SEND_ONLY] = ALL | SEND | ONLY | OOO_PAY_ANY,
	[OOO_OP_SEND_ONLY_IMM] = ALL | SEND | ONLY | OOO_PAY_ANY | OOO_HAS_IMM,
	[OOO_OP_SEND_LAST_INV] = RC_XRC | SEND | LAST | OOO_PAY_SOME | OOO_HAS_IETH,
	[OOO_OP_SEND_ONLY_INV] = RC_XRC | SEND | ONLY | OOO_PAY_ANY | OOO_HAS_IETH,

	[OOO_OP_WRITE_FIRST] = CONNECTED | RDMA_WRITE | FIRST | OOO_PAY_MTU | OOO_HAS_RETH,
	[OOO_OP_WRITE_MIDDLE] = CONNECTED | RDMA_WRITE | MIDDLE | OOO_PAY_MTU,
	[OOO_OP_WRITE_LAST] = CONNECTED | RDMA_WRITE | LAST | OOO_PAY_SOME,
	[OOO_OP_WRITE_LAST_IMM] = CONNECTED | RDMA_WRITE | LAST | OOO_PAY_SOME | OOO_HAS_IMM,
	[OOO_OP_WRITE_ONLY] = CONNECTED | RDMA_WRITE | ONLY | OOO_PAY_ANY | OOO_HAS_RETH,
	[OOO_OP_WRITE_ONLY_IMM] = CONNECTED | RDMA_WRITE | ONLY | OOO_PAY_ANY | OOO_HAS_RETH |
				  OOO_HAS_IMM,

	[OOO_OP_READ_REQUEST] = RC_XRC | REQUEST | OOO_HAS_RETH,
	[OOO_OP_READ_RESP_FIRST] = RC_XRC | READ_RESP | FIRST | OOO_PAY_MTU | OOO_HAS_AETH,
	[OOO_OP_READ_RESP_MIDDLE] = RC_XRC | READ_RESP | MIDDLE | OOO_PAY_MTU,
	[OOO_OP_READ_RESP_LAST] = RC_XRC | READ_RESP | LAST | OOO_PAY_SOME | OOO_HAS_AETH,
	[OOO_OP_READ_RESP_ONLY] = RC_XRC | READ_RESP | ONLY | OOO_PAY_ANY | OOO_HAS_AETH,

	[OOO_OP_CMP_SWAP] = RC_XRC | REQUEST | OOO_HAS_ATOMIC,
	[OOO_OP_FETCH_ADD] = RC_XRC | REQUEST | OOO_HAS_ATOMIC,
	[OOO_OP_ATOMIC_ACK] = RC_XRC | RESPONSE | OOO_HAS_AETH | OOO_HAS_ATOMIC_ACK,
	[OOO_OP_ACK] = RC_XRC | RESPONSE | OOO_HAS_AETH,

	/* Annex A19: FETH, then RETH; the reply is an empty READ response. */
	[OOO_OP_FLUSH] = RC_XRC | REQUEST | OOO_HAS_FETH | OOO_HAS_RETH,
	[OOO_OP_ATOMIC_WRITE] = RC_XRC | REQUEST | OOO_HAS_RETH | OOO_PAY_ATOMIC_WRITE,
};

u32 ooo_opcode_info(u8 opcode)
{
	u32 info = ooo_operations[OOO_BTH_OP(opcode)];

	switch (OOO_BTH_SERVICE(opcode)) {
	case OOO_BTH_RC:
		return info & OOO_FOR_RC ? info : 0;
	case OOO_BTH_UC:
		return info & OOO_FOR_UC ? info : 0;
	case OOO_BTH_UD:
		return info & OOO_FOR_UD ? info | OOO_HAS_DETH : 0;
	case OOO_BTH_XRC:
		if (!(info & OOO_FOR_XRC))
			return 0;
		return info & OOO_IS_REQUEST ? info | OOO_HAS_XRCETH : info;
	}
	return opcode == OOO_OPCODE_CNP ? OOO_PAY_CNP : 0;
}

bool ooo_may_extend(u8 opcode)
{
	return OOO_BTH_OP(opcode) == OOO_OP_ACK &&
	       (OOO_BTH_SERVICE(opcode) == OOO_BTH_RC || OOO_BTH_SERVICE(opcode) == OOO_BTH_XRC);
}

static u32 fixed_len(u32 info)
{
	switch (info & OOO_PAY_MASK) {
	case OOO_PAY_ATOMIC_WRITE:
		return OOO_ATOMIC_WRITE_LEN;
	case OOO_PAY_CNP:
		return OOO_CNP_LEN;
	default:
		return 0;
	}
}

bool ooo_packet_length_ok(u8 opcode, u32 payload_len, u32 mtu)
{
	u32 info = ooo_opcode_info(opcode);

	if (!info)
		return false;
	switch (info & OOO_PAY_MASK) {
	case OOO_PAY_MTU:
		return payload_len == mtu;
	case OOO_PAY_SOME:
		return payload_len >= 1 && payload_len <= mtu;
	case OOO_PAY_ANY:
		return payload_len <= mtu;
	default:
		return payload_len == fixed_len(info);
	}
}
