// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * From the UDP socket to a queue pair. Everything that can be checked without
 * the QP's lock is checked here, before any state is touched; what fails is
 * counted and dropped without a word.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "objects.h"
#include "stats.h"
#include "trace.h"
#include "core/opcode.h"

#define QPN_GSI		1
#define QPN_MULTICAST	0xffffff

/* A packet on its way through this file. */
struct arrival {
	struct rxo_net *rn;
	struct sk_buff *skb;	/* data: UDP header, then BTH */
	struct ooo_pkt pkt;
	u32 hdr_len;		/* BTH and extended headers */
	bool ipv6;
};

/* Why it is dropped; OK is none. */
enum verdict { OK = -1 };

static void drop(const struct arrival *in, struct rxo_dev *dev, enum rxo_dev_stat why)
{
	trace_rxe_ooo_rx_drop(&in->pkt.h, rxo_dev_stat_name(why));
	if (!dev)
		dev = rxo_net_find_dev(in->rn, in->skb->dev);
	if (dev)
		rxo_count(dev, why);
	kfree_skb(in->skb);
}

/* ------------------------------------------------------------------ */
/* The packet alone                                                    */

/* No options that the ICRC could not cover: IPv6 has none here (IBTA A17.3.2). */
static bool ip_header_ok(struct arrival *in)
{
	u32 len = skb_network_header_len(in->skb);

	in->ipv6 = ip_hdr(in->skb)->version == 6;
	return in->ipv6 ? len == sizeof(struct ipv6hdr) : len == ip_hdrlen(in->skb);
}

static int parse(struct arrival *in)
{
	struct sk_buff *skb = in->skb;
	u32 len = skb->len - sizeof(struct udphdr);

	if (!ip_header_ok(in))
		return RXO_RX_MALFORMED;
	if (skb->len < sizeof(struct udphdr) + OOO_BTH_LEN + OOO_ICRC_LEN)
		return RXO_RX_MALFORMED;
	if (ntohs(udp_hdr(skb)->len) != skb->len)
		return RXO_RX_MALFORMED;
	if (!pskb_may_pull(skb, sizeof(struct udphdr) + min_t(u32, len, OOO_MAX_HDR)))
		return RXO_RX_NO_MEMORY;
	if (!ooo_parse(skb->data + sizeof(struct udphdr),
		       skb_headlen(skb) - sizeof(struct udphdr), len,
		       &in->pkt.h, &in->hdr_len, &in->pkt.payload_len))
		return RXO_RX_MALFORMED;
	return OK;
}

static bool icrc_ok(const struct arrival *in)
{
	u32 end = in->skb->len - OOO_ICRC_LEN;
	__le32 wire, icrc;

	return !skb_copy_bits(in->skb, end, &wire, sizeof(wire)) &&
	       rxo_icrc(in->skb, end, &icrc) && wire == icrc;
}

/* ------------------------------------------------------------------ */
/* The packet and its QP                                               */

static enum ooo_bth_service qp_service(const struct rxo_qp *qp)
{
	switch (qp->ib.qp_type) {
	case IB_QPT_RC:
		return OOO_BTH_RC;
	case IB_QPT_UC:
		return OOO_BTH_UC;
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return OOO_BTH_XRC;
	default:
		return OOO_BTH_UD;
	}
}

/* The opcode exists, so its service has the operation. */
static bool is_of_service(const struct arrival *in, enum ooo_bth_service service)
{
	return OOO_BTH_SERVICE(in->pkt.h.opcode) == service;
}

static bool is_connected(const struct rxo_qp *qp)
{
	return qp_service(qp) != OOO_BTH_UD;
}

static bool addresses_match4(const struct rxo_av *av, const struct iphdr *ip)
{
	return av->src.in.sin_addr.s_addr == ip->daddr &&
	       av->dst.in.sin_addr.s_addr == ip->saddr;
}

static bool addresses_match6(const struct rxo_av *av, const struct ipv6hdr *ip)
{
	return ipv6_addr_equal(&av->src.in6.sin6_addr, &ip->daddr) &&
	       ipv6_addr_equal(&av->dst.in6.sin6_addr, &ip->saddr);
}

/* A connected QP hears its peer only, at the address that it was given. */
static bool addresses_match(const struct arrival *in, const struct rxo_qp *qp)
{
	const struct rxo_av *av = &qp->av;

	if (av->src._sa.sa_family != (in->ipv6 ? AF_INET6 : AF_INET))
		return false;
	return in->ipv6 ? addresses_match6(av, ipv6_hdr(in->skb)) :
			  addresses_match4(av, ip_hdr(in->skb));
}

