// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What is added to RoCEv2 between two ends that have it: docs/wire.md. */
#include "opcode.h"
#include "unit.h"
#include "unit_env.h"

#define MTU	256
#define ACK	(OOO_AETH_ACK | OOO_AETH_NO_CREDIT)
#define CAP	OOO_BTH_CAP
#define RETX	OOO_BTH_RETX
#define MS	1000000ull

static void rx_write(u32 psn, u8 bits, bool ask)
{
	ue_rx(OOO_OP_WRITE_ONLY, psn, &(struct ooo_hdr){ .rsvd7 = bits, .ack_req = ask,
	      .va = UE_BASE, .rkey = UE_KEY, .dma_len = 8 }, NULL, 8);
}

static void rx_ack(u32 psn, const struct ooo_sack *sack)
{
	struct ooo_hdr h = { .rsvd7 = CAP, .syndrome = ACK };

	if (sack) {
		h.rsvd7 |= OOO_BTH_EXT;
		h.has_sack = true;
		h.sack = *sack;
	}
	ue_rx(OOO_OP_ACK, psn, &h, NULL, 0);
}

static void post(u8 op, u32 len)
{
	ue_post(op, len, OOO_SEND_SIGNALED);
	ue_doorbell();
}

/* Times that @psn was sent. */
static u32 sendings(u32 psn)
{
	u32 i, n = 0;

	for (i = 0; i < ue.n_sent; i++)
		n += ue.sent[i].h.psn == psn;
	return n;
}

static void capability_is_in_every_packet(void)
{
	ue_start_capable(0, false);
	post(OOO_WR_SEND, 2 * MTU);
	CHECK_EQ(ue.sent[0].h.rsvd7, CAP);
	CHECK_EQ(ue.sent[1].h.rsvd7, CAP);
	rx_write(0, 0, true);
	CHECK_EQ(ue_last()->h.rsvd7, CAP);
	ue_stop();
}

static void switched_off_nothing_is_shown_or_believed(void)
{
	ue_start(0, false);
	rx_write(1, CAP, true);
	rx_write(0, CAP, true);
	CHECK_EQ(ue_last()->h.rsvd7, 0);
	CHECK(!ue_last()->h.has_sack);
	ue_stop();
}

static void plain_peer_gets_no_extension(void)
{
	ue_start_capable(0, true);
	rx_write(2, 0, true);
	CHECK_EQ(ue.n_sent, 0);		/* a gap: only time will tell */
	rx_write(0, 0, true);
	CHECK_EQ(ue_last()->h.rsvd7, CAP);
	CHECK(!ue_last()->h.has_sack);
	ue_stop();
}

static void early_packet_that_asks_is_reported(void)
{
	const struct ooo_sack *s = &ue.sent[0].h.sack;

	ue_start_capable(0, true);
	rx_write(2, CAP, true);
	CHECK_EQ(ue.n_sent, 1);
	CHECK_EQ(ue.sent[0].h.psn, PSN_MASK);
	CHECK(ue.sent[0].h.has_sack);
	CHECK_EQ(s->base, 0);
	CHECK_EQ(s->words, 1);
	CHECK_EQ(s->bits[0], 1 << 2);
	CHECK_EQ(s->window, ue.tun.recv_window);
	ue_stop();
}

/* How many packets come early, from @seq on, until one is reported; at most 100. */
static u32 early_until_reported(u32 seq)
{
	u32 n, sent = ue.n_sent;

	for (n = 1; n <= 100; n++) {
		rx_write(seq++, CAP, false);
		if (ue.n_sent > sent)
			return n;
	}
	return 0;
}

static void thirty_second_early_packet_is_reported(void)
{
	ue_start_capable(0, true);
	CHECK_EQ(early_until_reported(1), 32);
	CHECK_EQ(ue_last()->h.sack.bits[0], 0x1fffffffeull);
	CHECK_EQ(early_until_reported(33), 32);
	ue_stop();
}

