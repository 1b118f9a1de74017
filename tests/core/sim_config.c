// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A seed's settings: a profile says what goes wrong, the rest is drawn freely. */
#include "sim.h"

#define PERCENT	10000u		/* in ppm */

static u32 pick(struct sim *sim, const u32 *from, u32 n)
{
	return from[rng_below(&sim->rng, n)];
}

#define PICK(sim, ...)							\
	pick(sim, (const u32[]){ __VA_ARGS__ },				\
	     sizeof((const u32[]){ __VA_ARGS__ }) / sizeof(u32))

static bool coin(struct sim *sim)
{
	return rng_chance(&sim->rng, 500000);
}

/* --- profiles --- */

static void reorder(struct sim *sim)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		sim->cfg.net[i].reorder = PICK(sim, 1, 10, 25, 50, 75) * PERCENT;
		sim->cfg.net[i].late = PICK(sim, 20000, 200000, 1000000, 2000000);
	}
}

static void lose(struct sim *sim, u32 most)
{
	u32 i;

	for (i = 0; i < 2; i++)
		sim->cfg.net[i].drop = rng_below(&sim->rng, most);
}

static void p_clean(struct sim *sim)
{
	sim->cfg.profile = "clean";
	sim->cfg.lossless = true;
}

static void p_reorder(struct sim *sim)
{
	sim->cfg.profile = "reorder";
	sim->cfg.quiet = true;
	sim->cfg.sqd = 0;	/* going to SQD asks for an ACK by sending again */
	sim->cfg.lossless = true;
	sim->cfg.tun.reorder_init_us = 10000;		/* as the module has it */
	sim->cfg.tun.reorder_min_us = 1000;
	sim->cfg.tun.recv_window = max_t(u32, sim->cfg.tun.recv_window,
					 2 * sim->cfg.tun.window);
	sim->cfg.tun.recv_window = max_t(u32, sim->cfg.tun.recv_window, 4096);
	sim->cfg.narrow = false;
	reorder(sim);
}

static void p_duplicate(struct sim *sim)
{
	u32 i;

	sim->cfg.profile = "duplicate";
	sim->cfg.lossless = true;
	if (coin(sim))
		reorder(sim);
	for (i = 0; i < 2; i++) {
		sim->cfg.net[i].dup = rng_below(&sim->rng, 20 * PERCENT);
		sim->cfg.net[i].old = rng_below(&sim->rng, 5 * PERCENT);
		sim->cfg.net[i].old_delay = 20 * MS;
	}
}

static void p_light_loss(struct sim *sim)
{
	sim->cfg.profile = "light loss";
	lose(sim, 2 * PERCENT);
	if (coin(sim))
		reorder(sim);
}

static void p_heavy_loss(struct sim *sim)
{
	sim->cfg.profile = "heavy loss";
	lose(sim, 30 * PERCENT);
	if (coin(sim))
		reorder(sim);
}

static void p_corrupt(struct sim *sim)
{
	u32 i;

	sim->cfg.profile = "corrupt";
	for (i = 0; i < 2; i++)
		sim->cfg.net[i].corrupt = rng_below(&sim->rng, 5 * PERCENT);
}

static void p_burst(struct sim *sim)
{
	u32 i;

	sim->cfg.profile = "loss bursts";
	for (i = 0; i < 2; i++) {
		sim->cfg.net[i].burst = rng_below(&sim->rng, 5000);
		sim->cfg.net[i].burst_ns = PICK(sim, 20000, 2000000, 20000000);
	}
}

static void p_pause(struct sim *sim)
{
	sim->cfg.profile = "pause";
	sim->cfg.net[coin(sim)].black_from = rng_below(&sim->rng, 5 * MS);
	if (coin(sim))
		reorder(sim);
}

static void p_dead(struct sim *sim)
{
	u64 from = rng_below(&sim->rng, 20 * MS);
	u32 which = rng_below(&sim->rng, 3);
	u32 i;

	sim->cfg.profile = "dead path";
	sim->cfg.dead = true;
	for (i = 0; i < 2; i++) {
		if (which == i)
			continue;
		sim->cfg.net[i].black_from = from;
		sim->cfg.net[i].black_to = NEVER;
	}
}

static void p_environment(struct sim *sim)
{
	sim->cfg.profile = "unhelpful environment";
	reorder(sim);
	sim->cfg.again = rng_below(&sim->rng, 10 * PERCENT);
	sim->cfg.later = rng_below(&sim->rng, 10 * PERCENT);
	if (coin(sim))
		sim->cfg.hold_null = rng_below(&sim->rng, 20 * PERCENT);
	if (coin(sim))
		sim->cfg.alloc_null = rng_below(&sim->rng, 50 * PERCENT);
	if (coin(sim))
		sim->cfg.held_max = rng_below(&sim->rng, 20);
}