/* To a group or to everybody: such a packet names the QPN 0xffffff or nobody (IBTA 9.6.1.2.1). */
static bool is_multicast(const struct arrival *in)
{
	if (in->skb->pkt_type == PACKET_BROADCAST)
		return true;
	return in->ipv6 ? ipv6_addr_is_multicast(&ipv6_hdr(in->skb)->daddr) :
			  ipv4_is_multicast(ip_hdr(in->skb)->daddr);
}

/* The membership bit apart (IBTA 10.9.3): ours is a full member's key. */
static bool pkey_ok(u16 pkey)
{
	return (pkey & 0x7fff) == (IB_DEFAULT_PKEY_FULL & 0x7fff);
}

/*
 * IBTA 13.4.2: 256 bytes, of which the first is the version. The core logs every other version, and
 * a log is not for whoever sends packets to fill.
 */
static bool is_mad(const struct arrival *in)
{
	u8 version;

	return in->pkt.payload_len == IB_MGMT_MAD_SIZE &&
	       !skb_copy_bits(in->skb, sizeof(struct udphdr) + in->hdr_len, &version, 1) &&
	       version == IB_MGMT_BASE_VERSION;
}

static int check_for_datagram_qp(const struct arrival *in, const struct rxo_qp *qp)
{
	if (is_multicast(in))
		return RXO_RX_WRONG_SOURCE;
	return qp->ib.qp_type == IB_QPT_GSI && !is_mad(in) ? RXO_RX_MALFORMED : OK;
}

/*
 * The fields of the QP are read without its lock: while modify_qp changes
 * them a packet may be dropped or pass, and what is under the lock decides.
 */
static int check_for_qp(const struct arrival *in, const struct rxo_qp *qp)
{
	u32 mtu = READ_ONCE(qp->ep.attr.mtu);

	if (!pkey_ok(in->pkt.h.pkey))
		return RXO_RX_BAD_PKEY;
	if (in->pkt.h.opcode == OOO_OPCODE_CNP)
		return RXO_RX_CNP;
	if (!is_of_service(in, qp_service(qp)))
		return RXO_RX_WRONG_OPCODE;
	if (!is_connected(qp))
		return check_for_datagram_qp(in, qp);
	if (!addresses_match(in, qp))
		return RXO_RX_WRONG_SOURCE;
	if (mtu && !ooo_packet_length_ok(in->pkt.h.opcode, in->pkt.payload_len, mtu))
		return RXO_RX_WRONG_LENGTH;
	return OK;
}

/* ------------------------------------------------------------------ */
/* Finding the QP                                                      */

static void dest_gid(const struct arrival *in, union ib_gid *gid)
{
	if (in->ipv6)
		memcpy(gid, &ipv6_hdr(in->skb)->daddr, sizeof(*gid));
	else
		ipv6_addr_set_v4mapped(ip_hdr(in->skb)->daddr, (struct in6_addr *)gid);
}

