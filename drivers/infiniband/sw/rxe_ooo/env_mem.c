// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory as the core sees it: peers' keys, and our own scatter/gather lists. */
#include "objects.h"
#include "verbs_small.h"

/* Belongs to nobody: matches no key. */
static struct rxo_pd no_pd;

/*
 * Peers may use keys of the QP's protection domain. An XRC target QP has none:
 * there it is the key's own, if that takes part in the XRC domain.
 */
struct rxo_pd *rxo_remote_pd(struct rxo_qp *qp, u32 rkey)
{
	struct rxo_pd *pd = NULL;
	struct rxo_mr *mr;

	if (qp->ib.qp_type != IB_QPT_XRC_TGT)
		return to_rpd(qp->ib.pd);
	rcu_read_lock();
	mr = xa_load(&qp->dev->mrs, rkey >> 8);
	if (mr)
		pd = READ_ONCE(mr->pd);
	rcu_read_unlock();
	return pd && rxo_xrcd_has_pd(qp->ib.xrcd, pd) ? pd : &no_pd;
}

/* Walks the part of a list that [offset, offset + len) of the message lies in. */
struct sge_walk {
	const struct ooo_sge *sge;
	u32 left;		/* elements */
	u32 skip;		/* bytes of the first one */
};

static void walk_start(struct sge_walk *w, const struct ooo_sge *sge, u32 num_sge, u32 offset)
{
	while (num_sge && offset >= sge->length) {
		offset -= sge->length;
		sge++;
		num_sge--;
	}
	w->sge = sge;
	w->left = num_sge;
	w->skip = offset;
}

/* The next piece of at most @len bytes; 0 at the end of the list. */
static u32 walk_next(struct sge_walk *w, u32 len, u64 *addr, u32 *lkey)
{
	u32 n;

	while (w->left && w->skip == w->sge->length) {
		w->sge++;
		w->left--;
		w->skip = 0;
	}
	if (!w->left)
		return 0;
	n = min(len, w->sge->length - w->skip);
	*addr = w->sge->addr + w->skip;
	*lkey = w->sge->lkey;
	w->skip += n;
	return n;
}

static enum ooo_result gather_list(struct rxo_qp *qp, const struct ooo_swqe *wqe, u32 offset,
				   u32 len, u8 *dst)
{
	struct rxo_pd *pd = to_rpd(qp->ib.pd);
	enum ooo_result res;
	struct sge_walk w;
	u32 lkey, n;
	u64 addr;

	walk_start(&w, wqe->sge, wqe->num_sge, offset);
	for (; len; len -= n, dst += n) {
		n = walk_next(&w, len, &addr, &lkey);
		if (!n)
			return OOO_ACCESS;
		res = rxo_mr_read(qp, pd, lkey, addr, 0, dst, n);
		if (res != OOO_OK)
			return res;
	}
	return OOO_OK;
}

/* @len bytes at @offset of @wqe's message; the core asks for nothing beyond its length. */
enum ooo_result rxo_gather(struct rxo_qp *qp, const struct ooo_swqe *wqe, u32 offset, u32 len,
			   u8 *dst)
{
	if (!len)
		return OOO_OK;
	if (offset > wqe->length || len > wqe->length - offset)
		return OOO_ACCESS;
	if (wqe->flags & OOO_SEND_INLINE) {
		memcpy(dst, (const u8 *)wqe->sge + offset, len);
		return OOO_OK;
	}
	return gather_list(qp, wqe, offset, len, dst);
}

enum ooo_result rxo_scatter(struct rxo_qp *qp, struct rxo_pd *pd, const struct ooo_sge *sge,
			    u32 num_sge, u32 offset, const struct sk_buff *skb, u32 skb_off,
			    u32 len)
{
	enum ooo_result res;
	struct sge_walk w;
	u32 lkey, n;
	u64 addr;

	walk_start(&w, sge, num_sge, offset);
	for (; len; len -= n, skb_off += n) {
		n = walk_next(&w, len, &addr, &lkey);
		if (!n)
			return OOO_LENGTH;
		res = rxo_mr_write_skb(qp, pd, lkey, addr, IB_ACCESS_LOCAL_WRITE, skb,
				       skb_off, n);
		if (res != OOO_OK)
			return res;
	}
	return OOO_OK;
}

