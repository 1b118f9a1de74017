// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The responder, packet by packet. Every test also runs with PSNs that wrap inside it. */
#include "unit.h"
#include "unit_env.h"

#define MTU	256

static u32 base;	/* first PSN */

static u32 P(u32 i)
{
	return psn_add(base, i);
}

static void start(bool ooo)
{
	ue_start(base, ooo);
}

static void post_receives(u32 n)
{
	ue.recv_posted += n;
}

static void rx_send(u32 i, u8 fill, u32 len)
{
	u8 data[MTU];

	memset(data, fill, len);
	ue_rx(OOO_OP_SEND_ONLY, P(i), &(struct ooo_hdr){ .ack_req = true }, data, len);
}

static void only(u32 i, u64 offset, u8 fill, u32 len)
{
	ue_rx_write(OOO_OP_WRITE_ONLY, P(i), offset, len, fill, len);
}

/* The same, and an ACK is asked for. */
static void only_ack(u32 i)
{
	struct ooo_hdr h = { .va = UE_BASE, .rkey = UE_KEY, .dma_len = 4, .ack_req = true };

	ue_rx(OOO_OP_WRITE_ONLY, P(i), &h, NULL, 4);
}

static bool acked(u32 i)
{
	const struct ue_sent *s;

	if (!ue.n_sent)
		return false;
	s = ue_last();
	return s->h.opcode == OOO_OP_ACK && OOO_AETH_CLASS(s->h.syndrome) == OOO_AETH_ACK &&
	       s->h.psn == P(i);
}

static void check_early_write(bool ooo)
{
	start(ooo);
	only(1, 1000, 0xb1, 100);
	CHECK(ue_filled(1000, 100, 0xb1) == ooo);
	CHECK(!acked(1));
	only(0, 0, 0xb0, 100);
	CHECK(ue_filled(0, 100, 0xb0) && ue_filled(1000, 100, 0xb1));
	CHECK_EQ(ue.writes, 2);
	ue_rx(OOO_OP_WRITE_ONLY, P(2), &(struct ooo_hdr){ .ack_req = true }, NULL, 0);
	CHECK(acked(2));
	ue_stop();
}

static void early_write_is_placed_at_once(void)
{
	check_early_write(true);
}

static void early_write_waits_without_ooo(void)
{
	check_early_write(false);
}

/* LAST and MIDDLE before FIRST: no address yet, then all at its place. */
static void parts_before_their_first(void)
{
	u32 ooo;

	for (ooo = 0; ooo < 2; ooo++) {
		start(ooo);
		ue_rx_write(OOO_OP_WRITE_LAST, P(2), 0, 0, 3, 10);
		ue_rx_write(OOO_OP_WRITE_MIDDLE, P(1), 0, 0, 2, MTU);
		CHECK_EQ(ue.writes, 0);
		ue_rx_write(OOO_OP_WRITE_FIRST, P(0), 64, 2 * MTU + 10, 1, MTU);
		CHECK(ue_filled(64, MTU, 1) && ue_filled(64 + MTU, MTU, 2) &&
		      ue_filled(64 + 2 * MTU, 10, 3));
		CHECK_EQ(ue.writes, 3);
		ue_stop();
	}
}

static void last_after_its_first_is_placed_over_a_gap(void)
{
	start(true);
	ue_rx_write(OOO_OP_WRITE_FIRST, P(0), 0, 2 * MTU + 10, 1, MTU);
	ue_rx_write(OOO_OP_WRITE_LAST, P(2), 0, 0, 3, 10);
	CHECK(ue_filled(2 * MTU, 10, 3));
	ue_rx_write(OOO_OP_WRITE_MIDDLE, P(1), 0, 0, 2, MTU);
	CHECK(ue_filled(MTU, MTU, 2));
	CHECK_EQ(ue.writes, 3);
	ue_stop();
}

static void immediate_completes_in_order(void)
{
	struct ooo_hdr h = { .va = UE_BASE, .rkey = UE_KEY, .dma_len = 8, .imm = 0x1234,
			     .solicited = true };

	start(true);
	post_receives(2);
	ue_rx(OOO_OP_WRITE_ONLY_IMM, P(1), &h, "abcdefgh", 8);
	CHECK(!memcmp(ue.mem, "abcdefgh", 8));
	CHECK_EQ(ue.n_recv_done, 0);
	only(0, 100, 1, 8);
	CHECK_EQ(ue.n_recv_done, 1);
	CHECK(ue.recv_done[0].recv.has_imm && ue.recv_done[0].recv.is_write);
	CHECK(ue.recv_done[0].recv.solicited);
	CHECK_EQ(ue.recv_done[0].recv.imm, 0x1234);
	CHECK_EQ(ue.recv_done[0].recv.byte_len, 8);
	ue_stop();
}

