// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the responder sends: replays, replies in PSN order, then a NAK or an
 * ACK. Nothing passes a reply that has not been sent: a plain requester would
 * take it for lost.
 */
#include "resp_priv.h"

static u8 read_op(u32 i, u32 from, u32 to)
{
	if (i == from)
		return i + 1 == to ? OOO_OP_READ_RESP_ONLY : OOO_OP_READ_RESP_FIRST;
	return i + 1 == to ? OOO_OP_READ_RESP_LAST : OOO_OP_READ_RESP_MIDDLE;
}

static enum ooo_result send(struct ooo_ep *ep, struct ooo_hdr *hdr,
			    const struct ooo_source *src)
{
	enum ooo_result res;

	hdr->opcode |= ooo_service_bits(ep);
	if (ep->sack)
		hdr->rsvd7 |= OOO_BTH_CAP;
	res = ooo_env_emit(ep, hdr, src);
	if (res == OOO_OK)
		ooo_count(ep, OOO_STAT_TX_PACKETS);
	if (res == OOO_AGAIN || res == OOO_LATER)
		ep->resp.stalled = true;
	return res;
}

static void read_source(const struct ooo_ep *ep, const struct ooo_resp_reply *r, u32 i,
			struct ooo_source *src)
{
	u64 offset = (u64)i << ep->mtu_shift;

	src->len = (u32)min_t(u64, r->len - offset, ep->attr.mtu);
	src->kind = src->len ? OOO_SRC_REGION : OOO_SRC_NONE;
	src->rkey = r->rkey;
	src->va = r->va + offset;
}

/* Packet @i of a reply; it goes out as a reply of its own that covers [@from, @to). */
static enum ooo_result send_reply(struct ooo_ep *ep, const struct ooo_resp_reply *r, u32 i,
				  u32 from, u32 to, bool again)
{
	struct ooo_source src = { .kind = OOO_SRC_NONE };
	struct ooo_hdr hdr;

	memset(&hdr, 0, sizeof(hdr));
	hdr.psn = (r->seq + i) & PSN_MASK;
	hdr.syndrome = OOO_AETH_ACK | OOO_AETH_NO_CREDIT;
	hdr.msn = r->msn & PSN_MASK;
	hdr.orig = r->orig;
	hdr.rsvd7 = again && ep->capable ? OOO_BTH_RETX : 0;
	if (unlikely(ep->paths))
		hdr.path = ooo_resp_data_path(ep, again);
	hdr.opcode = r->kind == OOO_REPLY_ATOMIC ? OOO_OP_ATOMIC_ACK : read_op(i, from, to);
	if (r->kind == OOO_REPLY_READ)
		read_source(ep, r, i, &src);
	return send(ep, &hdr, &src);
}

/*
 * A replay whose region is gone is dropped. The original was answered, so a consumer may
 * have been told that the READ is through, and may have deregistered the region, while a
 * copy of the request was still on its way: that must not end a healthy connection.
 * A NAK belongs to the expected PSN only (IBTA 9.7). A peer that still misses
 * the data gives up by its own count of retries, with RETRY_EXC instead of REM_ACCESS.
 */
static void replay_one(struct ooo_ep *ep)
{
	struct ooo_resp *resp = &ep->resp;
	struct ooo_resp_replay *r = ooo_resp_replay_oldest(resp);
	enum ooo_result res = send_reply(ep, &resp->reply[r->reply % resp->reply_num], r->next,
					 r->from, r->to, true);

	if (resp->stalled)
		return;
	if (res == OOO_OK && ++r->next != r->to)
		return;
	resp->replay_first++;
}

/* The region of a READ went away: that READ fails, and all that follows it. */
static void reply_failed(struct ooo_ep *ep, u32 seq)
{
	ep->resp.reply_next = ep->resp.reply_emit;
	ooo_resp_fail_at(ep, seq, OOO_NAK_ACCESS, OOO_EVENT_QP_ACCESS_ERR);
}

static void reply_one(struct ooo_ep *ep)
{
	struct ooo_resp *resp = &ep->resp;
	struct ooo_resp_reply *r = &resp->reply[resp->reply_emit % resp->reply_num];
	enum ooo_result res = send_reply(ep, r, r->sent, 0, r->packets, false);

	if (resp->stalled)
		return;
	if (res != OOO_OK)
		return reply_failed(ep, r->seq + r->sent);
	if (++r->sent == r->packets)
		resp->reply_emit++;
}

static enum ooo_result send_aeth(struct ooo_ep *ep, u8 syndrome, u32 seq, u64 now)
{
	struct ooo_source src = { .kind = OOO_SRC_NONE };
	struct ooo_hdr hdr;

	memset(&hdr, 0, sizeof(hdr));
	hdr.opcode = OOO_OP_ACK;
	hdr.psn = seq & PSN_MASK;
	hdr.syndrome = syndrome;
	hdr.msn = ep->resp.msn & PSN_MASK;
	if (ep->capable && OOO_AETH_CLASS(syndrome) == OOO_AETH_ACK)
		ooo_resp_extend(ep, &hdr);
	if (unlikely(ep->paths))
		hdr.path = ooo_resp_ack_path(ep, now);
	return send(ep, &hdr, &src);
}

static enum ooo_stat nak_stat(u8 syndrome)
{
	if (OOO_AETH_CLASS(syndrome) == OOO_AETH_RNR)
		return OOO_STAT_RNR_SENT;
	return OOO_AETH_VALUE(syndrome) == OOO_NAK_SEQUENCE ? OOO_STAT_NAK_SENT :
							       OOO_STAT_ERR_RESP;
}

static void nak_one(struct ooo_ep *ep, u64 now)
{
	struct ooo_resp *resp = &ep->resp;

	if (send_aeth(ep, resp->nak, resp->nak_seq, now) != OOO_OK)
		return;
	ooo_count(ep, nak_stat(resp->nak));
	resp->nak_due = false;
	resp->ack_due = false;
	if (!resp->fatal)
		return;
	ooo_env_event(ep, resp->event);
	ooo_ep_fail(ep, now);
}

static void ack_one(struct ooo_ep *ep, u64 now)
{
	if (send_aeth(ep, OOO_AETH_ACK | OOO_AETH_NO_CREDIT, ep->resp.eseq - 1, now) != OOO_OK)
		return;
	ooo_count(ep, OOO_STAT_ACK_SENT);
	ep->resp.ack_due = false;
	ep->resp.early_acks = 0;
}

enum job {
	JOB_NONE,
	JOB_REPLAY,
	JOB_REPLY,
	JOB_NAK,
	JOB_ACK,
};

static enum job next_job(struct ooo_resp *resp)
{
	if (ooo_resp_replay_oldest(resp))
		return JOB_REPLAY;
	if (resp->reply_emit != resp->reply_next)
		return JOB_REPLY;
	if (resp->nak_due)
		return JOB_NAK;
	return resp->ack_due ? JOB_ACK : JOB_NONE;
}

static bool may_send(const struct ooo_ep *ep)
{
	return ep->state >= OOO_RTR && ep->state < OOO_ERR && !ep->resp.stalled;
}

bool ooo_resp_emit(struct ooo_ep *ep, u32 *budget, u64 now)
{
	for (; may_send(ep); (*budget)--) {
		enum job job = next_job(&ep->resp);

		if (job == JOB_NONE)
			return false;
		if (!*budget)
			return true;
		if (job == JOB_REPLAY)
			replay_one(ep);
		else if (job == JOB_REPLY)
			reply_one(ep);
		else if (job == JOB_NAK)
			nak_one(ep, now);
		else
			ack_one(ep, now);
	}
	return false;
}
