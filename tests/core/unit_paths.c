// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Several paths to a capable peer: which one a packet takes, and which one is left. */
#include "unit.h"
#include "unit_env.h"

#define MTU	256
#define ACK	(OOO_AETH_ACK | OOO_AETH_NO_CREDIT)
#define CAP	OOO_BTH_CAP
#define RETX	OOO_BTH_RETX
#define MS	1000000ull

static void post(u8 op, u32 packets)
{
	ue_post(op, packets * MTU, OOO_SEND_SIGNALED);
	ue_doorbell();
}

/* Everything up to @psn, and in @bits more from @base on. */
static void rx_sack(u32 psn, u32 base, u64 bits)
{
	ue_rx(OOO_OP_ACK, psn, &(struct ooo_hdr){ .rsvd7 = CAP | OOO_BTH_EXT, .syndrome = ACK,
	      .has_sack = true, .sack = { .window = 128, .words = 1, .base = base,
					  .bits = { bits } } }, NULL, 0);
}

static void rx_ack(u32 psn)
{
	ue_rx(OOO_OP_ACK, psn, &(struct ooo_hdr){ .rsvd7 = CAP, .syndrome = ACK }, NULL, 0);
}

/* Time passes, in steps: a timer that comes very late is put off. */
static void pass(u32 ms)
{
	while (ms--)
		ue_wait(MS);
}

/* Packets of [@from, ue.n_sent) that took @path. */
static u32 on_path(u32 from, u8 path)
{
	u32 i, n = 0;

	for (i = from; i < ue.n_sent; i++)
		n += ue.sent[i].h.path == path;
	return n;
}

/* Packet 0 has told that the peer is capable: a round trip of 2 ms. */
static void begin(u32 paths)
{
	ue_start_paths(0, true, paths);
	post(OOO_WR_WRITE, 1);
	ue_wait(2 * MS);
	rx_ack(0);
	CHECK_EQ(ue.n_sent, 1);
	CHECK_EQ(ue.sent[0].h.path, 0);
}

/* ... and so have packets on both paths. */
static void begin_two(void)
{
	begin(2);
	post(OOO_WR_WRITE, 16);
	ue_wait(2 * MS);
	rx_ack(16);
	CHECK_EQ(on_path(1, 0), 8);
	CHECK_EQ(on_path(1, 1), 8);
}

static void one_path_is_the_default(void)
{
	begin(1);
	post(OOO_WR_WRITE, 16);
	CHECK_EQ(on_path(0, 0), 17);
	CHECK(!ue.ep.paths && !ue.ep.req.path);
	ue_stop();
}

static void unknown_peer_gets_one_path(void)
{
	ue_start_paths(0, true, 4);
	post(OOO_WR_SEND, 10);
	CHECK_EQ(on_path(0, 0), 10);
	ue_rx_ack(9, ACK);
	post(OOO_WR_SEND, 10);	/* a plain one, as it turned out */
	CHECK_EQ(on_path(0, 0), 20);
	ue_stop();
}

static void packets_are_spread_evenly(void)
{
	u8 i;

	begin(4);
	post(OOO_WR_WRITE, 40);
	for (i = 0; i < 4; i++)
		CHECK_EQ(on_path(1, i), 10);
	rx_ack(40);
	CHECK_EQ(ue.n_send_done, 2);
	ue_stop();
}

static void more_than_the_most_is_the_most(void)
{
	begin(1000);
	CHECK_EQ(ue.ep.paths, OOO_PATHS_MAX);
	post(OOO_WR_WRITE, 32);
	CHECK_EQ(on_path(1, OOO_PATHS_MAX - 1), 2);
	ue_stop();
}

static void without_memory_there_is_one_path(void)
{
	begin(4);
	ue.alloc_null = true;
	post(OOO_WR_WRITE, 8);
	CHECK_EQ(on_path(1, 0), 8);
	rx_ack(8);
	ue.alloc_null = false;
	post(OOO_WR_WRITE, 8);
	CHECK_EQ(on_path(9, 0), 2);
	ue_stop();
}