static bool dev_has_gid(struct rxo_dev *dev, const union ib_gid *gid)
{
	const struct ib_gid_attr *attr;

	attr = rdma_find_gid_by_port(&dev->ib, gid, IB_GID_TYPE_ROCE_UDP_ENCAP, 1, NULL);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

/*
 * The list has devices that are not registered yet: they have no GID table to
 * look at. A GSI QP is made after the table and goes before it.
 */
static bool has_gsi(struct rxo_dev *dev)
{
	if (!rcu_access_pointer(dev->gsi))
		return false;
	smp_rmb();	/* pairs with the cmpxchg in add_gsi(): the table, after the QP */
	return true;
}

/* QPN 1 names a QP of each device: the address says whose. */
static struct rxo_qp *find_gsi(const struct arrival *in)
{
	struct rxo_dev *dev;
	union ib_gid gid;

	dest_gid(in, &gid);
	list_for_each_entry_rcu(dev, &in->rn->devs, net_list)
		if (has_gsi(dev) && dev_has_gid(dev, &gid))
			return rxo_qp_get_gsi(dev);
	return NULL;
}

static struct rxo_qp *find_qp(const struct arrival *in)
{
	switch (in->pkt.h.dest_qpn) {
	case QPN_GSI:
		return find_gsi(in);
	default:
		return rxo_qp_get(in->rn, in->pkt.h.dest_qpn);
	}
}

/* ------------------------------------------------------------------ */

static u8 ecn_bits(const struct arrival *in)
{
	return (in->ipv6 ? ipv6_get_dsfield(ipv6_hdr(in->skb)) : ip_hdr(in->skb)->tos) &
	       INET_ECN_MASK;
}

/* The skb becomes the QP's, and may stay for long: it must hold nothing of the stack. */
static void deliver(struct arrival *in, struct rxo_qp *qp)
{
	struct sk_buff *skb = in->skb;
	struct rxo_rx_cb *cb = RXO_RX_CB(skb);

	trace_rxe_ooo_rx(qp, &in->pkt.h, in->pkt.payload_len);
	skb_dst_drop(skb);
	skb_orphan(skb);
	nf_reset_ct(skb);
	skb_ext_reset(skb);
	__skb_pull(skb, sizeof(struct udphdr));
	cb->ecn = ecn_bits(in);
	cb->hdr_len = in->hdr_len;
	cb->payload_len = in->pkt.payload_len;
	in->pkt.payload = skb;
	in->pkt.payload_off = in->hdr_len;
	in->pkt.ce = cb->ecn == INET_ECN_CE;
	if (is_connected(qp))
		rxo_qp_rx(qp, skb, &in->pkt);
	else
		rxo_ud_rx(qp, skb, &in->pkt);
}

/* ------------------------------------------------------------------ */
/* Multicast                                                           */

/* VLAN frames come in on their own interface. */
static bool comes_in_on(const struct rxo_dev *dev, const struct net_device *ndev)
{
	return dev->ndev == ndev || (is_vlan_dev(ndev) && vlan_dev_real_dev(ndev) == dev->ndev);
}

static struct rxo_dev *multicast_dev(const struct arrival *in)
{
	struct rxo_dev *dev;

	list_for_each_entry_rcu(dev, &in->rn->devs, net_list)
		if (comes_in_on(dev, in->skb->dev))
			return dev;
	return NULL;
}

static int check_multicast(const struct arrival *in)
{
	if (!pkey_ok(in->pkt.h.pkey))
		return RXO_RX_BAD_PKEY;
	if (!is_of_service(in, OOO_BTH_UD))
		return RXO_RX_WRONG_OPCODE;
	return icrc_ok(in) ? OK : RXO_RX_ICRC_ERR;
}

static void deliver_copy(const struct arrival *in, struct rxo_qp *qp)
{
	struct arrival copy = *in;

	copy.skb = skb_clone(in->skb, GFP_ATOMIC | __GFP_NOWARN);
	if (copy.skb)
		deliver(&copy, qp);
	else
		rxo_count(qp->dev, RXO_RX_NO_MEMORY);
}

/* A copy for each QP that is attached, the sender's included. */
static void receive_multicast(struct arrival *in)
{
	struct rxo_dev *dev = multicast_dev(in);
	struct rxo_mcast_group *group = NULL;
	struct rxo_mcast_member *member;
	union ib_gid mgid;
	int why;

	dest_gid(in, &mgid);
	if (dev)
		group = rxo_mcast_find(dev, &mgid);
	why = group ? check_multicast(in) : RXO_RX_NO_QP;
	if (why != OK) {
		drop(in, dev, why);
		return;
	}
	list_for_each_entry_rcu(member, &group->members, list) {
		if (!refcount_inc_not_zero(&member->qp->refs))
			continue;
		deliver_copy(in, member->qp);
		rxo_qp_put(member->qp);
	}
	consume_skb(in->skb);
}

/* ------------------------------------------------------------------ */

static void receive_for_qp(struct arrival *in, struct rxo_qp *qp)
{
	int why = check_for_qp(in, qp);

	/* Last, since it is the most work. */
	if ((why == OK || why == RXO_RX_CNP) && !icrc_ok(in))
		why = RXO_RX_ICRC_ERR;
	if (why == RXO_RX_CNP && is_connected(qp) && addresses_match(in, qp))
		rxo_qp_wake(qp, RXO_PENDING_CNP);
	if (why == OK)
		deliver(in, qp);
	else
		drop(in, qp->dev, why);
}

/*
 * encap_rcv of the namespace's sockets: softirq, under rcu_read_lock(). The
 * stack has checked the UDP checksum if there is one, and has split what GRO
 * may have joined. Always takes the packet.
 */
int rxo_udp_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct arrival in = {
		.rn = rxo_net(sock_net(sk)),
		.skb = skb,
	};
	struct rxo_qp *qp;
	int why;

	why = parse(&in);
	if (why != OK) {
		drop(&in, NULL, why);
		return 0;
	}
	if (in.pkt.h.dest_qpn == QPN_MULTICAST) {
		receive_multicast(&in);
		return 0;
	}
	qp = find_qp(&in);
	if (!qp) {
		drop(&in, NULL, RXO_RX_NO_QP);
		return 0;
	}
	receive_for_qp(&in, qp);
	rxo_qp_put(qp);
	return 0;
}