static void sends_wait_their_turn(void)
{
	start(true);
	post_receives(3);
	rx_send(2, 'c', 3);
	rx_send(1, 'b', 2);
	CHECK_EQ(ue.n_recv_done, 0);
	CHECK_EQ(ue.held, 2);
	rx_send(0, 'a', 1);
	CHECK_EQ(ue.n_recv_done, 3);
	CHECK_EQ(ue.held, 0);
	CHECK(ue.recv[0] == 'a' && ue.recv[4096] == 'b' && ue.recv[8192] == 'c');
	CHECK_EQ(ue.recv_done[2].recv.wr_id, 2);
	CHECK_EQ(ue.recv_done[2].recv.byte_len, 3);
	CHECK(acked(2));
	ue_stop();
}

static void duplicate_write_is_not_placed_again(void)
{
	u32 ooo;

	for (ooo = 0; ooo < 2; ooo++) {
		start(ooo);
		only(0, 0, 1, 50);
		memset(ue.mem, 9, 50);
		only(0, 0, 1, 50);
		CHECK(ue_filled(0, 50, 9));
		only(2, 100, 2, 50);
		if (ooo)
			memset(ue.mem + 100, 9, 50);
		only(2, 100, 2, 50);
		only(1, 200, 3, 50);
		CHECK(ue_filled(100, 50, ooo ? 9 : 2));
		CHECK_EQ(ue.writes, 3);
		ue_stop();
	}
}

static void duplicate_is_acknowledged_again(void)
{
	u32 n;

	start(true);
	only(0, 0, 1, 4);
	only(1, 0, 1, 4);
	n = ue.n_sent;
	only_ack(0);
	CHECK(ue.n_sent > n);
	CHECK(acked(1));
	ue_stop();
}

static void rx_fetch_add(u32 i, u64 add)
{
	ue_rx(OOO_OP_FETCH_ADD, P(i),
	      &(struct ooo_hdr){ .va = UE_BASE, .rkey = UE_KEY, .swap_add = add }, NULL, 0);
}

static void atomic_is_replayed_not_repeated(void)
{
	u64 v = 100;

	start(true);
	memcpy(ue.mem, &v, 8);
	rx_fetch_add(0, 5);
	CHECK_EQ(ue.atomics, 1);
	CHECK_EQ(ue_last()->h.opcode, OOO_OP_ATOMIC_ACK);
	CHECK_EQ(ue_last()->h.orig, 100);
	rx_fetch_add(1, 7);
	CHECK_EQ(ue_last()->h.orig, 105);
	rx_fetch_add(0, 5);
	CHECK_EQ(ue.atomics, 2);
	CHECK_EQ(ue_last()->h.opcode, OOO_OP_ATOMIC_ACK);
	CHECK_EQ(ue_last()->h.orig, 100);
	CHECK_EQ(ue_last()->h.psn, P(0));
	ue_stop();
}

static void early_atomic_waits(void)
{
	start(true);
	rx_fetch_add(1, 5);
	CHECK_EQ(ue.atomics, 0);
	only(0, 0, 1, 8);
	CHECK_EQ(ue.atomics, 1);
	CHECK_EQ(ue_last()->h.orig, 0x0101010101010101ull);
	ue_stop();
}

static void compare_and_swap(void)
{
	struct ooo_hdr h = { .va = UE_BASE, .rkey = UE_KEY, .compare = 0, .swap_add = 77 };

	start(false);
	ue_rx(OOO_OP_CMP_SWAP, P(0), &h, NULL, 0);
	CHECK_EQ(ue.mem[0], 77);
	h.swap_add = 88;
	ue_rx(OOO_OP_CMP_SWAP, P(1), &h, NULL, 0);
	CHECK_EQ(ue.mem[0], 77);
	CHECK_EQ(ue_last()->h.orig, 77);
	ue_stop();
}

static void rx_read(u32 i, u64 offset, u32 len)
{
	ue_rx(OOO_OP_READ_REQUEST, P(i),
	      &(struct ooo_hdr){ .va = UE_BASE + offset, .rkey = UE_KEY, .dma_len = len }, NULL, 0);
}

