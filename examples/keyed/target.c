// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * keyed-target: a RAM disk or a file, served one initiator after another.
 *
 *	keyed-target [--file PATH | --mib N] [--port N] [--placement on|off] [--once]
 *		     [--break-rules]
 *
 * The initiator's command names a buffer. To write to the disk, the target READs that buffer and
 * answers when the READ has completed. To read from it, it WRITEs the data and posts the answer
 * right behind: what makes that right is written at answer().
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "endpoint.h"

static struct options {
	const char *file;
	int mib, port, once, break_rules;
	enum placement placement;
} o = { .mib = 8, .port = 7471 };

/* A request under way, by its tag */
struct slot {
	struct keyed_command command, next;
	uint8_t *buffer;		/* the data passes through here */
	bool busy;			/* until the answer's own completion */
	bool waits;			/* next has come meanwhile */
};

static struct endpoint ep;
static struct keyed_hello hello;	/* host order */
static struct keyed_avail *avail;
static uint64_t *scratch;		/* results of atomics, which nobody needs */
static struct slot *slots;
static uint64_t avail_seen, used_count, stale;
static int disk;
static uint64_t disk_bytes;
static bool connected;

static void open_disk(void)
{
	struct stat st;

	disk = o.file ? open(o.file, O_RDWR) : memfd_create("keyed", 0);
	if (disk < 0 || (!o.file && ftruncate(disk, (off_t)o.mib << 20)) || fstat(disk, &st))
		die("%s", o.file ?: "RAM disk");
	disk_bytes = st.st_size;
}

/* ------------------------------------------------------------------ */
/* Answers                                                             */

static struct remote used_entry(void)
{
	return (struct remote){ hello.used_addr + offsetof(struct keyed_used,
				ring[used_count % KEYED_RING]), hello.used_key };
}

static struct remote used_idx(void)
{
	return (struct remote){ hello.used_addr + offsetof(struct keyed_used, idx),
				hello.used_key };
}

static void answer_ring(struct slot *slot, struct keyed_status *status)
{
	uint64_t tag = slot - slots, idx = used_count + 1;

	status->sequence = htobe32(idx);
	if (hello.variant == KEYED_RING_IMM) {
		post(&ep, IBV_WR_RDMA_WRITE_WITH_IMM, status, sizeof(*status), used_entry(), idx,
		     tag, true);
	} else {
		post(&ep, IBV_WR_RDMA_WRITE, status, sizeof(*status), used_entry(), 0, tag, false);
		if (hello.variant == KEYED_RING_ATOMIC)
			post_fetch_add(&ep, scratch, used_idx(), tag);
		else	/* right only if the initiator's memory is written in order */
			post(&ep, IBV_WR_RDMA_WRITE, &idx, sizeof(idx), used_idx(), 0, tag, true);
	}
	used_count++;
}

/*
 * The data WRITE of a read request was posted before this, and is not waited for. The initiator
 * looks at its buffer when it has the answer, so the answer must be something that cannot overtake
 * a WRITE: a SEND, a WRITE with immediate, the effect of an atomic. Another WRITE can.
 *
 * The answer is signaled. Send completions come in order, so its own means that the buffer of the
 * data WRITE is free as well.
 */
static void answer(struct slot *slot, enum keyed_result result)
{
	uint64_t tag = slot - slots;
	struct keyed_status status = {
		.tag = htobe16(tag), .result = htobe16(result), .stale = htobe64(stale),
	};
	bool ping = be16toh(slot->command.type) >= KEYED_PING;

	if (hello.variant == KEYED_SEND || ping)
		post(&ep, IBV_WR_SEND, &status, sizeof(status), (struct remote){}, 0, tag, true);
	else if (hello.variant == KEYED_IMM)
		post(&ep, IBV_WR_RDMA_WRITE_WITH_IMM, NULL, 0, (struct remote){},
		     KEYED_IMM_DATA(tag, result), tag, true);
	else
		answer_ring(slot, &status);
}

/* ------------------------------------------------------------------ */
/* Requests                                                            */

static bool in_bounds(const struct keyed_command *c)
{
	uint64_t sector = be64toh(c->sector), length = be32toh(c->segment.length);

	return length && length <= hello.size && length <= disk_bytes &&
	       sector <= (disk_bytes - length) / KEYED_SECTOR;
}

