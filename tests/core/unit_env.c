// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>
#include "opcode.h"
#include "unit.h"
#include "unit_env.h"

#define STRIDE	(sizeof(struct ooo_swqe) + 64)

struct ue ue;

static u8 sq[64 * STRIDE];

void ue_start(u32 psn, bool ooo)
{
	ue_start_service(OOO_RC, psn, ooo);
}

static void begin(enum ooo_service service, u32 psn, bool ooo, bool sack, u32 paths)
{
	memset(&ue, 0, sizeof(ue));
	ue.now = 1000000000;
	ue.timer = OOO_NEVER;
	ue.recv_size = 4096;
	ue.tun = (struct ooo_tunables){
		.window = 64, .recv_window = 128, .reorder_init_us = 1000,
		.reorder_min_us = 100, .reorder_max_us = 100000, .budget = 64,
		.sack = sack, .paths = paths,
	};
	ooo_ep_init(&ue.ep);
	ue.ep.tun = &ue.tun;
	ue.ep.sq = sq;
	ue.ep.sq_stride = STRIDE;
	ue.ep.sq_depth = 64;
	ue.ep.attr = (struct ooo_attr){
		.service = service, .mtu = 256, .sq_psn = psn, .rq_psn = psn,
		.access = OOO_ACCESS_REMOTE_WRITE | OOO_ACCESS_REMOTE_READ |
			  OOO_ACCESS_REMOTE_ATOMIC | OOO_ACCESS_FLUSH_GLOBAL |
			  OOO_ACCESS_FLUSH_PERSISTENT,
		.timeout = 14, .retry_cnt = 3, .rnr_retry = 7, .min_rnr_timer = 12,
		.max_rd_atomic = 4, .max_dest_rd_atomic = 4, .ooo = ooo, .sq_sig_all = true,
	};
	ooo_ep_to_init(&ue.ep);
	ooo_ep_to_rtr(&ue.ep, ue.now);
	ooo_ep_to_rts(&ue.ep, ue.now);
	ue.state = OOO_RTS;
}

void ue_start_service(enum ooo_service service, u32 psn, bool ooo)
{
	begin(service, psn, ooo, false, 1);
}

void ue_start_capable(u32 psn, bool ooo)
{
	begin(OOO_RC, psn, ooo, true, 1);
}

void ue_start_paths(u32 psn, bool ooo, u32 paths)
{
	begin(OOO_RC, psn, ooo, true, paths);
}

void ue_stop(void)
{
	ooo_ep_to_reset(&ue.ep);
	CHECK_EQ(ue.held, 0);
	CHECK_EQ(ue.allocated, 0);
	CHECK_EQ(ue.timer, OOO_NEVER);
}

static void settle(bool again)
{
	u32 n;

	for (n = 0; again && n < 1000; n++)
		again = ooo_ep_resume(&ue.ep, ue.now);
	CHECK(n < 1000);
}

void ue_rx(u8 op, u32 psn, const struct ooo_hdr *fields, const void *data, u32 len)
{
	u8 payload[4096] = { 0 };
	struct ooo_pkt pkt = { .payload = payload, .payload_len = len };

	if (fields)
		pkt.h = *fields;
	if (data)
		memcpy(payload, data, len);
	pkt.h.opcode = op;
	pkt.h.psn = psn & PSN_MASK;
	CHECK(ooo_packet_length_ok(op, len, ue.ep.attr.mtu));
	ue.now += 1000;
	settle(ooo_ep_rx(&ue.ep, &pkt, ue.now));
	memset(payload, 0xdd, sizeof(payload));
}

void ue_rx_write(u8 op, u32 psn, u64 offset, u32 total, u8 fill, u32 len)
{
	struct ooo_hdr h = { .va = UE_BASE + offset, .rkey = UE_KEY, .dma_len = total };
	u8 data[4096];

	memset(data, fill, len);
	ue_rx(op, psn, &h, data, len);
}

void ue_rx_ack(u32 psn, u8 syndrome)
{
	struct ooo_hdr h = { .syndrome = syndrome };

	ue_rx(OOO_OP_ACK, psn, &h, NULL, 0);
}

bool ue_filled(u64 offset, u32 len, u8 fill)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (ue.mem[offset + i] != fill)
			return false;
	return true;
}

struct ooo_swqe *ue_post(u8 op, u32 len, u8 flags)
{
	struct ooo_swqe *q = &ue.wr[ue.posted & 63];

