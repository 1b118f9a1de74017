// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Goodput in virtual time: one direction, long messages, a link of given speed,
 * delay, loss, queue. Virtual time costs no CPU, so the figures are the
 * transport's own and the same on every machine.
 */
#include <stdlib.h>
#include "sim.h"

#define PERCENT		10000u	/* in ppm */
#define LINK		256u	/* 16 ns a byte: 62.5 MB/s */
#define MTU		1024u

struct rate_case {
	const char *name;
	u64 delay;		/* ns, one way */
	u32 drop;		/* ppm, each way */
	u32 reorder, late;	/* ppm, ns */
	u32 speed;		/* 1/16 ns a byte */
	u32 queue;		/* ns of the link: tail drop */
	u32 mark;		/* ns */
	u32 slow_by;		/* ns: half of the packets take a path that is slower by this */
	u32 pause;		/* ns: so long, ten times a second, half of the packets wait */
	u32 paths;		/* over which the core spreads its packets, two routes: ... */
	u32 route[2];		/* ... the delay of each, ns, one way ... */
	u32 route_speed;	/* ... how fast each is, 1/16 ns a byte ... */
	u32 cut_at;		/* ... and when the first one goes away, ns; 0: never */
	u32 window;		/* packets, the most; 0: as it is by default */
	u32 relative_to;	/* goodput of this case (1-based) is 1 */
	double least;		/* ratio */
	double most_again;	/* of all packets; 0: does not matter */
};

/* What is asked for: of the loss-free case, or (without one) of what the link can carry. */
static const struct rate_case cases[] = {
	{ "delay 1ms", MS, .speed = LINK, .least = 0.9 },
	{ "delay 1ms loss 0.1%", MS, PERCENT / 10, .speed = LINK, .relative_to = 1, .least = 0.95 },
	{ "delay 1ms loss 1%", MS, PERCENT, .speed = LINK, .relative_to = 1, .least = 0.8 },
	{ "delay 1ms loss 5%", MS, 5 * PERCENT, .speed = LINK, .relative_to = 1, .least = 0.5 },
	{ "delay 10ms", 10 * MS, .speed = LINK, .least = 0.7 },
	{ "delay 10ms loss 1%", 10 * MS, PERCENT, .speed = LINK, .relative_to = 5, .least = 0.6 },
	{ "loss 1/16384", MS, 61, .speed = LINK, .relative_to = 1, .least = 0.99 },
	{ "loss 1/4096", MS, 244, .speed = LINK, .relative_to = 1, .least = 0.99 },
	{ "loss 1/1024", MS, 977, .speed = LINK, .relative_to = 1, .least = 0.95 },
	{ "loss 1/256", MS, 3906, .speed = LINK, .relative_to = 1, .least = 0.9 },
	{ "reorder 75%", 1000, 0, 25 * PERCENT, 1000000, .speed = LINK, .relative_to = 1,
	  .least = 0.9, .most_again = 0.001 },
	{ "two paths 0.25 and 8 ms", MS / 8, .speed = LINK, .slow_by = 3875000, .relative_to = 1,
	  .least = 0.75, .most_again = 0.005 },
	{ "queue 1ms", MS, .speed = LINK, .queue = MS, .relative_to = 1, .least = 0.82 },
	{ "queue 1ms marks", MS, .speed = LINK, .queue = 4 * MS, .mark = MS / 2, .relative_to = 1,
	  .least = 0.95 },
	{ "two routes 1 and 3 ms", 0, .speed = LINK / 8, .paths = 2, .route = { MS, 3 * MS },
	  .route_speed = LINK, .relative_to = 1, .least = 1.6, .most_again = 0.001 },
	{ "two routes, sixteen paths", 0, .speed = LINK / 8, .paths = 16, .route = { MS, 3 * MS },
	  .route_speed = LINK, .relative_to = 1, .least = 1.6, .most_again = 0.001 },
	{ "two routes 0.125 and 4 ms", 0, .speed = LINK, .paths = 2, .route = { MS / 8, 4 * MS },
	  .relative_to = 1, .least = 0.94, .most_again = 0.001 },
	{ "two routes, one cut", 0, .speed = LINK / 8, .paths = 2, .route = { MS, 3 * MS },
	  .route_speed = LINK, .cut_at = 200 * MS, .relative_to = 1, .least = 0.8 },
	{ "sixteen paths, one route cut", 0, .speed = LINK / 8, .paths = 16,
	  .route = { 3 * MS, MS }, .route_speed = LINK, .cut_at = 200 * MS, .relative_to = 1,
	  .least = 0.8 },
	{ "sixteen paths, one route cut, small window", 0, .speed = LINK / 8, .paths = 16,
	  .route = { 3 * MS, MS }, .route_speed = 8 * LINK, .cut_at = 200 * MS, .window = 32,
	  .relative_to = 1, .least = 0.8 },
	{ "slow link", MS, .speed = 16 * LINK, .queue = 100 * MS, .least = 0.9 },
	{ "slow link loss 1%", MS, PERCENT, .speed = 16 * LINK, .queue = 100 * MS,
	  .relative_to = 21, .least = 0.7 },
	{ "one of two CPUs away", MS, .speed = LINK, .pause = 20 * MS, .relative_to = 1,
	  .least = 0.8, .most_again = 0.0035 },	/* all in the first time: then it is known */
};