enum ooo_result rxo_scatter_bytes(struct rxo_qp *qp, struct rxo_pd *pd,
				  const struct ooo_sge *sge, u32 num_sge, u32 offset,
				  const void *src, u32 len)
{
	enum ooo_result res;
	struct sge_walk w;
	u32 lkey, n;
	u64 addr;

	walk_start(&w, sge, num_sge, offset);
	for (; len; len -= n, src += n) {
		n = walk_next(&w, len, &addr, &lkey);
		if (!n)
			return OOO_LENGTH;
		res = rxo_mr_write(qp, pd, lkey, addr, IB_ACCESS_LOCAL_WRITE, src, n);
		if (res != OOO_OK)
			return res;
	}
	return OOO_OK;
}

enum ooo_result ooo_env_check(struct ooo_ep *ep, u32 rkey, u64 va, u64 len, u32 access)
{
	struct rxo_qp *qp = ep_to_qp(ep);

	return rxo_mr_check(qp, rxo_remote_pd(qp, rkey), rkey, va, len, access);
}

enum ooo_result ooo_env_write(struct ooo_ep *ep, u32 rkey, u64 va, const struct ooo_pkt *pkt)
{
	struct rxo_qp *qp = ep_to_qp(ep);

	return rxo_mr_write_skb(qp, rxo_remote_pd(qp, rkey), rkey, va, IB_ACCESS_REMOTE_WRITE,
				pkt->payload, pkt->payload_off, pkt->payload_len);
}

enum ooo_result ooo_env_scatter_recv(struct ooo_ep *ep, struct ooo_rwqe *rwqe, u32 offset,
				     const struct ooo_pkt *pkt)
{
	struct rxo_recv_copy *recv = container_of(rwqe, struct rxo_recv_copy, rwqe);

	return rxo_scatter(ep_to_qp(ep), recv->pd, rwqe->sge, rwqe->num_sge, offset,
			   pkt->payload, pkt->payload_off, pkt->payload_len);
}

enum ooo_result ooo_env_scatter_read(struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 offset,
				     const struct ooo_pkt *pkt)
{
	struct rxo_qp *qp = ep_to_qp(ep);
	enum ooo_result res;

	res = rxo_scatter(qp, to_rpd(qp->ib.pd), wqe->sge, wqe->num_sge, offset, pkt->payload,
			  pkt->payload_off, pkt->payload_len);
	return res == OOO_LENGTH ? OOO_ACCESS : res;
}

enum ooo_result ooo_env_atomic_result(struct ooo_ep *ep, const struct ooo_swqe *wqe, u64 value)
{
	struct rxo_qp *qp = ep_to_qp(ep);

	return rxo_scatter_bytes(qp, to_rpd(qp->ib.pd), wqe->sge, wqe->num_sge, 0, &value,
				 sizeof(value));
}

enum ooo_result ooo_env_atomic(struct ooo_ep *ep, u32 rkey, u64 va, bool cmp_swap,
			       u64 compare_add, u64 swap, u64 *orig)
{
	struct rxo_mr_atomic op = {
		.cmp_swap = cmp_swap,
		.compare_add = compare_add,
		.swap = swap,
	};
	struct rxo_qp *qp = ep_to_qp(ep);
	enum ooo_result res;

	res = rxo_mr_atomic(qp, rxo_remote_pd(qp, rkey), rkey, va, &op);
	*orig = op.orig;
	return res;
}

enum ooo_result ooo_env_atomic_write(struct ooo_ep *ep, u32 rkey, u64 va,
				     const struct ooo_pkt *pkt)
{
	struct rxo_qp *qp = ep_to_qp(ep);
	u64 value;

	if (skb_copy_bits(pkt->payload, pkt->payload_off, &value, sizeof(value)))
		return OOO_ACCESS;
	return rxo_mr_store8(qp, rxo_remote_pd(qp, rkey), rkey, va, value);
}

enum ooo_result ooo_env_flush(struct ooo_ep *ep, u32 rkey, u64 va, u64 len, u32 type, bool whole)
{
	struct rxo_qp *qp = ep_to_qp(ep);
	u32 access = 0;

	if (type & IB_FLUSH_GLOBAL)
		access |= IB_ACCESS_FLUSH_GLOBAL;
	if (type & IB_FLUSH_PERSISTENT)
		access |= IB_ACCESS_FLUSH_PERSISTENT;
	return rxo_mr_flush(qp, rxo_remote_pd(qp, rkey), rkey, va, len, access, whole);
}

enum ooo_result ooo_env_invalidate(struct ooo_ep *ep, u32 rkey)
{
	struct rxo_qp *qp = ep_to_qp(ep);

	return rxo_mr_invalidate(qp, rxo_remote_pd(qp, rkey), rkey);
}
