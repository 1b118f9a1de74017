// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How much there can be of everything.
 *
 *	limits DEVICE GID_INDEX qps N		N RC queue pairs, connected in pairs, all carry data
 *	limits DEVICE GID_INDEX mrs N		N memory regions, each can be written to
 *	limits DEVICE GID_INDEX message BYTES	one WRITE, one READ and one SEND of so many bytes
 *
 * Every byte is checked. Prints one line of JSON: what there was of what was asked for, seconds, and
 * kernel memory per object (what /proc/meminfo had less, without what this program has allocated).
 */
#define _GNU_SOURCE
#include "verbs_test.h"

#define PIECE	(16UL << 20)	/* of the memory that large messages are made of */
#define SLOT	64UL		/* bytes that each QP or MR moves */

static struct ibv_cq *cq;
static struct ibv_qp **qps;
static struct ibv_mr *mr;
static uint8_t *buf;
static size_t num;

static uint64_t free_memory(void)
{
	unsigned long kb = 0;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %lu", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb * 1024;
}

/* This program's own, so that it does not count; the rings that it has mapped are the kernel's. */
static uint64_t own_memory(void)
{
	unsigned long size, resident = 0, shared = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%lu %lu %lu", &size, &resident, &shared) != 3)
		die("statm");
	fclose(f);
	return (resident - shared) * 4096;
}

static void fail(const char *what, size_t i)
{
	printf("{\"error\": \"%s of object %zu: %s\"}\n", what, i, strerror(errno));
	exit(1);
}

static void wait_for_completion(size_t i)
{
	double end = now() + 600;
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		if (now() > end)
			fail("completion", i);
	if (wc.status != IBV_WC_SUCCESS) {
		errno = EIO;
		fail(ibv_wc_status_str(wc.status), i);
	}
}

static struct ibv_qp *make_qp(size_t i)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .sq_sig_all = 1,
		.cap = { 16, 16, 1, 1, 0 },
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	if (!qp)
		fail("create_qp", i);
	return qp;
}

static void connect_qp(struct ibv_qp *qp, uint32_t dest, size_t i)
{
	struct end e = {
		.qp = qp,
		.attr = {
			.port_num = 1, .qp_access_flags = ALL_ACCESS, .path_mtu = IBV_MTU_1024,
			.rq_psn = 0xfffffe, .sq_psn = 0xfffffe, .max_dest_rd_atomic = 4,
			.max_rd_atomic = 4, .min_rnr_timer = 12, .timeout = 18, .retry_cnt = 7,
			.rnr_retry = 7,
			.ah_attr = { .is_global = 1, .port_num = 1,
				     .grh = { .dgid = gid, .sgid_index = gid_index,
					      .hop_limit = 64 } },
		},
	};

	if (!connect_to(&e, dest))
		fail("connect", i);
}

static void write_to(struct ibv_qp *qp, const uint8_t *from, uint64_t to, uint32_t rkey, size_t i)
{
	struct ibv_sge sge = { (uintptr_t)from, SLOT, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE }, *bad;

	wr.wr.rdma.remote_addr = to;
	wr.wr.rdma.rkey = rkey;
	errno = ibv_post_send(qp, &wr, &bad);
	if (errno)
		fail("post_send", i);
}

/* Source slots, then target slots. */
static void make_buffer(void)
{
	size_t i;

	buf = mmap(NULL, 2 * num * SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buf == MAP_FAILED)
		die("memory");
	memset(buf, 0, 2 * num * SLOT);
	for (i = 0; i < num; i++)
		memset(buf + i * SLOT, 1 + i % 255, SLOT);
	mr = ibv_reg_mr(pd, buf, 2 * num * SLOT, ALL_ACCESS);
	if (!mr)
		die("reg_mr");
}

static void check_buffer(void)
{
	if (memcmp(buf, buf + num * SLOT, num * SLOT)) {
		errno = EBADMSG;
		fail("content", 0);
	}
}

/* Posts 16 at a time and waits, so that the CQ is never full. */
static void many_qps(void)
{
	uint64_t before, after, own;
	double t0, t1, t2;
	size_t i;

	cq = ibv_create_cq(ctx, 4096, NULL, NULL, 0);
	qps = calloc(num, sizeof(*qps));
	make_buffer();
	own = own_memory();
	before = free_memory();
	t0 = now();
	for (i = 0; i < num; i++)
		qps[i] = make_qp(i);
	for (i = 0; i < num; i++)
		connect_qp(qps[i], qps[i ^ 1]->qp_num, i);
	after = free_memory();
	own = own_memory() - own;
	t1 = now();
	for (i = 0; i < num; i++) {
		write_to(qps[i], buf + i * SLOT, (uintptr_t)buf + (num + i) * SLOT, mr->rkey, i);
		if (i >= 16)
			wait_for_completion(i);
	}
	for (i = 0; i < (num < 16 ? num : 16); i++)
		wait_for_completion(i);
	t2 = now();
	check_buffer();
	printf("{\"qps\": %zu, \"connect_seconds\": %.2f, \"data_seconds\": %.2f, "
	       "\"bytes_per_qp\": %lld}\n", num, t1 - t0, t2 - t1,
	       ((long long)before - (long long)after - (long long)own) / (long long)num);
}