static void read_is_answered(void)
{
	start(true);
	rx_read(0, 32, 2 * MTU + 1);
	CHECK_EQ(ue.n_sent, 3);
	CHECK_EQ(ue.sent[0].h.opcode, OOO_OP_READ_RESP_FIRST);
	CHECK_EQ(ue.sent[1].h.opcode, OOO_OP_READ_RESP_MIDDLE);
	CHECK_EQ(ue.sent[2].h.opcode, OOO_OP_READ_RESP_LAST);
	CHECK_EQ(ue.sent[2].h.psn, P(2));
	CHECK_EQ(ue.sent[2].va, UE_BASE + 32 + 2 * MTU);
	CHECK_EQ(ue.sent[2].len, 1);
	rx_read(3, 0, 0);
	CHECK_EQ(ue_last()->h.opcode, OOO_OP_READ_RESP_ONLY);
	CHECK_EQ(ue_last()->len, 0);
	ue_stop();
}

static void read_is_answered_again(void)
{
	start(true);
	rx_read(0, 0, 3 * MTU);
	ue.n_sent = 0;
	rx_read(1, MTU, 2 * MTU);
	CHECK_EQ(ue.n_sent, 2);
	CHECK_EQ(ue.sent[0].h.psn, P(1));
	CHECK_EQ(ue.sent[0].va, UE_BASE + MTU);
	CHECK_EQ(ue.sent[1].h.psn, P(2));
	ue_stop();
}

static void ack_does_not_pass_an_unanswered_read(void)
{
	u32 i;

	start(true);
	ue.again = true;
	rx_read(0, 0, MTU);
	only(1, 500, 1, 4);
	ue.again = false;
	ue_resume();
	CHECK(ue.n_sent >= 1);
	CHECK_EQ(ue.sent[0].h.opcode, OOO_OP_READ_RESP_ONLY);
	for (i = 1; i < ue.n_sent; i++)
		CHECK_EQ(ue.sent[i].h.opcode, OOO_OP_ACK);
	ue_stop();
}

static void receiver_not_ready(void)
{
	start(true);
	rx_send(0, 'a', 4);
	CHECK_EQ(ue_count(OOO_OP_ACK, OOO_AETH_RNR), 1);
	CHECK_EQ(ue_last()->h.psn, P(0));
	CHECK_EQ(OOO_AETH_VALUE(ue_last()->h.syndrome), 12);
	rx_send(1, 'b', 4);
	CHECK_EQ(ue_count(OOO_OP_ACK, OOO_AETH_RNR), 1);
	post_receives(2);
	ue_wait(1000000);
	rx_send(0, 'a', 4);
	rx_send(1, 'b', 4);
	CHECK_EQ(ue.n_recv_done, 2);
	CHECK(ue.recv[0] == 'a' && ue.recv[4096] == 'b');
	ue_stop();
}

/* By time, not by position; and a peer that does not answer is not asked for ever. */
static void gap_is_reported_by_time(void)
{
	u32 i;

	start(true);
	only(0, 0, 1, 4);
	for (i = 2; i < 20; i++)
		only(i, 16 * i, 1, 4);
	CHECK_EQ(ue_count(OOO_OP_ACK, OOO_AETH_NAK), 0);
	ue_wait(1500000);
	CHECK_EQ(ue_count(OOO_OP_ACK, OOO_AETH_NAK), 1);
	CHECK_EQ(OOO_AETH_VALUE(ue_last()->h.syndrome), OOO_NAK_SEQUENCE);
	CHECK_EQ(ue_last()->h.psn, P(1));
	only(20, 500, 1, 4);
	CHECK_EQ(ue_count(OOO_OP_ACK, OOO_AETH_NAK), 1);
	ue_wait(1000000000000ull);
	CHECK(ue_count(OOO_OP_ACK, OOO_AETH_NAK) <= 8);
	CHECK_EQ(ue.timer, OOO_NEVER);
	only(1, 16, 1, 4);
	only_ack(21);
	CHECK(acked(21));
	ue_stop();
}

static void short_gap_is_not_reported(void)
{
	start(true);
	only(1, 16, 1, 4);
	ue_wait(100000);
	only(0, 0, 1, 4);
	ue_wait(100000000);
	CHECK_EQ(ue_count(OOO_OP_ACK, OOO_AETH_NAK), 0);
	ue_stop();
}