/* What is on the way when the peer turns out to be capable has all gone by path 0. */
static void what_went_before_counts(void)
{
	ue_start_paths(0, true, 2);
	post(OOO_WR_WRITE, 9);
	ue_wait(2 * MS);
	rx_ack(0);
	post(OOO_WR_WRITE, 8);
	CHECK_EQ(on_path(9, 1), 8);
	CHECK_EQ(ue.ep.req.path[0].out, 8);
	rx_ack(16);
	CHECK_EQ(ue.ep.req.path[0].out + ue.ep.req.path[1].out, 0);
	ue_stop();
}

/* Nothing comes by path 1 for five round trips, while path 0 takes one. */
static void slow_path_is_not_lost(void)
{
	begin_two();
	post(OOO_WR_WRITE, 8);
	ue_wait(2 * MS);
	rx_sack(16, 17, 0x55);
	post(OOO_WR_WRITE, 4);
	ue_wait(2 * MS);
	rx_sack(16, 17, 0xf55);	/* the freer path took them all */
	pass(4);
	CHECK_EQ(ue.ep.stat[OOO_STAT_RETRANSMIT], 0);
	rx_ack(28);
	CHECK_EQ(ue.n_send_done, 4);
	ue_stop();
}

static void lost_packet_takes_another_path(void)
{
	u32 lost = 17, i;

	begin_two();
	i = ue.n_sent;
	post(OOO_WR_WRITE, 16);
	ue_wait(2 * MS);
	rx_sack(16, 17, 0xfffe);
	pass(6);
	CHECK_EQ(ue.n_sent, i + 17);
	CHECK_EQ(ue_last()->h.psn, lost);
	CHECK(ue_last()->h.path != ue.sent[i].h.path);
	ue_stop();
}

/* Of what is sent only path 0's part arrives. */
static void path_1_is_cut(void)
{
	u32 psn = 17, k, i;
	u64 bits;

	begin_two();
	for (k = 0; k < 20 && !ue.ep.stat[OOO_STAT_PATHS_LEFT]; k++) {
		post(OOO_WR_WRITE, 2);
		pass(2);
		for (bits = 0, i = 0; i < ue.n_sent; i++)
			if (!ue.sent[i].h.path && ue.sent[i].h.psn >= psn)
				bits |= 1ull << (ue.sent[i].h.psn - psn);
		rx_sack(psn - 1, psn, bits);
	}
	CHECK_EQ(ue.ep.stat[OOO_STAT_PATHS_LEFT], 1);
	pass(4);
	CHECK(ue.ep.stat[OOO_STAT_HOLES_RESENT]);
	rx_ack(ue_last()->h.psn);
	rx_ack((ue.ep.req.high - 1) & PSN_MASK);
	CHECK_EQ(ue.ep.req.una, ue.ep.req.high);
}

static void dead_path_is_left(void)
{
	u32 from;

	path_1_is_cut();
	from = ue.n_sent;
	post(OOO_WR_WRITE, 16);
	CHECK_EQ(on_path(from, 0), 16);
	ue_stop();
}

static void dead_path_is_tried_again(void)
{
	u32 from;

	path_1_is_cut();
	ue_wait(60 * MS);
	from = ue.n_sent;
	post(OOO_WR_WRITE, 16);
	CHECK_EQ(on_path(from, 1), 1);
	ue_wait(2 * MS);
	rx_ack((ue.ep.req.high - 1) & PSN_MASK);
	CHECK_EQ(ue.ep.stat[OOO_STAT_PATHS_BACK], 1);
	from = ue.n_sent;
	post(OOO_WR_WRITE, 32);
	CHECK(on_path(from, 1) > 1);
	CHECK(on_path(from, 1) < on_path(from, 0));
	ue_stop();
}

