// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Several paths to a capable peer. What a path is, the environment knows (a UDP
 * source port); here it has a number. Each packet goes to the path that has the
 * fewest on the way, in proportion to its share: so a path that delivers slowly gets
 * less, one that has room gets more, and the window does the rest.
 *
 * A path that loses much gives up a part of its share each round trip. One on which
 * nothing arrives, though what was sent later on others does, is left: its packets
 * count as lost and get no new ones, but for one now and then that tries it again.
 */
#include "req_priv.h"

#define NS_PER_MS	1000000ULL
#define SHARE_FULL	256u
#define SHARE_LEAST	4u
#define SHARE_BACK	32u	/* of a path that is back */
#define ROUND_LEAST	8u	/* packets that a round is judged by */
#define LOSS_SHIFT	3	/* more than 1/8 lost is much */
#define SILENCE_LEAST	(8 * NS_PER_MS)
#define SILENCE_UNKNOWN	(100 * NS_PER_MS)	/* while its round trip is not known */
#define PROBE_FIRST	(50 * NS_PER_MS)
#define PROBE_MOST	(1600 * NS_PER_MS)
#define ROTATE		2	/* timeouts in a row; then each path is tried in turn */

/* --- bookkeeping --- */

/* Until now everything went by path 0. Without memory it goes on like that. */
static bool begin(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;
	u32 i;

	if (!ep->capable)
		return false;
	req->path = ooo_env_alloc(ep, ep->paths * sizeof(*req->path));
	if (!req->path)
		return false;
	for (i = 0; i < ep->paths; i++)
		req->path[i].share = SHARE_FULL;
	req->path[0].out = req->sent.in_use - req->lost;
	req->path[0].heard = ooo_req_tick(now);
	req->path[0].rack = req->rack;
	req->path[0].trip = req->flow.trip;
	return true;
}

void ooo_paths_exit(struct ooo_ep *ep)
{
	struct ooo_req *req = &ep->req;

	if (req->path)
		ooo_env_free(ep, req->path, ep->paths * sizeof(*req->path));
	req->path = NULL;
	req->on_path = 0;
}

/* A packet with a record is on its way, or counts as that again. */
void ooo_path_add(struct ooo_req *req, const struct ooo_req_sent *rec)
{
	struct ooo_req_path *path = &req->path[rec->path];

	if (!path->out++)
		path->heard = rec->at;
}

/* Its arrival is known, or it takes another path. */
void ooo_path_remove(struct ooo_req *req, const struct ooo_req_sent *rec)
{
	struct ooo_req_path *path = &req->path[rec->path];

	if (!--path->out)
		path->behind_at = 0;
}

void ooo_path_loss(struct ooo_req *req, const struct ooo_req_sent *rec)
{
	req->path[rec->path].bad++;
	ooo_path_remove(req, rec);
}

/* ACKs take paths of their own: the same path has longer and shorter round trips. */
static void measure(struct ooo_req_path *path, u64 rtt, u64 now)
{
	ooo_req_trip(&path->trip, rtt, now);
	path->longest = max_t(u64, rtt, path->longest - path->longest / 32);
}

/* The packet has arrived by the path that it took last. */
void ooo_path_arrival(struct ooo_ep *ep, const struct ooo_req_sent *rec, u64 now)
{
	struct ooo_req_path *path = &ep->req.path[rec->path];
	u32 tick = ooo_req_tick(now);

	path->good++;
	path->heard = tick;
	path->behind_at = 0;
	if (!(rec->flags & OOO_SENT_RESENT) && !ep->req.backoff)
		measure(path, (u64)(tick - rec->at) << OOO_TICK_SHIFT, now);
	if (path->share)
		return;
	path->share = SHARE_BACK;
	ooo_count(ep, OOO_STAT_PATHS_BACK);
}

/* --- what is known of a path --- */

u64 ooo_path_rtt(const struct ooo_req *req, u8 path)
{
	if (likely(!req->path) || !req->path[path].trip.samples)
		return req->srtt;
	return req->path[path].trip.rtt;
}

u64 ooo_path_base_rtt(const struct ooo_req *req, u8 path)
{
	return likely(!req->path) ? req->flow.trip.base_rtt : req->path[path].trip.base_rtt;
}

/*
 * The longest that is usual. Where ACKs are lost an arrival is known late; if the timeouts
 * followed that, it would be known later still.
 */
static u64 usual_longest(const struct ooo_req_path *path)
{
	return min_t(u64, path->longest, 2 * path->trip.rtt);
}

/* The longest of the round trips that are being waited for. */
u64 ooo_paths_slowest(const struct ooo_ep *ep)
{
	const struct ooo_req *req = &ep->req;
	u64 rtt = 0;
	u32 i;

	for (i = 0; req->path && i < ep->paths; i++)
		if (req->path[i].out)
			rtt = max_t(u64, rtt, usual_longest(&req->path[i]));
	return rtt;
}

/* Does a queue stand on each path that is in use? */
bool ooo_paths_full(const struct ooo_ep *ep)
{
	const struct ooo_req_path *path = ep->req.path;
	u32 i;

	for (i = 0; i < ep->paths; i++)
		if (path[i].share && (!path[i].trip.base_rtt ||
				      !ooo_req_queue_stands(&path[i].trip)))
			return false;
	return true;
}

/* --- judgement --- */

