/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The requester's state: private to req*.c.
 *
 * Inside the requester a sequence number is an unwrapped PSN: 32 bits, of
 * which the low 24 are the PSN, so that a message of 2^23 packets and its
 * neighbours compare right. What is outstanding spans less than 2^31.
 *
 *	una <= acked, send <= high
 *
 * [una, high) is on the wire and not finished. READs occupy the PSNs of their
 * responses.
 */
#ifndef RXE_OOO_CORE_REQ_H
#define RXE_OOO_CORE_REQ_H

#include "slots.h"
#include "reorder.h"

#define OOO_RD_RING	256u	/* max_rd_atomic is a u8 */

/* A request on the wire whose answer carries data: READ (or a part of one), ATOMIC... */
struct ooo_req_read {
	u32 seq;	/* of the request, which is that of its first response */
	u32 end;	/* one past its last response */
};

#define OOO_TICK_SHIFT	10	/* a tick is 1024 ns */

/* A packet that was sent and whose arrival is not known: a slot of @sent. */
struct ooo_req_sent {
	u32 at;		/* ticks: when it was sent last ... */
	u32 before;	/* ... and the time before that */
	u8 flags;	/* OOO_SENT_* */
	u8 path;	/* that it took last */
};

enum {
	OOO_SENT_REPLY = 1,	/* its answer carries data: a READ... */
	OOO_SENT_RESENT = 2,
	OOO_SENT_LOST = 4,	/* counts as lost and waits to be sent again */
};

/* A packet that was sent again as lost: was that needless? */
struct ooo_req_resent {
	u32 seq;
	u32 before;	/* ticks: when it had been sent before that */
	u32 came;	/* ticks: when its arrival was known (valid: @known) */
	bool valid;
	bool known;
	u8 path;	/* that it had taken before that */
};

#define OOO_RESENT	64u	/* remembered */

/* A missing part of a READ that was asked for again, from a capable peer. */
struct ooo_req_ask {
	u32 seq;
	u32 end;
	u32 rd;		/* the request that it is a part of: free-running index into @rd[] */
	u64 at;		/* ns: when; 0: it waits to be */
};

#define OOO_ASKS	32u	/* at a time */

/* Everything below @seq (or sent before that tick) was known to be late or lost at @at. */
struct ooo_req_mark {
	u32 seq;
	u64 at;		/* ns */
};

#define OOO_MARKS	16u

/* What the arrivals say of packets that were sent before: req_rack.c. */
struct ooo_req_rack {
	u32 at;		/* ticks: when the youngest that arrived was sent (valid: @any) ... */
	u32 seq;	/* ... and which it was */
	u32 youngs;	/* free-running index: one past the newest of ... */
	bool any;
	struct ooo_req_mark young[OOO_MARKS];	/* ... what @at was, and when: a ring */
};

/* Round trips. */
struct ooo_req_trip {
	u32 samples;
	u64 rtt;	/* ns: smoothed over 32 packets */
	u64 base_rtt;	/* ns: the smallest of these lately; 0: not known yet ... */
	u64 base_at;	/* ns: ... and when that was */
};

#define OOO_PATHS_MAX	16u

/* One of several paths to a capable peer: req_paths.c. */
struct ooo_req_path {
	struct ooo_req_rack rack;
	struct ooo_req_trip trip;
	u64 longest;	/* ns: the longest round trip lately */
	u32 out;	/* records of packets on it that do not count as lost */
	u32 share;	/* of what is in flight, against other paths'; 0: it is left */
	u32 good;	/* packets that arrived in this round ... */
	u32 bad;	/* ... and that were lost */
	u32 heard;	/* ticks: since then something is expected from it */
	u64 round_at;	/* ns: end of the round */
	u64 behind_at;	/* ns: something sent after @heard had come by another path; 0: no */
	u64 probe_at;	/* ns: when a path that is left is tried again ... */
	u64 probe_wait;	/* ns: ... and how long after that */
};

/* The window that follows the path: req_window.c. */
struct ooo_req_flow {
	u32 window;	/* packets in flight; 0: not begun */
	u32 before;	/* the window before the trial */
	u8 phase;	/* enum, private to req_window.c */
	bool settling;	/* the phase has begun, its rate is not measured yet */
	bool startup;	/* the first growth: twice the window each time */
	bool limited;	/* the window kept packets back */
	u16 up_wait;	/* phases until the next trial of more ... */
	u16 up_step;	/* ... and how many there will be the next time */
	u16 down_wait;	/* the same for less */
	u16 down_step;
	u16 ce_seen;	/* the peer's counter */
	u64 until;	/* ns: end of the phase */
	u64 since;	/* ns: begin of what is measured */
	u64 delivered;	/* packets, at @since */
	u64 resent;	/* packets sent again, at @since */
	u64 rate;	/* packets in 2^30 ns, by the window before the trial */
	u64 best;	/* the highest rate lately: fades by 1/128 each phase */
	u32 best_window;	/* ... and the window that had it */
	u32 loss;	/* 1/1024 of what was delivered was sent again, before the trial */
	struct ooo_req_trip trip;
	u64 cut_at;	/* ns: last time that the network asked for less */
};

struct ooo_req {
	/* Work requests: free-running indexes into the send ring. */
	u32 done;	/* oldest that is not completed */
	u32 cur;	/* being sent (@started) or next to start */
	u32 fetched;	/* one past the last that was copied from the consumer */
	bool started;	/* @cur has its PSNs */