/* There every eighth, until there have been 1024 without a repetition. */
static void where_packets_get_lost_more_are_reported(void)
{
	u32 round, seq = 1;

	ue_start_capable(0, true);
	rx_write(0, CAP | RETX, false);
	for (round = 0; round < 1024 / 8; round++, seq += 9) {
		CHECK_EQ(early_until_reported(seq + 1), 8);
		rx_write(seq, CAP, false);
	}
	CHECK_EQ(early_until_reported(seq + 1), 32);
	ue_stop();
}

static void needless_repetition_is_reported(void)
{
	ue_start_capable(0, true);
	rx_write(0, CAP, true);
	rx_write(0, CAP | RETX, false);
	CHECK_EQ(ue_last()->h.sack.needless, 1);
	CHECK_EQ(ue_last()->h.sack.needless_psn, 0);
	CHECK_EQ(ue.ep.stat[OOO_STAT_NEEDLESS], 1);
	ue_stop();
}

static void congestion_mark_is_echoed(void)
{
	u8 payload[8] = { 0 };
	struct ooo_pkt pkt = { .payload = payload, .payload_len = 8, .ce = true,
		.h = { .opcode = OOO_OP_WRITE_ONLY, .rsvd7 = CAP, .ack_req = true,
		       .va = UE_BASE, .rkey = UE_KEY, .dma_len = 8 } };

	ue_start_capable(0, true);
	ooo_ep_rx(&ue.ep, &pkt, ue.now);
	CHECK_EQ(ue_last()->h.sack.ce, 1);
	CHECK_EQ(ue.ep.stat[OOO_STAT_CE_RCVD], 1);
	ue_stop();
}

/* In steps: a timer that comes very late is put off. */
static void pass(u32 ms)
{
	while (ms--)
		ue_wait(MS);
}

/* Ten packets, of which 0 is acknowledged, so that the round trip is known: 2 ms. */
static void ten_sent(void)
{
	ue_start_capable(0, true);
	post(OOO_WR_WRITE, MTU);
	ue_wait(2 * MS);
	rx_ack(0, NULL);
	post(OOO_WR_WRITE, 9 * MTU);
	CHECK_EQ(ue.n_sent, 10);
	ue_wait(2 * MS);
}

static void only_the_holes_are_sent_again(void)
{
	ten_sent();
	/* 1, 4 and 7 are missing. */
	rx_ack(0, &(struct ooo_sack){ .window = 128, .words = 1, .bits = { 0x36c } });
	CHECK_EQ(ue.n_sent, 10);	/* they may be late */
	pass(6);
	CHECK_EQ(ue.n_sent, 13);
	CHECK_EQ(sendings(1) + sendings(4) + sendings(7), 6);
	CHECK_EQ(ue_last()->h.rsvd7, CAP | RETX);
	CHECK_EQ(ue.ep.stat[OOO_STAT_HOLES_RESENT], 3);
	rx_ack(9, NULL);
	CHECK_EQ(ue.n_send_done, 2);
	ue_stop();
}

/* Of sixty packets the last has come: perhaps the others stand in a queue. */
static void many_at_once_are_not_all_sent_again(void)
{
	struct ooo_sack last = { .window = 128, .words = 1, .bits = { 1ull << 60 } };

	ue_start_capable(0, true);
	post(OOO_WR_WRITE, MTU);
	ue_wait(2 * MS);
	rx_ack(0, NULL);
	post(OOO_WR_WRITE, 60 * MTU);
	CHECK_EQ(ue.n_sent, 61);
	ue_wait(2 * MS);
	rx_ack(0, &last);
	pass(6);
	CHECK_EQ(ue.n_sent, 61 + 16);
	CHECK_EQ(ue.sent[61].h.psn, 1);
	/* The first was lost indeed, and so is the next; two more each. */
	rx_ack(1, &last);
	CHECK_EQ(ue.n_sent, 61 + 18);
	rx_ack(2, &last);
	CHECK_EQ(ue.n_sent, 61 + 20);
	ue_stop();
}

static void late_packet_is_not_sent_again(void)
{
	ten_sent();
	rx_ack(0, &(struct ooo_sack){ .window = 128, .words = 1, .bits = { 0x3fc } });
	ue_wait(MS);
	rx_ack(9, NULL);
	ue_wait(20 * MS);
	CHECK_EQ(ue.n_sent, 10);
	ue_stop();
}

