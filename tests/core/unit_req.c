// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The requester, packet by packet. Every test also runs with PSNs that wrap inside it. */
#include "opcode.h"
#include "unit.h"
#include "unit_env.h"

#define MTU	256
#define ACK	(OOO_AETH_ACK | OOO_AETH_NO_CREDIT)
#define T	(4096ull << 14)		/* ns, of the attribute timeout */

static u32 base;

static u32 P(u32 i)
{
	return psn_add(base, i);
}

static void start(bool ooo)
{
	ue_start(base, ooo);
}

static u32 posted(u8 op, u32 len)
{
	ue_post(op, len, OOO_SEND_SIGNALED);
	ue_doorbell();
	return ue.n_sent;
}

static void check_done(u32 n, u32 status)
{
	CHECK_EQ(ue.n_send_done, n);
	CHECK_EQ(ue.send_done[n - 1].index, n - 1);
	CHECK_EQ(ue.send_done[n - 1].status, status);
}

static void read_response(u8 op, u32 i, u8 fill, u32 len)
{
	u8 data[MTU];

	memset(data, fill, len);
	ue_rx(op, P(i), &(struct ooo_hdr){ .syndrome = ACK }, data, len);
}

static void send_is_cut_into_packets(void)
{
	start(false);
	CHECK_EQ(posted(OOO_WR_SEND, 2 * MTU + 5), 3);
	CHECK_EQ(ue.sent[0].h.opcode, OOO_OP_SEND_FIRST);
	CHECK_EQ(ue.sent[1].h.opcode, OOO_OP_SEND_MIDDLE);
	CHECK_EQ(ue.sent[2].h.opcode, OOO_OP_SEND_LAST);
	CHECK_EQ(ue.sent[1].offset, MTU);
	CHECK_EQ(ue.sent[2].len, 5);
	CHECK_EQ(ue.sent[2].h.psn, P(2));
	CHECK(ue.sent[2].h.ack_req);
	ue_rx_ack(P(1), ACK);
	CHECK_EQ(ue.n_send_done, 0);
	ue_rx_ack(P(2), ACK);
	check_done(1, OOO_WC_SUCCESS);
	ue_stop();
}

static void sizes_around_the_mtu(void)
{
	static const u32 len[] = { 0, 1, MTU - 1, MTU, MTU + 1, 2 * MTU - 1, 2 * MTU, 2 * MTU + 1 };
	static const u32 packets[] = { 1, 1, 1, 1, 2, 2, 2, 3 };
	u32 i, psn = 0;

	start(false);
	for (i = 0; i < ARRAY_SIZE(len); i++) {
		ue.n_sent = 0;
		CHECK_EQ(posted(OOO_WR_WRITE_IMM, len[i]), packets[i]);
		psn += packets[i];
		CHECK_EQ(ue_last()->h.psn, P(psn - 1));
		ue_rx_ack(P(psn - 1), ACK);
		CHECK_EQ(ue.n_send_done, i + 1);
	}
	ue_stop();
}

static void one_ack_completes_all_before_it(void)
{
	u32 i;

	start(false);
	for (i = 0; i < 5; i++)
		posted(OOO_WR_SEND, 10);
	ue_rx_ack(P(3), ACK);
	CHECK_EQ(ue.n_send_done, 4);
	for (i = 0; i < 4; i++)
		CHECK_EQ(ue.send_done[i].index, i);
	ue_rx_ack(P(4), ACK);
	check_done(5, OOO_WC_SUCCESS);
	ue_stop();
}

static void strange_acks_are_ignored(void)
{
	start(false);
	posted(OOO_WR_SEND, 10);
	ue_rx_ack(P(1), ACK);
	ue_rx_ack(P(1000), ACK);
	ue_rx_ack(P(-1), ACK);
	ue_rx_ack(P(-2000), ACK);
	CHECK_EQ(ue.n_send_done, 0);
	ue_rx_ack(P(0), ACK);
	check_done(1, OOO_WC_SUCCESS);
	ue_rx_ack(P(0), ACK);
	CHECK_EQ(ue.n_send_done, 1);
	ue_stop();
}