static const struct rate_case *now;
static enum ooo_wr now_op;
static bool now_sack;

static void set_route(struct sim_route *r, u32 k)
{
	r->delay = now->route[k];
	r->ns_byte_x16 = now->route_speed;
	if (k || !now->cut_at)
		return;
	r->black_from = now->cut_at;
	r->black_to = NEVER;
}

static void configure(struct sim *sim)
{
	struct sim_cfg *c = &sim->cfg;
	u32 i, k;

	c->profile = now->name;
	c->mtu = MTU;
	c->max_msg = 65536;
	c->fixed_len = 65536;
	c->sq_depth = 64;
	c->rq_depth = 64;
	c->tun.window = now->window ? now->window : 256;
	c->tun.window_max = now->window ? now->window : 8192;
	c->tun.recv_window = 4096;
	c->tun.budget = 64;
	c->tun.reorder_init_us = 10000;
	c->tun.reorder_min_us = 1000;
	c->tun.reorder_max_us = 1000000;
	c->tun.paths = now->paths;
	c->held_max = 4096;
	c->room = 68;
	c->service = OOO_RC;
	c->timeout = 14;
	c->retry_cnt = 7;
	c->rnr_retry = 7;
	c->min_rnr = 12;
	c->rd_atomic = 128;
	c->post_gap = 1;
	c->quota[0] = (now->delay > 5 * MS ? 1600 : 800) * (now_op == OOO_WR_SEND ? 4 : 1);
	for (i = 0; i < 2; i++) {
		struct sim_net_cfg *n = &c->net[i];

		c->ooo[i] = true;
		c->sack[i] = now_sack;
		c->psn[i] = 0xffff00 + i;
		n->delay = now->delay;
		n->drop = now->drop;
		n->reorder = now->reorder;
		n->late = now->late;
		n->ns_byte_x16 = now->speed;
		n->tail_drop = now->queue;
		n->mark = now->mark;
		n->slow_every = now->slow_by ? 50 * PERCENT : 0;
		n->slow_by = now->slow_by;
		n->pause_every = 100 * MS;
		n->pause = now->pause;
		n->routes = now->paths ? 2 : 0;
		for (k = 0; k < n->routes; k++)
			set_route(&n->route[k], k);
	}
	c->mix = (struct sim_mix){
		.write = now_op == OOO_WR_WRITE, .read = now_op == OOO_WR_READ,
		.send = now_op == OOO_WR_SEND,
	};
}

struct rate {
	double goodput;		/* of what the link could carry */
	double resent;		/* of all packets with data */
	double spurious;
	double lost;
	u32 window;
};

