// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How many packets may be in flight. Towards a peer that does not report what it
 * has, a constant. Towards one that does, the window follows the path: what counts
 * is the rate at which packets are delivered, not whether some are lost.
 *
 * The window is tried out. In phases of a few round trips the rate of delivery is
 * measured. Where the window held packets back and no queue stands (the round trip
 * is about the smallest), a larger one is tried: it stays if the rate grows with
 * it. Where a queue stands or much is lost, a smaller one is tried: it stays unless the
 * rate falls with it. Random loss and reordering change neither rate nor window.
 * A trial in vain makes the next one wait longer. Congestion marks (ECN, CNP)
 * make the window smaller at once.
 *
 * A rate that was measured on a busy machine may be a fifth beside the truth. What
 * a smaller window is held against is therefore the best of many phases, and if
 * many small steps down have led to less than that, its window is taken again.
 */
#include "req_priv.h"

#define NS_PER_US	1000ULL
#define NS_PER_MS	1000000ULL
#define PLAIN_WINDOW	128u	/* packets, towards a peer that needs go-back-N */
#define UNTOLD_WINDOW	2048u	/* PSNs that a capable peer keeps, until it says */
#define WINDOW_MIN	16u	/* packets: trials and congestion marks do not go below */
#define LOSS_MIN	64u	/* ... trials because of losses not below this */
#define PHASE_MIN	(8 * NS_PER_MS)
#define WAIT_MAX	256u	/* phases between trials */
#define BASE_SAMPLES	8u	/* round trips before the smallest counts */
#define BASE_AGE	(10000 * NS_PER_MS)
#define LOSS_MUCH	32u	/* 1/1024: more sent again is much */
#define BEST_SHIFT	7	/* the best rate fades by 1/128 each phase */

enum {
	PHASE_BASE,
	PHASE_MORE,
	PHASE_LESS,
};

static u32 begin_window(const struct ooo_ep *ep)
{
	return min_t(u32, max_t(u32, ep->tun->window, 1), OOO_WINDOW_MAX);
}

static u32 most(const struct ooo_ep *ep)
{
	return min_t(u32, max_t(u32, ep->tun->window_max, begin_window(ep)), OOO_WINDOW_MAX);
}

static u32 least(const struct ooo_ep *ep)
{
	return min_t(u32, WINDOW_MIN, begin_window(ep));
}

/* A peer that drops everything behind a gap makes each loss cost a window. */
u32 ooo_req_window(const struct ooo_ep *ep)
{
	u32 window = begin_window(ep);

	if (ep->capable)
		return ep->req.flow.window ? ep->req.flow.window : window;
	if (ep->req.plain && !ep->req.holds)
		window = min_t(u32, window, PLAIN_WINDOW);
	return ep->req.flow.window ? min_t(u32, ep->req.flow.window, window) : window;
}

/* Would the peer keep @packets more if everything before them were late? */
static bool peer_keeps(const struct ooo_ep *ep, u32 packets)
{
	u32 keeps = ep->req.peer_window ? ep->req.peer_window : UNTOLD_WINDOW;

	return ep->req.high - ep->req.acked + packets <= keeps;
}

/* Does the next packet fill what the peer keeps, so that nothing follows until it answers? */
bool ooo_req_fills_peer(const struct ooo_ep *ep)
{
	return ep->capable && !peer_keeps(ep, 2);
}

static u32 rest(u32 most, u32 used)
{
	return used < most ? most - used : 0;
}

u32 ooo_req_room(const struct ooo_ep *ep)
{
	u32 span = ep->req.high - ep->req.una;

	if (!ep->capable)
		return rest(ooo_req_window(ep), span);
	if (!peer_keeps(ep, 1))
		return 0;
	return min_t(u32, rest(ooo_req_window(ep), ooo_req_in_flight(ep)),
		     rest(OOO_WINDOW_MAX, span));
}

/* A packet's arrival is known after @rtt: several at once by the last ACK, so each is a sample. */
void ooo_req_trip(struct ooo_req_trip *trip, u64 rtt, u64 now)
{
	trip->rtt = trip->samples ? trip->rtt - trip->rtt / 32 + rtt / 32 : rtt;
	if (trip->samples < 32 * BASE_SAMPLES && ++trip->samples < BASE_SAMPLES)
		return;
	if (trip->base_rtt && trip->rtt > trip->base_rtt && now - trip->base_at < BASE_AGE)
		return;
	trip->base_rtt = max_t(u64, trip->rtt, 1);
	trip->base_at = now;
}

bool ooo_req_queue_stands(const struct ooo_req_trip *trip)
{
	return trip->rtt > trip->base_rtt + trip->base_rtt / 2 + NS_PER_MS / 2;
}

