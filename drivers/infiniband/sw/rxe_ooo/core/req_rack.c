// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which packets are lost? Time decides, as in RFC 8985: a packet is, when one
 * that was sent later has arrived, and its own arrival is not known after a
 * round trip and the reordering window. A resent packet is judged in the same way,
 * by its last sending, so any number of losses is repaired.
 *
 * Unlike RFC 8985 the window begins with the largest round trip seen at first,
 * since the smallest is the shortcut's where paths differ. It jumps to
 * twice the lateness that late arrivals show (of packets that were resent needlessly,
 * too) and decays very slowly, to a quarter of the round trip at the least.
 *
 * What is lost by chance is lost in small numbers. When hundreds of packets are missing
 * at once, a queue on the way may just stand still (a CPU that does not run). So
 * repairs begin with a few, and each that was needed allows for two more.
 *
 * Of several paths each is judged by its own arrivals and its own round trip,
 * so that what is sent on a slow one is not late. One on which nothing arrives is
 * left (req_paths.c); then others' arrivals count.
 */
#include "req_priv.h"

#define NS_PER_US	1000u
#define ASLEEP		2000000u	/* ns: a timer later than that: we were not running */
#define FIRST_SHIFT	5	/* a round trip takes 1/32 of the first window's excess, ... */
#define DECAY_SHIFT	11	/* ... and 1/2048 of what lateness has shown to be needed */
#define DOUBT_PACKETS	2048u
#define OLD_TICKS	0x40000000u	/* 18 minutes; at twice that, ticks would compare wrong */
#define BEGIN_SAMPLES	16u	/* round trips that set the first window */
#define FIRST_REPAIRS	16u	/* packets */

static u64 bounded(const struct ooo_ep *ep, u64 ns)
{
	ns = max_t(u64, ns, (u64)ep->tun->reorder_min_us * NS_PER_US);
	return min_t(u64, ns, (u64)ep->tun->reorder_max_us * NS_PER_US);
}

/* How much later than a round trip a packet's arrival may be known, ns. */
u64 ooo_req_reo(const struct ooo_ep *ep)
{
	u64 reo = ep->req.reo;

	return bounded(ep, reo ? reo : (u64)ep->tun->reorder_init_us * NS_PER_US);
}

/* A packet was late by so much and not lost. */
void ooo_req_late(struct ooo_ep *ep, u64 late)
{
	struct ooo_req *req = &ep->req;

	if (bounded(ep, 2 * late) <= ooo_req_reo(ep))
		return;
	req->reo = bounded(ep, 2 * late);
	req->reo_shown = true;
}

static u64 ticks_ns(u32 ticks)
{
	return (u64)ticks << OOO_TICK_SHIFT;
}

/*
 * A packet had been sent again before its arrival was known. Perhaps it was late,
 * perhaps the ACK for it was lost: it takes two cases in so many packets to
 * count, at least a round trip apart, and then the smaller one does.
 */
static void perhaps_late(struct ooo_ep *ep, u64 late, u32 tick)
{
	struct ooo_req *req = &ep->req;

	if (bounded(ep, 2 * late) <= ooo_req_reo(ep))
		return;
	if (req->doubt && ticks_ns(tick - req->doubt_tick) < req->srtt)
		return;		/* the same case */
	if (req->doubt && req->delivered - req->doubt_at < DOUBT_PACKETS) {
		ooo_req_late(ep, min_t(u64, req->doubt, late));
		late = 0;
	}
	req->doubt = late;
	req->doubt_at = req->delivered;
	req->doubt_tick = tick;
}

static void decay(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;
	u64 floor = bounded(ep, req->srtt / 4);

	if (now < req->reo_at || !req->reo)
		return;
	req->reo_at = now + max_t(u64, req->srtt, NS_PER_US);
	if (req->reo > floor)
		req->reo -= (req->reo - floor) >> (req->reo_shown ? DECAY_SHIFT : FIRST_SHIFT);
}

