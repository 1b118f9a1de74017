// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast between UD queue pairs: who gets a copy, who does not, and what attach and detach refuse.
 *
 *	verbs_mcast DEVICE GID_INDEX			cases on one device, over its loopback
 *	verbs_mcast DEVICE GID_INDEX MGID listen N	attached; N messages, or until 10 s have passed
 *	verbs_mcast DEVICE GID_INDEX MGID send N	N messages to the group
 */
#include <arpa/inet.h>

#include "verbs_test.h"

#define QKEY	UD_QKEY
#define QPN_ALL	0xffffff
#define GRH	40
#define SLOT	2048

static union ibv_gid group, other;

/* ::ffff:a.b.c.d with an IPv4 source, ff15::n with an IPv6 one */
static union ibv_gid mgid(uint8_t n)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	union ibv_gid found = { .raw = { 0xff, 0x15, [14] = 0x42, [15] = n } };

	if (!memcmp(gid.raw, mapped, 12)) {
		memcpy(found.raw, mapped, 12);
		memcpy(found.raw + 12, (uint8_t[]){ 239, 1, 2, n }, 4);
	}
	return found;
}

static void ud_recv(struct end *e, int slot)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + slot * SLOT, SLOT, e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	expect(!ibv_post_recv(e->qp, &wr, &bad), "post_recv");
}

/* To @dgid, from the buffer's last slot; waits for the completion. */
static void ud_send(struct end *e, const union ibv_gid *dgid, uint32_t qpn, uint32_t qkey, uint32_t imm)
{
	uint8_t *data = e->buf + BUF_SIZE - SLOT;
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = *dgid, .sgid_index = gid_index, .hop_limit = 64 },
	};
	struct ibv_sge sge = { (uintptr_t)data, 256, e->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = htonl(imm),
	}, *bad;
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);
	struct ibv_wc wc;
	double end;
	int n = 0;

	if (!expect(ah, "create_ah: %s", strerror(errno)))
		return;
	memset(data, imm, 256);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	expect(!ibv_post_send(e->qp, &wr, &bad), "post_send");
	for (end = now() + 5; now() < end && !n; )
		n = ibv_poll_cq(e->scq, 1, &wc);
	expect(n == 1 && !wc.status, "send: %d completions, status %d", n, n ? (int)wc.status : -1);
	ibv_destroy_ah(ah);
}

/* Copies that come within the time, contents checked. */
static int received(struct end *e, uint32_t imm, double seconds)
{
	double end = now() + seconds;
	struct ibv_wc wc;
	uint8_t *data;
	int count = 0;

	while (now() < end) {
		if (ibv_poll_cq(e->rcq, 1, &wc) != 1) {
			usleep(100);
			continue;
		}
		count++;
		data = e->buf + wc.wr_id * SLOT + GRH;
		expect(!wc.status && wc.byte_len == GRH + 256 && ntohl(wc.imm_data) == imm &&
		       (wc.wc_flags & IBV_WC_GRH) && data[0] == (uint8_t)imm && data[255] == (uint8_t)imm,
		       "a wrong copy: status %d, %u bytes, immediate %u", wc.status, wc.byte_len,
		       ntohl(wc.imm_data));
		end = now() + 0.2;	/* a second one would follow soon */
	}
	return count;
}

static void attach(struct end *e, const union ibv_gid *to, int expected)
{
	int rc = ibv_attach_mcast(e->qp, to, 0);

	expect(rc == expected, "attach: %d (%s), not %d", rc, strerror(rc), expected);
}

static void detach(struct end *e, const union ibv_gid *from, int expected)
{
	int rc = ibv_detach_mcast(e->qp, from, 0);

	expect(rc == expected, "detach: %d (%s), not %d", rc, strerror(rc), expected);
}

/* ------------------------------------------------------------------ */

static void caps(const void *arg)
{
	(void)arg;
	expect(dev_attr.max_mcast_grp > 0 && dev_attr.max_mcast_qp_attach > 0 &&
	       dev_attr.max_total_mcast_qp_attach >= dev_attr.max_mcast_grp, "%d groups, %d QPs, %d in all",
	       dev_attr.max_mcast_grp, dev_attr.max_mcast_qp_attach, dev_attr.max_total_mcast_qp_attach);
}

static void each_attached_qp_gets_one(const void *arg)
{
	struct end s, r[4];
	int i, n;

	(void)arg;
	if (!ud_open(&s))
		return;
	for (i = 0; i < 4; i++) {
		if (!ud_open(&r[i]))
			return;
		ud_recv(&r[i], 0);
		ud_recv(&r[i], 1);
	}
	attach(&r[0], &group, 0);
	attach(&r[1], &group, 0);
	attach(&r[1], &group, 0);	/* twice: still one copy */
	attach(&r[2], &other, 0);
	ud_send(&s, &group, QPN_ALL, QKEY, 5);
	for (i = 0; i < 4; i++) {
		n = received(&r[i], 5, i < 2 ? 2 : 0.3);
		expect(n == (i < 2), "QP %d got %d copies", i, n);
	}
	detach(&r[0], &group, 0);
	ud_send(&s, &group, QPN_ALL, QKEY, 6);
	n = received(&r[1], 6, 2);
	expect(n == 1, "the QP that stays got %d copies", n);
	n = received(&r[0], 6, 0.3);
	expect(n == 0, "the detached QP got %d copies", n);
	detach(&r[1], &group, 0);
	detach(&r[2], &other, 0);
	for (i = 0; i < 4; i++)
		end_close(&r[i]);
	end_close(&s);
}

