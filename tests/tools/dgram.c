// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Verified messages over services that lose some: UC and UD.
 *
 *	dgram DEVICE GID_INDEX uc|ud recv SEED DGID		prints "qpn N", receives until SIGUSR1
 *	dgram DEVICE GID_INDEX uc|ud send SEED DGID QPN		sends until SIGUSR1
 *
 * Message k has a header (k, its length) and bytes that depend on (SEED, k, offset). A message may be
 * missing, late or there twice if the network does that (IBTA knows no duplicates of UC); one that is
 * there is whole and right.
 * Both print one line of JSON. Exit status 1: something was wrong.
 */
#include <arpa/inet.h>
#include <signal.h>

#include "verbs_test.h"

#define DEPTH		32
#define UC_MAX		16384u
#define UD_MAX		1024u
#define GRH		40u
#define QKEY		0x11111111u
#define SLOT		(UC_MAX + 64)

struct head {
	uint64_t k;
	uint32_t len, check;
};

static bool ud;
static uint64_t seed, messages, wrong;
static char first_wrong[128];
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static struct ibv_ah *ah;
static uint8_t *buf;
static uint32_t dest;
static volatile sig_atomic_t enough;

static void on_signal(int sig)
{
	(void)sig;
	enough = 1;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static uint8_t byte_of(uint64_t k, uint32_t i)
{
	return mix(seed + k * 0x9e3779b97f4a7c15ULL + i / 8) >> 8 * (i % 8);
}

static uint32_t length_of(uint64_t k)
{
	uint32_t most = ud ? UD_MAX : UC_MAX, least = sizeof(struct head);

	return least + mix(seed ^ k) % (most - least + 1);
}

static void make(uint8_t *p, uint64_t k)
{
	struct head h = { k, length_of(k), (uint32_t)mix(seed + k) };
	uint32_t i;

	memcpy(p, &h, sizeof(h));
	for (i = sizeof(h); i < h.len; i++)
		p[i] = byte_of(k, i);
}

static void complain(uint64_t k, const char *what, uint32_t where)
{
	if (!wrong++)
		snprintf(first_wrong, sizeof(first_wrong), "message %llu: %s %u",
			 (unsigned long long)k, what, where);
}

static void check(const uint8_t *p, uint32_t len)
{
	struct head h;
	uint32_t i;

	memcpy(&h, p, sizeof(h));
	messages++;
	if (len < sizeof(h) || h.check != (uint32_t)mix(seed + h.k) || h.len != len)
		return complain(h.k, "header, length", len);
	for (i = sizeof(h); i < len; i++)
		if (p[i] != byte_of(h.k, i))
			return complain(h.k, "byte", i);
}

/* ------------------------------------------------------------------ */

static void connect_qp(const union ibv_gid *dgid)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = *dgid, .sgid_index = gid_index, .hop_limit = 64 } },
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (ibv_modify_qp(qp, &attr, mask | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)))
		die("INIT");
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, ud ? IBV_QP_STATE : IBV_QP_STATE | IBV_QP_AV |
			  IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN))
		die("RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("RTS");
	if (ud) {
		ah = ibv_create_ah(pd, &attr.ah_attr);
		if (!ah)
			die("AH");
	}
}

static void make_qp(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = ud ? IBV_QPT_UD : IBV_QPT_UC, .sq_sig_all = 1,
		.cap = { DEPTH, DEPTH, 1, 1, 0 },
	};

	buf = aligned_alloc(4096, DEPTH * SLOT);
	cq = ibv_create_cq(ctx, 4 * DEPTH, NULL, NULL, 0);
	init.send_cq = init.recv_cq = cq;
	mr = ibv_reg_mr(pd, buf, DEPTH * SLOT, IBV_ACCESS_LOCAL_WRITE);
	qp = ibv_create_qp(pd, &init);
	if (!buf || !cq || !mr || !qp)
		die("set-up");
}

static void post_recv(uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)buf + slot * SLOT, SLOT, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	errno = ibv_post_recv(qp, &wr, &bad);
	if (errno)
		die("post_recv");
}

static void post_send(uint64_t k)
{
	uint8_t *p = buf + k % DEPTH * SLOT;
	struct ibv_sge sge = { (uintptr_t)p, length_of(k), mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = k, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.wr.ud = { .ah = ah, .remote_qpn = dest, .remote_qkey = QKEY },
	}, *bad;

	make(p, k);
	errno = ibv_post_send(qp, &wr, &bad);
	if (errno)
		die("post_send");
}

static bool poll_one(struct ibv_wc *wc)
{
	if (!ibv_poll_cq(cq, 1, wc)) {
		usleep(200);
		return false;
	}
	if (wc->status != IBV_WC_SUCCESS)
		complain(wc->wr_id, "completion status", wc->status);
	return true;
}

static void receive(void)
{
	uint32_t skip = ud ? GRH : 0;
	struct ibv_wc wc;
	uint64_t i;

	for (i = 0; i < DEPTH; i++)
		post_recv(i);
	printf("qpn %u\n", qp->qp_num);
	fflush(stdout);
	while (!enough && !wrong) {
		if (!poll_one(&wc) || wc.status != IBV_WC_SUCCESS)
			continue;
		check(buf + wc.wr_id * SLOT + skip, wc.byte_len - skip);
		post_recv(wc.wr_id);
	}
}

static void transmit(void)
{
	uint64_t k = 0;
	struct ibv_wc wc;

	while (!enough && !wrong) {
		while (k - messages < DEPTH)
			post_send(k++);
		messages += poll_one(&wc);
	}
}

int main(int argc, char **argv)
{
	union ibv_gid dgid;
	bool sender = argc == 8 && !strcmp(argv[4], "send");

	if (argc != 7 && !sender) {
		fprintf(stderr, "see the head of dgram.c\n");
		return 2;
	}
	signal(SIGUSR1, on_signal);
	ud = !strcmp(argv[3], "ud");
	seed = strtoull(argv[5], NULL, 0);
	open_device(argv[1], atoi(argv[2]));
	if (inet_pton(AF_INET6, argv[6], &dgid) != 1)
		die("DGID");
	if (sender)
		dest = strtoul(argv[7], NULL, 0);
	make_qp();
	connect_qp(&dgid);
	if (sender)
		transmit();
	else
		receive();
	printf("{\"messages\": %llu, \"wrong\": %llu, \"first_wrong\": \"%s\"}\n",
	       (unsigned long long)messages, (unsigned long long)wrong, first_wrong);
	return wrong ? 1 : 0;
}