static void many_mrs(void)
{
	struct ibv_mr **mrs = calloc(num, sizeof(*mrs));
	uint64_t before, after, own;
	double t0, t1, t2;
	size_t i;

	cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	make_buffer();
	qps = calloc(2, sizeof(*qps));
	qps[0] = make_qp(0);
	qps[1] = make_qp(1);
	connect_qp(qps[0], qps[1]->qp_num, 0);
	connect_qp(qps[1], qps[0]->qp_num, 1);
	own = own_memory();
	before = free_memory();
	t0 = now();
	for (i = 0; i < num; i++) {
		mrs[i] = ibv_reg_mr(pd, buf + (num + i) * SLOT, SLOT, ALL_ACCESS);
		if (!mrs[i])
			fail("reg_mr", i);
	}
	t1 = now();
	after = free_memory();
	own = own_memory() - own;
	for (i = 0; i < num; i++) {
		write_to(qps[0], buf + i * SLOT, (uintptr_t)buf + (num + i) * SLOT, mrs[i]->rkey, i);
		wait_for_completion(i);
	}
	check_buffer();
	t2 = now();
	for (i = 0; i < num; i++)
		if (ibv_dereg_mr(mrs[i]))
			fail("dereg_mr", i);
	printf("{\"mrs\": %zu, \"reg_seconds\": %.2f, \"data_seconds\": %.2f, "
	       "\"dereg_seconds\": %.2f, \"bytes_per_mr\": %lld}\n", num, t1 - t0, t2 - t1,
	       now() - t2, ((long long)before - (long long)after - (long long)own) / (long long)num);
}

/* ------------------------------------------------------------------ */
/* Messages larger than memory: the same piece, mapped again and again */

static uint8_t *repeated(int fd, size_t bytes)
{
	uint8_t *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t at;

	for (at = 0; p != MAP_FAILED && at < bytes; at += PIECE)
		if (mmap(p + at, bytes - at < PIECE ? bytes - at : PIECE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			return MAP_FAILED;
	return p;
}

static struct ibv_mr *region(size_t bytes, bool filled)
{
	int fd = memfd_create("piece", 0);
	struct ibv_mr *m;
	uint8_t *p;
	size_t i;

	if (fd < 0 || ftruncate(fd, PIECE))
		die("memfd");
	p = repeated(fd, bytes);
	if (p == MAP_FAILED)
		die("mmap");
	for (i = 0; filled && i < PIECE / 8 && i < bytes / 8; i++)
		((uint64_t *)p)[i] = i * 0x9e3779b97f4a7c15ULL;
	m = ibv_reg_mr(pd, p, bytes, ALL_ACCESS);
	if (!m)
		fail("reg_mr", bytes);
	return m;
}

static void one_message(struct ibv_mr *from, struct ibv_mr *to, enum ibv_wr_opcode opcode)
{
	bool read = opcode == IBV_WR_RDMA_READ;
	struct ibv_mr *local = read ? to : from, *remote = read ? from : to;
	struct ibv_sge sge = { (uintptr_t)local->addr, num, local->lkey };
	struct ibv_sge rsge = { (uintptr_t)to->addr, num, to->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode }, *bad;
	struct ibv_recv_wr rwr = { .sg_list = &rsge, .num_sge = 1 }, *bad_r;

	memset(to->addr, 0, num < PIECE ? num : PIECE);
	wr.wr.rdma.remote_addr = (uintptr_t)remote->addr;
	wr.wr.rdma.rkey = remote->rkey;
	if (opcode == IBV_WR_SEND) {
		errno = ibv_post_recv(qps[1], &rwr, &bad_r);
		if (errno)
			fail("post_recv", num);
	}
	errno = ibv_post_send(qps[0], &wr, &bad);
	if (errno)
		fail("post_send", num);
	wait_for_completion(num);
	if (opcode == IBV_WR_SEND)
		wait_for_completion(num);
	if (memcmp(from->addr, to->addr, num < PIECE ? num : PIECE)) {
		errno = EBADMSG;
		fail("content", opcode);
	}
}

static void large_messages(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND };
	struct ibv_mr *from, *to;
	double t[4];
	int i;

	cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	qps = calloc(2, sizeof(*qps));
	qps[0] = make_qp(0);
	qps[1] = make_qp(1);
	connect_qp(qps[0], qps[1]->qp_num, 0);
	connect_qp(qps[1], qps[0]->qp_num, 1);
	from = region(num, true);
	to = region(num, false);
	for (i = 0; i < 3; i++) {
		t[i] = now();
		one_message(from, to, ops[i]);
	}
	t[3] = now();
	printf("{\"bytes\": %zu, \"write_seconds\": %.2f, \"read_seconds\": %.2f, "
	       "\"send_seconds\": %.2f}\n", num, t[1] - t[0], t[2] - t[1], t[3] - t[2]);
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "see the head of limits.c\n");
		return 2;
	}
	open_device(argv[1], atoi(argv[2]));
	num = strtoull(argv[4], NULL, 0);
	if (!strcmp(argv[3], "qps"))
		many_qps();
	else if (!strcmp(argv[3], "mrs"))
		many_mrs();
	else
		large_messages();
	fflush(stdout);
	/* The kernel cleans up. */
	_exit(0);
}