/* The memory of a READ goes away before its answer could be sent. */
static void source_of_an_answer_that_goes_away(void)
{
	start(true);
	ue.again = true;
	rx_read(0, 0, 4);
	rx_read(1, 8, 4);
	ue.again = false;
	ue.source_bad = true;
	ue_resume();
	CHECK_EQ(ue.n_sent, 1);
	CHECK_EQ(ue_last()->h.psn, P(0));
	CHECK_EQ(OOO_AETH_CLASS(ue_last()->h.syndrome), OOO_AETH_NAK);
	CHECK_EQ(OOO_AETH_VALUE(ue_last()->h.syndrome), OOO_NAK_ACCESS);
	CHECK_EQ(ue.state, OOO_ERR);
	ue_stop();
}

/* ... and after it was sent: a copy of the request that comes late does no harm. */
static void source_of_a_repeated_answer_that_goes_away(void)
{
	start(true);
	rx_read(0, 0, 2 * MTU);
	CHECK_EQ(ue.n_sent, 2);
	ue.source_bad = true;
	rx_read(0, 0, 2 * MTU);
	rx_read(1, MTU, MTU);
	CHECK_EQ(ue.n_sent, 2);
	CHECK_EQ(ue.state, OOO_RTS);
	ue.source_bad = false;
	rx_read(2, 0, MTU);
	CHECK_EQ(ue.n_sent, 3);
	CHECK_EQ(ue_last()->h.psn, P(2));
	ue_stop();
}

static void rx_bad_key(u32 i)
{
	ue_rx(OOO_OP_WRITE_ONLY, P(i),
	      &(struct ooo_hdr){ .va = UE_BASE, .rkey = 0xbad, .dma_len = 4 }, "oops", 4);
}

static void error_is_reported_at_its_place(void)
{
	u32 ooo;

	for (ooo = 0; ooo < 2; ooo++) {
		start(ooo);
		post_receives(2);
		rx_bad_key(2);
		CHECK_EQ(ue.state, OOO_RTS);
		CHECK_EQ(ue_count(OOO_OP_ACK, OOO_AETH_NAK), 0);
		rx_send(0, 'a', 4);
		CHECK_EQ(ue.state, OOO_RTS);
		rx_send(1, 'b', 4);
		CHECK_EQ(ue.n_recv_done, 2);
		CHECK_EQ(ue.state, OOO_ERR);
		CHECK_EQ(ue_count(OOO_OP_ACK, OOO_AETH_NAK), 1);
		CHECK_EQ(ue_last()->h.psn, P(2));
		CHECK_EQ(OOO_AETH_VALUE(ue_last()->h.syndrome), OOO_NAK_ACCESS);
		ue_stop();
	}
}

static void nothing_is_placed_after_an_error(void)
{
	start(true);
	post_receives(3);
	rx_bad_key(0);
	CHECK_EQ(ue.state, OOO_ERR);
	CHECK_EQ(ue.n_recv_done, 3);
	CHECK_EQ(ue.recv_done[0].recv.status, OOO_WC_WR_FLUSH_ERR);
	only(1, 0, 1, 4);
	only(0, 0, 1, 4);
	CHECK_EQ(ue.writes, 0);
	ue_stop();
}

static void write_beyond_its_region(void)
{
	start(true);
	ue_rx_write(OOO_OP_WRITE_FIRST, P(0), UE_SIZE - MTU, 2 * MTU, 1, MTU);
	CHECK_EQ(ue.writes, 0);
	CHECK_EQ(OOO_AETH_VALUE(ue_last()->h.syndrome), OOO_NAK_ACCESS);
	ue_stop();
}

static void zero_length_needs_no_key(void)
{
	struct ooo_hdr h = { .rkey = 0xbad, .ack_req = true };

	start(true);
	ue_rx(OOO_OP_WRITE_ONLY, P(0), &h, NULL, 0);
	CHECK(acked(0));
	ue_stop();
}

static void zero_length_send_completes(void)
{
	start(true);
	post_receives(1);
	rx_send(0, 0, 0);
	CHECK_EQ(ue.n_recv_done, 1);
	CHECK_EQ(ue.recv_done[0].recv.byte_len, 0);
	ue_stop();
}

static void send_longer_than_its_receive(void)
{
	start(true);
	ue.recv_size = 10;
	post_receives(2);
	rx_send(0, 'a', 11);
	CHECK_EQ(ue.recv_done[0].recv.status, OOO_WC_LOC_LEN_ERR);
	CHECK_EQ(OOO_AETH_VALUE(ue_last()->h.syndrome), OOO_NAK_INVALID);
	CHECK_EQ(ue.state, OOO_ERR);
	CHECK_EQ(ue.recv_done[1].recv.status, OOO_WC_WR_FLUSH_ERR);
	ue_stop();
}

