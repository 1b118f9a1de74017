// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * keyed-initiator: writes to a keyed-target's disk, reads it back, compares, and measures.
 *
 *	keyed-initiator [options] ADDRESS
 *	--variant send|imm|ring-imm|ring-atomic|ring-write	how requests and answers travel
 *	--size BYTES (4096), --depth N (1), --requests N (200)
 *	--placement on|off	of what the target WRITEs here; the target has an option of its own
 *	--break-rules		poll although nothing promises the order: see it go wrong
 *	--source ADDRESS, --port N, --limit SECONDS
 *
 * Prints one line of JSON. round_trips is the median latency divided by that of a ping, a request
 * that has no data; it means something at depth 1. Exit status: 0 all verified, 1 wrong data or a
 * stale ring, 2 could not run, 3 --limit.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <getopt.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "endpoint.h"

static struct options {
	const char *address, *source;
	int port, depth, requests, limit, break_rules;
	uint32_t size;
	enum keyed_variant variant;
	enum placement placement;
} o = { .port = 7471, .depth = 1, .requests = 200, .limit = 60, .size = 4096 };

struct slot {
	struct keyed_command command;
	uint8_t *buffer;
	uint64_t begin;			/* ns */
	uint32_t region;		/* of the disk: `size` bytes */
	bool busy;
};

struct figures {
	uint64_t *latency;		/* ns, one a request */
	uint64_t count, verified, wrong, failed, nanoseconds;
};

static struct endpoint ep;
static struct slot *slots;
static struct keyed_used *used;
static uint64_t *scratch;
static struct remote avail;
static uint64_t used_seen, stale, target_stale;
static uint32_t regions, sequence, in_flight, wrs;
static uint32_t *generation;		/* of a region's content; 0: never written */
static bool *region_busy;
static struct figures *current;

/* ------------------------------------------------------------------ */
/* Content: depends on region, generation and offset                   */

static uint64_t word(uint32_t region, uint32_t gen, uint32_t i)
{
	uint64_t x = ((uint64_t)region << 40 ^ (uint64_t)gen << 20 ^ i) + 1;

	x *= 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 29;
}

static void fill(const struct slot *slot)
{
	for (uint32_t i = 0; i < o.size / 8; i++)
		((uint64_t *)slot->buffer)[i] = word(slot->region, generation[slot->region], i);
}

static bool is_right(const struct slot *slot)
{
	for (uint32_t i = 0; i < o.size / 8; i++)
		if (((volatile uint64_t *)slot->buffer)[i] !=
		    word(slot->region, generation[slot->region], i))
			return false;
	return true;
}

/* ------------------------------------------------------------------ */
/* Requests                                                            */

static struct remote avail_at(size_t offset)
{
	return (struct remote){ avail.addr + offset, avail.key };
}

/*
 * Descriptor and ring entry are WRITEs, and may be placed in any order, even byte by byte. What
 * announces them must be something that cannot overtake a WRITE.
 */
static void submit_ring(struct slot *slot)
{
	uint64_t n = sequence++, idx = n + 1;
	struct keyed_avail_entry entry = { slot->command.tag, htobe16(sequence) };
	struct remote desc = avail_at(offsetof(struct keyed_avail, desc[slot - slots]));
	struct remote place = avail_at(offsetof(struct keyed_avail, ring[n % KEYED_RING]));
	struct remote index = avail_at(offsetof(struct keyed_avail, idx));

	slot->command.sequence = htobe32(sequence);
	post(&ep, IBV_WR_RDMA_WRITE, &slot->command, sizeof(slot->command), desc, 0, 0, false);
	if (o.variant == KEYED_RING_IMM) {
		post(&ep, IBV_WR_RDMA_WRITE_WITH_IMM, &entry, sizeof(entry), place, idx, 2, true);
		wrs += 2;
		return;
	}
	post(&ep, IBV_WR_RDMA_WRITE, &entry, sizeof(entry), place, 0, 0, false);
	if (o.variant == KEYED_RING_ATOMIC)
		post_fetch_add(&ep, scratch, index, 3);
	else	/* right only if the target's memory is written in order */
		post(&ep, IBV_WR_RDMA_WRITE, &idx, sizeof(idx), index, 0, 3, true);
	wrs += 3;
}