static struct ooo_req_resent *find_resent(struct ooo_req *req, u32 seq)
{
	u32 i;

	for (i = req->resent_num; i != req->resent_num - OOO_RESENT; i--) {
		struct ooo_req_resent *r = &req->resent[(i - 1) % OOO_RESENT];

		if (r->valid && r->seq == seq)
			return r;
	}
	return NULL;
}

/* What has been learned of the path of @rec. */
static struct ooo_req_rack *rack_of(struct ooo_req *req, const struct ooo_req_sent *rec)
{
	return unlikely(req->path) ? &req->path[rec->path].rack : &req->rack;
}

static void remember_resent(struct ooo_req *req, u32 seq, const struct ooo_req_sent *rec)
{
	struct ooo_req_resent *r = &req->resent[req->resent_num++ % OOO_RESENT];

	r->seq = seq;
	r->before = rec->at;
	r->valid = true;
	r->known = false;
	r->path = rec->path;
}

/* Beyond a usual round trip, ns. */
static u64 lateness(const struct ooo_ep *ep, u32 ticks, u8 path)
{
	u64 ns = ticks_ns(ticks), usual = ooo_path_rtt(&ep->req, path);

	return ns > usual ? ns - usual : 0;
}

/* How many repairs may wait for confirmation: what a quarter of all being lost would take. */
static u32 most_repairs(const struct ooo_ep *ep)
{
	return max_t(u32, ooo_req_window(ep) / 4, FIRST_REPAIRS);
}

/* A new case, or no answer at all for long: begin again. */
void ooo_req_allow_repairs(struct ooo_ep *ep)
{
	ep->req.repairs = max_t(u32, ep->req.repairs, FIRST_REPAIRS);
}

/*
 * The packet that was sent again at @rec has arrived. If it is known sooner than
 * a round trip usually takes, it may be the first copy that has.
 */
static void repair_arrived(struct ooo_ep *ep, const struct ooo_req_sent *rec, u32 tick)
{
	u64 base = ooo_path_base_rtt(&ep->req, rec->path);

	if (ticks_ns(tick - rec->at) < base - base / 8)
		return;
	ep->req.repairs = min_t(u32, ep->req.repairs + 2, most_repairs(ep));
}

/* A repeated packet has arrived; true: an earlier copy, as the last cannot be here yet. */
static bool earlier_copy(struct ooo_ep *ep, u32 seq, const struct ooo_req_sent *rec, u32 tick)
{
	struct ooo_req *req = &ep->req;
	struct ooo_req_resent *r = find_resent(req, seq);

	if (r) {
		r->came = tick;
		r->known = true;
	}
	if (ticks_ns(tick - rec->at) >= ooo_path_base_rtt(req, rec->path) / 2)
		return false;
	perhaps_late(ep, lateness(ep, tick - rec->before, r ? r->path : rec->path), tick);
	return true;
}

/* Was @seq at @at sent before @other_seq at @other_at? Those of one tick in their order. */
static bool is_older(u32 at, u32 seq, u32 other_at, u32 other_seq)
{
	return at == other_at ? ooo_before(seq, other_seq) : ooo_before(at, other_at);
}

/* When was it first known that something sent after @tick had arrived? Now, if not before. */
static u64 first_evidence(const struct ooo_req_rack *rack, u32 tick, u64 now)
{
	u64 at = now;
	u32 i;

	for (i = 0; i < OOO_MARKS && i < rack->youngs; i++) {
		const struct ooo_req_mark *mark = &rack->young[(rack->youngs - 1 - i) % OOO_MARKS];

		if (!ooo_before(tick, mark->seq))
			break;
		at = mark->at;
	}
	return at;
}