static void rnr_nak_revokes_what_was_reported(void)
{
	ten_sent();
	rx_ack(0, &(struct ooo_sack){ .window = 128, .words = 1, .bits = { 0x3fc } });
	ue_rx(OOO_OP_ACK, 1, &(struct ooo_hdr){ .rsvd7 = CAP, .syndrome = OOO_AETH_RNR | 1 },
	      NULL, 0);
	ue_wait(MS);
	CHECK_EQ(ue.n_sent, 19);
	CHECK_EQ(sendings(9), 2);
	ue_stop();
}

/* Sent again after the wait, and lost once more: that shows as any loss does. */
static void revoked_packet_that_is_lost_is_repaired_by_time(void)
{
	ten_sent();
	rx_ack(0, &(struct ooo_sack){ .window = 128, .words = 1, .bits = { 0x3fc } });
	ue_rx(OOO_OP_ACK, 1, &(struct ooo_hdr){ .rsvd7 = CAP, .syndrome = OOO_AETH_RNR | 1 },
	      NULL, 0);
	/* The NAK has overtaken this one. */
	rx_ack(0, &(struct ooo_sack){ .window = 128, .words = 1, .bits = { 0x3fc } });
	ue_wait(MS);
	CHECK_EQ(ue.n_sent, 19);
	ue_wait(2 * MS);
	/* 4 is missing. */
	rx_ack(1, &(struct ooo_sack){ .window = 128, .words = 1, .bits = { 0x3ec } });
	pass(6);
	CHECK_EQ(ue.n_sent, 20);
	CHECK_EQ(ue_last()->h.psn, 4);
	CHECK_EQ(ue.ep.stat[OOO_STAT_HOLES_RESENT], 1);
	rx_ack(9, NULL);
	CHECK_EQ(ue.n_send_done, 2);
	ue_stop();
}

/* The same of a READ's request, which the peer had kept and dropped. */
static void revoked_read_that_is_lost_is_repaired_by_time(void)
{
	u8 data[MTU] = { 0 };
	u32 i;

	ue_start_capable(0, true);
	post(OOO_WR_SEND, MTU);
	ue_wait(2 * MS);
	rx_ack(0, NULL);
	post(OOO_WR_SEND, MTU);
	post(OOO_WR_READ, MTU);
	for (i = 3; i < 6; i++)
		post(OOO_WR_WRITE, MTU);
	ue_wait(2 * MS);
	rx_ack(0, &(struct ooo_sack){ .window = 128, .words = 1, .bits = { 0x3c } });
	ue_rx(OOO_OP_ACK, 1, &(struct ooo_hdr){ .rsvd7 = CAP, .syndrome = OOO_AETH_RNR | 1 },
	      NULL, 0);
	ue_wait(MS);
	CHECK_EQ(ue.n_sent, 11);
	ue_wait(2 * MS);
	rx_ack(1, &(struct ooo_sack){ .window = 128, .words = 1, .bits = { 0x38 } });
	pass(6);
	CHECK_EQ(sendings(2), 3);
	CHECK_EQ(ue.ep.stat[OOO_STAT_HOLES_RESENT], 1);
	ue_rx(OOO_OP_READ_RESP_ONLY, 2, &(struct ooo_hdr){ .rsvd7 = CAP, .syndrome = ACK },
	      data, MTU);
	rx_ack(5, NULL);
	CHECK_EQ(ue.n_send_done, 6);
	ue_stop();
}

static void ack_nak(u32 psn, u8 code)
{
	ue_rx(OOO_OP_ACK, psn, &(struct ooo_hdr){ .rsvd7 = CAP, .syndrome = OOO_AETH_NAK | code },
	      NULL, 0);
}

static bool is_lost(u32 seq)
{
	const struct ooo_req_sent *rec = ooo_slots_find(&ue.ep.req.sent, seq);

	return rec && (rec->flags & OOO_SENT_LOST);
}

