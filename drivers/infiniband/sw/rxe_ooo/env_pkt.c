// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Packets out, packets kept, and memory for what the core remembers of them. */
#include <linux/sizes.h>
#include "objects.h"
#include "env_pkt.h"

#define RETRY_NS	(1 * NSEC_PER_MSEC)	/* after an allocation has failed */

/* Reordering state: bitmaps and tables, small against the packets themselves. */
#define ALLOC_MAX	SZ_1M

static struct kmem_cache *held_cache;

int rxo_env_init(void)
{
	int err;

	held_cache = KMEM_CACHE(ooo_pkt, SLAB_HWCACHE_ALIGN);
	if (!held_cache)
		return -ENOMEM;
	err = rxo_odp_init();
	if (err)
		kmem_cache_destroy(held_cache);
	return err;
}

void rxo_env_exit(void)
{
	rxo_odp_exit();
	kmem_cache_destroy(held_cache);
}

static enum ooo_result fill_payload(struct rxo_qp *qp, const struct ooo_source *src, u8 *payload)
{
	switch (src->kind) {
	case OOO_SRC_SWQE:
		return rxo_gather(qp, src->wqe, src->offset, src->len, payload);
	case OOO_SRC_REGION:
		return rxo_mr_read(qp, rxo_remote_pd(qp, src->rkey), src->rkey, src->va,
				   IB_ACCESS_REMOTE_READ, payload, src->len);
	default:
		return OOO_OK;
	}
}

enum ooo_result ooo_env_emit(struct ooo_ep *ep, const struct ooo_hdr *hdr,
			     const struct ooo_source *src)
{
	u32 len = src && src->kind != OOO_SRC_NONE ? src->len : 0;
	struct rxo_qp *qp = ep_to_qp(ep);
	struct rxo_av *av = rxo_av_path(&qp->av, hdr->path);
	struct ooo_hdr h = *hdr;
	enum ooo_result res;
	struct sk_buff *skb;
	u8 *payload;

	h.dest_qpn = qp->attr.dest_qp_num;
	h.pkey = IB_DEFAULT_PKEY_FULL;
	skb = rxo_tx_alloc(qp, av, ooo_hdr_size(&h), len, &payload);
	if (!skb) {
		/* A full queue wakes us when it drains; want of memory would not. */
		qp->resume_at = ktime_get_ns() + RETRY_NS;
		rxo_qp_arm(qp);
		return OOO_AGAIN;
	}
	res = len ? fill_payload(qp, src, payload) : OOO_OK;
	if (res != OOO_OK) {
		kfree_skb(skb);
		return res;
	}
	rxo_tx_send(qp, av, skb, &h, len);
	return OOO_OK;
}

static bool held_account(struct rxo_qp *qp, u32 bytes)
{
	if (qp->held_bytes + bytes > RXO_HELD_PER_QP)
		return false;
	if (atomic_add_return(bytes, &qp->dev->held_bytes) > RXO_HELD_PER_DEVICE) {
		atomic_sub(bytes, &qp->dev->held_bytes);
		return false;
	}
	qp->held_bytes += bytes;
	return true;
}

static void held_unaccount(struct rxo_qp *qp, u32 bytes)
{
	qp->held_bytes -= bytes;
	atomic_sub(bytes, &qp->dev->held_bytes);
}

/*
 * The first of several packets that went through the stack as one (tx_batch.c) keeps the
 * truesize of all, in some kernels. It is linear, and so its own is known.
 */
static u32 held_size(const struct sk_buff *skb)
{
	return skb_is_nonlinear(skb) ? skb->truesize :
	       min_t(u32, skb->truesize, SKB_TRUESIZE(skb_end_offset(skb)));
}

struct ooo_pkt *ooo_env_hold(struct ooo_ep *ep, const struct ooo_pkt *pkt)
{
	struct rxo_qp *qp = ep_to_qp(ep);
	struct sk_buff *skb = pkt->payload;
	struct ooo_pkt *held;

	if (!held_account(qp, held_size(skb)))
		return NULL;
	held = kmem_cache_alloc(held_cache, GFP_ATOMIC | __GFP_NOWARN);
	if (!held) {
		held_unaccount(qp, held_size(skb));
		return NULL;
	}
	*held = *pkt;
	skb_get(skb);
	return held;
}

void ooo_env_release(struct ooo_ep *ep, struct ooo_pkt *pkt)
{
	struct sk_buff *skb = pkt->payload;

	held_unaccount(ep_to_qp(ep), held_size(skb));
	consume_skb(skb);
	kmem_cache_free(held_cache, pkt);
}

void *ooo_env_alloc(struct ooo_ep *ep, u32 bytes)
{
	return bytes <= ALLOC_MAX ? kzalloc(bytes, GFP_ATOMIC | __GFP_NOWARN) : NULL;
}

void ooo_env_free(struct ooo_ep *ep, void *mem, u32 bytes)
{
	kfree(mem);
}