static void unsignaled_requests_are_silent(void)
{
	start(false);
	ue.ep.attr.sq_sig_all = false;
	ue_post(OOO_WR_SEND, 10, 0);
	ue_post(OOO_WR_SEND, 10, OOO_SEND_SIGNALED);
	ue_doorbell();
	ue_rx_ack(P(1), ACK);
	CHECK_EQ(ue.n_send_done, 2);
	CHECK(!ue.send_done[0].completion);
	CHECK(ue.send_done[1].completion);
	ue_stop();
}

static void check_read_order(bool ooo)
{
	start(ooo);
	CHECK_EQ(posted(OOO_WR_READ, 2 * MTU + 3), 1);
	CHECK_EQ(ue.sent[0].h.dma_len, 2 * MTU + 3);
	read_response(OOO_OP_READ_RESP_LAST, 2, 3, 3);
	CHECK((ue.land[2 * MTU] == 3) == ooo);
	read_response(OOO_OP_READ_RESP_FIRST, 0, 1, MTU);
	CHECK(ue.land[0] == 1);
	CHECK_EQ(ue.n_send_done, 0);
	read_response(OOO_OP_READ_RESP_MIDDLE, 1, 2, MTU);
	CHECK(ue.land[MTU] == 2 && ue.land[2 * MTU] == 3);
	check_done(1, OOO_WC_SUCCESS);
	ue_stop();
}

static void read_data_is_placed_at_once(void)
{
	check_read_order(true);
}

static void read_data_waits_without_ooo(void)
{
	check_read_order(false);
}

static void read_data_is_placed_once(void)
{
	u32 ooo;

	for (ooo = 0; ooo < 2; ooo++) {
		start(ooo);
		posted(OOO_WR_READ, 3 * MTU);
		read_response(OOO_OP_READ_RESP_FIRST, 0, 1, MTU);
		read_response(OOO_OP_READ_RESP_FIRST, 0, 9, MTU);
		CHECK_EQ(ue.land[0], 1);
		read_response(OOO_OP_READ_RESP_LAST, 2, 3, MTU);
		read_response(OOO_OP_READ_RESP_LAST, 2, 9, MTU);
		read_response(OOO_OP_READ_RESP_MIDDLE, 1, 2, MTU);
		check_done(1, OOO_WC_SUCCESS);
		CHECK(ue.land[0] == 1 && ue.land[MTU] == 2 && ue.land[2 * MTU] == 3);
		read_response(OOO_OP_READ_RESP_MIDDLE, 1, 9, MTU);
		CHECK_EQ(ue.land[MTU], 2);
		ue_stop();
	}
}

static void response_acknowledges_what_was_before(void)
{
	start(true);
	posted(OOO_WR_SEND, 10);
	posted(OOO_WR_READ, 10);
	read_response(OOO_OP_READ_RESP_ONLY, 1, 5, 10);
	CHECK_EQ(ue.n_send_done, 2);
	ue_stop();
}

static void read_completes_after_the_request_before_it(void)
{
	start(true);
	posted(OOO_WR_READ, 10);
	posted(OOO_WR_READ, 10);
	read_response(OOO_OP_READ_RESP_ONLY, 1, 5, 10);
	CHECK_EQ(ue.n_send_done, 0);
	CHECK_EQ(ue.land[4096], 5);
	read_response(OOO_OP_READ_RESP_ONLY, 0, 4, 10);
	CHECK_EQ(ue.n_send_done, 2);
	CHECK_EQ(ue.send_done[0].index, 0);
	ue_stop();
}

static void atomic_result_is_stored_once(void)
{
	struct ooo_hdr h = { .syndrome = ACK, .orig = 42 };
	u64 got;

	start(true);
	posted(OOO_WR_FETCH_ADD, 8);
	ue_rx(OOO_OP_ATOMIC_ACK, P(0), &h, NULL, 0);
	h.orig = 43;
	ue_rx(OOO_OP_ATOMIC_ACK, P(0), &h, NULL, 0);
	memcpy(&got, ue.land, 8);
	CHECK_EQ(got, 42);
	check_done(1, OOO_WC_SUCCESS);
	ue_stop();
}

