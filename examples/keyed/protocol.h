/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What initiator and target say to each other: a block device whose requests name the buffer by
 * address, length and key, and whose data the target moves by RDMA READ and WRITE.
 *
 * All numbers are big endian, except the ring indices: an atomic operation works in the byte order
 * of the memory's owner, so both ends must have the same, and the greetings' magic number shows it.
 */
#ifndef KEYED_PROTOCOL_H
#define KEYED_PROTOCOL_H

#include <stdint.h>

#define KEYED_MAGIC	0x6b657964U	/* host order, on purpose */
#define KEYED_SECTOR	512
#define KEYED_RING	256		/* entries of a ring, a power of two */
#define KEYED_MAX_DEPTH	128

enum keyed_type {
	KEYED_IN = 0,			/* disk to buffer: virtio-blk's numbers */
	KEYED_OUT = 1,
	KEYED_PING = 0x100,		/* nothing but an answer: what one round trip takes */
	KEYED_STATS = 0x101,		/* the answer says how often the target saw a stale ring */
};

enum keyed_result { KEYED_OK, KEYED_IOERR, KEYED_UNSUPP };

/* How a request gets to the target, and how its answer gets back. */
enum keyed_variant {
	KEYED_SEND,			/* SEND; SEND */
	KEYED_IMM,			/* SEND; WRITE with immediate */
	KEYED_RING_IMM,			/* WRITE into a ring, the index is immediate data */
	KEYED_RING_ATOMIC,		/* WRITE into a ring, the index is a FETCH_ADD; polled */
	KEYED_RING_WRITE,		/* WRITE into a ring, the index is a WRITE; polled */
	KEYED_VARIANTS
};

#define KEYED_VARIANT_NAMES { "send", "imm", "ring-imm", "ring-atomic", "ring-write" }

struct keyed_segment {
	uint64_t addr;
	uint32_t length;
	uint32_t key;
};

struct keyed_command {
	uint16_t type;
	uint16_t tag;			/* less than the depth; back in the answer */
	uint32_t sequence;		/* in rings: 1 for the first request, and so on */
	uint64_t sector;
	struct keyed_segment segment;
};

struct keyed_status {
	uint16_t tag;
	uint16_t result;
	uint32_t sequence;		/* in rings: 1 for the first answer, and so on */
	uint64_t stale;			/* KEYED_STATS */
};

/* Immediate data that is an answer */
#define KEYED_IMM_DATA(tag, result)	((uint32_t)(result) << 16 | (tag))

struct keyed_avail_entry {
	uint16_t tag;			/* of the descriptor */
	uint16_t sequence;		/* low bits */
};

/* In the target's memory; the initiator WRITEs it. */
struct keyed_avail {
	struct keyed_command desc[KEYED_MAX_DEPTH];	/* by tag */
	struct keyed_avail_entry ring[KEYED_RING];
	uint64_t idx;			/* requests so far; host order */
};

/* In the initiator's memory; the target WRITEs it. */
struct keyed_used {
	struct keyed_status ring[KEYED_RING];
	uint64_t idx;			/* answers so far; host order */
};

/* Private data of the connection request: no more than 56 bytes fit */
struct keyed_hello {
	uint32_t magic;
	uint16_t variant;
	uint16_t depth;
	uint32_t size;			/* the longest request, bytes */
	uint32_t used_key;
	uint64_t used_addr;
};

/* and of its acceptance */
struct keyed_welcome {
	uint32_t magic;
	uint32_t avail_key;
	uint64_t avail_addr;
	uint64_t sectors;
};

#endif