static void end_round(struct ooo_req_path *path, u64 now)
{
	u32 all = path->good + path->bad;

	if (now < path->round_at || all < ROUND_LEAST || !path->share)
		return;
	if (path->bad << LOSS_SHIFT > all)
		path->share = max_t(u32, path->share - path->share / 4, SHARE_LEAST);
	else
		path->share = min_t(u32, path->share + path->share / 4 + 1, SHARE_FULL);
	path->good = 0;
	path->bad = 0;
	path->round_at = now + max_t(u64, path->trip.rtt, NS_PER_MS);
}

/* So long without an arrival by this path, though others have them. */
static u64 silence(const struct ooo_ep *ep, const struct ooo_req_path *path)
{
	u64 least = path->trip.samples ? SILENCE_LEAST :
		    SILENCE_UNKNOWN + 4 * ooo_paths_slowest(ep);

	return 2 * usual_longest(path) + ooo_req_reo(ep) + least;
}

/* Is there another that works? */
static bool has_other(const struct ooo_ep *ep, const struct ooo_req_path *path)
{
	const struct ooo_req_path *p = ep->req.path;
	u32 i;

	for (i = 0; i < ep->paths; i++)
		if (&p[i] != path && p[i].share && !p[i].behind_at)
			return true;
	return false;
}

static void leave(struct ooo_ep *ep, struct ooo_req_path *path, u64 now)
{
	path->share = 0;
	path->behind_at = 0;
	path->good = 0;
	path->bad = 0;
	path->probe_wait = PROBE_FIRST;
	path->probe_at = now + path->probe_wait;
	ooo_count(ep, OOO_STAT_PATHS_LEFT);
	ep->req.rack_due = now;		/* its packets are lost */
}

static void watch(struct ooo_ep *ep, struct ooo_req_path *path, u64 now)
{
	struct ooo_req *req = &ep->req;

	end_round(path, now);
	if (!path->share || !path->out)
		return;
	if (!path->behind_at && ooo_before(path->heard, req->rack.at)) {
		path->behind_at = now;
		if (req->rack_due != OOO_NEVER)		/* else it looks now */
			req->rack_due = min_t(u64, req->rack_due, now + silence(ep, path));
	}
	if (path->behind_at && now - path->behind_at >= silence(ep, path) && has_other(ep, path))
		leave(ep, path, now);
}

/* After each arrival, and when the time is over. */
void ooo_paths_watch(struct ooo_ep *ep, u64 now)
{
	u32 i;

	for (i = 0; i < ep->paths; i++)
		watch(ep, &ep->req.path[i], now);
}

/* When a path that is behind is left. */
u64 ooo_paths_due(const struct ooo_ep *ep)
{
	const struct ooo_req_path *path = ep->req.path;
	u64 due = OOO_NEVER;
	u32 i;

	for (i = 0; i < ep->paths; i++)
		if (path[i].behind_at && has_other(ep, &path[i]))
			due = min_t(u64, due, path[i].behind_at + silence(ep, &path[i]));
	return due;
}

/* --- choice --- */

/* Has @a less to carry than @b? Of equals the one that was never tried, then the faster one. */
static bool is_freer(const struct ooo_req_path *a, const struct ooo_req_path *b)
{
	u32 load_a = (a->out + 1) * b->share;
	u32 load_b = (b->out + 1) * a->share;

	return load_a == load_b ? a->trip.rtt < b->trip.rtt : load_a < load_b;
}

static u32 freest(const struct ooo_ep *ep, u32 avoid)
{
	const struct ooo_req_path *path = ep->req.path;
	u32 best = avoid ? 0 : 1, i;

	for (i = best + 1; i < ep->paths; i++)
		if (i != avoid && is_freer(&path[i], &path[best]))
			best = i;
	return best;
}

/* A path that was left and is to be tried now; ep->paths: none. */
static u32 due_for_probe(struct ooo_ep *ep, u64 now)
{
	struct ooo_req_path *path = ep->req.path;
	u32 i;

	for (i = 0; i < ep->paths; i++) {
		if (path[i].share || now < path[i].probe_at)
			continue;
		path[i].probe_wait = min_t(u64, 2 * path[i].probe_wait, PROBE_MOST);
		path[i].probe_at = now + path[i].probe_wait;
		break;
	}
	return i;
}

/* A new packet; @may_probe: it may be lost without much harm. */
void ooo_paths_choose(struct ooo_ep *ep, bool may_probe, u64 now)
{
	u32 path = ep->paths;

	if (!ep->req.path && !begin(ep, now))
		return;
	if (may_probe)
		path = due_for_probe(ep, now);
	ep->req.on_path = (u8)(path < ep->paths ? path : freest(ep, ep->paths));
}

static u32 another(const struct ooo_ep *ep, u32 last)
{
	const struct ooo_req *req = &ep->req;
	u32 next;

	if (req->backoff > ROTATE)
		return (last + 1) % ep->paths;
	next = freest(ep, last);
	return req->path[next].share || !req->path[last].share ? next : last;
}

/* @seq is sent again: by another path than the last time, unless only that one works. */
void ooo_paths_choose_again(struct ooo_ep *ep, u32 seq, u64 now)
{
	struct ooo_req *req = &ep->req;
	const struct ooo_req_sent *rec;

	if (!req->path && !begin(ep, now))
		return;
	rec = ooo_slots_find(&req->sent, seq);
	req->on_path = (u8)another(ep, rec ? rec->path : req->on_path);
}