static void reads_and_atomics_are_limited(void)
{
	u32 i;

	start(true);
	for (i = 0; i < 6; i++)
		posted(OOO_WR_READ, 10);
	CHECK_EQ(ue.n_sent, 4);
	read_response(OOO_OP_READ_RESP_ONLY, 0, 1, 10);
	CHECK_EQ(ue.n_sent, 5);
	ue_stop();
}

/* Else both ends wait until the retransmission timer ends it. */
static void ack_is_asked_for_before_a_read_that_must_wait(void)
{
	start(false);
	ue.tun.window = 8;
	ue.ep.attr.max_rd_atomic = 1;
	ue.ep.attr.sq_sig_all = false;
	ue_post(OOO_WR_SEND, 2 * MTU, 0);
	ue_post(OOO_WR_READ, 8 * MTU, OOO_SEND_SIGNALED);
	ue_doorbell();
	CHECK_EQ(ue.n_sent, 2);
	CHECK(ue.sent[1].h.ack_req);
	ue_rx_ack(P(1), ACK);
	CHECK_EQ(ue_last()->h.opcode, OOO_OP_READ_REQUEST);
	ue_stop();
}

static void window_is_kept(void)
{
	start(false);
	CHECK_EQ(posted(OOO_WR_SEND, 200 * MTU), ue.tun.window);
	ue_rx_ack(P(9), ACK);
	CHECK_EQ(ue.n_sent, ue.tun.window + 10);
	ue_stop();
}

static void nak_brings_the_packet_again(void)
{
	start(false);
	posted(OOO_WR_SEND, 4 * MTU);
	ue.n_sent = 0;
	ue_rx_ack(P(2), OOO_AETH_NAK | OOO_NAK_SEQUENCE);
	CHECK(ue.n_sent >= 1);
	CHECK_EQ(ue.sent[0].h.psn, P(2));
	CHECK_EQ(ue.sent[0].h.opcode, OOO_OP_SEND_MIDDLE);
	ue_rx_ack(P(3), ACK);
	check_done(1, OOO_WC_SUCCESS);
	ue_stop();
}

static void silence_brings_the_packet_again(void)
{
	start(false);
	posted(OOO_WR_SEND, 10);
	ue_wait(2 * T);
	CHECK(ue.n_sent >= 2);
	CHECK_EQ(ue_last()->h.psn, P(0));
	CHECK_EQ(ue.n_send_done, 0);
	ue_rx_ack(P(0), ACK);
	check_done(1, OOO_WC_SUCCESS);
	ue_stop();
}

static void silence_ends_in_retry_exceeded(void)
{
	start(false);
	posted(OOO_WR_SEND, 10);
	posted(OOO_WR_SEND, 10);
	ue_wait(4 * T - 1);
	CHECK_EQ(ue.n_send_done, 0);
	ue_wait(12 * T + 1);
	CHECK_EQ(ue.n_send_done, 2);
	CHECK_EQ(ue.send_done[0].status, OOO_WC_RETRY_EXC_ERR);
	CHECK_EQ(ue.send_done[1].status, OOO_WC_WR_FLUSH_ERR);
	CHECK_EQ(ue.state, OOO_ERR);
	CHECK(ue.n_sent < 100);
	ue_stop();
}

/* A machine that was asleep for that long could not have heard anything. */
static void sleep_is_not_silence(void)
{
	start(false);
	posted(OOO_WR_SEND, 10);
	ue.now += 100 * T;
	ue_wait(1000);
	CHECK_EQ(ue.n_send_done, 0);
	ue_wait(T);
	CHECK_EQ(ue.n_send_done, 0);
	ue_rx_ack(P(0), ACK);
	check_done(1, OOO_WC_SUCCESS);
	posted(OOO_WR_SEND, 10);
	ue.now += 100 * T;
	ue_wait(8 * T + 2000000);
	check_done(2, OOO_WC_RETRY_EXC_ERR);
	ue_stop();
}

static void timeout_zero_waits_for_ever(void)
{
	ue_start(base, false);
	ue.ep.attr.timeout = 0;
	posted(OOO_WR_SEND, 10);
	ue_wait(3600ull * 1000000000);
	CHECK_EQ(ue.n_send_done, 0);
	CHECK_EQ(ue.state, OOO_RTS);
	ue_stop();
}