/* What lies behind a request that failed is not sent again, so it does not wait as lost. */
static void nothing_is_lost_behind_a_failed_request(void)
{
	u8 data[MTU] = { 0 };
	u32 i;

	ue_start_capable(0, true);
	post(OOO_WR_WRITE, MTU);
	ue_wait(2 * MS);
	rx_ack(0, NULL);
	post(OOO_WR_READ, MTU);
	for (i = 2; i < 10; i++)
		post(OOO_WR_WRITE, MTU);
	ue_wait(2 * MS);
	ue.again = true;	/* lost packets wait */
	rx_ack(0, &(struct ooo_sack){ .window = 128, .words = 1, .bits = { 0x36e } });
	pass(6);
	CHECK_EQ(ue.ep.req.lost, 2);
	ack_nak(5, OOO_NAK_ACCESS);
	ue.again = false;
	ue_resume();
	CHECK_EQ(sendings(7), 1);
	CHECK(!is_lost(7));
	CHECK_EQ(ue.ep.req.lost, 0);
	pass(6);
	CHECK(!is_lost(7));	/* not a second time either */
	CHECK_EQ(ue.ep.req.lost, 0);
	CHECK_EQ(ue.ep.stat[OOO_STAT_HOLES_RESENT], 0);
	rx_ack(4, &(struct ooo_sack){ .window = 128, .words = 1, .bits = { 0x3c0 } });
	CHECK_EQ(ue.ep.req.lost, 0);
	CHECK_EQ(sendings(7), 1);
	ue_rx(OOO_OP_READ_RESP_ONLY, 1, &(struct ooo_hdr){ .rsvd7 = CAP, .syndrome = ACK },
	      data, MTU);
	CHECK_EQ(ue.send_done[5].status, OOO_WC_REM_ACCESS_ERR);
	CHECK_EQ(ue.n_send_done, 10);
	ue_stop();
}

static void nonsense_in_a_sack_is_ignored(void)
{
	ten_sent();
	rx_ack(0, &(struct ooo_sack){ .window = 0, .words = 4, .base = 0xfff000,
	       .bits = { ~0ull, ~0ull, ~0ull, ~0ull }, .needless = 200, .ce = 1 });
	CHECK_EQ(ue.n_send_done, 1);
	rx_ack(9, NULL);
	CHECK_EQ(ue.n_send_done, 2);
	ue_stop();
}

static void read_response(u32 psn)
{
	u8 opcode = psn == 0 ? OOO_OP_READ_RESP_FIRST :
		    psn == 9 ? OOO_OP_READ_RESP_LAST : OOO_OP_READ_RESP_MIDDLE;
	u8 data[MTU] = { 0 };

	ue_rx(opcode, psn, &(struct ooo_hdr){ .rsvd7 = CAP, .syndrome = ACK }, data, MTU);
}

/* A READ of ten packets whose responses have come but for those in @holes, a bit each. */
static void read_that_lacks(u32 holes)
{
	u32 psn;

	ue_start_capable(0, true);
	ue.tun.reorder_min_us = 1000;
	post(OOO_WR_READ, 10 * MTU);
	for (psn = 0; psn < 10; psn++)
		if (!(holes >> psn & 1))
			read_response(psn);
}

static void missing_responses_are_asked_for_exactly(void)
{
	read_that_lacks(1 << 2 | 1 << 3 | 1 << 7);
	CHECK_EQ(ue.n_sent, 1);
	ue_wait(2 * MS);
	CHECK(ue.n_sent >= 3);
	CHECK_EQ(ue.sent[1].h.psn, 2);
	CHECK_EQ(ue.sent[1].h.dma_len, 2 * MTU);
	CHECK_EQ(ue.sent[2].h.psn, 7);
	CHECK_EQ(ue.sent[2].h.dma_len, MTU);
	CHECK_EQ(ue.sent[2].h.rsvd7, CAP | RETX);
	ue.n_sent = 0;
	ue_wait(200 * MS);		/* not for ever at the same pace */
	CHECK(ue.n_sent && ue.n_sent < 100);
	ue_stop();
}

