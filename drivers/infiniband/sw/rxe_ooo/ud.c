// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagrams: UD, and the GSI QP that carries the kernel's MADs. No order, no
 * acknowledgment: a request is complete when its packet has been handed to
 * the stack. Everything runs under qp->lock; ep.state is ours here, the rest
 * of the endpoint is not used.
 *
 * In struct ooo_swqe: @remote_addr is the address handle (a pointer from a
 * kernel consumer, a number from user space), @rkey the Q_Key, @xrc_srqn the
 * destination QP, @req_private[0] the index.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <rdma/ib_addr.h>
#include "objects.h"

#define UD_BUDGET	64
#define GRH_LEN		40

void rxo_ud_fill(struct ooo_swqe *wqe, const struct ib_send_wr *wr)
{
	wqe->remote_addr = (uintptr_t)to_rah(ud_wr(wr)->ah);
	wqe->rkey = ud_wr(wr)->remote_qkey;
	wqe->xrc_srqn = ud_wr(wr)->remote_qpn;
}

void rxo_ud_fetch(struct ooo_swqe *wqe, const struct rxe_ooo_send_wqe *shared)
{
	wqe->remote_addr = shared->ud.ah_num;
	wqe->rkey = shared->ud.remote_qkey;
	wqe->xrc_srqn = shared->ud.remote_qpn;
}

/* Under RCU (BH is disabled). A handle of another PD is none (IBTA 11.2.2.1). */
static struct rxo_ah *find_ah(struct rxo_qp *qp, const struct ooo_swqe *wqe)
{
	struct rxo_ah *ah;

	if (!qp->is_user)
		return (struct rxo_ah *)(uintptr_t)wqe->remote_addr;
	ah = xa_load(&qp->dev->ahs, wqe->remote_addr);
	return ah && ah->ib.pd == qp->ib.pd ? ah : NULL;
}

/* IBTA 10.2.5: a Q_Key with its top bit set stands for the QP's own. */
static u32 send_qkey(const struct rxo_qp *qp, u32 qkey)
{
	return qkey & 0x80000000 ? qp->attr.qkey : qkey;
}

/* A datagram is one packet: as long as the port carries (IBTA 9.8.3, query_port()'s active_mtu). */
static u32 ud_mtu(const struct rxo_qp *qp)
{
	enum ib_mtu mtu = iboe_get_mtu(READ_ONCE(qp->dev->ndev->mtu)) ?: IB_MTU_256;

	return ib_mtu_enum_to_int(mtu);
}

static enum ooo_status ud_send(struct rxo_qp *qp, const struct ooo_swqe *wqe, bool *again)
{
	bool imm = wqe->opcode == OOO_WR_SEND_IMM;
	struct rxo_ah *ah = find_ah(qp, wqe);
	struct ooo_hdr h = {
		.opcode = OOO_BTH_UD | (imm ? OOO_OP_SEND_ONLY_IMM : OOO_OP_SEND_ONLY),
		.solicited = wqe->flags & OOO_SEND_SOLICITED,
		.pkey = IB_DEFAULT_PKEY_FULL,
		.dest_qpn = wqe->xrc_srqn & 0xffffff,
		.psn = qp->attr.sq_psn,
		.qkey = send_qkey(qp, wqe->rkey),
		.src_qpn = qp->ib.qp_num,
		.imm = wqe->imm,
	};
	enum ooo_result res;
	struct sk_buff *skb;
	u8 *payload;

	if (!ah)
		return OOO_WC_LOC_QP_OP_ERR;
	if (wqe->length > ud_mtu(qp))
		return OOO_WC_LOC_LEN_ERR;
	skb = rxo_tx_alloc(qp, &ah->av, ooo_hdr_len(h.opcode), wqe->length, &payload);
	if (!skb) {
		*again = true;
		return OOO_WC_SUCCESS;
	}
	res = rxo_gather(qp, wqe, 0, wqe->length, payload);
	if (res != OOO_OK) {
		kfree_skb(skb);
		*again = res == OOO_LATER;	/* a page is missing */
		return OOO_WC_LOC_PROT_ERR;
	}
	qp->attr.sq_psn = psn_add(qp->attr.sq_psn, 1);
	rxo_tx_send(qp, &ah->av, skb, &h, wqe->length);
	return OOO_WC_SUCCESS;
}

/* The core's index of the oldest request that is not complete. */
static u32 ud_next(const struct rxo_qp *qp)
{
	return qp->sq.index - qp->sq_base;
}

static void ud_complete(struct rxo_qp *qp, u32 index, enum ooo_status status)
{
	struct ooo_swqe *wqe = ooo_sq_entry(&qp->ep, index);
	bool signaled;

	wqe->status = status;
	signaled = status != OOO_WC_SUCCESS || qp->ep.attr.sq_sig_all ||
		   (wqe->flags & OOO_SEND_SIGNALED);
	rxo_sq_done(qp, index, signaled);
}

static void flush_sends(struct rxo_qp *qp)
{
	enum ooo_result res;
	int n;

	for (n = 0; n < RXO_MAX_QP_WR; n++) {
		res = rxo_sq_fetch(qp, ud_next(qp));
		if (res == OOO_NONE)
			return;
		ud_complete(qp, ud_next(qp), OOO_WC_WR_FLUSH_ERR);
	}
	/* User space posts while we flush; no doorbell was asked for. */
	set_bit(RXO_PENDING_SEND, &qp->pending);
}