static void rnr_waits_as_long_as_it_was_told(void)
{
	start(false);
	posted(OOO_WR_SEND, 10);
	ue_rx_ack(P(0), OOO_AETH_RNR | 12);	/* 0.64 ms */
	ue_wait(630000);
	CHECK_EQ(ue.n_sent, 1);
	ue_wait(1000000);
	CHECK_EQ(ue.n_sent, 2);
	ue_rx_ack(P(0), ACK);
	check_done(1, OOO_WC_SUCCESS);
	ue_stop();
}

static void rnr_retries_run_out(void)
{
	u32 i;

	start(false);
	ue.ep.attr.rnr_retry = 2;
	posted(OOO_WR_SEND, 10);
	for (i = 0; i < 2; i++) {
		ue_rx_ack(P(0), OOO_AETH_RNR | 1);
		CHECK_EQ(ue.n_send_done, 0);
		ue_wait(1000000);
		CHECK_EQ(ue.n_sent, i + 2);
	}
	ue_rx_ack(P(0), OOO_AETH_RNR | 1);
	check_done(1, OOO_WC_RNR_RETRY_EXC_ERR);
	ue_stop();
}

static void remote_error_fails_its_request_only(void)
{
	start(false);
	posted(OOO_WR_WRITE, 10);
	posted(OOO_WR_WRITE, 10);
	posted(OOO_WR_WRITE, 10);
	ue_rx_ack(P(1), OOO_AETH_NAK | OOO_NAK_ACCESS);
	CHECK_EQ(ue.n_send_done, 3);
	CHECK_EQ(ue.send_done[0].status, OOO_WC_SUCCESS);
	CHECK_EQ(ue.send_done[1].status, OOO_WC_REM_ACCESS_ERR);
	CHECK_EQ(ue.send_done[2].status, OOO_WC_WR_FLUSH_ERR);
	CHECK_EQ(ue.state, OOO_ERR);
	ue_stop();
}

static void nak_codes_have_their_status(void)
{
	static const u8 code[] = { OOO_NAK_INVALID, OOO_NAK_ACCESS, OOO_NAK_OPERATION };
	static const u8 status[] = { OOO_WC_REM_INV_REQ_ERR, OOO_WC_REM_ACCESS_ERR,
				     OOO_WC_REM_OP_ERR };
	u32 i;

	for (i = 0; i < 3; i++) {
		start(true);
		posted(OOO_WR_SEND, 10);
		ue_rx_ack(P(0), OOO_AETH_NAK | code[i]);
		check_done(1, status[i]);
		ue_stop();
	}
}

static void fence_waits_for_all_on_an_ooo_qp(void)
{
	start(true);
	posted(OOO_WR_WRITE, 10);
	ue_post(OOO_WR_WRITE, 10, OOO_SEND_FENCE);
	ue_doorbell();
	CHECK_EQ(ue.n_sent, 1);
	ue_rx_ack(P(0), ACK);
	CHECK_EQ(ue.n_sent, 2);
	ue_stop();
}

static void fence_waits_for_reads_otherwise(void)
{
	start(false);
	posted(OOO_WR_READ, 10);
	posted(OOO_WR_WRITE, 10);
	ue_post(OOO_WR_WRITE, 10, OOO_SEND_FENCE);
	ue_doorbell();
	CHECK_EQ(ue.n_sent, 2);
	read_response(OOO_OP_READ_RESP_ONLY, 0, 1, 10);
	CHECK_EQ(ue.n_sent, 3);
	ue_stop();
}

static void write_on_an_ooo_qp_describes_itself(void)
{
	u32 i;

	start(true);
	CHECK_EQ(posted(OOO_WR_WRITE, 2 * MTU + 5), 3);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(ue.sent[i].h.opcode, OOO_OP_WRITE_ONLY);
		CHECK_EQ(ue.sent[i].h.va, UE_BASE + i * MTU);
		CHECK_EQ(ue.sent[i].h.dma_len, i == 2 ? 5 : MTU);
	}
	CHECK(ue.sent[2].h.ack_req);
	ue_stop();
}