static u64 phase_time(const struct ooo_ep *ep)
{
	return max_t(u64, 2 * ep->req.srtt, PHASE_MIN);
}

/* A phase begins with a round trip in which the window takes effect. */
static void begin(struct ooo_ep *ep, u8 phase, u32 window, u64 now)
{
	struct ooo_req_flow *flow = &ep->req.flow;

	flow->phase = phase;
	flow->window = min_t(u32, max_t(u32, window, least(ep)), most(ep));
	if (flow->window > ep->stat[OOO_STAT_WINDOW_MAX])
		ep->stat[OOO_STAT_WINDOW_MAX] = flow->window;
	flow->settling = true;
	flow->until = now + ep->req.srtt;
}

static void measure(struct ooo_ep *ep, u64 now)
{
	struct ooo_req_flow *flow = &ep->req.flow;

	flow->settling = false;
	flow->limited = false;
	flow->since = now;
	flow->until = now + phase_time(ep);
	flow->delivered = ep->req.delivered;
	flow->resent = ep->req.repaired;
}

/* A path without a queue can take more, whatever stands on others. */
static bool queue_stands(const struct ooo_ep *ep)
{
	if (unlikely(ep->req.path))
		return ooo_paths_full(ep);
	return ooo_req_queue_stands(&ep->req.flow.trip);
}

/* What was sent again of what was delivered in this phase: in 1/1024. */
static u32 loss(const struct ooo_ep *ep)
{
	const struct ooo_req_flow *flow = &ep->req.flow;
	u64 resent = ep->req.repaired - flow->resent;

	return (u32)div64_u64(resent << 10, max_t(u64, ep->req.delivered - flow->delivered, 1));
}

/* A phase in which the window was what held packets back. */
static void note_best(struct ooo_req_flow *flow, u64 rate)
{
	flow->best -= flow->best >> BEST_SHIFT;
	if (rate < flow->best)
		return;
	flow->best = rate;
	flow->best_window = flow->window;
}

/* Have trials, each good enough by itself, led to a window that is too small? */
static bool fell_behind(const struct ooo_req_flow *flow, u64 rate)
{
	return flow->window < flow->best_window && rate < flow->best - flow->best / 4;
}

static u16 longer(u16 step)
{
	return (u16)min_t(u32, 2 * step + 1, WAIT_MAX);
}

/* What is lost may be so by chance: then a small window only makes each loss cost more. */
static u32 least_for_loss(const struct ooo_ep *ep)
{
	return min_t(u32, LOSS_MIN, begin_window(ep));
}

static void try_more(struct ooo_ep *ep, u64 now)
{
	struct ooo_req_flow *flow = &ep->req.flow;

	flow->before = flow->window;
	begin(ep, PHASE_MORE, flow->startup ? 2 * flow->window :
	      flow->window + flow->window / 2 + 1, now);
}

/* The rate that a larger window has to bring: a third of what it would if nothing else held. */
static u64 enough_with_more(const struct ooo_ep *ep)
{
	const struct ooo_req_flow *flow = &ep->req.flow;

	if (loss(ep) > flow->loss + flow->loss / 4 + LOSS_MUCH)
		return OOO_NEVER;	/* a queue overflows */
	if (flow->startup)
		return flow->rate + flow->rate / 4;
	return flow->rate + flow->rate / 6;
}

static void try_less(struct ooo_ep *ep, u64 now)
{
	struct ooo_req_flow *flow = &ep->req.flow;

	flow->before = flow->window;
	begin(ep, PHASE_LESS, flow->window - flow->window / 4, now);
}

static void after_base(struct ooo_ep *ep, u64 rate, u64 now)
{
	struct ooo_req_flow *flow = &ep->req.flow;
	bool full = queue_stands(ep), lossy;

	flow->rate = rate;
	if (!flow->limited)
		return measure(ep, now);	/* the consumer is slower than the window */
	flow->loss = loss(ep);
	lossy = flow->loss > LOSS_MUCH;
	note_best(flow, rate);
	if (!lossy && fell_behind(flow, rate)) {
		flow->best = rate;	/* whether it was the window, the next phases show */
		flow->down_step = longer(flow->down_step);
		flow->down_wait = flow->down_step;
		return begin(ep, PHASE_BASE, flow->best_window, now);
	}
	if (full || (lossy && flow->window > least_for_loss(ep))) {
		if (!flow->down_wait)
			return try_less(ep, now);
		flow->down_wait--;
	}
	if (!full && flow->window < most(ep)) {
		if (!flow->up_wait)
			return try_more(ep, now);
		flow->up_wait--;
	}
	measure(ep, now);
}

