// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The network: real bytes with a real ICRC, a heap of packets in flight, and
 * what can happen to a packet on its way.
 */
#include <stdlib.h>
#include "frame.h"
#include "sim.h"

#define SMALL	(40 + 8 + OOO_MAX_HDR + 256 + 4 + OOO_ICRC_LEN)

/* --- buffers --- */

static struct sim_frame *frame_get(struct sim *sim, u32 len)
{
	bool small = len <= SMALL;
	struct sim_frame **list = small ? &sim->net.small : &sim->net.large;
	struct sim_frame *f = *list;

	if (f) {
		*list = f->next;
		return f;
	}
	f = malloc(sizeof(*f) + (small ? SMALL : FRAME_MAX));
	f->room = small ? SMALL : FRAME_MAX;
	return f;
}

static void frame_put(struct sim *sim, struct sim_frame *f)
{
	struct sim_frame **list = f->room == SMALL ? &sim->net.small : &sim->net.large;

	f->next = *list;
	*list = f;
}

/* --- heap --- */

static bool sooner(const struct sim_frame *a, const struct sim_frame *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void heap_push(struct sim_net *net, struct sim_frame *f)
{
	u32 i = net->count++;

	if (net->count > net->size) {
		net->size = net->size ? net->size * 2 : 1024;
		net->heap = realloc(net->heap, net->size * sizeof(*net->heap));
	}
	while (i && sooner(f, net->heap[(i - 1) / 2])) {
		net->heap[i] = net->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	net->heap[i] = f;
}

static struct sim_frame *heap_pop(struct sim_net *net)
{
	struct sim_frame *top = net->heap[0];
	struct sim_frame *last = net->heap[--net->count];
	u32 i = 0, child;

	while ((child = 2 * i + 1) < net->count) {
		if (child + 1 < net->count && sooner(net->heap[child + 1], net->heap[child]))
			child++;
		if (!sooner(net->heap[child], last))
			break;
		net->heap[i] = net->heap[child];
		i = child;
	}
	net->heap[i] = last;
	return top;
}

u64 sim_net_next(struct sim *sim)
{
	return sim->net.count ? sim->net.heap[0]->at : NEVER;
}

void sim_net_reset(struct sim *sim)
{
	struct sim_net *net = &sim->net;

	while (net->count)
		frame_put(sim, net->heap[--net->count]);
	memset(net->burst_until, 0, sizeof(net->burst_until));
	memset(net->link_free, 0, sizeof(net->link_free));
	memset(net->route_free, 0, sizeof(net->route_free));
}

static void free_list(struct sim_frame *f)
{
	while (f) {
		struct sim_frame *next = f->next;

		free(f);
		f = next;
	}
}

void sim_net_free(struct sim *sim)
{
	sim_net_reset(sim);
	free(sim->net.current);
	free_list(sim->net.small);
	free_list(sim->net.large);
	free(sim->net.heap);
	memset(&sim->net, 0, sizeof(sim->net));
}

/* --- words --- */

const char *sim_op_name(u8 opcode)
{
	static const char * const names[32] = {
		"SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "SEND_LAST_IMM", "SEND_ONLY",
		"SEND_ONLY_IMM", "WRITE_FIRST", "WRITE_MIDDLE", "WRITE_LAST",
		"WRITE_LAST_IMM", "WRITE_ONLY", "WRITE_ONLY_IMM", "READ_REQUEST",
		"READ_RESP_FIRST", "READ_RESP_MIDDLE", "READ_RESP_LAST", "READ_RESP_ONLY",
		"ACK", "ATOMIC_ACK", "CMP_SWAP", "FETCH_ADD", "?", "SEND_LAST_INV",
		"SEND_ONLY_INV", "?", "?", "?", "?", "FLUSH", "ATOMIC_WRITE", "?", "?",
	};

	return names[OOO_BTH_OP(opcode)];
}

static void trace_sack(const struct ooo_sack *s)
{
	u32 i;

	printf(" sack window %u ce %u needless %u/%06x base %06x:", s->window, s->ce, s->needless,
	       s->needless_psn, s->base);
	for (i = 0; i < s->words; i++)
		printf(" %016llx", (unsigned long long)s->bits[i]);
}

static void trace_packet(struct sim *sim, u32 from, const struct ooo_hdr *h, u32 len,
			 const char *fate)
{
	u32 info = ooo_opcode_info(h->opcode);

	sim_trace(sim, "%c %-15s psn %06x len %u%s%s", from ? 'B' : 'A',
		  sim_op_name(h->opcode), h->psn, len, h->ack_req ? " A" : "",
		  h->solicited ? " SE" : "");
	if (info & (OOO_HAS_RETH | OOO_HAS_ATOMIC))
		printf(" va %llx key %x dlen %u", (unsigned long long)h->va, h->rkey, h->dma_len);
	if (info & OOO_HAS_AETH)
		printf(" syndrome %02x msn %x", h->syndrome, h->msn);
	if (h->rsvd7)
		printf("%s%s", h->rsvd7 & OOO_BTH_CAP ? " CAP" : "",
		       h->rsvd7 & OOO_BTH_RETX ? " RETX" : "");
	if (h->path)
		printf(" path %u", h->path);
	if (h->has_sack)
		trace_sack(&h->sack);
	printf(" %s\n", fate);
}

/* --- sending --- */

/* ACKs, NAKs and READ requests: without payload, and everything hangs on them. */
static bool is_control(const struct ooo_hdr *h)
{
	u8 op = OOO_BTH_OP(h->opcode);

	return op == OOO_OP_ACK || op == OOO_OP_READ_REQUEST;
}

static bool fetch(struct sim_ep *from, const struct ooo_source *src, u8 *to)
{
	const struct ooo_swqe *wqe = src->wqe;
	struct sim_mr *mr;

	switch (src->kind) {
	case OOO_SRC_NONE:
		return true;
	case OOO_SRC_SWQE:
		if (wqe->opcode == OOO_WR_ATOMIC_WRITE) {
			memcpy(to, wqe->atomic_write, src->len);
			return true;
		}
		if (wqe->flags & OOO_SEND_INLINE) {
			sim_check(from->sim, src->offset + src->len <= wqe->length,
				  "inline data read beyond its end");
			memcpy(to, (const u8 *)wqe->sge + src->offset, src->len);
			return true;
		}
		return sim_gather(from, wqe->sge, wqe->num_sge, src->offset, to, src->len);
	case OOO_SRC_REGION:
		if (!src->len)
			return true;
		mr = sim_mr_find(from, src->rkey, src->va, src->len, OOO_ACCESS_REMOTE_READ);
		if (!mr)
			return false;
		memcpy(to, mr->mem + (src->va - mr->base), src->len);
		return true;
	}
	return false;
}

/* Which of the routes does a packet take? */
static u32 route_of(struct sim *sim, u32 dir, const struct ooo_hdr *h)
{
	u32 routes = sim->cfg.net[dir].routes;

	sim_check(sim, h->path < max_t(u32, sim->cfg.tun.paths, 1), "path %u", h->path);
	sim_check(sim, !h->path || sim->ep[dir].core.capable, "path %u to a peer not known",
		  h->path);
	return routes ? h->path % routes : 0;
}

static bool both_capable(const struct sim *sim)
{
	return sim->ep[0].core.capable && sim->ep[1].core.capable;
}

static bool lost_on_route(struct sim *sim, u32 dir, u32 route)
{
	const struct sim_route *r = &sim->cfg.net[dir].route[route];

	if (!sim->cfg.net[dir].routes)
		return false;
	sim->net.route_packets[dir][route]++;
	if (r->tail_drop && sim->net.route_free[dir][route] > sim->now + r->tail_drop)
		return true;
	if (sim->now >= r->black_from && sim->now < r->black_to && both_capable(sim))
		return true;
	return rng_chance(&sim->rng, r->drop);
}

static bool lost(struct sim *sim, u32 dir, const struct ooo_hdr *h)
{
	const struct sim_net_cfg *c = &sim->cfg.net[dir];

	if (c->tail_drop && sim->net.link_free[dir] > sim->now + c->tail_drop)
		return true;
	if (is_control(h) && rng_chance(&sim->rng, c->drop_control))
		return true;

	if (sim->now >= c->black_from && sim->now < c->black_to)
		return true;
	if (sim->now < sim->net.burst_until[dir])
		return true;
	if (rng_chance(&sim->rng, c->burst))
		sim->net.burst_until[dir] = sim->now + rng_below(&sim->rng, c->burst_ns);
	return rng_chance(&sim->rng, c->drop);
}

/* Time on the link, or how long it is too full. */
static u64 link_time(struct sim *sim, u32 dir, u32 bytes)
{
	u64 *busy = &sim->net.link_free[dir];

	*busy = max_t(u64, *busy, sim->now) +
		((u64)bytes * sim->cfg.net[dir].ns_byte_x16 >> 4);
	return *busy;
}

static u64 route_time(struct sim *sim, u32 dir, u32 route, u64 at, u32 bytes)
{
	const struct sim_route *r = &sim->cfg.net[dir].route[route];
	u64 *busy = &sim->net.route_free[dir][route];

	if (!sim->cfg.net[dir].routes)
		return at;
	*busy = max_t(u64, *busy, at) + ((u64)bytes * r->ns_byte_x16 >> 4);
	return *busy + r->delay;
}

/* One of two CPUs is away now and then; its packets wait for it. */
static u64 after_pause(struct sim *sim, const struct sim_net_cfg *c, u64 at)
{
	u64 since = c->pause ? at % c->pause_every : 0;

	if (!c->pause || since >= c->pause || rng_chance(&sim->rng, 500000))
		return at;
	return at - since + c->pause;
}

static u64 arrival(struct sim *sim, u32 dir, u64 depart)
{
	const struct sim_net_cfg *c = &sim->cfg.net[dir];
	u64 at = depart + c->delay + rng_below(&sim->rng, c->jitter);

	if (rng_chance(&sim->rng, c->slow_every))
		at += c->slow_by;
	at = after_pause(sim, c, at);
	if (!rng_chance(&sim->rng, c->reorder))
		return at;
	sim->stats.reordered++;
	return at + rng_below(&sim->rng, c->late);
}

/* Flips a bit in each of one to three bytes, anywhere that the ICRC looks at. */
static void flip(struct sim *sim, struct sim_frame *f)
{
	u32 bth = frame_ip_len(sim->cfg.ipv6) + 8;
	u32 n = rng_range(&sim->rng, 1, 3);
	u32 at = rng_below(&sim->rng, f->udp_payload - n + 1);
	u32 i;

	f->flipped = true;
	sim->stats.corrupted++;
	for (i = at; i < at + n; i++)
		if (i != 4)	/* masked */
			f->data[bth + i] ^= 1 << rng_below(&sim->rng, 8);
	if (at == 4 && n == 1)
		f->data[bth + 5] ^= 1;
}

static void send_copy(struct sim *sim, struct sim_frame *f, u32 dir, u64 at)
{
	f->at = at;
	f->order = sim->net.order++;
	f->flipped = false;
	if (rng_chance(&sim->rng, sim->cfg.net[dir].corrupt))
		flip(sim, f);
	heap_push(&sim->net, f);
}

static void duplicate(struct sim *sim, const struct sim_frame *f, u32 dir, u64 at)
{
	u32 bytes = frame_ip_len(sim->cfg.ipv6) + 8 + f->udp_payload;
	struct sim_frame *copy = frame_get(sim, bytes);

	memcpy(copy->data, f->data, bytes);
	copy->udp_payload = f->udp_payload;
	copy->to = f->to;
	copy->ce = f->ce;
	sim->stats.duplicated++;
	send_copy(sim, copy, dir, at);
}

static void transmit(struct sim *sim, struct sim_frame *f, u32 dir, u32 route)
{
	const struct sim_net_cfg *c = &sim->cfg.net[dir];
	u64 depart = link_time(sim, dir, 66 + f->udp_payload);

	f->ce = c->mark && depart > sim->now + c->mark;
	sim->stats.marked += f->ce;
	depart = route_time(sim, dir, route, depart, 66 + f->udp_payload);
	if (rng_chance(&sim->rng, c->dup))
		duplicate(sim, f, dir, arrival(sim, dir, depart));
	if (rng_chance(&sim->rng, c->old))
		duplicate(sim, f, dir, depart + rng_below(&sim->rng, c->old_delay));
	send_copy(sim, f, dir, arrival(sim, dir, depart));
}

static bool queue_full(struct sim *sim, u32 dir)
{
	u32 limit = sim->cfg.net[dir].queue_limit;

	return limit && sim->net.link_free[dir] > sim->now + limit;
}

/* Headers as the module would complete them, then payload, pad and ICRC. */
static bool encode(struct sim_ep *from, struct sim_frame *f, const struct ooo_hdr *hdr,
		   const struct ooo_source *src)
{
	struct sim *sim = from->sim;
	u32 len = src->kind == OOO_SRC_NONE ? 0 : src->len;
	u8 *bth = frame_bth(f->data, sim->cfg.ipv6);
	struct ooo_hdr h = *hdr;
	u32 n;

	h.pkey = 0xffff;
	h.dest_qpn = 0x100 + from->peer->id;
	n = ooo_build(&h, len, bth);
	if (!fetch(from, src, bth + n))
		return false;
	memset(bth + n + len, 0, -len & 3);
	f->udp_payload = n + len + (-len & 3) + OOO_ICRC_LEN;
	f->to = from->peer->id;
	frame_finish(f->data, sim->cfg.ipv6, (u32)sim->net.order, f->udp_payload);
	return true;
}

enum ooo_result sim_net_send(struct sim_ep *from, const struct ooo_hdr *hdr,
			     const struct ooo_source *src)
{
	struct sim *sim = from->sim;
	u32 len = src->kind == OOO_SRC_NONE ? 0 : src->len;
	struct sim_frame *f;
	u32 route = route_of(sim, from->id, hdr);

	sim_check(sim, ooo_packet_length_ok(hdr->opcode, len, sim->cfg.mtu),
		  "%s with %u bytes emitted", sim_op_name(hdr->opcode), len);
	if (queue_full(sim, from->id)) {
		sim_wake(from, A_RESUME, sim->net.link_free[from->id]);
		return OOO_AGAIN;
	}
	f = frame_get(sim, 40 + 8 + OOO_MAX_HDR + len + 8);
	if (!encode(from, f, hdr, src)) {
		frame_put(sim, f);
		return OOO_ACCESS;
	}
	sim->stats.packets++;
	if (lost(sim, from->id, hdr) || lost_on_route(sim, from->id, route)) {
		sim->stats.dropped++;
		if (sim->verbose)
			trace_packet(sim, from->id, hdr, len, "-> LOST");
		frame_put(sim, f);
		return OOO_OK;
	}
	if (sim->verbose)
		trace_packet(sim, from->id, hdr, len, "->");
	transmit(sim, f, from->id, route);
	return OOO_OK;
}

/* --- receiving --- */

static bool service_ok(const struct sim *sim, u8 opcode)
{
	u8 service = OOO_BTH_SERVICE(opcode);

	return service == (sim->cfg.service == OOO_RC ? OOO_BTH_RC : OOO_BTH_XRC);
}

/* A peer that does not keep what is early. */
static bool plain_drops(struct sim_ep *e, const struct ooo_pkt *pkt)
{
	const struct ooo_source none = { .kind = OOO_SRC_NONE };
	struct ooo_hdr nak;

	if (!e->sim->cfg.plain[e->id] || !model_plain_drops(e, &pkt->h, &nak))
		return false;
	if (nak.syndrome)
		sim_net_send(e, &nak, &none);
	return true;
}

/* Before RTR a packet shows nothing, nor does a request that lies outside of the window. */
static bool takes(const struct sim_ep *e, const struct ooo_hdr *h)
{
	u32 window = min_t(u32, e->tun.recv_window, OOO_WINDOW_MAX);

	if (e->core.state < OOO_RTR || e->core.state >= OOO_ERR)
		return false;
	return ooo_opcode_info(h->opcode) & OOO_IS_RESPONSE ||
	       (u32)psn_diff(h->psn, e->peer->out.exec_next) < window;
}

static void receive(struct sim_ep *e, struct sim_frame *f, struct ooo_pkt *pkt)
{
	struct sim *sim = e->sim;
	bool again;

	sim_check(sim, service_ok(sim, pkt->h.opcode), "opcode 0x%02x of another service",
		  pkt->h.opcode);
	sim->stats.delivered++;
	e->idle_timers = 0;
	if (sim->verbose)
		trace_packet(sim, !e->id, &pkt->h, pkt->payload_len, "=> arrives");
	if (plain_drops(e, pkt))
		return;
	if (pkt->h.rsvd7 & OOO_BTH_CAP && takes(e, &pkt->h))
		e->peer_shown = e->tun.sack;
	model_arrived(e, &pkt->h);
	again = ooo_ep_rx(&e->core, pkt, sim->now);
	memset(pkt, 0xdd, sizeof(*pkt));
	memset(f->data, 0xdd, min_t(u32, f->room, 128));
	if (again)
		sim_wake(e, A_RESUME, sim->now + rng_below(&sim->rng, 3000));
}

void sim_net_deliver(struct sim *sim)
{
	struct sim_net *net = &sim->net;
	struct sim_frame *f = heap_pop(net);
	const u8 *bth = frame_bth(f->data, sim->cfg.ipv6);
	bool good = frame_icrc_ok(f->data, sim->cfg.ipv6, f->udp_payload);
	struct ooo_pkt pkt = { .payload = f->data };
	u32 hdr_len;

	net->current = f;
	sim_check(sim, good == !f->flipped, f->flipped ?
		  "a corrupt packet has a good ICRC" : "a good packet has a bad ICRC");
	if (good) {
		sim_check(sim, ooo_parse(bth, f->udp_payload, f->udp_payload, &pkt.h,
					 &hdr_len, &pkt.payload_len),
			  "a good packet cannot be parsed");
		pkt.ce = f->ce;
		pkt.payload_off = (u32)(bth - f->data) + hdr_len;
		receive(&sim->ep[f->to], f, &pkt);
	}
	net->current = NULL;
	frame_put(sim, f);
}