static struct slot *free_slot(void)
{
	for (int i = 0; i < o.depth; i++)
		if (!slots[i].busy)
			return &slots[i];
	return NULL;
}

static void submit(enum keyed_type type, uint32_t region)
{
	struct slot *slot = free_slot();

	slot->busy = true;
	slot->region = region;
	slot->command = (struct keyed_command){
		.type = htobe16(type), .tag = htobe16(slot - slots),
		.sector = htobe64((uint64_t)region * o.size / KEYED_SECTOR),
		.segment = {
			.addr = htobe64((uintptr_t)slot->buffer), .length = htobe32(o.size),
			.key = htobe32(ep.mr->rkey),
		},
	};
	if (type == KEYED_OUT) {
		generation[region]++;
		fill(slot);
	} else if (type == KEYED_IN) {
		memset(slot->buffer, 0xee, o.size);
	}
	if (type <= KEYED_OUT)
		region_busy[region] = true;
	in_flight++;
	slot->begin = now_ns();
	if (o.variant >= KEYED_RING_IMM && type <= KEYED_OUT) {
		submit_ring(slot);
	} else {
		wrs++;
		post(&ep, IBV_WR_SEND, &slot->command, sizeof(slot->command),
		     (struct remote){}, 0, 1, true);
	}
}

static bool can_submit(uint32_t region)
{
	return in_flight < (uint32_t)o.depth && !region_busy[region] &&
	       wrs + WRS_PER_REQUEST <= 2U * o.depth * WRS_PER_REQUEST;
}

/* ------------------------------------------------------------------ */
/* Answers                                                             */

static void answer(uint16_t tag, uint16_t result)
{
	struct slot *slot;
	uint16_t type;

	errno = 0;
	if (tag >= o.depth || !slots[tag].busy)
		die("an answer to tag %u, which asks nothing", tag);
	slot = &slots[tag];
	type = be16toh(slot->command.type);
	current->latency[current->count++] = now_ns() - slot->begin;
	if (result != KEYED_OK)
		current->failed++;
	else if (type == KEYED_IN && !is_right(slot))
		current->wrong++;
	else
		current->verified++;
	if (type <= KEYED_OUT)
		region_busy[slot->region] = false;
	slot->busy = false;
	in_flight--;
}

static void take_entry(void)
{
	volatile struct keyed_status *entry = &used->ring[used_seen % KEYED_RING];
	uint32_t expected = ++used_seen;

	if (be32toh(entry->sequence) != expected) {	/* the index overtook it */
		stale++;
		while (be32toh(entry->sequence) != expected)
			usleep(100);
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	answer(be16toh(entry->tag), be16toh(entry->result));
}

/* See the target's: without --break-rules, the index alone says it. */
static bool is_announced(void)
{
	int64_t ahead = __atomic_load_n(&used->idx, __ATOMIC_ACQUIRE) - used_seen;
	volatile struct keyed_status *next = &used->ring[used_seen % KEYED_RING];

	if (ahead > 0)
		return true;
	if (!o.break_rules || be32toh(next->sequence) != used_seen + 1)
		return false;
	stale += ahead < 0;
	return true;
}

static void receive(struct ibv_wc *wc)
{
	struct keyed_status status;
	uint32_t imm = ntohl(wc->imm_data);

	memcpy(&status, endpoint_recv_buffer(&ep, (uint32_t)wc->wr_id), sizeof(status));
	post_recv(&ep, (uint32_t)wc->wr_id);
	if (wc->opcode == IBV_WC_RECV) {
		target_stale = be64toh(status.stale);
		answer(be16toh(status.tag), be16toh(status.result));
	} else if (o.variant == KEYED_IMM) {
		answer(imm & 0xffff, imm >> 16);
	} else {
		take_entry();
	}
}

static void progress(void)
{
	struct ibv_wc wc;

	if (ep.spin)
		while (is_announced())
			take_entry();
	errno = 0;
	if (!endpoint_poll(&ep, &wc)) {
		if (endpoint_event_waits(&ep))
			die("the target has gone");
		return;
	}
	if (wc.status)
		die("completion: %s", ibv_wc_status_str(wc.status));
	if (wc.wr_id & WR_RECV)
		receive(&wc);
	else
		wrs -= wc.wr_id;	/* how many work requests it ends */
}

static void run(enum keyed_type type, struct figures *f, int count)
{
	uint32_t used_regions = regions < (uint32_t)o.requests ? regions : (uint32_t)o.requests;
	uint64_t begin = now_ns();
	int issued = 0;

	f->latency = calloc(count, sizeof(*f->latency));
	if (!f->latency)
		die("memory");
	current = f;
	while (f->count < (uint64_t)count) {
		while (issued < count && can_submit(issued % used_regions))
			submit(type, issued++ % used_regions);
		progress();
	}
	while (wrs)
		progress();
	f->nanoseconds = now_ns() - begin;
}

/* ------------------------------------------------------------------ */
/* The connection                                                      */

static struct addrinfo *lookup(const char *name)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *found;
	char port[16];

	snprintf(port, sizeof(port), "%d", o.port);
	errno = 0;
	if (getaddrinfo(name, port, &hints, &found))
		die("no address: %s", name);
	return found;
}