static void write_with_immediate_stays_a_message(void)
{
	start(true);
	CHECK_EQ(posted(OOO_WR_WRITE_IMM, 2 * MTU), 2);
	CHECK_EQ(ue.sent[0].h.opcode, OOO_OP_WRITE_FIRST);
	CHECK_EQ(ue.sent[0].h.dma_len, 2 * MTU);
	CHECK_EQ(ue.sent[1].h.opcode, OOO_OP_WRITE_LAST_IMM);
	ue_stop();
}

static void sqd_drains_and_starts_nothing(void)
{
	start(false);
	posted(OOO_WR_SEND, 10);
	ooo_ep_to_sqd(&ue.ep, ue.now);
	ue.ep.state = OOO_SQD;
	ue_post(OOO_WR_SEND, 10, 0);
	ue_doorbell();
	CHECK(!ooo_ep_sq_drained(&ue.ep));
	CHECK_EQ(ue.events[OOO_EVENT_SQ_DRAINED], 0);
	ue_rx_ack(P(0), ACK);
	CHECK(ooo_ep_sq_drained(&ue.ep));
	CHECK_EQ(ue.events[OOO_EVENT_SQ_DRAINED], 1);
	CHECK_EQ(ue_count(OOO_OP_SEND_ONLY, 0) - (ue.n_sent - 1), 1);
	ooo_ep_to_rts(&ue.ep, ue.now);
	ue_resume();
	CHECK_EQ(ue_last()->h.psn, P(1));
	ue_stop();
}

static void error_flushes_what_is_posted(void)
{
	u32 i;

	start(false);
	posted(OOO_WR_SEND, 10);
	ue_post(OOO_WR_SEND, 10, 0);
	ooo_ep_to_err(&ue.ep, ue.now);
	ue_resume();
	CHECK_EQ(ue.n_send_done, 2);
	posted(OOO_WR_SEND, 10);
	CHECK_EQ(ue.n_send_done, 3);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(ue.send_done[i].status, OOO_WC_WR_FLUSH_ERR);
		CHECK(ue.send_done[i].completion);
	}
	CHECK_EQ(ue.n_sent, 1);
	ue_stop();
}

static void full_queue_is_waited_for(void)
{
	start(false);
	ue.again = true;
	posted(OOO_WR_SEND, 10);
	CHECK_EQ(ue.n_sent, 0);
	ue.again = false;
	ue_resume();
	CHECK_EQ(ue.n_sent, 1);
	ue_rx_ack(P(0), ACK);
	check_done(1, OOO_WC_SUCCESS);
	ue_stop();
}

static void same_packet_again_has_the_same_form(void)
{
	u32 i, n;

	start(true);
	posted(OOO_WR_WRITE, 3 * MTU + 1);
	n = ue.n_sent;
	ue_wait(2 * T);
	CHECK(ue.n_sent > n);
	for (i = n; i < ue.n_sent; i++) {
		u32 k = (u32)psn_diff(ue.sent[i].h.psn, base);

		CHECK(k < n);
		CHECK_EQ(ue.sent[i].h.opcode, ue.sent[k].h.opcode);
		CHECK_EQ(ue.sent[i].h.va, ue.sent[k].h.va);
		CHECK_EQ(ue.sent[i].len, ue.sent[k].len);
	}
	ue_stop();
}

static void local_operation_needs_no_packet(void)
{
	start(true);
	posted(OOO_WR_LOCAL_INV, 0);
	CHECK_EQ(ue.local_ops, 1);
	CHECK_EQ(ue.n_sent, 0);
	check_done(1, OOO_WC_SUCCESS);
	ue_stop();
}

static void failed_local_operation_ends_the_qp(void)
{
	start(true);
	ue.local_bad = true;
	posted(OOO_WR_BIND_MW, 0);
	check_done(1, OOO_WC_MW_BIND_ERR);
	CHECK_EQ(ue.state, OOO_ERR);
	ue_stop();
}

static void response_of_wrong_length_is_an_error(void)
{
	start(true);
	posted(OOO_WR_READ, 2 * MTU);
	read_response(OOO_OP_READ_RESP_ONLY, 1, 1, 10);
	check_done(1, OOO_WC_BAD_RESP_ERR);
	CHECK_EQ(ue.state, OOO_ERR);
	ue_stop();
}