static void sender_that_is_attached(const void *arg)
{
	struct end s;
	int n;

	(void)arg;
	if (!ud_open(&s))
		return;
	ud_recv(&s, 0);
	attach(&s, &group, 0);
	ud_send(&s, &group, QPN_ALL, QKEY, 7);
	n = received(&s, 7, 2);
	expect(n == 1, "%d copies", n);
	detach(&s, &group, 0);
	end_close(&s);
}

static void not_for_us(const void *arg)
{
	struct end s, r;
	int n;

	(void)arg;
	if (!ud_open(&s) || !ud_open(&r))
		return;
	ud_recv(&r, 0);
	ud_recv(&r, 1);
	attach(&r, &group, 0);
	ud_send(&s, &group, QPN_ALL, QKEY + 1, 8);
	n = received(&r, 8, 0.3);
	expect(n == 0, "a wrong Q_Key passed");
	ud_send(&s, &group, r.qp->qp_num, QKEY, 8);
	n = received(&r, 8, 0.3);
	expect(n == 0, "a QP's own number at a group's address passed");
	ud_send(&s, &gid, QPN_ALL, QKEY, 8);
	n = received(&r, 8, 0.3);
	expect(n == 0, "the multicast QPN at the device's own address passed");
	detach(&r, &group, 0);
	end_close(&r);
	end_close(&s);
}

static void refusals(const void *arg)
{
	struct end rc, ud;
	int err;

	(void)arg;
	if (!end_open(&rc) || !ud_open(&ud))
		return;
	attach(&rc, &group, EINVAL);
	detach(&rc, &group, EINVAL);
	attach(&ud, &gid, EINVAL);
	detach(&ud, &group, EINVAL);
	attach(&ud, &group, 0);
	detach(&ud, &other, EINVAL);
	err = ibv_destroy_qp(ud.qp);
	expect(err == EBUSY, "destroying an attached QP: %d", err);
	detach(&ud, &group, 0);
	detach(&ud, &group, EINVAL);
	end_close(&ud);
	end_close(&rc);
}

/* As many QPs as the device says, and not one more; the room is there again afterwards. */
static void limit(const void *arg)
{
	int i, max = dev_attr.max_mcast_qp_attach;
	struct end *ends = calloc(max + 1, sizeof(*ends));

	(void)arg;
	for (i = 0; i <= max; i++) {
		if (!ud_open(&ends[i]))
			return;
		attach(&ends[i], &group, i < max ? 0 : ENOMEM);
	}
	detach(&ends[0], &group, 0);
	attach(&ends[max], &group, 0);
	for (i = 1; i <= max; i++)
		detach(&ends[i], &group, 0);
	for (i = 0; i <= max; i++)
		end_close(&ends[i]);
	free(ends);
}

/* ------------------------------------------------------------------ */
/* Over a wire                                                         */

static void listen_for(struct end *e, const union ibv_gid *to, int count)
{
	double end = now() + 10;
	struct ibv_wc wc;
	int i, got = 0;

	for (i = 0; i < 16; i++)
		ud_recv(e, i);
	attach(e, to, 0);
	printf("listening\n");
	fflush(stdout);
	while (got < count && now() < end) {
		if (ibv_poll_cq(e->rcq, 1, &wc) != 1) {
			usleep(100);
			continue;
		}
		expect(!wc.status && e->buf[wc.wr_id * SLOT + GRH] == (uint8_t)ntohl(wc.imm_data),
		       "a wrong message");
		ud_recv(e, wc.wr_id);
		got++;
	}
	expect(got == count, "%d of %d messages", got, count);
	detach(e, to, 0);
}

static void wire(const union ibv_gid *to, const char *mode, int count)
{
	struct end e;
	int i;

	if (!ud_open(&e))
		return;
	if (!strcmp(mode, "listen"))
		listen_for(&e, to, count);
	else
		for (i = 0; i < count; i++) {
			ud_send(&e, to, QPN_ALL, QKEY, i);
			usleep(10000);
		}
	end_close(&e);
}

int main(int argc, char **argv)
{
	if (argc != 3 && argc != 6)
		return 2;
	open_device(argv[1], atoi(argv[2]));
	if (argc == 6) {
		if (inet_pton(AF_INET6, argv[3], group.raw) != 1)
			return 2;
		wire(&group, argv[4], atoi(argv[5]));
		printf(reason[0] ? "not ok: %s\n" : "done\n", reason);
		return reason[0] ? 1 : 0;
	}
	group = mgid(1);
	other = mgid(2);
	run("caps", caps, NULL);
	run("each-attached-qp-gets-one", each_attached_qp_gets_one, NULL);
	run("sender-that-is-attached", sender_that_is_attached, NULL);
	run("not-for-us", not_for_us, NULL);
	run("refusals", refusals, NULL);
	run("limit", limit, NULL);
	return finish();
}
