// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Several packets of a queue pair in one pass through the stack.
 *
 * What one hold of qp->lock sends to the same peer is joined to a list that
 * the stack takes for one big UDP packet (SKB_GSO_FRAGLIST: what GRO makes of
 * packets that are only forwarded). Routing, netfilter, the device and the
 * receiver's way up to UDP see it once; before anything looks into it, the
 * stack takes the list apart again, and each packet is complete, as it was built.
 *
 * Nobody may notice who works on packets: netem and other qdiscs, tc filters,
 * captures. So only where the path is known to have none of these: on lo, which
 * has no other hop, and by ooo_gso on devices without a queue of their own (veth),
 * where what lies behind them is for the administrator to know.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/udp.h>
#include <net/dst.h>
#include <net/sch_generic.h>

#include "rxe_ooo.h"

/* IP's length fields have 16 bits; the rest is room for headers. */
#define BATCH_BYTES	(64U * 1024 - 256)

#define GSO_TYPE	(SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST)
#define GSO_FEATURES	(NETIF_F_GSO_UDP_L4 | NETIF_F_GSO_FRAGLIST | NETIF_F_FRAGLIST)

static bool has_tc_filters(const struct net_device *dev)
{
#ifdef CONFIG_NET_XGRESS
	return rcu_access_pointer(dev->tcx_egress) || rcu_access_pointer(dev->tcx_ingress);
#else
	return false;
#endif
}

/* noqueue: a qdisc that hands on at once what it gets (sch_generic.c gives it no enqueue). */
static bool has_queue(struct net_device *dev)
{
	return rcu_dereference(netdev_get_tx_queue(dev, 0)->qdisc)->enqueue;
}

/* Nothing between us and the device that would take a list apart, or wrap it up. */
static bool goes_whole(const struct dst_entry *dst)
{
	return !dst_xfrm(dst) && !dst->lwtstate &&
	       READ_ONCE(dst->dev->gso_max_segs) >= RXO_TX_BATCH_MAX &&
	       READ_ONCE(dst->dev->gso_max_size) >= 64 * 1024 - 1;
}

bool rxo_tx_batch_ok(const struct rxo_qp *qp, const struct dst_entry *dst)
{
	struct net_device *dev = dst->dev;

	if (!(dev->flags & IFF_LOOPBACK) && !READ_ONCE(qp->dev->tun.gso))
		return false;
	if (!goes_whole(dst))
		return false;
	return (dev->features & GSO_FEATURES) == GSO_FEATURES && !has_queue(dev) &&
	       !has_tc_filters(dev) && !dev_nit_active(dev);
}

/* The first one sets the segment size, which no other may exceed. */
static bool fits(const struct rxo_tx_batch *batch, u32 udp_payload)
{
	return batch->bytes + udp_payload <= BATCH_BYTES && batch->count < RXO_TX_BATCH_MAX &&
	       udp_payload <= batch->first;
}

/* For the packet that follows: the IP identification that the stack will give it. */
u16 rxo_tx_batch_id(struct rxo_qp *qp, u32 udp_payload)
{
	if (qp->batch.head && !fits(&qp->batch, udp_payload))
		rxo_tx_batch_send(qp);
	return qp->batch.count;
}

/* @skb is complete, from the IP header to the ICRC. */
void rxo_tx_batch_add(struct rxo_qp *qp, struct sk_buff *skb)
{
	u32 udp_payload = skb->len - skb_transport_offset(skb) - sizeof(struct udphdr);
	struct rxo_tx_batch *batch = &qp->batch;

	if (!batch->head) {
		batch->head = skb;
		batch->first = udp_payload;
	} else {
		/* As GRO leaves them: the headers are in front of the data. */
		__skb_pull(skb, skb_transport_offset(skb) + sizeof(struct udphdr));
		batch->tail->next = skb;
	}
	batch->tail = skb;
	batch->bytes += udp_payload;
	batch->truesize += skb->truesize;
	batch->count++;
}

/* One skb of all; the lengths of UDP and IP are the whole's until it is taken apart. */
static struct sk_buff *join(const struct rxo_tx_batch *batch)
{
	struct sk_buff *head = batch->head;
	struct skb_shared_info *info = skb_shinfo(head);
	u32 more = batch->bytes - batch->first;

	if (batch->count == 1)
		return head;
	info->frag_list = head->next;
	head->next = NULL;
	info->gso_type = GSO_TYPE;
	info->gso_size = batch->first;
	info->gso_segs = batch->count;
	head->data_len = more;
	head->len += more;
	head->truesize = batch->truesize;
	head->ip_summed = CHECKSUM_UNNECESSARY;	/* the UDP checksum is 0 */
	udp_hdr(head)->len = htons(batch->bytes + sizeof(struct udphdr));
	return head;
}

void rxo_tx_batch_send(struct rxo_qp *qp)
{
	struct sk_buff *skb = join(&qp->batch);

	if (qp->batch.count > 1)
		rxo_count_n(qp->dev, RXO_TX_JOINED, qp->batch.count);
	qp->batch = (struct rxo_tx_batch) {};
	rxo_tx_send_built(qp, &qp->av, skb);
}