	memset(q, 0, sizeof(*q));
	q->wr_id = ue.posted;
	q->opcode = op;
	q->flags = flags;
	q->num_sge = 1;
	q->length = len;
	q->remote_addr = UE_BASE;
	q->rkey = UE_KEY;
	ue.posted++;
	return q;
}

void ue_doorbell(void)
{
	settle(ooo_ep_post_send(&ue.ep, ue.now));
}

void ue_resume(void)
{
	settle(ooo_ep_resume(&ue.ep, ue.now));
}

void ue_wait(u64 ns)
{
	u64 until = ue.now + ns;
	u32 n = 0;

	while (ue.timer <= until) {
		CHECK(++n < 10000);
		ue.now = max_t(u64, ue.now, ue.timer);
		ue.timer = OOO_NEVER;
		settle(ooo_ep_timer(&ue.ep, ue.now));
	}
	ue.now = until;
}

const struct ue_sent *ue_last(void)
{
	CHECK(ue.n_sent);
	return &ue.sent[(ue.n_sent - 1) % UE_LOG];
}

u32 ue_count(u8 op, u8 syndrome_class)
{
	u32 i, n = 0;

	for (i = 0; i < ue.n_sent; i++)
		if (ue.sent[i].h.opcode == op &&
		    (op != OOO_OP_ACK || OOO_AETH_CLASS(ue.sent[i].h.syndrome) == syndrome_class))
			n++;
	return n;
}

/* --- env.h --- */

enum ooo_result ooo_env_sq_fetch(struct ooo_ep *ep, u32 index)
{
	if (index == ue.posted)
		return OOO_NONE;
	CHECK_EQ(index, ue.fetched);
	ue.fetched++;
	memcpy(ooo_sq_entry(ep, index), &ue.wr[index & 63], sizeof(struct ooo_swqe));
	return OOO_OK;
}

void ooo_env_send_done(struct ooo_ep *ep, u32 index, bool completion)
{
	ue.send_done[ue.n_send_done++ % UE_LOG] = (struct ue_done){
		.index = index, .status = ooo_sq_entry(ep, index)->status,
		.completion = completion,
	};
}

enum ooo_result ooo_env_local_op(struct ooo_ep *ep, const struct ooo_swqe *wqe)
{
	(void)ep;
	(void)wqe;
	ue.local_ops++;
	return ue.local_bad ? OOO_ACCESS : OOO_OK;
}

enum ooo_result ooo_env_rq_fetch(struct ooo_ep *ep, u32 srqn, struct ooo_rwqe **rwqe)
{
	(void)ep;
	(void)srqn;
	if (ue.recv_taken == ue.recv_posted)
		return OOO_NONE;
	ue.rwqe = (struct ooo_rwqe){ .wr_id = ue.recv_taken, .length = ue.recv_size };
	ue.recv_taken++;
	*rwqe = &ue.rwqe;
	return OOO_OK;
}

void ooo_env_recv_done(struct ooo_ep *ep, const struct ooo_recv_done *done)
{
	(void)ep;
	ue.recv_done[ue.n_recv_done++ % UE_LOG].recv = *done;
}

bool ooo_env_has_srq(struct ooo_ep *ep)
{
	(void)ep;
	return false;
}

static bool in_region(u32 rkey, u64 va, u64 len)
{
	return rkey == UE_KEY && !ue.dead_key && va >= UE_BASE &&
	       va - UE_BASE + len <= UE_SIZE;
}

static const u8 *payload(const struct ooo_pkt *pkt)
{
	return (const u8 *)pkt->payload + pkt->payload_off;
}

enum ooo_result ooo_env_check(struct ooo_ep *ep, u32 rkey, u64 va, u64 len, u32 access)
{
	(void)ep;
	(void)access;
	return !len || in_region(rkey, va, len) ? OOO_OK : OOO_ACCESS;
}

enum ooo_result ooo_env_write(struct ooo_ep *ep, u32 rkey, u64 va, const struct ooo_pkt *pkt)
{
	(void)ep;
	if (ue.later)
		return OOO_LATER;
	if (!pkt->payload_len)
		return OOO_OK;
	if (!in_region(rkey, va, pkt->payload_len))
		return OOO_ACCESS;
	ue.writes++;
	memcpy(ue.mem + (va - UE_BASE), payload(pkt), pkt->payload_len);
	return OOO_OK;
}

enum ooo_result ooo_env_scatter_recv(struct ooo_ep *ep, struct ooo_rwqe *rwqe, u32 offset,
				     const struct ooo_pkt *pkt)
{
	(void)ep;
	if ((u64)offset + pkt->payload_len > rwqe->length)
		return OOO_LENGTH;
	memcpy(ue.recv + rwqe->wr_id % 16 * 4096 + offset, payload(pkt), pkt->payload_len);
	return OOO_OK;
}