static void after_more(struct ooo_ep *ep, u64 rate, u64 now)
{
	struct ooo_req_flow *flow = &ep->req.flow;

	if (!flow->limited)
		return measure(ep, now);
	note_best(flow, rate);
	if (rate >= enough_with_more(ep)) {
		flow->rate = rate;
		flow->up_step = 0;
		return flow->window < most(ep) ? try_more(ep, now) :
						 begin(ep, PHASE_BASE, flow->window, now);
	}
	flow->startup = false;
	flow->up_step = longer(flow->up_step);
	flow->up_wait = flow->up_step;
	begin(ep, PHASE_BASE, flow->before, now);
}

/*
 * The rate that a smaller window has to keep. Where much is lost the best of late was luck;
 * and what is lost no more was lost by an overflowing queue: that is worth a quarter of the rate.
 */
static u64 enough_with_less(const struct ooo_ep *ep)
{
	const struct ooo_req_flow *flow = &ep->req.flow;
	u64 rate = flow->loss > LOSS_MUCH ? flow->rate : max_t(u64, flow->rate, flow->best);

	if (flow->loss > LOSS_MUCH && 2 * loss(ep) < flow->loss)
		return rate - rate / 4;
	return rate - rate / 20;
}

static void after_less(struct ooo_ep *ep, u64 rate, u64 now)
{
	struct ooo_req_flow *flow = &ep->req.flow;

	flow->startup = false;
	note_best(flow, rate);
	if (rate >= enough_with_less(ep)) {
		flow->rate = max_t(u64, flow->rate, rate);	/* many steps down are not one */
		flow->loss = loss(ep);
		flow->down_step = 0;
		if (flow->window > (queue_stands(ep) ? least(ep) : least_for_loss(ep)))
			return try_less(ep, now);
		return begin(ep, PHASE_BASE, flow->window, now);
	}
	flow->down_step = longer(flow->down_step);
	flow->down_wait = flow->down_step;
	begin(ep, PHASE_BASE, flow->before, now);
}

/* Towards a plain peer: what CNPs have taken comes back in small steps. */
static void recover(struct ooo_ep *ep, u64 now)
{
	struct ooo_req_flow *flow = &ep->req.flow;

	if (!flow->window || now < flow->until)
		return;
	flow->window += flow->window / 8 + 1;
	flow->until = now + phase_time(ep);
	if (flow->window >= begin_window(ep))
		flow->window = 0;
}

/* After each arrival. */
void ooo_req_flow(struct ooo_ep *ep, u64 now)
{
	struct ooo_req_flow *flow = &ep->req.flow;
	u64 rate;

	if (!ep->capable)
		return recover(ep, now);
	if (!flow->window) {
		flow->startup = true;
		return begin(ep, PHASE_BASE, begin_window(ep), now);
	}
	if (now < flow->until)
		return;
	if (flow->settling)
		return measure(ep, now);
	rate = div64_u64((ep->req.delivered - flow->delivered) << 30,
			 max_t(u64, now - flow->since, 1));
	if (flow->phase == PHASE_BASE)
		after_base(ep, rate, now);
	else if (flow->phase == PHASE_MORE)
		after_more(ep, rate, now);
	else
		after_less(ep, rate, now);
}

/* The network asks for less: at most once a round trip. */
static void cut(struct ooo_ep *ep, u32 less, u64 now)
{
	struct ooo_req_flow *flow = &ep->req.flow;
	u64 rtt = max_t(u64, flow->trip.rtt, ep->req.srtt);	/* a plain peer's is in srtt only */

	if (flow->cut_at && now - flow->cut_at < max_t(u64, rtt, NS_PER_US))
		return;
	flow->cut_at = now;
	flow->startup = false;
	flow->up_wait = max_t(u16, flow->up_wait, 4);
	begin(ep, PHASE_BASE, rest(ooo_req_window(ep), less), now);
}

/* The peer's count of requests that came with a congestion mark. */
void ooo_req_ce(struct ooo_ep *ep, u16 ce, u64 now)
{
	struct ooo_req_flow *flow = &ep->req.flow;
	u16 new = ce - flow->ce_seen;

	if (!new || new >= 0x8000)
		return;		/* no news, or an ACK that another has overtaken */
	flow->ce_seen = ce;
	if (!ep->capable)
		return;
	ep->stat[OOO_STAT_CE_ECHO] += new;
	cut(ep, max_t(u32, ooo_req_window(ep) / 8, 1), now);
}

void ooo_req_cnp(struct ooo_ep *ep, u64 now)
{
	cut(ep, max_t(u32, ooo_req_window(ep) / 2, 1), now);
	if (!ep->capable)
		ep->req.flow.until = now + phase_time(ep);
}
