/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A RoCEv2 packet's transport headers, decoded: what ooo_parse() makes of
 * bytes and ooo_build() makes bytes of. Host byte order. Formats: IBTA volume
 * 1, chapter 9; wire.h has the numbers.
 */
#ifndef RXE_OOO_CORE_PACKET_H
#define RXE_OOO_CORE_PACKET_H

#include "types.h"
#include "wire.h"

/* The extension of an ACKNOWLEDGE (wire.h), decoded. */
struct ooo_sack {
	u16 window;		/* PSNs above the acknowledged one that are kept */
	u16 ce;			/* requests with a congestion mark, modulo 2^16 */
	u8 needless;		/* requests repeated for nothing, modulo 2^8 ... */
	u8 words;		/* of @bits that are there */
	u32 needless_psn;	/* ... and the last of these */
	u32 base;		/* PSN of bit 0 of @bits[0] */
	u64 bits[OOO_SACK_WORDS];
};

struct ooo_hdr {
	u8 opcode;		/* BTH opcode, service included: wire.h */
	bool solicited;		/* BTH SE */
	bool ack_req;		/* BTH A */
	u8 rsvd7;		/* the seven reserved bits beside A, as on the wire */
	u16 pkey;
	u32 dest_qpn;
	u32 psn;

	u64 va;			/* RETH, AtomicETH */
	u32 rkey;		/* RETH, AtomicETH */
	u32 dma_len;		/* RETH, bytes */
	u64 compare;		/* AtomicETH: compare */
	u64 swap_add;		/* AtomicETH: swap or add */
	u64 orig;		/* AtomicAckETH */
	u8 syndrome;		/* AETH */
	u32 msn;		/* AETH */
	u32 imm;		/* ImmDt as on the wire (big endian kept), or IETH (host order) */
	u32 srqn;		/* XRCETH */
	u32 feth;		/* FETH word */
	u32 qkey;		/* DETH */
	u32 src_qpn;		/* DETH */
	bool has_sack;		/* an extension of a version that we know: @sack */
	u8 path;		/* not in the packet: the way that it takes, req_paths.c */
	struct ooo_sack sack;
};

struct ooo_pkt {
	struct ooo_hdr h;
	u32 payload_len;	/* bytes, pad and ICRC excluded */
	void *payload;		/* the environment's: an skb, a buffer... */
	u32 payload_off;	/* where the payload starts in it */
	bool ce;		/* its IP header has the congestion mark */
};

/*
 * Decodes @len bytes that start with the BTH (UDP payload, ICRC included).
 * Checks the transport version, the opcode, that the headers fit, and that
 * pad and ICRC fit; on success @hdr_len is the length of BTH and extended
 * headers and @payload_len that of the payload without pad and ICRC.
 * Returns false for a malformed packet. Reads nothing beyond @len (callers
 * may pass fewer linear bytes in @avail than the packet's @len as long as
 * OOO_MAX_HDR or @len are there).
 */
bool ooo_parse(const u8 *data, u32 avail, u32 len, struct ooo_hdr *hdr,
	       u32 *hdr_len, u32 *payload_len);

/* Bytes that this opcode's headers take, without an extension. 0: unknown opcode. */
u32 ooo_hdr_len(u8 opcode);

/* Bytes that ooo_build() needs for @hdr. */
u32 ooo_hdr_size(const struct ooo_hdr *hdr);

/* May an extension follow the AETH? Only in an ACKNOWLEDGE. */
bool ooo_may_extend(u8 opcode);

/* Encodes BTH (pad count from @payload_len) and extended headers; returns their length. */
u32 ooo_build(const struct ooo_hdr *hdr, u32 payload_len, u8 *data);

/*
 * Payload length rules of IBTA 9.6: FIRST and MIDDLE exactly @mtu, LAST
 * 1..mtu, ONLY 0..mtu, READ response likewise, requests without payload 0,
 * ATOMIC WRITE 8. True when @payload_len is right.
 */
bool ooo_packet_length_ok(u8 opcode, u32 payload_len, u32 mtu);

#endif /* RXE_OOO_CORE_PACKET_H */