static void unaligned_atomic_is_invalid(void)
{
	struct ooo_hdr h = { .va = UE_BASE + 4, .rkey = UE_KEY };

	start(true);
	ue_rx(OOO_OP_FETCH_ADD, P(0), &h, NULL, 0);
	CHECK_EQ(ue.atomics, 0);
	CHECK_EQ(OOO_AETH_VALUE(ue_last()->h.syndrome), OOO_NAK_INVALID);
	ue_stop();
}

static void broken_message_is_invalid(void)
{
	start(true);
	post_receives(2);
	ue_rx(OOO_OP_SEND_FIRST, P(0), NULL, NULL, MTU);
	ue_rx_write(OOO_OP_WRITE_LAST, P(1), 0, 0, 1, 4);
	CHECK_EQ(ue.writes, 0);
	CHECK_EQ(OOO_AETH_VALUE(ue_last()->h.syndrome), OOO_NAK_INVALID);
	CHECK_EQ(ue_last()->h.psn, P(1));
	ue_stop();
}

static void write_shorter_than_it_said_is_invalid(void)
{
	start(true);
	ue_rx_write(OOO_OP_WRITE_FIRST, P(0), 0, 3 * MTU, 1, MTU);
	ue_rx_write(OOO_OP_WRITE_LAST, P(1), 0, 0, 1, 4);
	CHECK_EQ(OOO_AETH_VALUE(ue_last()->h.syndrome), OOO_NAK_INVALID);
	ue_stop();
}

static void key_is_dead_when_the_receive_completes(void)
{
	struct ooo_hdr h = { .imm = UE_KEY, .ack_req = true };

	start(true);
	post_receives(1);
	ue_rx(OOO_OP_SEND_ONLY_INV, P(1), &h, "x", 1);
	CHECK(!ue.dead_key);
	only(0, 0, 7, 4);
	CHECK(ue_filled(0, 4, 7));
	CHECK(ue.dead_key);
	CHECK_EQ(ue.n_recv_done, 1);
	CHECK(ue.recv_done[0].recv.has_inv);
	CHECK_EQ(ue.recv_done[0].recv.imm, UE_KEY);
	ue_stop();
}

/* Placed before the SEND that kills its key, but its turn is after that: an error. */
static void early_write_under_a_key_that_dies(void)
{
	struct ooo_hdr h = { .imm = UE_KEY };

	start(true);
	post_receives(2);
	only(1, 0, 7, 4);
	CHECK_EQ(ue.writes, 1);
	ue_rx(OOO_OP_SEND_ONLY_INV, P(0), &h, "x", 1);
	CHECK_EQ(ue.recv_done[0].recv.status, OOO_WC_SUCCESS);
	CHECK_EQ(OOO_AETH_CLASS(ue_last()->h.syndrome), OOO_AETH_NAK);
	CHECK_EQ(OOO_AETH_VALUE(ue_last()->h.syndrome), OOO_NAK_ACCESS);
	CHECK_EQ(ue_last()->h.psn, P(1));
	CHECK_EQ(ue.state, OOO_ERR);
	ue_stop();
}

static void flush_and_atomic_write_are_answered(void)
{
	struct ooo_hdr h = { .va = UE_BASE, .rkey = UE_KEY, .dma_len = 8, .feth = 1 };

	start(true);
	ue_rx(OOO_OP_ATOMIC_WRITE, P(1), &h, "12345678", 8);
	CHECK_EQ(ue.atomics, 0);
	ue_rx(OOO_OP_FLUSH, P(0), &h, NULL, 0);
	CHECK_EQ(ue.flushes, 1);
	CHECK(!memcmp(ue.mem, "12345678", 8));
	CHECK_EQ(ue_count(OOO_OP_READ_RESP_ONLY, 0), 2);
	ue_rx(OOO_OP_ATOMIC_WRITE, P(1), &h, "12345678", 8);
	CHECK_EQ(ue.atomics, 1);
	ue_stop();
}

static void without_memory_early_packets_are_dropped(void)
{
	start(false);
	ue.hold_null = true;
	only(1, 100, 2, 4);
	CHECK(ue.ep.stat[OOO_STAT_DROP_MEMORY]);
	only(0, 0, 1, 4);
	CHECK_EQ(ue.writes, 1);
	only(1, 100, 2, 4);
	CHECK_EQ(ue.writes, 2);
	ue_stop();
}