static void disk_to_initiator(struct slot *slot)
{
	struct keyed_command *c = &slot->command;
	struct remote to = { be64toh(c->segment.addr), be32toh(c->segment.key) };
	uint32_t length = be32toh(c->segment.length);
	uint64_t tag = slot - slots;

	if (pread(disk, slot->buffer, length, be64toh(c->sector) * KEYED_SECTOR) != length) {
		answer(slot, KEYED_IOERR);
	} else if (hello.variant == KEYED_IMM) {	/* data and answer in one */
		post(&ep, IBV_WR_RDMA_WRITE_WITH_IMM, slot->buffer, length, to,
		     KEYED_IMM_DATA(tag, KEYED_OK), tag, true);
	} else {
		post(&ep, IBV_WR_RDMA_WRITE, slot->buffer, length, to, 0, tag, false);
		answer(slot, KEYED_OK);
	}
}

static void start(struct slot *slot)
{
	struct keyed_command *c = &slot->command;
	uint16_t type = be16toh(c->type);

	slot->busy = true;
	if (type >= KEYED_PING)
		answer(slot, type <= KEYED_STATS ? KEYED_OK : KEYED_UNSUPP);
	else if (type > KEYED_OUT)
		answer(slot, KEYED_UNSUPP);
	else if (!in_bounds(c))
		answer(slot, KEYED_IOERR);
	else if (type == KEYED_IN)
		disk_to_initiator(slot);
	else
		post(&ep, IBV_WR_RDMA_READ, slot->buffer, be32toh(c->segment.length),
		     (struct remote){ be64toh(c->segment.addr), be32toh(c->segment.key) }, 0,
		     slot - slots, true);
}

/* The READ has completed: only now is its data there. */
static void initiator_to_disk(struct slot *slot)
{
	uint32_t length = be32toh(slot->command.segment.length);
	off_t at = be64toh(slot->command.sector) * KEYED_SECTOR;
	bool fine = pwrite(disk, slot->buffer, length, at) == length;

	answer(slot, fine ? KEYED_OK : KEYED_IOERR);
}

/* Nobody may be trusted with a tag; one may come before our last answer with it has completed. */
static void request(const struct keyed_command *command)
{
	struct slot *slot;

	errno = 0;
	if (be16toh(command->tag) >= hello.depth)
		die("tag %u", be16toh(command->tag));
	slot = &slots[be16toh(command->tag)];
	if (slot->waits)
		die("tag %u is in use", be16toh(command->tag));
	slot->waits = slot->busy;
	*(slot->busy ? &slot->next : &slot->command) = *command;
	if (!slot->busy)
		start(slot);
}

static void answered(struct slot *slot)
{
	slot->busy = false;
	if (slot->waits) {
		slot->waits = false;
		slot->command = slot->next;
		start(slot);
	}
}

/* ------------------------------------------------------------------ */
/* The available ring                                                  */

static bool is_fresh(volatile struct keyed_avail_entry *entry, uint32_t sequence)
{
	uint16_t tag = be16toh(entry->tag);

	return be16toh(entry->sequence) == (uint16_t)sequence && tag < hello.depth &&
	       be32toh(*(volatile uint32_t *)&avail->desc[tag].sequence) == sequence;
}

/*
 * An index says that this entry is there. If it is not, then the index overtook it: a real consumer
 * would now use what was in the ring before. This one counts, and waits for it.
 */