static void dead_path_is_tried_rarely(void)
{
	u32 from, i, tried;

	path_1_is_cut();
	from = ue.n_sent;
	for (i = 0; i < 100; i++) {
		u32 k = ue.n_sent;

		ue_wait(5 * MS);
		post(OOO_WR_WRITE, 1);
		ue_wait(5 * MS);
		if (ue.sent[k].h.path == 1)
			pass(30);	/* it is lost; the next one gets through */
		rx_ack((ue.ep.req.high - 1) & PSN_MASK);
		ue.ep.req.path[1].share = 0;
	}
	tried = on_path(from, 1);
	CHECK(tried >= 2 && tried <= 8);
	ue_stop();
}

/* The path with the loss carries less from round to round. */
static void lossy_path_is_used_less(void)
{
	u32 k, from, high;

	begin_two();
	for (k = 0; k < 12; k++) {
		high = ue.ep.req.high;
		ue.ep.req.path[1].bad += 8;
		post(OOO_WR_WRITE, 32);
		pass(3);
		rx_ack((high + 31) & PSN_MASK);
	}
	from = ue.n_sent;
	post(OOO_WR_WRITE, 32);
	CHECK(on_path(from, 1) < 8);
	ue_stop();
}

/* When nothing at all arrives, no path is to blame; each is tried in turn. */
static void timeouts_try_every_path(void)
{
	u32 from, i;

	begin(4);
	post(OOO_WR_WRITE, 1);
	from = ue.n_sent;
	pass(400);
	for (i = 0; i < 4; i++)
		CHECK(on_path(from, i));
	CHECK_EQ(ue.ep.stat[OOO_STAT_PATHS_LEFT], 0);
	ue_stop();
}

/* Where ACKs are lost arrivals are known late. That must not make it worse. */
static void lost_acks_do_not_lengthen_the_timeout(void)
{
	u32 from;

	begin_two();
	ue.ep.req.path[0].longest = 500 * MS;
	ue.ep.req.path[1].longest = 500 * MS;
	post(OOO_WR_WRITE, 1);
	from = ue.n_sent;
	pass(20);
	CHECK(ue.n_sent > from);
	ue_stop();
}

static void rnr_keeps_the_books(void)
{
	begin_two();
	post(OOO_WR_SEND, 8);
	ue_wait(2 * MS);
	rx_sack(16, 17, 0xf0);
	ue_rx(OOO_OP_ACK, 17, &(struct ooo_hdr){ .rsvd7 = CAP, .syndrome = OOO_AETH_RNR | 1 },
	      NULL, 0);
	ue_wait(MS);
	CHECK_EQ(ue.n_sent, 33);
	rx_ack(24);
	CHECK_EQ(ue.ep.req.path[0].out, 0);
	CHECK_EQ(ue.ep.req.path[1].out, 0);
	ue_stop();
}

static void rx_write(u32 psn, u8 bits)
{
	ue_rx(OOO_OP_WRITE_ONLY, psn, &(struct ooo_hdr){ .rsvd7 = CAP | bits, .ack_req = true,
	      .va = UE_BASE, .rkey = UE_KEY, .dma_len = 8 }, NULL, 8);
}

static void acks_take_turns(void)
{
	u32 psn;
	u8 i;

	ue_start_paths(0, true, 4);
	for (psn = 0; psn < 8; psn++)
		rx_write(psn, 0);
	CHECK_EQ(ue.n_sent, 8);
	for (i = 0; i < 4; i++)
		CHECK_EQ(on_path(0, i), 2);
	ue_stop();
}

static void acks_avoid_a_path_that_was_left(void)
{
	u32 from, psn;

	path_1_is_cut();
	from = ue.n_sent;
	for (psn = 0; psn < 8; psn++)
		rx_write(psn, 0);
	CHECK_EQ(on_path(from, 0), 8);
	ue_stop();
}