enum ooo_result ooo_env_scatter_read(struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 offset,
				     const struct ooo_pkt *pkt)
{
	(void)ep;
	memcpy(ue.land + wqe->wr_id % 16 * 4096 + offset, payload(pkt), pkt->payload_len);
	return OOO_OK;
}

enum ooo_result ooo_env_atomic_result(struct ooo_ep *ep, const struct ooo_swqe *wqe, u64 value)
{
	(void)ep;
	memcpy(ue.land + wqe->wr_id % 16 * 4096, &value, 8);
	return OOO_OK;
}

enum ooo_result ooo_env_atomic(struct ooo_ep *ep, u32 rkey, u64 va, bool cmp_swap,
			       u64 compare_add, u64 swap, u64 *orig)
{
	u64 v;

	(void)ep;
	if (!in_region(rkey, va, 8))
		return OOO_ACCESS;
	ue.atomics++;
	memcpy(&v, ue.mem + (va - UE_BASE), 8);
	*orig = v;
	if (!cmp_swap)
		v += compare_add;
	else if (v == compare_add)
		v = swap;
	memcpy(ue.mem + (va - UE_BASE), &v, 8);
	return OOO_OK;
}

enum ooo_result ooo_env_atomic_write(struct ooo_ep *ep, u32 rkey, u64 va,
				     const struct ooo_pkt *pkt)
{
	(void)ep;
	if (!in_region(rkey, va, 8))
		return OOO_ACCESS;
	ue.atomics++;
	memcpy(ue.mem + (va - UE_BASE), payload(pkt), 8);
	return OOO_OK;
}

enum ooo_result ooo_env_flush(struct ooo_ep *ep, u32 rkey, u64 va, u64 len, u32 type, bool whole)
{
	(void)ep;
	(void)type;
	if (!whole && len && !in_region(rkey, va, len))
		return OOO_ACCESS;
	ue.flushes++;
	return OOO_OK;
}

enum ooo_result ooo_env_invalidate(struct ooo_ep *ep, u32 rkey)
{
	(void)ep;
	if (rkey != UE_KEY || ue.dead_key)
		return OOO_ACCESS;
	ue.dead_key = true;
	return OOO_OK;
}

enum ooo_result ooo_env_emit(struct ooo_ep *ep, const struct ooo_hdr *hdr,
			     const struct ooo_source *src)
{
	struct ue_sent *s;

	(void)ep;
	if (ue.again)
		return OOO_AGAIN;
	if (ue.source_bad && src->kind != OOO_SRC_NONE)
		return OOO_ACCESS;
	s = &ue.sent[ue.n_sent++ % UE_LOG];
	s->h = *hdr;
	s->len = src->kind == OOO_SRC_NONE ? 0 : src->len;
	s->va = src->va;
	s->offset = src->offset;
	return OOO_OK;
}

struct ooo_pkt *ooo_env_hold(struct ooo_ep *ep, const struct ooo_pkt *pkt)
{
	struct ooo_pkt *copy;

	(void)ep;
	if (ue.hold_null)
		return NULL;
	copy = malloc(sizeof(*copy) + pkt->payload_len);
	*copy = *pkt;
	copy->payload = copy + 1;
	copy->payload_off = 0;
	memcpy(copy->payload, payload(pkt), pkt->payload_len);
	ue.held++;
	return copy;
}

void ooo_env_release(struct ooo_ep *ep, struct ooo_pkt *pkt)
{
	(void)ep;
	ue.held--;
	free(pkt);
}

void *ooo_env_alloc(struct ooo_ep *ep, u32 bytes)
{
	(void)ep;
	if (ue.alloc_null)
		return NULL;
	ue.allocated += bytes;
	return calloc(1, bytes);
}

void ooo_env_free(struct ooo_ep *ep, void *mem, u32 bytes)
{
	(void)ep;
	if (mem)
		ue.allocated -= bytes;
	free(mem);
}

void ooo_env_arm(struct ooo_ep *ep, u64 deadline)
{
	(void)ep;
	ue.timer = deadline;
}

void ooo_env_kick(struct ooo_ep *ep)
{
	(void)ep;
	ue.timer = min_t(u64, ue.timer, ue.now);
}

void ooo_env_event(struct ooo_ep *ep, enum ooo_event event)
{
	(void)ep;
	ue.events[event]++;
}

void ooo_env_state(struct ooo_ep *ep, enum ooo_state state)
{
	(void)ep;
	ue.state = state;
}