static void resolve(void)
{
	struct addrinfo *to = lookup(o.address), *from = o.source ? lookup(o.source) : NULL;

	if (from)
		((struct sockaddr_in *)from->ai_addr)->sin_port = 0;
	ep.events = rdma_create_event_channel();
	if (!ep.events || rdma_create_id(ep.events, &ep.id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(ep.id, from ? from->ai_addr : NULL, to->ai_addr, 5000))
		die("rdma_resolve_addr");
	rdma_ack_cm_event(endpoint_event(&ep, RDMA_CM_EVENT_ADDR_RESOLVED));
	if (rdma_resolve_route(ep.id, 5000))
		die("rdma_resolve_route");
	rdma_ack_cm_event(endpoint_event(&ep, RDMA_CM_EVENT_ROUTE_RESOLVED));
}

static void lay_out(void)
{
	uint8_t *memory;

	endpoint_open(&ep, sizeof(*used) + 64 + (size_t)o.depth * o.size, o.depth, o.placement);
	memory = endpoint_memory(&ep);
	used = (void *)memory;
	scratch = (void *)(memory + sizeof(*used));
	memory += sizeof(*used) + 64;
	slots = calloc(o.depth, sizeof(*slots));
	if (!slots)
		die("memory");
	for (int i = 0; i < o.depth; i++)
		slots[i].buffer = memory + (size_t)i * o.size;
}

static void read_welcome(const struct keyed_welcome *w, size_t length)
{
	errno = 0;
	if (length < sizeof(*w) || w->magic != KEYED_MAGIC)
		die("not a keyed target of this byte order");
	avail = (struct remote){ be64toh(w->avail_addr), be32toh(w->avail_key) };
	regions = be64toh(w->sectors) * KEYED_SECTOR / o.size;
	if (regions < (uint32_t)o.depth)
		die("the disk is too small");
	generation = calloc(regions, sizeof(*generation));
	region_busy = calloc(regions, sizeof(*region_busy));
	if (!generation || !region_busy)
		die("memory");
}

static void connect_target(void)
{
	struct keyed_hello hello = {
		.magic = KEYED_MAGIC, .variant = htobe16(o.variant), .depth = htobe16(o.depth),
		.size = htobe32(o.size), .used_key = htobe32(ep.mr->rkey),
		.used_addr = htobe64((uintptr_t)used),
	};
	struct rdma_conn_param param = endpoint_conn_param(&ep, &hello, sizeof(hello));
	struct rdma_cm_event *event;

	if (rdma_connect(ep.id, &param))
		die("rdma_connect");
	event = endpoint_event(&ep, RDMA_CM_EVENT_ESTABLISHED);
	read_welcome(event->param.conn.private_data, event->param.conn.private_data_len);
	rdma_ack_cm_event(event);
	errno = 0;
	if (o.variant == KEYED_RING_WRITE && !o.break_rules && !endpoint_data_in_order(&ep))
		die("this queue pair does not promise the order of WRITEs: ring-write cannot work");
}

/* ------------------------------------------------------------------ */
/* Report                                                              */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double percentile(struct figures *f, int percent)
{
	qsort(f->latency, f->count, sizeof(*f->latency), by_value);
	return f->latency[(f->count - 1) * percent / 100] / 1000.0;
}

static void print_figures(const char *name, struct figures *f, double ping)
{
	double seconds = f->nanoseconds / 1e9;

	printf(", \"%s\": {\"requests\": %llu, \"p50_us\": %.1f, \"p99_us\": %.1f, "
	       "\"round_trips\": %.2f, \"iops\": %.0f, \"MB_s\": %.3f, \"wrong\": %llu, "
	       "\"failed\": %llu}", name, (unsigned long long)f->count, percentile(f, 50),
	       percentile(f, 99), percentile(f, 50) / ping, f->count / seconds,
	       f->count * (double)o.size / (1 << 20) / seconds, (unsigned long long)f->wrong,
	       (unsigned long long)f->failed);
}

static void on_limit(int signal)
{
	(void)signal;
	if (write(2, "no end within --limit\n", 22) < 0)
		_exit(2);
	_exit(3);
}

static void options(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "variant", 1, NULL, 'v' }, { "size", 1, NULL, 's' }, { "depth", 1, NULL, 'd' },
		{ "requests", 1, NULL, 'n' }, { "placement", 1, NULL, 'o' },
		{ "port", 1, NULL, 'p' }, { "source", 1, NULL, 'S' }, { "limit", 1, NULL, 'l' },
		{ "break-rules", 0, &o.break_rules, 1 }, {}
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'v': o.variant = variant_of(optarg); break;
		case 's': o.size = atoi(optarg); break;
		case 'd': o.depth = atoi(optarg); break;
		case 'n': o.requests = atoi(optarg); break;
		case 'o': o.placement = placement_of(optarg); break;
		case 'p': o.port = atoi(optarg); break;
		case 'S': o.source = optarg; break;
		case 'l': o.limit = atoi(optarg); break;
		case '?': exit(2);
		}
	}
	o.address = argv[optind];
	errno = 0;
	if (!o.address || !o.size || o.size % KEYED_SECTOR || o.depth < 1 ||
	    o.depth > KEYED_MAX_DEPTH || o.requests < 1)
		die("keyed-initiator [options] ADDRESS; sizes are multiples of %d", KEYED_SECTOR);
}