static void response_of_another_kind_is_ignored(void)
{
	struct ooo_hdr h = { .syndrome = ACK, .orig = 42 };

	start(true);
	posted(OOO_WR_READ, 10);
	ue_rx(OOO_OP_ATOMIC_ACK, P(0), &h, NULL, 0);
	CHECK_EQ(ue.n_send_done, 0);
	read_response(OOO_OP_READ_RESP_ONLY, 0, 7, 10);
	check_done(1, OOO_WC_SUCCESS);
	CHECK_EQ(ue.land[0], 7);
	ue_stop();
}

/* The source was readable the first time, and is not when it is sent again. */
static void source_that_goes_away(void)
{
	start(false);
	posted(OOO_WR_SEND, 10);
	ue.source_bad = true;
	ue_rx_ack(P(0), OOO_AETH_NAK | OOO_NAK_SEQUENCE);
	ue_wait(T);
	check_done(1, OOO_WC_LOC_PROT_ERR);
	CHECK_EQ(ue.state, OOO_ERR);
	ue_stop();
}

static void qp_fails_when_its_environment_does(void)
{
	start(true);
	posted(OOO_WR_SEND, 10);
	ue.recv_posted = 2;
	ooo_ep_fatal(&ue.ep, OOO_EVENT_QP_FATAL, ue.now);
	ue_resume();
	check_done(1, OOO_WC_WR_FLUSH_ERR);
	CHECK_EQ(ue.n_recv_done, 2);
	CHECK_EQ(ue.events[OOO_EVENT_QP_FATAL], 1);
	CHECK_EQ(ue.state, OOO_ERR);
	ooo_ep_fatal(&ue.ep, OOO_EVENT_QP_FATAL, ue.now);
	CHECK_EQ(ue.events[OOO_EVENT_QP_FATAL], 1);
	ue_stop();
}

#define REQ_TESTS(X)						\
	X(send_is_cut_into_packets)				\
	X(sizes_around_the_mtu)					\
	X(one_ack_completes_all_before_it)			\
	X(strange_acks_are_ignored)				\
	X(unsignaled_requests_are_silent)			\
	X(read_data_is_placed_at_once)				\
	X(read_data_waits_without_ooo)				\
	X(read_data_is_placed_once)				\
	X(response_acknowledges_what_was_before)		\
	X(read_completes_after_the_request_before_it)		\
	X(atomic_result_is_stored_once)				\
	X(reads_and_atomics_are_limited)			\
	X(ack_is_asked_for_before_a_read_that_must_wait)	\
	X(window_is_kept)					\
	X(nak_brings_the_packet_again)				\
	X(silence_brings_the_packet_again)			\
	X(silence_ends_in_retry_exceeded)			\
	X(sleep_is_not_silence)					\
	X(timeout_zero_waits_for_ever)				\
	X(rnr_waits_as_long_as_it_was_told)			\
	X(rnr_retries_run_out)					\
	X(remote_error_fails_its_request_only)			\
	X(nak_codes_have_their_status)				\
	X(fence_waits_for_all_on_an_ooo_qp)			\
	X(fence_waits_for_reads_otherwise)			\
	X(write_on_an_ooo_qp_describes_itself)			\
	X(write_with_immediate_stays_a_message)			\
	X(sqd_drains_and_starts_nothing)			\
	X(error_flushes_what_is_posted)				\
	X(full_queue_is_waited_for)				\
	X(same_packet_again_has_the_same_form)			\
	X(local_operation_needs_no_packet)			\
	X(failed_local_operation_ends_the_qp)			\
	X(response_of_wrong_length_is_an_error)			\
	X(response_of_another_kind_is_ignored)			\
	X(source_that_goes_away)				\
	X(qp_fails_when_its_environment_does)

REQ_TESTS(ALSO_OVER_THE_WRAP)

#define ROW(fn)	{ #fn, fn##_also_over_the_wrap },

const struct unit_test req_tests[] = {
	REQ_TESTS(ROW)
	{ NULL, NULL },
};