static void p_plain(struct sim *sim)
{
	u32 i;

	sim->cfg.profile = "plain responder";
	sim->cfg.plain[0] = coin(sim);
	sim->cfg.plain[1] = !sim->cfg.plain[0] || coin(sim);
	for (i = 0; i < 2; i++)
		sim->cfg.sack[i] &= !sim->cfg.plain[i];
	if (coin(sim))
		reorder(sim);
	if (coin(sim))
		lose(sim, PERCENT);
}

static void p_rnr(struct sim *sim)
{
	sim->cfg.profile = "receiver not ready";
	sim->cfg.recv_late = PICK(sim, 1, 10, 50) * PERCENT;
	sim->cfg.recv_delay = PICK(sim, 20000, 500000, 5000000);
	if (coin(sim))
		reorder(sim);
	if (coin(sim))
		lose(sim, PERCENT);
}

static void p_starve(struct sim *sim)
{
	sim->cfg.profile = "no receives";
	sim->cfg.starve = true;
	sim->cfg.rnr_retry = rng_below(&sim->rng, 7);
	if (coin(sim))
		reorder(sim);
}

static void p_faults(struct sim *sim)
{
	sim->cfg.profile = "faults";
	sim->cfg.fault = PICK(sim, 2000, 20000, 100000);
	sim->cfg.dereg = coin(sim) ? 5000 : 0;
	if (coin(sim))
		reorder(sim);
	if (coin(sim))
		lose(sim, PERCENT);
}

static void p_stale(struct sim *sim)
{
	sim->cfg.profile = "stale keys";
	sim->cfg.mix = (struct sim_mix){ .send_inv = 1, .write = 4, .write_imm = 1 };
	sim->cfg.stale = 150000;
	reorder(sim);
}

static void p_kill(struct sim *sim)
{
	sim->cfg.profile = "killed";
	sim->cfg.kill = coin(sim) ? 10000 : 0;
	sim->cfg.destroy = sim->cfg.kill ? 0 : 10000;
	if (coin(sim))
		reorder(sim);
}

/* A link with a short queue, that may mark before it drops. */
static void p_bottleneck(struct sim *sim)
{
	u32 i;

	sim->cfg.profile = "bottleneck";
	for (i = 0; i < 2; i++) {
		struct sim_net_cfg *n = &sim->cfg.net[i];

		n->ns_byte_x16 = PICK(sim, 16, 64, 256);
		n->queue_limit = 0;
		n->tail_drop = 66000 + 66 * n->ns_byte_x16 * PICK(sim, 20, 100, 400);
		n->mark = coin(sim) ? n->tail_drop / 3 : 0;
	}
}

/* Two paths, one of which is slower; one may lose more, or be dead. */
static void p_two_paths(struct sim *sim)
{
	u32 i;

	sim->cfg.profile = "two paths";
	for (i = 0; i < 2; i++) {
		sim->cfg.net[i].slow_every = PICK(sim, 1, 50, 99) * PERCENT;
		sim->cfg.net[i].slow_by = PICK(sim, 100000, 1000000, 8000000);
	}
	if (coin(sim))
		lose(sim, PERCENT);
}

static void draw_route(struct sim *sim, struct sim_route *r, bool loses)
{
	r->delay = PICK(sim, 0, 100000, 1000000, 4000000);
	r->ns_byte_x16 = PICK(sim, 0, 16, 64, 256);
	if (!loses)
		return;
	r->drop = coin(sim) ? rng_below(&sim->rng, 2 * PERCENT) : 0;
	if (r->ns_byte_x16 && coin(sim))
		r->tail_drop = 66000 + 66 * r->ns_byte_x16 * PICK(sim, 20, 100, 400);
}

/* One or both directions of one route go away, perhaps for ever. */
static void cut_route(struct sim *sim, u32 route)
{
	u64 from = rng_below(&sim->rng, 20 * MS);
	u64 to = coin(sim) ? NEVER : from + rng_below(&sim->rng, 300 * MS);
	u32 which = rng_below(&sim->rng, 3), i;

	for (i = 0; i < 2; i++) {
		if (which == i)
			continue;
		sim->cfg.net[i].route[route].black_from = from;
		sim->cfg.net[i].route[route].black_to = to;
	}
}

/* The core knows that there are several routes and spreads its packets. */
static void p_routes(struct sim *sim)
{
	u32 routes = PICK(sim, 2, 2, 3, 4), i, k;
	bool loses = coin(sim);

	p_reorder(sim);
	sim->cfg.profile = "routes";
	sim->cfg.quiet = !loses;
	sim->cfg.lossless = !loses;
	sim->cfg.tun.paths = routes * PICK(sim, 1, 2, 4);
	for (i = 0; i < 2; i++) {
		struct sim_net_cfg *n = &sim->cfg.net[i];

		sim->cfg.sack[i] = true;
		n->queue_limit = 0;
		n->reorder = 0;
		n->routes = routes;
		for (k = 0; k < routes; k++)
			draw_route(sim, &n->route[k], loses);
	}
	if (loses && coin(sim))
		cut_route(sim, rng_below(&sim->rng, routes));
}

