/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How long to wait for a missing packet before it counts as lost.
 *
 * A gap opens when a packet is seen above the lowest missing one. Its age
 * is counted from the first evidence, not from the last packet. The window
 * starts at a tunable, jumps to twice the lateness that late packets show and
 * decays slowly, between bounds. When a packet is asked for, the window doubles
 * on suspicion; if no second copy follows, the packet was really lost and the
 * window is as before. Time decides, never a packet count: on sprayed paths
 * any count is exceeded.
 *
 * The responder keeps one for the packets that it expects (expiry: a NAK), the
 * requester one for the responses that it expects (expiry: ask again).
 */
#ifndef RXE_OOO_CORE_REORDER_H
#define RXE_OOO_CORE_REORDER_H

#include "types.h"

struct ooo_tunables;

struct ooo_reorder {
	u64 window;	/* ns that a packet may be late; 0: not learned yet */
	u64 since;	/* ns: first evidence of the open gap, or when it was asked for */
	u64 deadline;	/* ns: counts as lost then; OOO_NEVER: no gap is open */
	u64 mark_at;	/* ns: what misses below @mark was known to miss then */
	u64 late_by;	/* ns: how late @late_seq was */
	u64 proven;	/* ns: the window before it was widened on suspicion; 0: it was not */
	u64 filled_at;	/* ns: when @late_seq came */
	u32 mark;	/* sequence number */
	u32 gap;	/* sequence number: the lowest missing */
	u32 asked_to;	/* gaps below this have been asked for (valid: @asked) */
	u32 late_seq;	/* last gap that was filled after it had been asked for */
	bool open;
	bool asked;	/* since the last time that nothing was missing */
	bool asked_gap;	/* the open gap itself */
	bool late;	/* @late_seq is valid */
	bool granted;	/* the timer came late and was given a little more */
	u8 rounds;	/* the open gap has been asked for so many times in vain */
};

void ooo_reorder_init(struct ooo_reorder *r);

/*
 * @gap is the lowest missing sequence number, everything seen lies below
 * @high. Returns true when this gap is a new one.
 */
bool ooo_reorder_open(struct ooo_reorder *r, const struct ooo_tunables *tun,
		      u32 gap, u32 high, u64 now);

/* The gap moved: its packet arrived. Learns how late that was. */
void ooo_reorder_filled(struct ooo_reorder *r, const struct ooo_tunables *tun, u64 now);

/* Nothing is missing below what has been seen. */
void ooo_reorder_close(struct ooo_reorder *r);

/* The deadline passed and everything missing below @to is asked for. */
void ooo_reorder_ask(struct ooo_reorder *r, const struct ooo_tunables *tun, u32 to,
		     u64 round_trip, u64 now);

/* Is the open gap's time over? A call that comes late may have packets waiting behind it. */
bool ooo_reorder_expired(struct ooo_reorder *r, u64 now);

/*
 * A second copy of @seq: when it had been asked for, the first was only late.
 * Returns true when the asking was needless.
 */
bool ooo_reorder_duplicate(struct ooo_reorder *r, const struct ooo_tunables *tun, u32 seq);

#endif /* RXE_OOO_CORE_REORDER_H */