static void repeated_response_is_marked(void)
{
	struct ooo_hdr h = { .rsvd7 = CAP, .va = UE_BASE, .rkey = UE_KEY, .dma_len = 3 * MTU };

	ue_start_capable(0, true);
	ue_rx(OOO_OP_READ_REQUEST, 0, &h, NULL, 0);
	CHECK_EQ(ue_last()->h.rsvd7, CAP);
	h.rsvd7 = CAP | RETX;
	h.va += MTU;
	h.dma_len = MTU;
	ue_rx(OOO_OP_READ_REQUEST, 1, &h, NULL, 0);
	CHECK_EQ(ue.n_sent, 4);
	CHECK_EQ(ue_last()->h.rsvd7, CAP | RETX);
	CHECK_EQ(ue_last()->h.psn, 1);
	ue_stop();
}

static void several_ranges_are_given_again(void)
{
	struct ooo_hdr h = { .rsvd7 = CAP, .va = UE_BASE, .rkey = UE_KEY, .dma_len = 4 * MTU };

	ue_start_capable(0, true);
	ue_rx(OOO_OP_READ_REQUEST, 0, &h, NULL, 0);
	h.rsvd7 = CAP | RETX;
	h.dma_len = MTU;
	h.va = UE_BASE + MTU;
	ue.again = true;
	ue_rx(OOO_OP_READ_REQUEST, 1, &h, NULL, 0);
	h.va = UE_BASE + 3 * MTU;
	ue_rx(OOO_OP_READ_REQUEST, 3, &h, NULL, 0);
	ue.again = false;
	ue_resume();
	CHECK_EQ(sendings(1), 2);
	CHECK_EQ(sendings(3), 2);
	CHECK_EQ(ue.n_sent, 6);
	ue_stop();
}

/*
 * A READ of ten packets is answered; then, while nothing can be sent, parts of it are asked
 * for again: @num[i] packets from @from[i] on.
 */
static void parts_asked_for_again(const u32 *from, const u32 *num, u32 parts)
{
	struct ooo_hdr h = { .rsvd7 = CAP, .va = UE_BASE, .rkey = UE_KEY, .dma_len = 10 * MTU };
	u32 i;

	ue_start_capable(0, true);
	ue_rx(OOO_OP_READ_REQUEST, 0, &h, NULL, 0);
	CHECK_EQ(ue.n_sent, 10);
	h.rsvd7 = CAP | RETX;
	ue.again = true;
	for (i = 0; i < parts; i++) {
		h.va = UE_BASE + from[i] * MTU;
		h.dma_len = num[i] * MTU;
		ue_rx(OOO_OP_READ_REQUEST, from[i], &h, NULL, 0);
	}
	ue.again = false;
	ue_resume();
}

/* Requests for parts that overlap: the union is given again, each packet once. */
static void overlapping_ranges_are_given_again_as_one(void)
{
	static const u32 from[] = { 4, 6, 2, 3 }, num[] = { 3, 3, 3, 2 };
	u32 i;

	parts_asked_for_again(from, num, ARRAY_SIZE(from));
	CHECK_EQ(ue.n_sent, 17);
	for (i = 2; i < 9; i++)
		CHECK_EQ(sendings(i), 2);
	CHECK_EQ(ue.sent[10].h.opcode, OOO_OP_READ_RESP_FIRST);
	CHECK_EQ(ue_last()->h.opcode, OOO_OP_READ_RESP_LAST);
	ue_stop();
}

/* A wish that joins two others takes both in. */
static void range_between_two_others_joins_them(void)
{
	static const u32 from[] = { 1, 6, 2 }, num[] = { 2, 2, 5 };
	u32 i;

	parts_asked_for_again(from, num, ARRAY_SIZE(from));
	CHECK_EQ(ue.n_sent, 17);
	for (i = 1; i < 8; i++)
		CHECK_EQ(sendings(i), 2);
	ue_stop();
}

/* Anybody can forge a packet; only one whose PSN fits tells what the peer is. */
static void capability_is_learnt_from_packets_that_fit_only(void)
{
	ue_start_capable(100, true);
	post(OOO_WR_WRITE, 2 * MTU);
	rx_write(99, CAP, true);		/* old */
	rx_write(100 + 128, CAP, true);		/* beyond what is kept */
	rx_ack(102, NULL);			/* was not sent yet */
	rx_ack(98, NULL);			/* old */
	CHECK(!ue.ep.capable && !ue.ep.heard);
	rx_ack(99, NULL);			/* "nothing yet" */
	CHECK(ue.ep.capable && ue.ep.heard);
	ue_stop();

	ue_start_capable(100, true);
	rx_write(101, CAP, false);		/* early */
	CHECK(ue.ep.capable);
	ue_stop();

	ue_start_capable(100, true);
	rx_write(99, 0, true);
	CHECK(!ue.ep.heard);
	rx_write(100, 0, true);
	CHECK(ue.ep.heard && !ue.ep.capable);
	ue_stop();
}

