// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The event loop, the life of two endpoints, and the checks that need the whole of it. */
#include <stdarg.h>
#include <stdlib.h>
#include "crc32.h"
#include "sim.h"

#define EVENT_LIMIT	4000000ull	/* in one life: more is a storm */

static bool coin_1024(struct sim *sim)
{
	return !rng_below(&sim->rng, 1024);
}

void sim_fail(struct sim *sim, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sim->reason, sizeof(sim->reason), fmt, ap);
	va_end(ap);
	longjmp(sim->fail, 1);
}

void sim_trace(struct sim *sim, const char *fmt, ...)
{
	va_list ap;

	printf("%10.3f us  ", (double)sim->now / 1000);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
}

void sim_wake(struct sim_ep *e, enum sim_alarm a, u64 at)
{
	e->alarm[a] = min_t(u64, e->alarm[a], at);
}

/* --- life --- */

static void set_attributes(struct sim_ep *e)
{
	const struct sim_cfg *c = &e->sim->cfg;
	struct ooo_attr *a = &e->core.attr;

	a->service = c->service;
	if (c->service == OOO_XRC_INI && e->id == 1)
		a->service = OOO_XRC_TGT;
	a->mtu = c->mtu;
	a->sq_psn = c->psn[e->id];
	a->rq_psn = c->psn[!e->id];
	a->access = OOO_ACCESS_LOCAL_WRITE | OOO_ACCESS_REMOTE_WRITE | OOO_ACCESS_REMOTE_READ |
		    OOO_ACCESS_REMOTE_ATOMIC | OOO_ACCESS_FLUSH_GLOBAL |
		    OOO_ACCESS_FLUSH_PERSISTENT;
	a->timeout = c->timeout;
	a->retry_cnt = c->retry_cnt;
	a->rnr_retry = c->rnr_retry;
	a->min_rnr_timer = c->min_rnr;
	a->max_rd_atomic = c->rd_atomic;
	a->max_dest_rd_atomic = c->rd_atomic;
	a->ooo = c->ooo[e->id];
	a->sq_sig_all = c->sig_all[e->id];
}

static void ep_start(struct sim_ep *e)
{
	struct sim *sim = e->sim;
	u32 i;

	e->tun = sim->cfg.tun;
	e->tun.sack = sim->cfg.sack[e->id];
	if (!sim->life)
		ooo_ep_init(&e->core);
	memset(e->core.stat, 0, sizeof(e->core.stat));
	e->core.tun = &e->tun;
	e->core.sq_stride = sizeof(struct ooo_swqe) + INLINE_MAX;
	e->core.sq_depth = sim->cfg.sq_depth;
	e->core.sq = calloc(sim->cfg.sq_depth, e->core.sq_stride);
	set_attributes(e);
	for (i = 0; i < A_NUM; i++)
		e->alarm[i] = NEVER;
	model_reset(e);
	sim_mem_create(e);
	ooo_ep_to_init(&e->core);
	sim_post_recv(e);
	ooo_ep_to_rtr(&e->core, sim->now);
	if (sim->cfg.rts_delay[e->id] != ~0u)
		sim_wake(e, A_RTS, sim->now + sim->cfg.rts_delay[e->id]);
}

static void to_rts(struct sim_ep *e)
{
	struct sim *sim = e->sim;

	if (e->core.state != OOO_RTR)
		return;
	if (ooo_ep_to_rts(&e->core, sim->now))
		sim_wake(e, A_RESUME, sim->now);
	if (sim->cfg.quota[e->id])
		sim_wake(e, A_POST, sim->now + rng_below(&sim->rng, 100000));
}

static void print_network(const struct sim_net_cfg *n)
{
	u32 i;

	printf("network: delay %llu us, %u ppm late by %u us, %u lost, %u twice, %u corrupt, ",
	       (unsigned long long)n->delay / 1000, n->reorder, n->late / 1000, n->drop, n->dup,
	       n->corrupt);
	printf("black %llu..%llu us\n", (unsigned long long)n->black_from / 1000,
	       (unsigned long long)n->black_to / 1000);
	for (i = 0; i < n->routes; i++)
		printf("     route %u: delay %llu us, %u lost, %u ns/16 a byte, black %llu..%llu us\n",
		       i, (unsigned long long)n->route[i].delay / 1000, n->route[i].drop,
		       n->route[i].ns_byte_x16, (unsigned long long)n->route[i].black_from / 1000,
		       (unsigned long long)n->route[i].black_to / 1000);
}

