// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * From a queue pair to the IP stack. A packet takes the way of any other, so
 * that every qdisc sees it, lo's too.
 *
 * What a QP has in local queues (qdisc, device ring, a veth peer's backlog)
 * is bounded: above RXO_TX_QUEUE_MAX bytes rxo_tx_alloc() refuses, and at half
 * of it the QP is woken. netem with a delay, and the receiving side of a
 * veth pair, release an skb early: what they hold does not count.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/net.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>

#include "rxe_ooo.h"
#include "compat.h"
#include "trace.h"

/* ------------------------------------------------------------------ */
/* Accounting                                                          */

/*
 * Some skb of the QP was freed: any context, and the QP may be going away.
 * Its memory stays for the RCU section, its reference decides.
 */
static void tx_write_space(struct sock *sk)
{
	struct rxo_qp *qp;

	if (sk_wmem_alloc_get(sk) > RXO_TX_QUEUE_MAX / 2)
		return;
	rcu_read_lock();
	qp = rcu_dereference_sk_user_data(sk);
	if (qp && READ_ONCE(qp->tx_full) && refcount_inc_not_zero(&qp->refs)) {
		if (xchg(&qp->tx_full, false))
			rxo_qp_resume(qp);
		rxo_qp_put(qp);
	}
	rcu_read_unlock();
}

int rxo_tx_sock_create(struct rxo_qp *qp)
{
	struct socket *sock;
	struct sock *sk;
	int err;

	err = sock_create_kern(qp->dev->rn->net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, &sock);
	if (err)
		return err;
	sk = sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	qp->tx_old_write_space = sk->sk_write_space;
	rcu_assign_sk_user_data(sk, qp);
	WRITE_ONCE(sk->sk_write_space, tx_write_space);
	write_unlock_bh(&sk->sk_callback_lock);
	qp->tx_sock = sock;
	return 0;
}

void rxo_tx_sock_detach(struct rxo_qp *qp)
{
	struct sock *sk = qp->tx_sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_write_space, qp->tx_old_write_space);
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
}

void rxo_tx_sock_release(struct rxo_qp *qp)
{
	rxo_tx_sock_detach(qp);
	sock_release(qp->tx_sock);
	qp->tx_sock = NULL;
}

/*
 * False: wait. The flag is set before the second look, tx_write_space() looks
 * at the flag after it has lowered the count: one of the two sees the other.
 */
static bool tx_room(struct rxo_qp *qp)
{
	struct sock *sk = qp->tx_sock->sk;

	if (likely(sk_wmem_alloc_get(sk) < RXO_TX_QUEUE_MAX))
		return true;
	smp_store_mb(qp->tx_full, true);	/* pairs with the atomics of sock_wfree() */
	if (sk_wmem_alloc_get(sk) > RXO_TX_QUEUE_MAX / 2) {
		rxo_count(qp->dev, RXO_TX_QUEUE_FULL);
		return false;
	}
	WRITE_ONCE(qp->tx_full, false);
	return true;
}

/* ------------------------------------------------------------------ */
/* Building                                                            */

struct sk_buff *rxo_tx_alloc(struct rxo_qp *qp, struct rxo_av *av, u32 hdr_len, u32 payload_len,
			     u8 **payload)
{
	u32 head = LL_MAX_HEADER + sizeof(struct ipv6hdr) + sizeof(struct udphdr) + hdr_len;
	struct sk_buff *skb;

	if (!tx_room(qp))
		return NULL;
	skb = alloc_skb(head + payload_len + 3 + OOO_ICRC_LEN, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb) {
		rxo_count(qp->dev, RXO_TX_NO_MEMORY);
		return NULL;
	}
	skb_reserve(skb, head);
	*payload = skb_put(skb, payload_len);
	return skb;
}

static void push_transport(struct sk_buff *skb, const struct ooo_hdr *hdr, u32 payload_len)
{
	skb_put_zero(skb, -payload_len & 3);
	ooo_build(hdr, payload_len, skb_push(skb, ooo_hdr_size(hdr)));
}

/* The checksum stays zero: the ICRC covers more (annex A17.3.1). */
static void push_udp(struct sk_buff *skb, const struct rxo_av *av)
{
	struct udphdr *udp = skb_push(skb, sizeof(*udp));

	skb_reset_transport_header(skb);
	udp->source = av->sport;
	udp->dest = htons(OOO_UDP_PORT);
	udp->len = htons(skb->len);
	udp->check = 0;
}

/*
 * Final but for the checksum, which ip_local_out() makes: the ICRC covers
 * length, identification and the fragment bits.
 */