static void switched_off_a_sack_is_only_an_ack(void)
{
	ue_start(0, true);
	post(OOO_WR_WRITE, 10 * MTU);
	rx_ack(0, &(struct ooo_sack){ .window = 2, .words = 1, .bits = { 0x3fc }, .ce = 7,
				      .needless = 3, .needless_psn = 1 });
	CHECK_EQ(ue.ep.req.acked, 1);
	CHECK_EQ(ue.ep.req.arrived, 0);
	CHECK_EQ(ue.ep.req.peer_window, 0);
	CHECK_EQ(ue.ep.stat[OOO_STAT_SACK_RCVD] + ue.ep.stat[OOO_STAT_CE_ECHO] +
		 ue.ep.stat[OOO_STAT_SPURIOUS], 0);
	rx_write(0, CAP | RETX, false);
	rx_write(0, CAP | RETX, false);
	CHECK_EQ(ue.n_sent, 10);	/* nobody asked for an ACK */
	CHECK_EQ(ue.ep.stat[OOO_STAT_NEEDLESS], 0);
	ue_stop();
}

static void reset_and_rtr_forget_the_peer(void)
{
	ue_start_capable(0, true);
	rx_write(0, CAP, true);
	CHECK(ue.ep.capable);
	ooo_ep_to_reset(&ue.ep);
	CHECK(!ue.ep.capable && !ue.ep.sack);
	ooo_ep_to_init(&ue.ep);
	ue.ep.capable = true;
	ooo_ep_to_rtr(&ue.ep, ue.now);
	CHECK(!ue.ep.capable && ue.ep.sack);
	ue_stop();
}

static void notification_halves_the_window(void)
{
	ue_start_capable(0, true);
	post(OOO_WR_SEND, 200 * MTU);
	CHECK_EQ(ue.n_sent, 64);
	ooo_ep_cnp(&ue.ep, ue.now);
	CHECK_EQ(ue.ep.stat[OOO_STAT_CNP], 1);
	rx_ack(31, NULL);
	CHECK_EQ(ue.n_sent, 64);	/* 32 in flight are enough now */
	rx_ack(39, NULL);
	CHECK_EQ(ue.n_sent, 72);
	ue_stop();
}

static void echoed_mark_takes_an_eighth_of_the_window(void)
{
	ue_start_capable(0, true);
	post(OOO_WR_SEND, 200 * MTU);
	rx_ack(7, &(struct ooo_sack){ .window = 128, .ce = 1 });
	CHECK_EQ(ue.ep.stat[OOO_STAT_CE_ECHO], 1);
	CHECK_EQ(ue.n_sent, 64);	/* 56 in flight are enough now */
	rx_ack(8, &(struct ooo_sack){ .window = 128, .ce = 1 });
	CHECK_EQ(ue.n_sent, 65);
	ue_stop();
}

static void plain_peer_s_notification_is_obeyed_for_a_while(void)
{
	u32 i;

	ue_start(0, true);
	post(OOO_WR_SEND, 200 * MTU);
	ooo_ep_cnp(&ue.ep, ue.now);
	ue_rx_ack(31, ACK);
	CHECK_EQ(ue.n_sent, 64);
	for (i = 32; i < 60; i++) {
		ue_wait(20 * MS);
		ue_rx_ack(i, ACK);
	}
	CHECK(!ue.ep.req.flow.window);	/* as if nothing had been */
	ue_stop();
}