static void print_settings(struct sim *sim)
{
	const struct sim_cfg *c = &sim->cfg;
	u32 i;

	printf("life %u: %s, %s, mtu %u, max_msg %u, sq %u rq %u, window %u/%u, ",
	       sim->life, c->profile, c->service == OOO_RC ? "RC" : "XRC", c->mtu, c->max_msg,
	       c->sq_depth, c->rq_depth, c->tun.window, c->tun.recv_window);
	printf("timeout %u, retry %u/%u, rd_atomic %u\n", c->timeout, c->retry_cnt,
	       c->rnr_retry, c->rd_atomic);
	for (i = 0; i < 2; i++) {
		printf("  %c: ooo %d sack %d srq %d plain %d psn %06x requests %u, ", 'A' + i, c->ooo[i],
		       c->sack[i], c->srq[i], c->plain[i], c->psn[i], c->quota[i]);
		print_network(&c->net[i]);
	}
}

static void begin_black(struct sim *sim, u64 *from, u64 *to)
{
	if (!*to)
		return;
	*from += sim->now;
	if (*to != NEVER)
		*to += sim->now;
}

static void life_start(struct sim *sim)
{
	u32 i, k;

	sim_configure(sim);
	if (sim->verbose)
		print_settings(sim);
	sim->at_start = sim->stats;
	sim->draining = false;
	sim->learned = false;
	sim->events = 0;
	for (i = 0; i < 2; i++) {
		struct sim_ep *e = &sim->ep[i];
		struct ooo_ep core = e->core;	/* a QP that was used before, in RESET */

		memset(e, 0, sizeof(*e));
		e->core = core;
		e->sim = sim;
		e->id = i;
		e->peer = &sim->ep[!i];
	}
	sim_net_reset(sim);
	for (i = 0; i < 2; i++)
		ep_start(&sim->ep[i]);
	for (i = 0; i < 2; i++) {
		sim->ep[i].out.last_done = sim->now;
		sim->ep[i].out.last_moved = sim->now;
		begin_black(sim, &sim->cfg.net[i].black_from, &sim->cfg.net[i].black_to);
		for (k = 0; k < ROUTES_MAX; k++)
			begin_black(sim, &sim->cfg.net[i].route[k].black_from,
				    &sim->cfg.net[i].route[k].black_to);
	}
}

static void ep_free(struct sim_ep *e)
{
	u32 i;

	for (i = 0; i < SQ_MAX; i++)
		cells_free(&e->out.wr[i].expect);
	free(e->core.sq);
	e->core.sq = NULL;
	sim_mem_destroy(e);
}

/* --- events --- */

static void again(struct sim_ep *e, bool more)
{
	if (more)
		sim_wake(e, A_RESUME, e->sim->now + rng_below(&e->sim->rng, 3000));
}

static void check_idle(struct sim_ep *e)
{
	sim_check(e->sim, ++e->idle_timers < 5000,
		  "endpoint %u: timer or resume called 5000 times while nothing happens", e->id);
}

static void leave_sqd(struct sim_ep *e)
{
	struct sim *sim = e->sim;

	if (e->core.state != OOO_SQD) {
		e->in_sqd = false;
		return;
	}
	if (!e->drained) {
		sim_wake(e, A_SQD, sim->now + 100000);
		return;
	}
	sim_check(sim, ooo_ep_sq_drained(&e->core), "drained event, but not drained");
	trace(sim, "%c back to RTS\n", 'A' + e->id);
	e->in_sqd = false;
	again(e, ooo_ep_to_rts(&e->core, sim->now));
}

static void ring(struct sim_ep *e, enum sim_alarm a)
{
	struct sim *sim = e->sim;

	e->alarm[a] = NEVER;
	switch (a) {
	case A_TIMER:
		check_idle(e);
		again(e, ooo_ep_timer(&e->core, sim->now));
		break;
	case A_RESUME:
		check_idle(e);
		again(e, ooo_ep_resume(&e->core, sim->now));
		break;
	case A_POST:
		sim_post_some(e);
		break;
	case A_RECV:
		sim_recv_posting(e);
		break;
	case A_RTS:
		to_rts(e);
		break;
	default:
		leave_sqd(e);
	}
}