/* IBTA 10.3.1: a failed request moves a UD QP to SQE, where later ones are flushed. */
static void ud_fail(struct rxo_qp *qp, u32 index, enum ooo_status status)
{
	ud_complete(qp, index, status);
	qp->ep.state = OOO_SQE;
	qp->attr.qp_state = IB_QPS_SQE;
	flush_sends(qp);
}

static bool want_memory(struct rxo_qp *qp)
{
	qp->resume_at = ktime_get_ns() + NSEC_PER_MSEC;
	rxo_qp_arm(qp);
	return false;
}

bool rxo_ud_post_send(struct rxo_qp *qp)
{
	enum ooo_status status;
	enum ooo_result res;
	int n;

	if (qp->ep.state == OOO_ERR || qp->ep.state == OOO_SQE)
		flush_sends(qp);
	if (qp->ep.state != OOO_RTS)
		return false;
	for (n = 0; n < UD_BUDGET; n++) {
		u32 index = ud_next(qp);
		bool again = false;

		res = rxo_sq_fetch(qp, index);
		if (res == OOO_NONE)
			return false;
		status = res == OOO_OK ? ud_send(qp, ooo_sq_entry(&qp->ep, index), &again) :
					 OOO_WC_LOC_QP_OP_ERR;
		if (again)
			return want_memory(qp);
		if (status != OOO_WC_SUCCESS) {
			ud_fail(qp, index, status);
			return false;
		}
		ud_complete(qp, index, status);
	}
	return true;
}

void rxo_ud_flush(struct rxo_qp *qp)
{
	struct ooo_recv_done done = { .status = OOO_WC_WR_FLUSH_ERR };

	flush_sends(qp);
	if (qp->srq) {
		ooo_env_event(&qp->ep, OOO_EVENT_LAST_WQE);
		return;
	}
	while (rxo_rq_fetch(qp) != OOO_NONE) {
		done.wr_id = qp->recv->rwqe.wr_id;
		ooo_env_recv_done(&qp->ep, &done);
	}
}

/*
 * The 40 bytes in front of the payload: an IPv6 header as it came, or an IPv4
 * one in the last 20 bytes (annex A17.4.5.1).
 */
static bool build_grh(const struct sk_buff *skb, u8 *grh)
{
	const struct iphdr *ip = ip_hdr(skb);

	memset(grh, 0, GRH_LEN);
	if (ip->version == 4)
		memcpy(grh + 20, ip, sizeof(*ip));
	else
		memcpy(grh, ipv6_hdr(skb), sizeof(struct ipv6hdr));
	return true;
}

static enum ooo_status place(struct rxo_qp *qp, struct sk_buff *skb, const struct ooo_pkt *pkt)
{
	struct rxo_recv_copy *recv = qp->recv;
	enum ooo_result res;
	u8 grh[GRH_LEN];

	if (recv->rwqe.length < GRH_LEN + pkt->payload_len)
		return OOO_WC_LOC_LEN_ERR;
	build_grh(skb, grh);
	res = rxo_scatter_bytes(qp, recv->pd, recv->sge, recv->rwqe.num_sge, 0, grh, GRH_LEN);
	if (res == OOO_OK)
		res = rxo_scatter(qp, recv->pd, recv->sge, recv->rwqe.num_sge, GRH_LEN, skb,
				  pkt->payload_off, pkt->payload_len);
	return res == OOO_OK ? OOO_WC_SUCCESS : OOO_WC_LOC_PROT_ERR;
}

static bool qkey_ok(const struct rxo_qp *qp, u32 qkey)
{
	return qkey == qp->attr.qkey;
}

static bool ud_can_receive(const struct rxo_qp *qp)
{
	switch (qp->ep.state) {
	case OOO_RTR:
	case OOO_RTS:
	case OOO_SQD:
	case OOO_SQE:
		return true;
	default:
		return false;
	}
}

static void ud_received(struct rxo_qp *qp, const struct ooo_pkt *pkt, enum ooo_status status)
{
	bool imm = pkt->h.opcode == (OOO_BTH_UD | OOO_OP_SEND_ONLY_IMM);
	struct rxe_ooo_cqe cqe = {
		.wr_id = qp->recv->rwqe.wr_id,
		.status = status,
		.opcode = IB_WC_RECV,
		.byte_len = GRH_LEN + pkt->payload_len,
		.src_qp = pkt->h.src_qpn,
		.wc_flags = RXO_WC_GRH,
	};

	if (imm) {
		cqe.invalidate_rkey = pkt->h.imm;	/* same bytes as imm_data */
		cqe.wc_flags |= RXO_WC_WITH_IMM;
	}
	rxo_cq_push(qp->rcq, qp, &cqe, pkt->h.solicited);
}

/* A datagram that nobody waits for, or that does not fit, is lost; that is the service. */
void rxo_ud_rx_one(struct rxo_qp *qp, struct sk_buff *skb, const struct ooo_pkt *pkt)
{
	enum ooo_status status;
	enum ooo_result res;

	if (!ud_can_receive(qp))
		return;
	if (!qkey_ok(qp, pkt->h.qkey)) {
		rxo_count(qp->dev, RXO_RX_BAD_QKEY);
		return;
	}
	res = rxo_rq_fetch(qp);
	if (res == OOO_NONE)
		return;
	status = res == OOO_OK ? place(qp, skb, pkt) : OOO_WC_LOC_QP_OP_ERR;
	ud_received(qp, pkt, status);
}