static void extension_of_another_version_is_skipped(void)
{
	struct ooo_hdr h = { .opcode = OOO_OP_ACK, .rsvd7 = CAP | OOO_BTH_EXT, .has_sack = true,
			     .sack = { .words = 1, .window = 7 } }, got;
	u32 len, hdr_len, payload_len;
	u8 data[OOO_MAX_HDR + OOO_ICRC_LEN] = { 0 };

	len = ooo_build(&h, 0, data) + OOO_ICRC_LEN;
	CHECK(ooo_parse(data, len, len, &got, &hdr_len, &payload_len));
	CHECK(got.has_sack && got.sack.window == 7);
	data[16] = 0x20;
	CHECK(ooo_parse(data, len, len, &got, &hdr_len, &payload_len));
	CHECK(!got.has_sack);
	CHECK_EQ(hdr_len, len - OOO_ICRC_LEN);
	CHECK_EQ(payload_len, 0);
}

static void malformed_extension_is_refused(void)
{
	struct ooo_hdr h = { .opcode = OOO_OP_ACK, .rsvd7 = CAP | OOO_BTH_EXT, .has_sack = true,
			     .sack = { .words = 1 } }, got;
	u32 len, hdr_len, payload_len, units;
	u8 data[OOO_MAX_HDR + OOO_ICRC_LEN] = { 0 };

	len = ooo_build(&h, 0, data) + OOO_ICRC_LEN;
	for (units = 0; units < 256; units++) {
		data[17] = units;
		/* Shorter ones leave a payload, which an ACK must not have. */
		CHECK_EQ(ooo_parse(data, len, len, &got, &hdr_len, &payload_len),
			 units == 4 || units == 6);
	}
	data[8] = OOO_BTH_EXT;		/* without CAP it means nothing */
	CHECK(ooo_parse(data, len, len, &got, &hdr_len, &payload_len));
	CHECK(!got.has_sack);
	CHECK(!ooo_packet_length_ok(OOO_OP_ACK, payload_len, 1024));
}

/* As on paths of different length. */
static void overtaken_ack_is_no_congestion(void)
{
	ten_sent();
	rx_ack(2, &(struct ooo_sack){ .window = 128, .ce = 2 });
	rx_ack(1, &(struct ooo_sack){ .window = 128, .ce = 1 });
	rx_ack(3, &(struct ooo_sack){ .window = 128, .ce = 3 });
	CHECK_EQ(ue.ep.stat[OOO_STAT_CE_ECHO], 3);
	ue_stop();
}

static void last_packet_that_the_peer_keeps_asks(void)
{
	ue_start_capable(0, true);
	post(OOO_WR_WRITE, MTU);
	rx_ack(0, &(struct ooo_sack){ .window = 2 });
	post(OOO_WR_WRITE, 5 * MTU);
	CHECK_EQ(ue.n_sent, 3);
	CHECK(!ue.sent[1].h.ack_req);
	CHECK(ue.sent[2].h.ack_req);
	ue_stop();
}

/* A window of 64, and an ACK for each packet, one at a time: the ACKs that are asked for get rarer. */
static void full_window_does_not_ask_for_an_ack_of_each_packet(void)
{
	u32 i, asks = 0;

	ue_start_capable(0, true);
	ue.ep.req.flow.window = 64;
	ue.ep.req.flow.until = ~0ull;	/* no trials */
	post(OOO_WR_WRITE, 48 * MTU);
	post(OOO_WR_WRITE, 48 * MTU);
	CHECK_EQ(ue.n_sent, 64);
	CHECK(ue.sent[15].h.ack_req && ue.sent[31].h.ack_req && ue.sent[63].h.ack_req);
	for (i = 0; i < 24; i++) {
		rx_ack(i, NULL);
		CHECK_EQ(ue.n_sent, 65 + i);
		asks += ue_last()->h.ack_req;
	}
	CHECK_EQ(asks, 3);
	ue_stop();
}

static void window_of_one_asks_for_each_ack(void)
{
	u32 i;

	ue_start_capable(0, true);
	ue.ep.req.flow.window = 1;
	ue.ep.req.flow.until = ~0ull;
	post(OOO_WR_WRITE, 8 * MTU);
	for (i = 0; i < 8; i++) {
		CHECK_EQ(ue.n_sent, 1 + i);
		CHECK(ue_last()->h.ack_req);
		rx_ack(i, NULL);
	}
	ue_stop();
}