static void push_ipv4(struct sk_buff *skb, const struct rxo_av *av, struct dst_entry *dst, u16 id)
{
	struct iphdr *ip = skb_push(skb, sizeof(*ip));

	skb_reset_network_header(skb);
	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->tos = av->tos;
	ip->tot_len = htons(skb->len);
	ip->id = htons(id);
	ip->frag_off = htons(IP_DF);
	ip->ttl = av->ttl ?: ip4_dst_hoplimit(dst);
	ip->protocol = IPPROTO_UDP;
	ip->check = 0;
	ip->saddr = av->src.in.sin_addr.s_addr;
	ip->daddr = av->dst.in.sin_addr.s_addr;
	skb->protocol = htons(ETH_P_IP);
}

static void push_ipv6(struct sk_buff *skb, const struct rxo_av *av, struct dst_entry *dst)
{
	u32 len = skb->len;
	struct ipv6hdr *ip = skb_push(skb, sizeof(*ip));

	skb_reset_network_header(skb);
	ip6_flow_hdr(ip, av->tos, av->flow_label);
	ip->payload_len = htons(len);
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = av->ttl ?: rxo_dst6_hoplimit(dst);
	ip->saddr = av->src.in6.sin6_addr;
	ip->daddr = av->dst.in6.sin6_addr;
	skb->protocol = htons(ETH_P_IPV6);
}

static void add_icrc(struct sk_buff *skb)
{
	u32 end = skb->len - OOO_ICRC_LEN;
	__le32 icrc = 0;

	rxo_icrc(skb, end, &icrc);
	memcpy(skb->data + end, &icrc, sizeof(icrc));
}

/* ------------------------------------------------------------------ */
/* Sending                                                             */

static bool is_ipv4(const struct rxo_av *av)
{
	return av->src._sa.sa_family == AF_INET;
}

static int local_out(struct net *net, struct sk_buff *skb, const struct rxo_av *av)
{
	if (is_ipv4(av))
		return ip_local_out(net, skb->sk, skb);
	return rxo_ip6_local_out(net, skb->sk, skb);
}

static void build(struct sk_buff *skb, const struct rxo_av *av, struct dst_entry *dst,
		  const struct ooo_hdr *hdr, u32 payload_len, u16 id)
{
	push_transport(skb, hdr, payload_len);
	skb_put(skb, OOO_ICRC_LEN);
	push_udp(skb, av);
	if (is_ipv4(av))
		push_ipv4(skb, av, dst, id);
	else
		push_ipv6(skb, av, dst);
	add_icrc(skb);
}

/* @dst is held by RCU; whoever queues the skb beyond that takes a reference (skb_dst_force()). */
static void send(struct rxo_qp *qp, const struct rxo_av *av, struct sk_buff *skb,
		 struct dst_entry *dst)
{
	int err;

	skb->dev = dst->dev;
	skb->priority = rdma_ah_get_sl(&av->attr);
	skb_dst_set_noref(skb, dst);
	skb_set_owner_w(skb, qp->tx_sock->sk);
	err = local_out(qp->dev->rn->net, skb, av);
	if (err && err != NET_XMIT_CN)	/* "congestion" means queued */
		rxo_count(qp->dev, RXO_TX_QDISC_DROP);
}

static void no_route(struct rxo_qp *qp, struct sk_buff *skb)
{
	rxo_count(qp->dev, RXO_TX_NO_ROUTE);
	kfree_skb(skb);
}

void rxo_tx_send_built(struct rxo_qp *qp, struct rxo_av *av, struct sk_buff *skb)
{
	struct dst_entry *dst;

	rcu_read_lock();
	dst = rxo_route(qp->dev->rn->net, av);
	if (dst)
		send(qp, av, skb, dst);
	else
		no_route(qp, skb);
	rcu_read_unlock();
}

static u32 udp_payload_len(const struct ooo_hdr *hdr, u32 payload_len)
{
	return ooo_hdr_size(hdr) + ALIGN(payload_len, 4) + OOO_ICRC_LEN;
}

void rxo_tx_send(struct rxo_qp *qp, struct rxo_av *av, struct sk_buff *skb,
		 const struct ooo_hdr *hdr, u32 payload_len)
{
	struct dst_entry *dst;

	rcu_read_lock();
	dst = rxo_route(qp->dev->rn->net, av);
	if (!dst) {
		no_route(qp, skb);
		goto out;
	}
	trace_rxe_ooo_tx(qp, hdr, payload_len);
	if (av == &qp->av && rxo_tx_batch_ok(qp, dst)) {
		build(skb, av, dst, hdr, payload_len,
		      rxo_tx_batch_id(qp, udp_payload_len(hdr, payload_len)));
		rxo_tx_batch_add(qp, skb);
	} else {
		rxo_tx_flush(qp);
		build(skb, av, dst, hdr, payload_len, 0);
		send(qp, av, skb, dst);
	}
out:
	rcu_read_unlock();
}