/* What everything hangs on is lost: each kind of packet without payload. */
static void p_control_loss(struct sim *sim)
{
	u32 i;

	sim->cfg.profile = "control loss";
	for (i = 0; i < 2; i++)
		sim->cfg.net[i].drop_control = PICK(sim, 1, 10, 30) * PERCENT;
	if (coin(sim))
		lose(sim, 2 * PERCENT);
	if (coin(sim))
		reorder(sim);
}

static void p_chaos(struct sim *sim)
{
	p_duplicate(sim);
	p_corrupt(sim);
	p_burst(sim);
	p_environment(sim);
	reorder(sim);
	lose(sim, 3 * PERCENT);
	sim->cfg.profile = "chaos";
	sim->cfg.lossless = false;
	sim->cfg.recv_late = PERCENT;
	sim->cfg.recv_delay = 300000;
	sim->cfg.fault = coin(sim) ? 1000 : 0;
	sim->cfg.dereg = coin(sim) ? 1000 : 0;
	sim->cfg.kill = coin(sim) ? 500 : 0;
	sim->cfg.alloc_null = min_t(u32, sim->cfg.alloc_null, PERCENT);
}

typedef void (*profile_fn)(struct sim *sim);

static const profile_fn profiles[] = {
	p_clean, p_reorder, p_reorder, p_duplicate, p_light_loss, p_heavy_loss, p_corrupt,
	p_burst, p_pause, p_dead, p_environment, p_plain, p_rnr, p_starve, p_faults, p_faults,
	p_stale, p_kill, p_chaos, p_chaos, p_bottleneck, p_two_paths, p_control_loss,
	p_routes, p_routes,
};

/* --- what every profile draws --- */

static void draw_mix(struct sim *sim)
{
	struct sim_mix *m = &sim->cfg.mix;

	*m = (struct sim_mix){ 10, 6, 2, 25, 10, 12, 4, 4, 3, 3, 1 };
	switch (rng_below(&sim->rng, 6)) {
	case 0:
		*m = (struct sim_mix){ .write = 1 };
		break;
	case 1:
		*m = (struct sim_mix){ .read = 1 };
		break;
	case 2:
		*m = (struct sim_mix){ .send = 3, .send_imm = 1, .write_imm = 1, .write = 1 };
		break;
	}
}

static void draw_network(struct sim *sim)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		struct sim_net_cfg *n = &sim->cfg.net[i];

		memset(n, 0, sizeof(*n));
		n->delay = PICK(sim, 1000, 10000, 100000, 1000000);
		n->jitter = coin(sim) ? 0 : (u32)n->delay / 100;
		n->ns_byte_x16 = PICK(sim, 0, 1, 4, 16);
		n->queue_limit = n->ns_byte_x16 && coin(sim) ? 200000 : 0;
	}
	/* Jitter below a packet's spacing would still reorder: not in a clean network. */
	sim->cfg.net[0].jitter = 0;
}

static void draw_sizes(struct sim *sim)
{
	struct sim_cfg *c = &sim->cfg;

	c->mtu = PICK(sim, 256, 256, 512, 512, 1024, 1024, 2048, 4096);
	c->max_msg = PICK(sim, 2048, 8192, 65536, 300000);
	c->sq_depth = PICK(sim, 1, 4, 16, 64);
	c->rq_depth = PICK(sim, 1, 8, 64);
	c->tun.window = PICK(sim, 1, 8, 32, 128, 512, 2048, 4096);
	c->tun.recv_window = c->tun.window * PICK(sim, 1, 2) + rng_below(&sim->rng, 64);
	c->tun.window_max = max_t(u32, c->tun.window, PICK(sim, 1, 512, 8192));
	c->narrow = rng_chance(&sim->rng, 100000);
	if (c->narrow)
		c->tun.recv_window = 1 + c->tun.window / 4;
	c->tun.budget = PICK(sim, 1, 4, 16, 64);
	c->tun.reorder_init_us = PICK(sim, 100, 1000, 10000);
	c->tun.reorder_min_us = PICK(sim, 50, 1000);
	c->tun.reorder_max_us = PICK(sim, 100000, 1000000);
	c->held_max = 4096;
	c->room = 3;
}