static void check_states(struct sim *sim)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		struct sim_ep *e = &sim->ep[i];

		if (e->core.state == OOO_ERR)
			e->dead = true;
		sim_check(sim, !e->out.failed || e->core.state == OOO_ERR || e->destroyed,
			  "a request failed, but the QP is in state %d", e->core.state);
		sim_check(sim, e->core.state != OOO_ERR || e->out.done == e->out.posted ||
			  e->alarm[A_POST] != NEVER || e->alarm[A_RESUME] != NEVER,
			  "QP in ERR, but requests are not flushed");
	}
}

/* The next thing to happen: an alarm, or (NULL) the network. */
static struct sim_ep *next_alarm(struct sim *sim, u64 *at, enum sim_alarm *which)
{
	struct sim_ep *first = NULL;
	u32 i, a;

	*at = sim_net_next(sim);
	for (i = 0; i < 2; i++) {
		for (a = 0; a < A_NUM; a++) {
			if (sim->ep[i].alarm[a] >= *at)
				continue;
			first = &sim->ep[i];
			*at = first->alarm[a];
			*which = a;
		}
	}
	return first;
}

/* Calls that come early or for nothing must do no harm. */
static void nudge(struct sim *sim)
{
	struct sim_ep *e = &sim->ep[rng_below(&sim->rng, 2)];

	if (coin_1024(sim))
		again(e, ooo_ep_timer(&e->core, sim->now));
	if (coin_1024(sim))
		again(e, ooo_ep_resume(&e->core, sim->now));
}

/* False when nothing will ever happen any more. */
static bool step(struct sim *sim)
{
	enum sim_alarm which = A_TIMER;
	struct sim_ep *e;
	u64 at;

	e = next_alarm(sim, &at, &which);
	if (at == NEVER)
		return false;
	sim->same_time = at > sim->now ? 0 : sim->same_time + 1;
	sim_check(sim, sim->same_time < 1000000, "time stands still");
	sim_check(sim, ++sim->events < EVENT_LIMIT, "too many events: a storm");
	sim->now = max_t(u64, sim->now, at);
	if (e)
		ring(e, which);
	else
		sim_net_deliver(sim);
	nudge(sim);
	check_states(sim);
	return true;
}

/* --- ends --- */

static bool finished(struct sim *sim)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		const struct sim_ep *e = &sim->ep[i];

		if (e->out.done != e->out.posted)
			return false;
		if (!e->dead && e->out.posted < sim->cfg.quota[i])
			return false;
		if (e->in_sqd && !e->dead)
			return false;
	}
	return true;
}

/* How long may pass without any completion. */
static u64 patience(const struct sim *sim)
{
	u64 t = (4096ull << sim->cfg.timeout) * (sim->cfg.retry_cnt + 1u);

	return 5000 * MS + 6 * t + (sim->cfg.timeout ? 0 : 10000 * MS);
}

static void check_progress(struct sim *sim)
{
	u64 last = 0;
	u32 i;

	for (i = 0; i < 2; i++) {
		struct sim_out *o = &sim->ep[i].out;

		if (o->moved)
			o->last_moved = sim->now;
		o->moved = false;
		last = max_t(u64, last, o->last_moved);
	}
	sim_check(sim, sim->now <= last + patience(sim),
		  "stuck: no progress for %llu ms (requests %u and %u)",
		  (unsigned long long)((sim->now - last) / MS), sim->ep[0].out.done,
		  sim->ep[1].out.done);
}

static void drain(struct sim *sim)
{
	u32 n = 0;

	sim->draining = true;
	while (sim->net.count || sim->ep[0].alarm[A_TIMER] != NEVER ||
	       sim->ep[1].alarm[A_TIMER] != NEVER || sim->ep[0].alarm[A_RESUME] != NEVER ||
	       sim->ep[1].alarm[A_RESUME] != NEVER) {
		step(sim);
		sim_check(sim, ++n < 200000, "the endpoints do not come to rest");
	}
}

static void check_end(struct sim_ep *e)
{
	struct sim *sim = e->sim;

	if (e->core.state == OOO_ERR && !sim->cfg.srq[e->id])
		sim_check(sim, e->rq_done == e->rq_posted, "%u receives are not flushed",
			  e->rq_posted - e->rq_done);
	sim_check(sim, e->peer->dead || e->dead || !e->held, "%u packets held at rest", e->held);
	shadow_compare(e);
}