/* Keeps evidence, so many times in a reordering window. */
static void note_evidence(struct ooo_ep *ep, struct ooo_req_rack *rack, u64 now)
{
	struct ooo_req_mark *last = &rack->young[(rack->youngs - 1) % OOO_MARKS];

	if (rack->youngs && (last->seq == rack->at ||
			     now - last->at < ooo_req_reo(ep) / (OOO_MARKS / 2)))
		return;
	rack->young[rack->youngs % OOO_MARKS].seq = rack->at;
	rack->young[rack->youngs++ % OOO_MARKS].at = now;
}

static void note_all_evidence(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;
	u32 i;

	if (req->rack.any)
		note_evidence(ep, &req->rack, now);
	for (i = 0; req->path && i < ep->paths; i++)
		if (req->path[i].rack.any)
			note_evidence(ep, &req->path[i].rack, now);
}

/* After a long pause what was known before would seem to lie in the future: ticks wrap. */
static void forget_old(struct ooo_req_rack *rack, u32 tick)
{
	if (!rack->any || tick - rack->at < OLD_TICKS)
		return;
	rack->any = false;
	rack->youngs = 0;
}

static void take_evidence(struct ooo_req_rack *rack, const struct ooo_req_sent *rec, u32 seq)
{
	if (rack->any && !is_older(rack->at, rack->seq, rec->at, seq))
		return;
	rack->at = rec->at;
	rack->seq = seq;
	rack->any = true;
}

/*
 * The arrival of @seq is known. With several paths ACKs may be lost for long: what is
 * known only since a timeout made the peer tell it may have arrived at any time.
 */
void ooo_req_rack_arrival(struct ooo_ep *ep, u32 seq, const struct ooo_req_sent *rec, u64 now)
{
	struct ooo_req *req = &ep->req;
	struct ooo_req_rack *rack = rack_of(req, rec);
	u32 tick = ooo_req_tick(now);
	u64 rtt = ticks_ns(tick - rec->at);

	forget_old(rack, tick);
	if (rec->flags & OOO_SENT_RESENT) {
		if (earlier_copy(ep, seq, rec, tick))
			return;
		repair_arrived(ep, rec, tick);
	} else if (likely(!req->path) || !req->backoff) {
		ooo_req_rtt_take(req, rtt);
		ooo_req_trip(&req->flow.trip, rtt, now);
		if (req->flow.trip.samples <= BEGIN_SAMPLES)
			req->reo = max_t(u64, req->reo, bounded(ep, rtt));
		ooo_req_late(ep, now - first_evidence(rack, rec->at, now));
	}
	take_evidence(rack, rec, seq);
	if (unlikely(req->path)) {
		take_evidence(&req->rack, rec, seq);
		ooo_path_arrival(ep, rec, now);
	}
}

/* The peer says that the repeated @seq had been there. */
void ooo_req_needless(struct ooo_ep *ep, u32 seq)
{
	struct ooo_req_resent *r = find_resent(&ep->req, seq);

	if (!r)
		return;		/* a probe, or after an RNR NAK: no judgement of ours */
	ooo_count(ep, OOO_STAT_SPURIOUS);
	ep->req.repairs /= 2;
	if (r->known)
		perhaps_late(ep, lateness(ep, r->came - r->before, r->path), r->came);
	r->valid = false;
}

static void lose(struct ooo_ep *ep, u32 seq, struct ooo_req_sent *rec)
{
	struct ooo_req *req = &ep->req;

	if (!req->lost)
		ooo_req_allow_repairs(ep);
	if (!req->lost || ooo_before(seq, req->lost_low))
		req->lost_low = seq;
	if (!req->lost || !ooo_before(seq, req->lost_high))
		req->lost_high = seq + 1;
	rec->flags |= OOO_SENT_LOST;
	req->lost++;
	if (unlikely(req->path))
		ooo_path_loss(req, rec);
}

/* The time that an arrival by a path may take, in ticks. */
static u32 limit_of(const struct ooo_ep *ep, u8 path)
{
	return (u32)((ooo_path_rtt(&ep->req, path) + ooo_req_reo(ep)) >> OOO_TICK_SHIFT) + 1;
}