static void acks_avoid_a_path_that_loses_them(void)
{
	u32 psn;
	u8 lost;

	ue_start_paths(0, true, 4);
	rx_write(0, 0);
	rx_write(0, RETX);	/* at once: the ACK is still on its way */
	rx_write(1, 0);
	ue_wait(20 * MS);
	lost = ue_last()->h.path;
	rx_write(1, RETX);
	CHECK_EQ(ue.n_sent, 4);
	for (psn = 2; psn < 100; psn++)
		rx_write(psn, 0);
	CHECK_EQ(on_path(3, lost), 0);
	CHECK(on_path(3, (lost + 1) % 4) >= 33);
	for (; psn < 400; psn++)
		rx_write(psn, 0);
	for (; psn < 1100; psn++) {
		ue.n_sent = 0;
		rx_write(psn, 0);
	}
	CHECK_EQ(ue.n_sent, 1);
	for (ue.n_sent = 0; psn < 1108; psn++)
		rx_write(psn, 0);
	CHECK_EQ(on_path(0, lost), 2);	/* it has another chance */
	ue_stop();
}

/* Then it takes turns as before. */
static void all_paths_lose_acks(void)
{
	u32 psn, i;

	ue_start_paths(0, true, 2);
	for (psn = 0; psn < 6; psn++) {
		rx_write(psn, 0);
		ue_wait(20 * MS);
		rx_write(psn, RETX);
		ue_wait(20 * MS);
	}
	CHECK_EQ(ue.n_sent, 12);
	for (i = 0; i < 2; i++)
		CHECK(on_path(0, i) >= 4);
	ue_stop();
}

static void rx_read(u32 psn, u32 packets, u8 bits)
{
	ue_rx(OOO_OP_READ_REQUEST, psn, &(struct ooo_hdr){ .rsvd7 = CAP | bits,
	      .va = UE_BASE + psn % 4 * MTU, .rkey = UE_KEY, .dma_len = packets * MTU }, NULL, 0);
}

static void read_data_moves_when_it_is_asked_for_again(void)
{
	ue_start_paths(0, true, 4);
	rx_read(0, 4, 0);
	CHECK_EQ(on_path(0, 0), 4);
	rx_read(2, 2, RETX);
	CHECK_EQ(ue.n_sent, 6);
	rx_read(4, 4, 0);
	CHECK_EQ(on_path(6, 1), 4);
	rx_read(1, 1, RETX);	/* from before the change: no news */
	rx_read(8, 4, 0);
	CHECK_EQ(on_path(11, 1), 4);
	rx_read(9, 1, RETX);
	rx_read(12, 4, 0);
	CHECK_EQ(on_path(16, 2), 4);
	ue_stop();
}

static void reset_forgets_the_paths(void)
{
	begin_two();
	post(OOO_WR_WRITE, 4);
	ooo_ep_to_reset(&ue.ep);
	CHECK(!ue.ep.paths && !ue.ep.req.path && !ue.ep.req.on_path);
	CHECK_EQ(ue.allocated, 0);
	ue_stop();
}

const struct unit_test paths_tests[] = {
	UNIT_TEST(one_path_is_the_default),
	UNIT_TEST(unknown_peer_gets_one_path),
	UNIT_TEST(packets_are_spread_evenly),
	UNIT_TEST(more_than_the_most_is_the_most),
	UNIT_TEST(without_memory_there_is_one_path),
	UNIT_TEST(what_went_before_counts),
	UNIT_TEST(slow_path_is_not_lost),
	UNIT_TEST(lost_packet_takes_another_path),
	UNIT_TEST(dead_path_is_left),
	UNIT_TEST(dead_path_is_tried_again),
	UNIT_TEST(dead_path_is_tried_rarely),
	UNIT_TEST(lossy_path_is_used_less),
	UNIT_TEST(timeouts_try_every_path),
	UNIT_TEST(lost_acks_do_not_lengthen_the_timeout),
	UNIT_TEST(rnr_keeps_the_books),
	UNIT_TEST(acks_take_turns),
	UNIT_TEST(acks_avoid_a_path_that_was_left),
	UNIT_TEST(acks_avoid_a_path_that_loses_them),
	UNIT_TEST(all_paths_lose_acks),
	UNIT_TEST(read_data_moves_when_it_is_asked_for_again),
	UNIT_TEST(reset_forgets_the_paths),
	{ NULL, NULL },
};
