// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Network namespaces: the UDP sockets of each, open while it has a device,
 * and the list of its devices.
 */
#include <linux/rculist.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include "rxe_ooo.h"
#include "compat.h"

unsigned int rxo_net_id;

/* ------------------------------------------------------------------ */
/* Sockets                                                             */

static void close_socket(struct socket **sock)
{
	if (*sock)
		rxo_udp_tunnel_sock_release(*sock);
	*sock = NULL;
}

static int open_socket(struct rxo_net *rn, int family, struct socket **sock)
{
	struct udp_port_cfg cfg = {
		.family = family,
		.local_udp_port = htons(OOO_UDP_PORT),
		/* RoCEv2 has no UDP checksum, over IPv6 either (annex A17.3.1) */
		.use_udp6_rx_checksums = false,
		.ipv6_v6only = true,
	};
	struct udp_tunnel_sock_cfg tunnel = {
		.sk_user_data = rn,
		.encap_type = 1,
		.encap_rcv = rxo_udp_rcv,
	};
	int err;

	err = udp_sock_create(rn->net, &cfg, sock);
	if (err) {
		*sock = NULL;
		return err;
	}
	rxo_setup_udp_tunnel_sock(rn->net, *sock, &tunnel);
	return 0;
}

/* IPv6 may be compiled out or switched off at boot. */
static int open_sockets(struct rxo_net *rn)
{
	int err;

	err = open_socket(rn, AF_INET, &rn->sock4);
	if (err)
		return err;
	err = open_socket(rn, AF_INET6, &rn->sock6);
	if (!err || err == -EAFNOSUPPORT || err == -EPFNOSUPPORT)
		return 0;
	close_socket(&rn->sock4);
	return err;
}

static void close_sockets(struct rxo_net *rn)
{
	close_socket(&rn->sock4);
	close_socket(&rn->sock6);
}

/* ------------------------------------------------------------------ */
/* Devices                                                             */

static int get_sockets(struct rxo_net *rn)
{
	int err = 0;

	if (!rn->users)
		err = open_sockets(rn);
	if (!err)
		rn->users++;
	return err;
}

int rxo_net_add_dev(struct rxo_dev *dev)
{
	struct rxo_net *rn = dev->rn;
	int err;

	mutex_lock(&rn->lock);
	err = get_sockets(rn);
	if (!err) {
		list_add_tail_rcu(&dev->net_list, &rn->devs);
		dev->in_net = true;
	}
	mutex_unlock(&rn->lock);
	if (err == -EADDRINUSE)
		pr_warn_ratelimited("rxe_ooo: UDP port %u of this network namespace is taken (by a device of rdma_rxe?)\n",
				    OOO_UDP_PORT);
	return err;
}

void rxo_net_del_dev(struct rxo_dev *dev)
{
	struct rxo_net *rn = dev->rn;

	mutex_lock(&rn->lock);
	if (dev->in_net) {
		dev->in_net = false;
		list_del_rcu(&dev->net_list);
		if (!--rn->users)
			close_sockets(rn);
	}
	mutex_unlock(&rn->lock);
	synchronize_net();	/* rx.c may have found it */
}

struct rxo_dev *rxo_net_find_dev(struct rxo_net *rn, const struct net_device *ndev)
{
	struct rxo_dev *dev;

	list_for_each_entry_rcu(dev, &rn->devs, net_list)
		if (dev->ndev == ndev)
			return dev;
	return list_first_or_null_rcu(&rn->devs, struct rxo_dev, net_list);
}

/* ------------------------------------------------------------------ */
/* Coming and going of namespaces                                      */

static int __net_init rxo_net_enter(struct net *net)
{
	struct rxo_net *rn = rxo_net(net);

	rn->net = net;
	mutex_init(&rn->lock);
	INIT_LIST_HEAD(&rn->devs);
	xa_init_flags(&rn->qps, XA_FLAGS_ALLOC);
	/* Not the same numbers after a reload: an old peer's packets must find nothing. */
	rn->next_qpn = get_random_u32_below(RXO_QPN_MAX);
	return 0;
}

struct rxo_dev *rxo_net_get_dev(struct rxo_net *rn, const struct net_device *ndev)
{
	struct rxo_dev *dev, *found = NULL;

	mutex_lock(&rn->lock);
	list_for_each_entry(dev, &rn->devs, net_list) {
		if (dev->ndev != ndev)
			continue;
		get_device(&dev->ib.dev);
		found = dev;
		break;
	}
	mutex_unlock(&rn->lock);
	return found;
}

static struct rxo_dev *first_dev(struct rxo_net *rn)
{
	struct rxo_dev *dev;

	mutex_lock(&rn->lock);
	dev = list_first_entry_or_null(&rn->devs, struct rxo_dev, net_list);
	if (dev)
		get_device(&dev->ib.dev);
	mutex_unlock(&rn->lock);
	return dev;
}

/*
 * Called before the core would move the devices to the initial namespace,
 * and before the netdevs go.
 */
static void __net_exit rxo_net_leave(struct net *net)
{
	struct rxo_net *rn = rxo_net(net);
	struct rxo_dev *dev;

	while ((dev = first_dev(rn))) {
		/* Waits if somebody else is at it. */
		ib_unregister_device(&dev->ib);
		put_device(&dev->ib.dev);
	}
	WARN_ON(!xa_empty(&rn->qps));
	xa_destroy(&rn->qps);
	mutex_destroy(&rn->lock);
}

static struct pernet_operations rxo_net_ops = {
	.init = rxo_net_enter,
	.exit = rxo_net_leave,
	.id = &rxo_net_id,
	.size = sizeof(struct rxo_net),
};

int rxo_net_init(void)
{
	return register_pernet_device(&rxo_net_ops);
}

void rxo_net_exit(void)
{
	unregister_pernet_device(&rxo_net_ops);
}