/* Has something that was sent later arrived by the same path, or is that path left? */
static bool is_suspect(const struct ooo_req *req, u32 seq, const struct ooo_req_sent *rec)
{
	const struct ooo_req_path *path = &req->path[rec->path];

	return !path->share || (path->rack.any &&
				is_older(rec->at, seq, path->rack.at, path->rack.seq));
}

/* Above this nothing is sent again, or everything is. */
static u32 judged_to(const struct ooo_req *req)
{
	return req->halted && ooo_before(req->halt, req->send) ? req->halt : req->send;
}

/* Looks at all packets on the way that are older than one that has arrived. */
static void scan(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;
	u32 limit = limit_of(ep, 0), tick = ooo_req_tick(now), left = ~0u, age, s = req->una;
	struct ooo_req_sent *rec;
	u32 to = judged_to(req);

	for (; (s = ooo_slots_next(&req->sent, s, to)) != to; s++) {
		rec = ooo_slots_find(&req->sent, s);
		if (rec->flags & OOO_SENT_LOST)
			continue;
		if (!is_older(rec->at, s, req->rack.at, req->rack.seq)) {
			if (rec->flags & OOO_SENT_RESENT)
				continue;
			break;		/* and what comes now was sent later still */
		}
		if (unlikely(req->path)) {
			limit = limit_of(ep, rec->path);
			if (!is_suspect(req, s, rec)) {
				left = min_t(u32, left, limit);
				continue;
			}
		}
		age = tick - rec->at;
		if (age >= limit)
			lose(ep, s, rec);
		else
			left = min_t(u32, left, limit - age);
	}
	if (left != ~0u)
		req->rack_due = now + max_t(u64, ticks_ns(left), ooo_req_reo(ep) / 8);
}

/* After each arrival, and when the time is over. */
void ooo_req_rack(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;

	decay(ep, now);
	forget_old(&req->rack, ooo_req_tick(now));
	note_all_evidence(ep, now);
	if (!req->rack.any || !req->sent.in_use) {
		req->rack_due = OOO_NEVER;
		return;
	}
	if (unlikely(req->path))
		ooo_paths_watch(ep, now);
	if (req->rack_due != OOO_NEVER) {
		if (now < req->rack_due)
			return;
		if (now - req->rack_due > ASLEEP && !req->rack_granted) {
			req->rack_granted = true;	/* first see what has come meanwhile */
			req->rack_due = now + ASLEEP / 2;
			return;
		}
	}
	req->rack_granted = false;
	req->rack_due = OOO_NEVER;
	scan(ep, now);
	if (unlikely(req->path))
		req->rack_due = min_t(u64, req->rack_due, ooo_paths_due(ep));
}

/* The lowest packet that is lost, or the end. */
static u32 lowest_lost(struct ooo_req *req)
{
	struct ooo_req_sent *rec;
	u32 s = req->lost_low;

	if (ooo_before(s, req->una))
		s = req->una;
	for (; (s = ooo_slots_next(&req->sent, s, req->lost_high)) != req->lost_high; s++) {
		rec = ooo_slots_find(&req->sent, s);
		if (rec->flags & OOO_SENT_LOST)
			break;
	}
	req->lost_low = s;
	return s;
}

enum req_step ooo_req_resend_lost(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;
	u32 seq = lowest_lost(req), count;
	struct ooo_req_sent rec;
	enum req_step step;

	if (seq == req->lost_high) {
		req->lost = 0;
		return REQ_DONE;
	}
	rec = *(struct ooo_req_sent *)ooo_slots_find(&req->sent, seq);
	step = ooo_req_resend(ep, seq, true, false, &count, now);
	if (step == REQ_STALLED)
		return step;
	ooo_count(ep, OOO_STAT_HOLES_RESENT);
	req->repaired++;
	if (req->repairs)
		req->repairs--;
	remember_resent(req, seq, &rec);
	req->lost_low = seq + 1;
	return step;
}