int main(int argc, char **argv)
{
	struct figures ping = {}, writes = {}, reads = {}, last = {};
	double rtt;

	options(argc, argv);
	signal(SIGALRM, on_limit);
	alarm(o.limit);
	ep.spin = o.variant >= KEYED_RING_ATOMIC;
	resolve();
	lay_out();
	connect_target();
	run(KEYED_PING, &ping, o.requests);
	run(KEYED_OUT, &writes, o.requests);
	run(KEYED_IN, &reads, o.requests);
	run(KEYED_STATS, &last, 1);
	stale += target_stale;
	rtt = percentile(&ping, 50);
	printf("{\"variant\": \"%s\", \"placement\": \"%s\", \"size\": %u, \"depth\": %d, "
	       "\"ping_p50_us\": %.1f, \"verified\": %s, \"stale\": %llu",
	       variant_name(o.variant), endpoint_placement(&ep), o.size, o.depth, rtt,
	       !(reads.wrong + reads.failed + writes.failed + stale) ? "true" : "false",
	       (unsigned long long)stale);
	print_figures("write", &writes, rtt);
	print_figures("read", &reads, rtt);
	puts("}");
	fflush(stdout);
	endpoint_close(&ep);
	return !!(reads.wrong + reads.failed + writes.failed + stale);
}
