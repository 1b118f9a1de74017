// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* UC: no acknowledgements; a gap costs the message that it hits, and no other. */
#include "unit.h"
#include "unit_env.h"

#define MTU	256
#define UC(op)	(OOO_BTH_UC | OOO_OP_##op)

static u32 base;

static u32 P(u32 i)
{
	return psn_add(base, i);
}

static void start(void)
{
	ue_start_service(OOO_UC, base, false);
	ue.recv_posted = 8;
}

static void rx(u8 op, u32 i, u8 fill, u32 len)
{
	u8 data[MTU];

	memset(data, fill, len);
	ue_rx(op, P(i), NULL, data, len);
}

static void request_completes_when_it_is_sent(void)
{
	start();
	ue_post(OOO_WR_SEND, 2 * MTU, OOO_SEND_SIGNALED);
	ue_post(OOO_WR_WRITE, 10, OOO_SEND_SIGNALED);
	ue_doorbell();
	CHECK_EQ(ue.n_sent, 3);
	CHECK_EQ(ue.sent[0].h.opcode, UC(SEND_FIRST));
	CHECK_EQ(ue.sent[2].h.opcode, UC(WRITE_ONLY));
	CHECK(!ue.sent[2].h.ack_req);
	CHECK_EQ(ue.n_send_done, 2);
	CHECK_EQ(ue.send_done[1].status, OOO_WC_SUCCESS);
	CHECK_EQ(ue.timer, OOO_NEVER);
	ue_stop();
}

static void read_is_refused(void)
{
	start();
	ue_post(OOO_WR_READ, 10, OOO_SEND_SIGNALED);
	ue_doorbell();
	CHECK_EQ(ue.n_sent, 0);
	CHECK_EQ(ue.n_send_done, 1);
	CHECK_EQ(ue.send_done[0].status, OOO_WC_LOC_QP_OP_ERR);
	ue_stop();
}

static void messages_arrive(void)
{
	start();
	rx(UC(SEND_FIRST), 0, 'a', MTU);
	rx(UC(SEND_LAST), 1, 'b', 5);
	rx(UC(SEND_ONLY), 2, 'c', 1);
	CHECK_EQ(ue.n_recv_done, 2);
	CHECK_EQ(ue.recv_done[0].recv.byte_len, MTU + 5);
	CHECK(ue.recv[0] == 'a' && ue.recv[MTU] == 'b' && ue.recv[4096] == 'c');
	ue_rx_write(UC(WRITE_FIRST), P(3), 0, MTU + 1, 1, MTU);
	ue_rx_write(UC(WRITE_LAST), P(4), 0, 0, 2, 1);
	CHECK(ue_filled(0, MTU, 1) && ue_filled(MTU, 1, 2));
	CHECK_EQ(ue.n_sent, 0);
	ue_stop();
}

static void gap_costs_one_message(void)
{
	start();
	rx(UC(SEND_FIRST), 0, 'a', MTU);
	rx(UC(SEND_LAST), 2, 'x', 5);		/* 1 is lost */
	CHECK_EQ(ue.n_recv_done, 0);
	rx(UC(SEND_ONLY), 3, 'c', 1);
	CHECK_EQ(ue.n_recv_done, 1);
	CHECK_EQ(ue.recv_done[0].recv.wr_id, 0);
	CHECK_EQ(ue.recv_done[0].recv.byte_len, 1);
	CHECK_EQ(ue.recv[0], 'c');
	ue_stop();
}

static void lost_first_costs_its_message(void)
{
	start();
	rx(UC(SEND_MIDDLE), 1, 'x', MTU);
	rx(UC(SEND_LAST), 2, 'x', 5);
	ue_rx_write(UC(WRITE_MIDDLE), P(3), 0, 0, 2, MTU);
	CHECK_EQ(ue.n_recv_done, 0);
	CHECK_EQ(ue.writes, 0);
	rx(UC(SEND_ONLY_IMM), 4, 'd', 2);
	CHECK_EQ(ue.n_recv_done, 1);
	CHECK(ue.recv_done[0].recv.has_imm);
	ue_stop();
}

static void wrong_request_is_dropped_in_silence(void)
{
	struct ooo_hdr h = { .va = UE_BASE, .rkey = 0xbad, .dma_len = 4 };

	start();
	ue_rx(UC(WRITE_ONLY), P(0), &h, "oops", 4);
	CHECK_EQ(ue.writes, 0);
	CHECK_EQ(ue.n_sent, 0);
	CHECK_EQ(ue.ep.state, OOO_RTS);
	rx(UC(SEND_ONLY), 1, 'a', 1);
	CHECK_EQ(ue.n_recv_done, 1);
	ue_stop();
}

static void message_without_a_receive_is_dropped(void)
{
	start();
	ue.recv_posted = 0;
	rx(UC(SEND_ONLY), 0, 'a', 1);
	ue.recv_posted = 1;
	rx(UC(SEND_ONLY), 1, 'b', 1);
	CHECK_EQ(ue.n_recv_done, 1);
	CHECK_EQ(ue.recv[0], 'b');
	CHECK_EQ(ue.n_sent, 0);
	ue_stop();
}

/* IBTA 10.3.1: a local error of a UC requester stops its send queue only. */
static void local_error_leads_to_sqe(void)
{
	start();
	ue.source_bad = true;
	ue_post(OOO_WR_SEND, 10, OOO_SEND_SIGNALED);
	ue_post(OOO_WR_SEND, 10, OOO_SEND_SIGNALED);
	ue_doorbell();
	CHECK_EQ(ue.n_send_done, 2);
	CHECK_EQ(ue.send_done[0].status, OOO_WC_LOC_PROT_ERR);
	CHECK_EQ(ue.send_done[1].status, OOO_WC_WR_FLUSH_ERR);
	CHECK_EQ(ue.state, OOO_SQE);
	rx(UC(SEND_ONLY), 0, 'a', 1);
	CHECK_EQ(ue.n_recv_done, 1);
	ue.source_bad = false;
	ooo_ep_to_rts(&ue.ep, ue.now);
	ue_post(OOO_WR_SEND, 10, OOO_SEND_SIGNALED);
	ue_doorbell();
	CHECK_EQ(ue.n_sent, 1);
	CHECK_EQ(ue.send_done[2].status, OOO_WC_SUCCESS);
	ue_stop();
}

static void packets_of_other_services_are_dropped(void)
{
	start();
	rx(OOO_OP_SEND_ONLY, 0, 'a', 1);
	CHECK_EQ(ue.n_recv_done, 0);
	CHECK_EQ(ue.n_sent, 0);
	ue_stop();
}

#define UC_TESTS(X)						\
	X(request_completes_when_it_is_sent)			\
	X(read_is_refused)					\
	X(messages_arrive)					\
	X(gap_costs_one_message)				\
	X(lost_first_costs_its_message)				\
	X(wrong_request_is_dropped_in_silence)			\
	X(message_without_a_receive_is_dropped)			\
	X(local_error_leads_to_sqe)				\
	X(packets_of_other_services_are_dropped)

UC_TESTS(ALSO_OVER_THE_WRAP)

#define ROW(fn)	{ #fn, fn##_also_over_the_wrap },

const struct unit_test uc_tests[] = {
	UC_TESTS(ROW)
	{ NULL, NULL },
};