static void draw_qp(struct sim *sim)
{
	struct sim_cfg *c = &sim->cfg;
	u32 i;

	c->service = rng_chance(&sim->rng, 150000) ? OOO_XRC_INI : OOO_RC;
	c->ipv6 = coin(sim);
	c->retry_cnt = 7;
	c->rnr_retry = 7;
	c->min_rnr = (u8)rng_range(&sim->rng, 1, 14);
	c->rd_atomic = (u8)PICK(sim, 1, 2, 4, 16);
	for (i = 0; i < 2; i++) {
		c->ooo[i] = coin(sim);
		c->sack[i] = rng_chance(&sim->rng, 800000);
		c->srq[i] = rng_chance(&sim->rng, 200000);
		c->sig_all[i] = rng_chance(&sim->rng, 200000);
		c->psn[i] = rng_below(&sim->rng, 1 << 24);
		if (coin(sim))
			c->psn[i] = PSN_MASK - rng_below(&sim->rng, 3000);
	}
	if (c->service == OOO_XRC_INI)
		c->srq[1] = true;
}

static void draw_work(struct sim *sim)
{
	struct sim_cfg *c = &sim->cfg;

	draw_mix(sim);
	c->fence = PICK(sim, 0, 50000, 300000);
	c->unsignaled = PICK(sim, 0, 300000, 900000);
	c->inl = 300000;
	c->overlap = PICK(sim, 0, 0, 50000);
	c->post_gap = PICK(sim, 1, 10000, 100000);
	c->sqd = coin(sim) ? 0 : 20000;
}

/* The slowest route, with its queue. */
static u64 route_trip(const struct sim_cfg *c, const struct sim_net_cfg *n)
{
	u64 most = 0;
	u32 i;

	for (i = 0; i < n->routes; i++)
		most = max_t(u64, most, n->route[i].delay + (u64)n->route[i].ns_byte_x16 *
			     (c->mtu + 100) * (c->tun.window + 64) / 16);
	return most;
}

/* How long a packet and its answer may take: timeouts below that are not fair. */
static u64 round_trip(const struct sim_cfg *c)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < 2; i++) {
		const struct sim_net_cfg *n = &c->net[i];

		sum += n->delay + n->jitter + (n->reorder ? n->late : 0);
		sum += n->slow_every ? n->slow_by : 0;
		sum += n->tail_drop;
		sum += route_trip(c, n);
		sum += (u64)n->ns_byte_x16 * (c->mtu + 100) * (c->tun.window + 64) / 16;
		sum += c->max_msg * (u64)n->ns_byte_x16 / 16 * c->rd_atomic;
	}
	return sum;
}

static void set_timeout(struct sim *sim)
{
	struct sim_cfg *c = &sim->cfg;
	u64 need = 4 * round_trip(c) + MS;
	u8 t = 8;

	while ((4096ull << t) < need)
		t++;
	if (!c->dead && t < 14)
		t = 14;			/* what programs use: 67 ms */
	c->timeout = t;
	if (c->dead)
		c->retry_cnt = (u8)rng_below(&sim->rng, 8);
	if (c->lossless && !c->narrow && !c->starve && rng_chance(&sim->rng, 100000))
		c->timeout = 0;
}

/* A pause must end well before the retries do. */
static void set_pause(struct sim *sim)
{
	u64 patience = (4096ull << sim->cfg.timeout) * 3;
	u32 i;

	for (i = 0; i < 2; i++) {
		struct sim_net_cfg *n = &sim->cfg.net[i];

		if (n->black_from && !n->black_to)
			n->black_to = n->black_from + rng_below(&sim->rng, (u32)patience);
	}
}

/* Work for so many packets, by the average size of what choose_len() draws. */
static void set_quota(struct sim *sim, u32 packets)
{
	struct sim_cfg *c = &sim->cfg;
	u32 average = 2 + c->max_msg / c->mtu / 8;
	u32 n = max_t(u32, packets / average / 2, 20);
	u32 i;

	c->quota[0] = rng_range(&sim->rng, n / 2, n);
	c->quota[1] = rng_range(&sim->rng, n / 2, n);
	if (rng_chance(&sim->rng, 200000))
		c->quota[1] = 0;
	if (c->service == OOO_XRC_INI)
		c->quota[1] = 0;
	for (i = 0; i < 2; i++) {
		c->rts_delay[i] = coin(sim) ? 0 : rng_below(&sim->rng, 3 * MS);
		if (!c->quota[i] && coin(sim))
			c->rts_delay[i] = ~0u;
	}
}

void sim_configure(struct sim *sim)
{
	u32 n = ARRAY_SIZE(profiles);

	memset(&sim->cfg, 0, sizeof(sim->cfg));
	if (sim->configure)
		return sim->configure(sim);
	draw_network(sim);
	draw_sizes(sim);
	draw_qp(sim);
	draw_work(sim);
	profiles[(sim->seed + sim->life) % n](sim);
	set_timeout(sim);
	set_pause(sim);
	set_quota(sim, sim->cfg.quiet ? 20000 : 5000);
}
