/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The responder's state: private to resp*.c.
 *
 * As in the requester, sequence numbers are unwrapped PSNs. @eseq is the
 * expected one (ePSN): everything below has been executed, in order.
 */
#ifndef RXE_OOO_CORE_RESP_H
#define RXE_OOO_CORE_RESP_H

#include "slots.h"
#include "reorder.h"

#define OOO_EARLY_MESSAGES	16

/* A packet above the expected PSN. */
struct ooo_resp_slot {
	struct ooo_pkt *held;	/* NULL: its payload is placed, the rest is here */
	u64 va;			/* RETH */
	u32 rkey;		/* RETH */
	u32 dma_len;		/* RETH */
	u32 imm;
	u32 srqn;
	u32 invalidations;	/* the responder's count when the payload was placed */
	u16 payload_len;
	u8 opcode;
	bool ack_req;
	bool solicited;
};

/* A multi-packet WRITE whose address is known: the current one or an early one. */
struct ooo_resp_write {
	u64 va;		/* RETH */
	u32 rkey;
	u32 len;	/* of the whole message, bytes */
	u32 seq;	/* of its FIRST */
	bool valid;
};

enum ooo_reply_kind {
	OOO_REPLY_READ,
	OOO_REPLY_ATOMIC,
	OOO_REPLY_EMPTY,	/* FLUSH, ATOMIC WRITE: a READ response without data */
};

/* A request with a reply of its own, kept so that the reply can be given again. */
struct ooo_resp_reply {
	u64 va;		/* READ: RETH */
	u64 orig;	/* ATOMIC: the value before */
	u32 rkey;	/* READ: RETH */
	u32 len;	/* READ: bytes */
	u32 seq;	/* of the request */
	u32 packets;	/* of the reply */
	u32 msn;	/* after the request */
	u32 sent;	/* packets of the reply that were sent, the first time */
	u8 kind;	/* enum ooo_reply_kind */
};

/* A part of a reply that is to be given again: packets [from, to) of it. */
struct ooo_resp_replay {
	u32 reply;	/* free-running index of the reply */
	u32 from;
	u32 next;
	u32 to;
};

#define OOO_REPLAYS	64	/* that wait, at the most; a power of two */

enum ooo_message {
	OOO_MSG_NONE,
	OOO_MSG_SEND,
	OOO_MSG_WRITE,
};

struct ooo_resp {
	u32 eseq;	/* expected sequence number */
	u32 high;	/* one past the highest seen and kept */
	u32 missed;	/* one past the highest that was seen and dropped (valid: @missing) */
	u32 msn;	/* messages completed, modulo 2^24 on the wire */
	u32 nak_seq;	/* where @nak is reported */
	u8 message;	/* enum ooo_message: what is in progress at @eseq */

	bool active;	/* the QP has been in RTR */
	bool established;	/* a packet has come: COMM_EST was raised */
	bool ack_due;	/* an ACK is owed for everything below @eseq */
	bool nak_due;	/* @nak is owed at @nak_seq, after the replies before it */
	bool fatal;	/* ... and the QP fails with @event then; nothing is executed any more */
	bool blocked;	/* the packet at @eseq waits for a page */
	bool rnr;	/* the packet at @eseq found no receive request */
	bool stalled;	/* the environment said AGAIN: replies wait */
	bool missing;	/* an early packet was dropped and not asked for yet */
	bool more;	/* early packets whose turn has come are left for the next call */
	bool uc_skip;	/* UC: the rest of this message is dropped */
	u8 nak;		/* AETH syndrome */

	/* What the extension of an ACK reports (docs/wire.md). */
	u8 early_acks;	/* packets that came early since the last ACK */
	u8 fresh;	/* ACKs that still have to carry @ce or @needless */
	u8 needless;	/* repeated requests that had been here */
	u8 sweep_turn;	/* SACKs until an older part of what is here is told again */
	u16 lossy;	/* early packets for which loss is still expected */
	u16 ce;		/* requests with a congestion mark */
	u32 needless_seq;
	u32 newest;	/* the last that came early */
	u32 sweep;	/* where the older part starts */
	u8 event;	/* enum ooo_event */

	/* The message in progress. */
	struct ooo_resp_write write;	/* of a WRITE */
	u32 offset;			/* bytes that have arrived */
	struct ooo_rwqe *rwqe;		/* receive request taken, not completed */
	u32 invalidations;	/* SENDs with invalidate executed */

	u64 rnr_at;	/* ns: when the last RNR NAK was sent */
	u64 rnr_until;	/* ns: before that the peer sends nothing again */
	u64 nak_at;	/* ns: when the last sequence NAK was sent; 0: none outstanding */
	u64 round_trip;	/* ns: longest from a sequence NAK to what it asked for, decaying */

	/*
	 * Replies: a ring of @reply_num entries, a power of two, of which
	 * max_dest_rd_atomic are in use at most; free-running indexes.
	 * [reply_emit, reply_next) is still to be sent, what is older only kept.
	 */
	struct ooo_resp_reply *reply;
	u32 reply_num;	/* entries */
	u32 reply_first;	/* oldest that is kept */
	u32 reply_emit;
	u32 reply_next;
	u32 replay_first;	/* free-running indexes into @replay */
	u32 replay_next;
	struct ooo_resp_replay replay[OOO_REPLAYS];

	/* Several paths: resp_paths.c */
	u8 ack_path;	/* that the last ACK took ... */
	u32 ack_turn;	/* ... free-running number of it ... */
	u64 ack_at;	/* ns: ... and when that was */
	u32 ack_lost[OOO_PATHS_MAX];	/* the path's ACKs are lost: none before this turn; 0: no */
	u32 again_turn;	/* picks the path of a repeated response: in 1/2^32 of all */
	u8 data_path;	/* that the data of READs takes ... */
	bool moved;	/* ... since ... */
	u32 moved_seq;	/* ... this PSN was expected */

	struct ooo_reorder reorder;	/* of missing requests */
	struct ooo_resp_write early[OOO_EARLY_MESSAGES];	/* early FIRSTs */
	struct ooo_slots slots;		/* struct ooo_resp_slot */
};

#endif /* RXE_OOO_CORE_RESP_H */