static void far_packets_are_dropped(void)
{
	start(true);
	only(ue.tun.recv_window + 1, 100, 2, 4);
	CHECK_EQ(ue.writes, 0);
	CHECK_EQ(ue.held, 0);
	CHECK_EQ(ue.ep.stat[OOO_STAT_DROP_WINDOW], 1);
	ue_stop();
}

static void page_that_is_brought_in_is_waited_for(void)
{
	start(true);
	ue.later = true;
	only(0, 0, 1, 4);
	only(1, 100, 2, 4);
	CHECK(!acked(0) && !acked(1));
	ue.later = false;
	ue_resume();
	only_ack(0);
	only_ack(1);
	CHECK_EQ(ue.writes, 2);
	CHECK(acked(1));
	ue_stop();
}

/* One PSN from far ahead is no evidence that all that follows in order is late. */
static void far_packet_teaches_no_lateness(void)
{
	u64 before;
	u32 i;

	start(true);
	only(0, 0, 1, 4);
	only(2, 16, 1, 4);	/* sets the window */
	only(1, 16, 1, 4);
	before = ue.ep.resp.reorder.window;
	only(1u << 22, 100, 2, 4);
	for (i = 3; i < 3000; i++) {
		ue_wait(100000);
		only(i, 0, 1, 4);
	}
	CHECK(ue.ep.resp.reorder.window <= 4 * before);
	CHECK(ue.ep.stat[OOO_STAT_GAPS] <= 3);
	ue_stop();
}

/* A pause of the application after a NAK that nobody could answer is no round trip. */
static void pause_is_no_round_trip(void)
{
	u32 naks;

	start(true);
	only(0, 0, 1, 4);
	only(1u << 22, 100, 2, 4);
	ue_wait(60000000000ull);
	only(1, 0, 1, 4);
	ue_wait(1000000000ull);
	naks = ue_count(OOO_OP_ACK, OOO_AETH_NAK);
	only(3, 0, 1, 4);	/* 2 is lost */
	ue_wait(10000000000ull);
	CHECK(ue_count(OOO_OP_ACK, OOO_AETH_NAK) >= naks + 2);
	ue_stop();
}

/* One refused request is one, whoever counts. */
static void refused_request_is_counted_once(void)
{
	start(true);
	post_receives(1);
	ue.recv_size = 8;
	rx_send(0, 1, 64);
	CHECK_EQ(ue.ep.stat[OOO_STAT_ERR_RESP], 1);
	ue_stop();
}

#define RESP_TESTS(X)						\
	X(early_write_is_placed_at_once)			\
	X(early_write_waits_without_ooo)			\
	X(parts_before_their_first)				\
	X(last_after_its_first_is_placed_over_a_gap)		\
	X(immediate_completes_in_order)				\
	X(sends_wait_their_turn)				\
	X(duplicate_write_is_not_placed_again)			\
	X(duplicate_is_acknowledged_again)			\
	X(atomic_is_replayed_not_repeated)			\
	X(early_atomic_waits)					\
	X(compare_and_swap)					\
	X(read_is_answered)					\
	X(read_is_answered_again)				\
	X(ack_does_not_pass_an_unanswered_read)			\
	X(receiver_not_ready)					\
	X(gap_is_reported_by_time)				\
	X(short_gap_is_not_reported)				\
	X(source_of_an_answer_that_goes_away)			\
	X(source_of_a_repeated_answer_that_goes_away)		\
	X(error_is_reported_at_its_place)			\
	X(nothing_is_placed_after_an_error)			\
	X(write_beyond_its_region)				\
	X(zero_length_needs_no_key)				\
	X(zero_length_send_completes)				\
	X(send_longer_than_its_receive)				\
	X(unaligned_atomic_is_invalid)				\
	X(broken_message_is_invalid)				\
	X(write_shorter_than_it_said_is_invalid)		\
	X(key_is_dead_when_the_receive_completes)		\
	X(early_write_under_a_key_that_dies)			\
	X(flush_and_atomic_write_are_answered)			\
	X(without_memory_early_packets_are_dropped)		\
	X(far_packets_are_dropped)				\
	X(refused_request_is_counted_once)			\
	X(far_packet_teaches_no_lateness)			\
	X(pause_is_no_round_trip)				\
	X(page_that_is_brought_in_is_waited_for)

RESP_TESTS(ALSO_OVER_THE_WRAP)

#define ROW(fn)	{ #fn, fn##_also_over_the_wrap },

const struct unit_test resp_tests[] = {
	RESP_TESTS(ROW)
	{ NULL, NULL },
};
