// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The adaptive reorder clock of reorder.h. */
#include "core.h"

#define NS_PER_US	1000u
#define ASLEEP		2000000u	/* ns: a timer later than that: we were not running */
#define ASK_ROUNDS	7	/* in vain, each twice as long as the one before */
#define DECAY_SHIFT	10	/* each gap filled in time takes 1/1024 of the excess */

void ooo_reorder_init(struct ooo_reorder *r)
{
	memset(r, 0, sizeof(*r));
	r->deadline = OOO_NEVER;
}

static u64 bounded(const struct ooo_tunables *tun, u64 ns)
{
	ns = max_t(u64, ns, (u64)tun->reorder_min_us * NS_PER_US);
	return min_t(u64, ns, (u64)tun->reorder_max_us * NS_PER_US);
}

static u64 window(struct ooo_reorder *r, const struct ooo_tunables *tun)
{
	if (!r->window)
		r->window = (u64)tun->reorder_init_us * NS_PER_US;
	r->window = bounded(tun, r->window);
	return r->window;
}

static void learn(struct ooo_reorder *r, const struct ooo_tunables *tun, u64 lateness)
{
	u64 target = bounded(tun, 2 * lateness);
	u64 now = window(r, tun);

	if (target >= now)
		r->window = target;
	else
		r->window = now - ((now - target) >> DECAY_SHIFT);
}

/* The packet asked for last was lost indeed: no second copy has come for long. */
static void settle(struct ooo_reorder *r, u64 now)
{
	if (!r->proven || !r->late || now - r->filled_at < 4 * r->window)
		return;
	r->window = r->proven;
	r->proven = 0;
	r->late = false;
}

static void suspect(struct ooo_reorder *r, const struct ooo_tunables *tun)
{
	if (!r->proven)
		r->proven = window(r, tun);
	r->window = bounded(tun, 2 * r->window);
}

/* What the packets seen until now tell about gaps above the present one. */
static u64 first_evidence(struct ooo_reorder *r, u32 gap, u32 high, u64 now)
{
	if (r->asked && (s32)(gap - r->asked_to) < 0)
		return now;	/* being resent: give it time from here */
	if (r->mark_at && (s32)(gap - r->mark) < 0)
		return r->mark_at;
	r->mark = high;
	r->mark_at = now;
	return now;
}

bool ooo_reorder_open(struct ooo_reorder *r, const struct ooo_tunables *tun,
		      u32 gap, u32 high, u64 now)
{
	if (r->open && r->gap == gap)
		return false;
	r->open = true;
	r->gap = gap;
	r->asked_gap = false;
	r->rounds = 0;
	r->granted = false;
	settle(r, now);
	r->since = first_evidence(r, gap, high, now);
	r->deadline = r->since + window(r, tun);
	return true;
}

void ooo_reorder_filled(struct ooo_reorder *r, const struct ooo_tunables *tun, u64 now)
{
	if (!r->open)
		return;
	if (r->asked_gap) {
		r->late = true;
		r->late_seq = r->gap;
		r->late_by = now - r->since;
		r->filled_at = now;
	} else {
		learn(r, tun, now - r->since);
	}
	r->open = false;
	r->deadline = OOO_NEVER;
}

void ooo_reorder_close(struct ooo_reorder *r)
{
	r->open = false;
	r->asked = false;
	r->mark_at = 0;
	r->deadline = OOO_NEVER;
}

bool ooo_reorder_expired(struct ooo_reorder *r, u64 now)
{
	if (now < r->deadline)
		return false;
	if (r->granted || now - r->deadline <= ASLEEP)
		return true;
	r->granted = true;
	r->deadline = now + ASLEEP / 2;
	return false;
}

void ooo_reorder_ask(struct ooo_reorder *r, const struct ooo_tunables *tun, u32 to,
		     u64 round_trip, u64 now)
{
	if (!r->asked_gap)
		suspect(r, tun);
	r->asked = true;
	r->asked_gap = true;
	r->asked_to = to;
	if (++r->rounds >= ASK_ROUNDS) {
		r->deadline = OOO_NEVER;	/* the peer's own timer is next */
		return;
	}
	r->deadline = now + ((window(r, tun) + round_trip) << r->rounds);
}

bool ooo_reorder_duplicate(struct ooo_reorder *r, const struct ooo_tunables *tun, u32 seq)
{
	if (!r->late || r->late_seq != seq)
		return false;
	r->late = false;
	r->proven = 0;
	learn(r, tun, r->late_by);
	return true;
}
