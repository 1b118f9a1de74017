// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Routes of address vectors, and the one that each remembers. */
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/route.h>

#include "rxe_ooo.h"
#include "compat.h"

/* Writers of av->route and its cookie; a reader that sees a mixture looks up once more. */
static DEFINE_SPINLOCK(route_lock);

static struct dst_entry *lookup4(struct net *net, const struct rxo_av *av, int oif)
{
	struct flowi4 fl4 = {
		.flowi4_oif = oif,
		.flowi4_proto = IPPROTO_UDP,
		.saddr = av->src.in.sin_addr.s_addr,
		.daddr = av->dst.in.sin_addr.s_addr,
		.fl4_sport = av->sport,
		.fl4_dport = htons(OOO_UDP_PORT),
	};
	struct rtable *rt;

	rxo_flow4_set_tos(&fl4, av->tos);
	rt = ip_route_output_flow(net, &fl4, NULL);
	return IS_ERR(rt) ? NULL : &rt->dst;
}

#if IS_ENABLED(CONFIG_IPV6)
static struct dst_entry *lookup6(struct net *net, const struct rxo_av *av, int oif)
{
	struct flowi6 fl6 = {
		.flowi6_oif = oif,
		.flowi6_proto = IPPROTO_UDP,
		.saddr = av->src.in6.sin6_addr,
		.daddr = av->dst.in6.sin6_addr,
		.fl6_sport = av->sport,
		.fl6_dport = htons(OOO_UDP_PORT),
		.flowlabel = ip6_make_flowinfo(av->tos, av->flow_label),
	};
	struct dst_entry *dst = rxo_ip6_dst_lookup(net, &fl6);

	return IS_ERR(dst) ? NULL : dst;
}

static bool is_link_local(const struct rxo_av *av)
{
	return ipv6_addr_type(&av->dst.in6.sin6_addr) & IPV6_ADDR_LINKLOCAL;
}

static bool is_multicast6(const struct rxo_av *av)
{
	return ipv6_addr_is_multicast(&av->dst.in6.sin6_addr);
}
#else
static struct dst_entry *lookup6(struct net *net, const struct rxo_av *av, int oif)
{
	return NULL;
}

static bool is_link_local(const struct rxo_av *av)
{
	return false;
}

static bool is_multicast6(const struct rxo_av *av)
{
	return false;
}
#endif

static bool is_multicast4(const struct rxo_av *av)
{
	return av->src._sa.sa_family == AF_INET && ipv4_is_multicast(av->dst.in.sin_addr.s_addr);
}

static struct dst_entry *lookup_oif(struct net *net, const struct rxo_av *av, int oif)
{
	return av->src._sa.sa_family == AF_INET ? lookup4(net, av, oif) : lookup6(net, av, oif);
}

/*
 * Link-local and multicast addresses mean nothing without an interface; in a
 * VRF the interface chooses the table.
 */
static bool needs_oif(struct net *net, const struct rxo_av *av)
{
	struct net_device *ndev;

	if (is_multicast4(av))
		return true;
	if (av->src._sa.sa_family == AF_INET6 && (is_link_local(av) || is_multicast6(av)))
		return true;
	ndev = dev_get_by_index_rcu(net, av->oif);
	return ndev && netif_is_l3_slave(ndev);
}

/*
 * A destination on this host goes through lo, whichever interface has the
 * address. Any other leaves through the interface that owns the source
 * address, though the same network may be reached by others as well; but with
 * several paths (ooo_paths) that is what is asked for.
 */
static struct dst_entry *lookup(struct net *net, const struct rxo_av *av)
{
	struct dst_entry *dst;

	if (av->oif && !needs_oif(net, av)) {
		dst = lookup_oif(net, av, 0);
		if (dst && (av->spread || dst->dev->flags & IFF_LOOPBACK))
			return dst;
		if (dst)
			dst_release(dst);
	}
	return lookup_oif(net, av, av->oif);
}

static u32 dst_cookie(const struct rxo_av *av, struct dst_entry *dst)
{
	if (av->src._sa.sa_family == AF_INET)
		return 0;
	return rxo_dst6_cookie(dst);
}

/* Takes over the reference to @dst. The old one may still be read: dst entries are freed by RCU. */
static void remember(struct rxo_av *av, struct dst_entry *dst, u32 cookie)
{
	struct dst_entry *old;
	unsigned long flags;

	/* ib_cm destroys address handles with interrupts off. */
	spin_lock_irqsave(&route_lock, flags);
	old = rcu_dereference_protected(av->route, lockdep_is_held(&route_lock));
	WRITE_ONCE(av->route_cookie, cookie);
	rcu_assign_pointer(av->route, dst);
	spin_unlock_irqrestore(&route_lock, flags);
	dst_release(old);
}

void rxo_route_forget(struct rxo_av *av)
{
	remember(av, NULL, 0);
}

struct dst_entry *rxo_route(struct net *net, struct rxo_av *av)
{
	struct dst_entry *dst = rcu_dereference(av->route);

	/*
	 * An IPv4 multicast route also says whether this host is in the group,
	 * and is not told when that changes.
	 */
	if (dst && !is_multicast4(av) && dst_check(dst, READ_ONCE(av->route_cookie)))
		return dst;
	dst = lookup(net, av);
	if (dst && dst->error) {
		dst_release(dst);
		dst = NULL;
	}
	remember(av, dst, dst ? dst_cookie(av, dst) : 0);
	return dst;
}