static void take_entry(void)
{
	volatile struct keyed_avail_entry *entry = &avail->ring[avail_seen % KEYED_RING];
	struct keyed_command command;
	uint32_t sequence = ++avail_seen;

	if (!is_fresh(entry, sequence)) {
		stale++;
		while (!is_fresh(entry, sequence))
			usleep(100);
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	command = avail->desc[be16toh(entry->tag)];
	request(&command);
}

/*
 * An index that a WRITE sets may even go back, when an older one is placed last, and then announce
 * nothing for ever. --break-rules finds the entry all the same, and counts that.
 */
static bool is_announced(void)
{
	int64_t ahead = __atomic_load_n(&avail->idx, __ATOMIC_ACQUIRE) - avail_seen;

	if (ahead > 0)
		return true;
	if (!o.break_rules || !is_fresh(&avail->ring[avail_seen % KEYED_RING], avail_seen + 1))
		return false;
	stale += ahead < 0;
	return true;
}

static void poll_ring(void)
{
	while (is_announced())
		take_entry();
}

/* ------------------------------------------------------------------ */
/* A connection                                                        */

static void completion(struct ibv_wc *wc)
{
	struct keyed_command command;

	if (wc->status == IBV_WC_WR_FLUSH_ERR) {
		connected = false;
		return;
	}
	errno = 0;
	if (wc->status)
		die("completion %d: %s", wc->opcode, ibv_wc_status_str(wc->status));
	if (wc->opcode == IBV_WC_RDMA_READ) {
		initiator_to_disk(&slots[wc->wr_id]);
	} else if (!(wc->wr_id & WR_RECV)) {
		answered(&slots[wc->wr_id]);
	} else {
		memcpy(&command, endpoint_recv_buffer(&ep, (uint32_t)wc->wr_id), sizeof(command));
		post_recv(&ep, (uint32_t)wc->wr_id);
		if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
			take_entry();
		else
			request(&command);
	}
}

static void read_hello(const struct keyed_hello *h, size_t length)
{
	errno = 0;
	if (length < sizeof(*h) || h->magic != KEYED_MAGIC)
		die("not a keyed initiator of this byte order");
	hello = (struct keyed_hello){
		.variant = be16toh(h->variant), .depth = be16toh(h->depth),
		.size = be32toh(h->size), .used_key = be32toh(h->used_key),
		.used_addr = be64toh(h->used_addr),
	};
	if (hello.variant >= KEYED_VARIANTS || !hello.depth || hello.depth > KEYED_MAX_DEPTH ||
	    hello.size > 1 << 24)
		die("a greeting that makes no sense");
}

static void lay_out(void)
{
	uint8_t *memory;

	endpoint_open(&ep, sizeof(*avail) + 64 + (size_t)hello.depth * hello.size, hello.depth,
		      o.placement);
	memory = endpoint_memory(&ep);
	avail = (void *)memory;
	scratch = (void *)(memory + sizeof(*avail));
	memory += sizeof(*avail) + 64;
	slots = calloc(hello.depth, sizeof(*slots));
	if (!slots)
		die("memory");
	for (unsigned int i = 0; i < hello.depth; i++)
		slots[i].buffer = memory + (size_t)i * hello.size;
	avail_seen = 0;
	used_count = 0;
	stale = 0;
}

static void welcome(void)
{
	struct keyed_welcome w = {
		.magic = KEYED_MAGIC, .avail_key = htobe32(ep.mr->rkey),
		.avail_addr = htobe64((uintptr_t)avail),
		.sectors = htobe64(disk_bytes / KEYED_SECTOR),
	};
	struct rdma_conn_param param = endpoint_conn_param(&ep, &w, sizeof(w));

	if (rdma_accept(ep.id, &param))
		die("rdma_accept");
	rdma_ack_cm_event(endpoint_event(&ep, RDMA_CM_EVENT_ESTABLISHED));
	/* Known only now: placement is decided on the way to RTR. */
	errno = 0;
	if (hello.variant == KEYED_RING_WRITE && !o.break_rules && !endpoint_data_in_order(&ep))
		die("this queue pair does not promise the order of WRITEs: ring-write cannot work");
}

static void serve(void)
{
	struct rdma_cm_event *event;
	struct ibv_wc wc;

	event = endpoint_event(&ep, RDMA_CM_EVENT_CONNECT_REQUEST);
	ep.id = event->id;
	read_hello(event->param.conn.private_data, event->param.conn.private_data_len);
	rdma_ack_cm_event(event);
	ep.spin = hello.variant >= KEYED_RING_ATOMIC;
	lay_out();
	welcome();
	for (connected = true; connected;) {
		if (ep.spin)
			poll_ring();
		if (endpoint_poll(&ep, &wc))
			completion(&wc);
		else if (endpoint_event_waits(&ep))	/* the initiator has gone */
			connected = false;
	}
	printf("{\"role\": \"target\", \"placement\": \"%s\", \"stale\": %llu}\n",
	       endpoint_placement(&ep), (unsigned long long)stale);
	fflush(stdout);
	rdma_ack_cm_event(endpoint_event(&ep, RDMA_CM_EVENT_DISCONNECTED));
	endpoint_close(&ep);
	free(slots);
}

static void options(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "file", 1, NULL, 'f' }, { "mib", 1, NULL, 'm' }, { "port", 1, NULL, 'p' },
		{ "placement", 1, NULL, 'o' }, { "once", 0, &o.once, 1 },
		{ "break-rules", 0, &o.break_rules, 1 }, {}
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'f': o.file = optarg; break;
		case 'm': o.mib = atoi(optarg); break;
		case 'p': o.port = atoi(optarg); break;
		case 'o': o.placement = placement_of(optarg); break;
		case '?': exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rdma_cm_id *listener;

	options(argc, argv);
	open_disk();
	any.sin_port = htons(o.port);
	ep.events = rdma_create_event_channel();
	if (!ep.events || rdma_create_id(ep.events, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, (struct sockaddr *)&any) || rdma_listen(listener, 4))
		die("cannot listen on port %d", o.port);
	puts("listening");
	fflush(stdout);
	do {
		serve();
	} while (!o.once);
	rdma_destroy_id(listener);
	return 0;
}