static bool run(struct sim *sim, struct rate *r)
{
	const u64 *stat = sim->stats.core;
	u64 begin = 1000 * MS;	/* where virtual time starts */
	u32 speed = now->route_speed ? now->route_speed : now->speed;
	double bytes;

	sim->configure = configure;
	sim->lives = 1;
	if (!sim_run_seed(sim, 1, getenv("SIM_VERBOSE")))
		return false;
	bytes = (double)sim->stats.requests * MTU;
	r->goodput = bytes * (speed / 16.0) / (double)(sim->rate_end - begin);
	r->resent = (double)stat[OOO_STAT_RETRANSMIT] / (double)sim->stats.requests;
	r->spurious = (double)stat[OOO_STAT_SPURIOUS] / (double)sim->stats.requests;
	r->lost = (double)sim->stats.dropped / (double)sim->stats.packets;
	r->window = sim->rate_window;
	return true;
}

static void put_row(FILE *f, const char *op, const struct rate *r, double ratio, bool first)
{
	if (f)
		fprintf(f, "%s\n  {\"op\": \"%s\", \"case\": \"%s\", \"sack\": %d, "
			"\"goodput\": %.4f, \"ratio\": %.4f, \"resent\": %.5f, "
			"\"spurious\": %.5f, \"window\": %u}", first ? "" : ",", op, now->name,
			now_sack, r->goodput, ratio, r->resent, r->spurious, r->window);
	printf("%-5s %-24s %s  %5.1f %% of the link  ratio %.3f  lost %.3f %%  "
	       "sent again %.3f %%  needlessly %.3f %%  window %u\n", op, now->name,
	       now_sack ? "sack " : "plain", 100 * r->goodput, ratio, 100 * r->lost,
	       100 * r->resent, 100 * r->spurious, r->window);
	fflush(stdout);
}

/*
 * Is it what it should be? SENDs are short here, so that the send queue's depth,
 * not the transport, is the limit where the round trip is long.
 */
static bool good_enough(const struct rate *r, double ratio)
{
	double of = now->relative_to ? ratio : r->goodput;

	if (now_op == OOO_WR_SEND && now->delay > 5 * MS && now->relative_to)
		return true;
	if (now_op == OOO_WR_READ && now->paths)
		return of >= 0.4;	/* its data stays on one path */
	return !now_sack || (of >= now->least &&
			     (now->most_again == 0 || r->resent <= now->most_again));
}

/* All cases whose name contains @only, for WRITE, READ and SEND. */
int sim_rates(struct sim *sim, const char *only, const char *json)
{
	static const struct { const char *name; enum ooo_wr op; } ops[] = {
		{ "WRITE", OOO_WR_WRITE }, { "READ", OOO_WR_READ }, { "SEND", OOO_WR_SEND },
	};
	FILE *f = json ? fopen(json, "w") : NULL;
	double base[ARRAY_SIZE(cases) + 1];
	bool first = true;
	u32 i, k;
	int bad = 0;

	if (f)
		fprintf(f, "[");
	now_sack = !getenv("SIM_PLAIN");
	for (k = 0; k < ARRAY_SIZE(ops); k++) {
		now_op = ops[k].op;
		for (i = 0; i < ARRAY_SIZE(cases); i++) {
			struct rate r = { 0 };
			double ratio;

			if (getenv("SIM_OP") && strcmp(getenv("SIM_OP"), ops[k].name))
				continue;
			now = &cases[i];
			base[i + 1] = now->speed ? 0.9 : 1;
			if (!strstr(now->name, only))
				continue;
			if (!run(sim, &r)) {
				printf("%s %s FAILED: %s\n", ops[k].name, now->name, sim->reason);
				bad = 1;
				sim_free(sim);
				memset(sim, 0, sizeof(*sim));
				continue;
			}
			base[i + 1] = r.goodput;
			ratio = base[now->relative_to ? now->relative_to : i + 1];
			ratio = ratio > 0 ? r.goodput / ratio : 1;
			put_row(f, ops[k].name, &r, ratio, first);
			first = false;
			if (good_enough(&r, ratio))
				continue;
			printf("RATE FAILED: %s %s: at least %.2f is asked for\n", ops[k].name,
			       now->name, now->least);
			bad = 1;
		}
	}
	if (f) {
		fprintf(f, "\n]\n");
		fclose(f);
	}
	return bad;
}