static void one_round_trip_has_one_notification(void)
{
	ue_start(0, true);
	post(OOO_WR_SEND, MTU);
	ue_wait(2 * MS);
	ue_rx_ack(0, ACK);
	post(OOO_WR_SEND, 200 * MTU);
	ooo_ep_cnp(&ue.ep, ue.now);
	CHECK_EQ(ue.ep.req.flow.window, 32);
	ue.now += MS / 100;
	ooo_ep_cnp(&ue.ep, ue.now);
	CHECK_EQ(ue.ep.req.flow.window, 32);
	ue_stop();
}

/* Ticks compare wrong after 36 minutes. */
static void long_pause_is_not_taken_for_lateness(void)
{
	ten_sent();
	rx_ack(9, NULL);
	ue.now += 45 * 60 * 1000 * MS;
	post(OOO_WR_WRITE, MTU);
	ue.now += 2 * MS;
	rx_ack(10, NULL);
	CHECK_EQ(ue.n_send_done, 3);
	CHECK(ue.ep.req.reo < 10 * MS);
	CHECK_EQ(ue.ep.req.rack.seq, 10);
	ue_stop();
}

static void rest_of_a_range_is_asked_for_when_its_start_has_come(void)
{
	read_that_lacks(1 << 2 | 1 << 3);
	ue.again = true;
	ue_wait(2 * MS);
	CHECK_EQ(ue.n_sent, 1);
	read_response(2);
	ue.again = false;
	ue_resume();
	CHECK_EQ(ue.n_sent, 2);
	CHECK_EQ(ue_last()->h.psn, 3);
	CHECK_EQ(ue_last()->h.dma_len, MTU);
	ue_stop();
}

const struct unit_test sack_tests[] = {
	UNIT_TEST(capability_is_in_every_packet),
	UNIT_TEST(switched_off_nothing_is_shown_or_believed),
	UNIT_TEST(plain_peer_gets_no_extension),
	UNIT_TEST(early_packet_that_asks_is_reported),
	UNIT_TEST(thirty_second_early_packet_is_reported),
	UNIT_TEST(where_packets_get_lost_more_are_reported),
	UNIT_TEST(needless_repetition_is_reported),
	UNIT_TEST(congestion_mark_is_echoed),
	UNIT_TEST(only_the_holes_are_sent_again),
	UNIT_TEST(many_at_once_are_not_all_sent_again),
	UNIT_TEST(late_packet_is_not_sent_again),
	UNIT_TEST(rnr_nak_revokes_what_was_reported),
	UNIT_TEST(revoked_packet_that_is_lost_is_repaired_by_time),
	UNIT_TEST(revoked_read_that_is_lost_is_repaired_by_time),
	UNIT_TEST(nothing_is_lost_behind_a_failed_request),
	UNIT_TEST(overlapping_ranges_are_given_again_as_one),
	UNIT_TEST(range_between_two_others_joins_them),
	UNIT_TEST(capability_is_learnt_from_packets_that_fit_only),
	UNIT_TEST(switched_off_a_sack_is_only_an_ack),
	UNIT_TEST(nonsense_in_a_sack_is_ignored),
	UNIT_TEST(missing_responses_are_asked_for_exactly),
	UNIT_TEST(repeated_response_is_marked),
	UNIT_TEST(several_ranges_are_given_again),
	UNIT_TEST(reset_and_rtr_forget_the_peer),
	UNIT_TEST(notification_halves_the_window),
	UNIT_TEST(echoed_mark_takes_an_eighth_of_the_window),
	UNIT_TEST(plain_peer_s_notification_is_obeyed_for_a_while),
	UNIT_TEST(overtaken_ack_is_no_congestion),
	UNIT_TEST(last_packet_that_the_peer_keeps_asks),
	UNIT_TEST(full_window_does_not_ask_for_an_ack_of_each_packet),
	UNIT_TEST(window_of_one_asks_for_each_ack),
	UNIT_TEST(one_round_trip_has_one_notification),
	UNIT_TEST(long_pause_is_not_taken_for_lateness),
	UNIT_TEST(rest_of_a_range_is_asked_for_when_its_start_has_come),
	UNIT_TEST(extension_of_another_version_is_skipped),
	UNIT_TEST(malformed_extension_is_refused),
	{ NULL, NULL },
};