static void ep_stop(struct sim_ep *e)
{
	struct sim *sim = e->sim;
	u32 i;

	for (i = 0; i < OOO_STAT_NUM; i++)
		sim->stats.core[i] += e->core.stat[i];
	ooo_ep_to_reset(&e->core);
	sim_check(sim, !e->held, "%u held packets leaked", e->held);
	sim_check(sim, !e->allocated, "%lld bytes leaked", (long long)e->allocated);
	sim_check(sim, e->alarm[A_TIMER] == NEVER, "a timer is armed in RESET");
}

/*
 * Packets are bounded by what was useful, and by what the network spoilt: a
 * plain peer makes each loss cost up to a window.
 */
static void check_storm(struct sim *sim)
{
	const struct sim_stats *a = &sim->at_start, *b = &sim->stats;
	u64 packets = b->packets - a->packets;
	u64 useful = b->requests - a->requests;
	u64 spoilt = b->dropped - a->dropped + b->corrupted - a->corrupted +
		     b->rnrs - a->rnrs + b->refused - a->refused;
	u64 extra = sim->cfg.lossless && !sim->cfg.narrow ? 0 : 1;
	u64 limit = 4 * useful + 1000 + extra * (20 * useful + 64 * spoilt);

	sim_check(sim, packets <= limit, "storm: %llu packets for %llu useful ones, %llu spoilt",
		  (unsigned long long)packets, (unsigned long long)useful,
		  (unsigned long long)spoilt);
}

/*
 * A network that only reorders costs next to nothing (DESIGN section 3), once
 * the endpoints have seen how late packets can be.
 */
#define LEARNING	3000	/* packets */

static u64 needless(const struct sim *sim)
{
	return sim->stats.retransmitted + sim->stats.naks;
}

static void note_learned(struct sim *sim)
{
	if (sim->learned || sim->stats.packets - sim->at_start.packets < LEARNING)
		return;
	sim->learned = true;
	sim->needless_then = needless(sim);
	sim->packets_then = sim->stats.packets;
}

static void check_quiet(struct sim *sim)
{
	u64 packets = sim->stats.packets - sim->packets_then;
	u64 n = needless(sim) - sim->needless_then;

	if (!sim->cfg.quiet || !sim->learned)
		return;
	sim_check(sim, n * 1000 <= packets + 3000,
		  "%llu needless packets of %llu in a network that only reorders",
		  (unsigned long long)n, (unsigned long long)packets);
}

static void live(struct sim *sim)
{
	u32 i;

	life_start(sim);
	while (!finished(sim)) {
		sim_check(sim, step(sim), "deadlock: requests outstanding, nothing to wait for "
			  "(in flight %d and %d, arrived %u and %u, lost %u and %u)",
			  (s32)(sim->ep[0].core.req.high - sim->ep[0].core.req.una),
			  (s32)(sim->ep[1].core.req.high - sim->ep[1].core.req.una),
			  sim->ep[0].core.req.arrived, sim->ep[1].core.req.arrived,
			  sim->ep[0].core.req.lost, sim->ep[1].core.req.lost);
		check_progress(sim);
		note_learned(sim);
	}
	sim->rate_end = sim->now;
	sim->rate_window = sim->ep[0].core.req.flow.window;
	drain(sim);
	for (i = 0; i < 2; i++)
		check_end(&sim->ep[i]);
	check_storm(sim);
	check_quiet(sim);
	for (i = 0; i < 2; i++)
		ep_stop(&sim->ep[i]);
	for (i = 0; i < 2; i++)
		ep_free(&sim->ep[i]);
}

/* After a failure: what the core still holds is lost, what the simulator holds is not. */
void sim_free(struct sim *sim)
{
	u32 i;

	for (i = 0; i < 2; i++)
		if (sim->ep[i].sim)
			ep_free(&sim->ep[i]);
	sim_net_free(sim);
}

bool sim_run_seed(struct sim *sim, u64 seed, bool verbose)
{
	sim->seed = seed;
	sim->verbose = verbose;
	sim->rng.state = seed * 0x2545f4914f6cdd1dull + 1;
	sim->now = 1000 * MS;
	sim->reason[0] = 0;
	memset(&sim->stats, 0, sizeof(sim->stats));
	if (setjmp(sim->fail))
		return false;
	for (sim->life = 0; sim->life < (sim->lives ? sim->lives : 2); sim->life++)
		live(sim);
	return true;
}