	bool active;	/* the QP has been in RTS */
	bool stalled;	/* the environment said AGAIN or LATER */
	bool halted;	/* nothing at or above @halt is sent: that request failed */
	bool unit_due;	/* send the packet or request at @unit_seq again, alone */
	bool unit_whole;	/* ... a READ up to its end, not just the hole */
	bool holds;	/* the peer has shown that it keeps packets that come early */
	bool plain;	/* ... or that it does not */
	bool lone;	/* a NAK was answered by one packet only, at @back_seq */
	bool rnr_wait;	/* the peer has no receive request: nothing is sent until @rnr_until */
	bool probed;	/* the tail has been probed; una is @probe_seq or @probe_end */
	bool late;	/* the timer came late and was given a little more */
	bool timing;	/* the round trip of @timed is being measured */
	bool drain_event;	/* OOO_EVENT_SQ_DRAINED is owed */

	/* Sequence numbers. */
	u32 una;	/* lowest that is not finished */
	u32 acked;	/* everything below has been executed by the peer */
	u32 send;	/* next to send; below @high while resending */
	u32 high;	/* one past the highest that was ever sent */
	u32 halt;
	u32 unit_seq;
	u32 probe_seq;	/* una when the tail was probed */
	u32 probe_end;	/* una when only the probe has been answered */
	u32 timed;
	u32 unasked;	/* packets sent since the last that asked for an ACK */

	/* What was sent again last: a NAK for that is old news for a while. */
	u32 back_seq;	/* from here ... */
	u32 back_to;	/* ... to here */
	u64 back_at;	/* ns; 0: never */
	u32 episode;	/* NAKs below belong to the same trouble */
	u8 naks;	/* of it, answered by a lone packet */

	/* Timers, in ns; OOO_NEVER: not armed. */
	u64 rto_at;	/* resend something when nothing has happened until then */
	u64 progress_at;	/* last time that the peer got us further, or sending began */
	u64 rnr_until;
	u64 timed_at;
	u64 srtt;	/* smoothed round trip, ns; 0: no sample yet */
	u64 rttvar;	/* its mean deviation, ns */
	u8 backoff;	/* doublings of the retransmission timeout */

	u8 rnr_left;	/* RNR NAKs that are still tolerated */
	u32 rnr_seq;	/* where the last one was */

	/* READs and ATOMICs on the wire: free-running indexes into @rd. */
	u32 rd_head;	/* oldest */
	u32 rd_tail;	/* one past the newest */

	/* What the peer has, from ACKs, SACKs and responses. */
	struct ooo_slots sent;	/* struct ooo_req_sent */
	u32 arrived;	/* PSNs in [una, high) that are at their end: here, or at the peer */
	u32 lost;	/* records with OOO_SENT_LOST ... */
	u32 lost_low;	/* ... lie in [lost_low, lost_high) */
	u32 lost_high;
	u32 peer_window;	/* PSNs above the acknowledged one that it keeps; 0: not told */
	u64 delivered;	/* packets, both ways */
	u64 repaired;	/* packets sent again, or asked for again, as lost */
	u32 repairs;	/* packets that may be sent again as lost before the peer confirms any */

	/* Loss by time: req_rack.c */
	struct ooo_req_rack rack;
	bool rack_granted;	/* the timer came late and was given a little more */
	bool reo_shown;	/* lateness has shown that it is needed */
	u8 needless_seen;	/* the peer's counter */
	u64 reo;	/* ns: how late a packet may be; 0: not learned yet */
	u64 doubt;	/* ns: a lateness that may be none ... */
	u64 doubt_at;	/* ... when so many packets had been delivered, ... */
	u32 doubt_tick;	/* ... at this time */
	u64 reo_at;	/* ns: when it decays next */
	u64 rack_due;	/* ns: look for lost packets then; OOO_NEVER: none is suspect */
	u32 resent_num;	/* free-running index into @resent */
	struct ooo_req_resent resent[OOO_RESENT];

	/* Missing responses of a capable peer: req_hole.c */
	u64 hole_due;	/* ns: look for them then */
	u32 marks;	/* free-running indexes into @mark: one past the newest ... */
	u32 mark_first;	/* ... and the oldest */
	u32 asks;
	u32 asks_due;	/* of these, still to be sent */
	struct ooo_req_mark mark[OOO_MARKS];
	struct ooo_req_ask ask[OOO_ASKS];

	/* Several paths: req_paths.c */
	u8 on_path;	/* of the packet that is being sent */
	struct ooo_req_path *path;	/* ep->paths of them; NULL: only one */

	struct ooo_req_flow flow;
	struct ooo_reorder reorder;	/* of missing responses */
	struct ooo_slots held;		/* responses that wait: struct ooo_req_slot */

	/*
	 * PSNs in [una, una + OOO_WINDOW_MAX) of which no more is needed: responses
	 * that are placed, other packets that the peer has. A ring of bits.
	 */
	u64 placed[OOO_WINDOW_MAX / 64];
	struct ooo_req_read rd[OOO_RD_RING];
};

/* A held response. */
struct ooo_req_slot {
	struct ooo_pkt *pkt;
};

#endif /* RXE_OOO_CORE_REQ_H */
