// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libFuzzer: a sequence of packets, postings and time into one endpoint. The
 * input is a list of steps, each a command byte and its operands, so that a
 * mutation changes one step and leaves the rest. Rules that hold whatever a
 * peer sends: nothing is written outside of the region, completions come in
 * order and once, no timer or resume loop, no leak.
 */
#include <stdarg.h>
#include <stdlib.h>
#include "opcode.h"
#include "unit.h"
#include "unit_env.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

void unit_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%d: ", file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	abort();
}

struct input {
	const u8 *p, *end;
};

static u32 take(struct input *in, u32 n)
{
	u32 v = 0;

	while (n--)
		v = v << 8 | (in->p < in->end ? *in->p++ : 0);
	return v;
}

/* A PSN near the edge of what the endpoint expects or has sent, or anywhere. */
static u32 take_psn(struct input *in)
{
	u32 v = take(in, 1);

	if (v < 0xf0)
		return v - 16;
	return take(in, 3);
}

static u32 fit_length(u8 op, u32 len)
{
	u32 mtu = ue.ep.attr.mtu;

	if (ooo_packet_length_ok(op, len, mtu))
		return len;
	if (ooo_packet_length_ok(op, mtu, mtu))
		return mtu;
	if (ooo_packet_length_ok(op, 8, mtu) && !ooo_packet_length_ok(op, 0, mtu))
		return 8;
	return 0;
}

static void sack(struct input *in, struct ooo_sack *s)
{
	u32 i;

	s->window = take(in, 2);
	s->ce = take(in, 1);
	s->needless = take(in, 1);
	s->needless_psn = psn_add(100, take_psn(in));
	s->base = psn_add(100, take_psn(in));
	s->words = take(in, 1) % (OOO_SACK_WORDS + 1);
	for (i = 0; i < s->words; i++)
		s->bits[i] = (u64)take(in, 4) << 32 | take(in, 4);
}

static void packet(struct input *in)
{
	u8 op = take(in, 1) & 0x1f;
	struct ooo_hdr h = { .ack_req = true };
	u32 psn = take_psn(in), len = take(in, 2) % 300;

	if (!ooo_opcode_info(op))
		return;
	h.va = UE_BASE + (take(in, 1) << 8);
	h.rkey = take(in, 1) < 0xf0 ? UE_KEY : 0xbad;
	h.dma_len = take(in, 2);
	h.syndrome = take(in, 1);
	h.imm = UE_KEY;
	h.feth = 1;
	len = fit_length(op, len);
	if (take(in, 1) & 1)
		h.dma_len = len;
	h.rsvd7 = take(in, 1) & (OOO_BTH_CAP | OOO_BTH_RETX);
	h.has_sack = ooo_may_extend(op) && (h.rsvd7 & OOO_BTH_CAP) && (take(in, 1) & 1);
	if (h.has_sack)
		sack(in, &h.sack);
	ue_rx(op, psn_add(100, psn), &h, NULL, len);
}

static void post(struct input *in)
{
	static const u8 ops[] = {
		OOO_WR_WRITE, OOO_WR_WRITE_IMM, OOO_WR_SEND, OOO_WR_SEND_IMM, OOO_WR_READ,
		OOO_WR_CMP_SWAP, OOO_WR_FETCH_ADD, OOO_WR_LOCAL_INV, OOO_WR_SEND_INV,
		OOO_WR_FLUSH, OOO_WR_ATOMIC_WRITE,
	};
	u8 op = ops[take(in, 1) % sizeof(ops)];
	u8 flags = take(in, 1) & (OOO_SEND_FENCE | OOO_SEND_SIGNALED | OOO_SEND_SOLICITED);
	u32 len = take(in, 2) % 2000;

	if (ue.posted - ue.n_send_done >= 60)
		return;
	if (op == OOO_WR_CMP_SWAP || op == OOO_WR_FETCH_ADD || op == OOO_WR_ATOMIC_WRITE)
		len = 8;
	ue_post(op, len, flags)->flush = 1;
	ue_doorbell();
}

static void mode(struct input *in)
{
	u8 v = take(in, 1);

	ue.again = v & 1;
	ue.hold_null = v & 2;
	ue.later = v & 4;
	if (v & 8)
		ue.recv_posted += 3;
	if (!(v & 5))
		ue_resume();
}

static void transition(struct input *in)
{
	switch (take(in, 1) & 3) {
	case 0:
		if (ue.ep.state == OOO_RTS)
			ooo_ep_to_sqd(&ue.ep, ue.now);
		break;
	case 1:
		if (ue.ep.state == OOO_SQD)
			ooo_ep_to_rts(&ue.ep, ue.now);
		break;
	case 2:
		if (take(in, 1) == 0x55)
			ooo_ep_to_err(&ue.ep, ue.now);
		break;
	default:
		ooo_ep_post_recv(&ue.ep, ue.now);
	}
}

static void check_completions(void)
{
	u32 i, n = min_t(u32, ue.n_send_done, UE_LOG);

	CHECK((s32)(ue.posted - ue.n_send_done) >= 0);
	for (i = 0; i < n; i++)
		CHECK_EQ(ue.send_done[i].index % UE_LOG, i);
	for (i = 0; i < min_t(u32, ue.n_recv_done, UE_LOG); i++)
		CHECK_EQ(ue.recv_done[i].recv.wr_id % UE_LOG, i);
	CHECK((s32)(ue.recv_taken - ue.n_recv_done) >= 0);
	CHECK(ue.recv_taken - ue.n_recv_done <= 1);
	CHECK(ue.held <= 2 * (ue.tun.recv_window + ue.tun.window) + 1024);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, data + size };
	u32 steps = 0;

	if (size < 4)
		return 0;
	if (data[0] & 4)
		ue_start_paths(100, data[0] & 1, data[0] & 8 ? 4 : 1);
	else
		ue_start(100, data[0] & 1);
	if (data[0] & 2)
		ue.ep.attr.max_dest_rd_atomic = 1;
	ue.recv_posted = data[1] % 8;
	in.p += 2;
	while (in.p < in.end && steps++ < 200) {
		switch (take(&in, 1) & 7) {
		case 0:
		case 1:
		case 2:
		case 3:
			packet(&in);
			break;
		case 4:
			post(&in);
			break;
		case 5:
			ue_wait((u64)take(&in, 1) * 100000);
			break;
		case 6:
			mode(&in);
			break;
		default:
			transition(&in);
		}
	}
	check_completions();
	ue_stop();
	return 0;
}
