// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Address vectors: how to reach one destination. */
#include <linux/in.h>
#include <linux/in6.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "rxe_ooo.h"

#define SPORT_MASK	0x3fff	/* of 0xc000..0xffff: what RoCEv2 leaves to choose */

/* The interface whose address the source GID is: the netdev, or a VLAN or macvlan above it. */
static int source_ifindex(const struct ib_gid_attr *attr)
{
	struct net_device *ndev;
	int ifindex = 0;

	rcu_read_lock();
	ndev = rcu_dereference(attr->ndev);
	if (ndev)
		ifindex = ndev->ifindex;
	rcu_read_unlock();
	return ifindex;
}

/*
 * Both ends must be of one family; a GID that is an IPv4-mapped address means
 * IPv4 (annex A17.4.1).
 */
static int check_gids(const struct ib_gid_attr *sgid, const union ib_gid *dgid)
{
	bool src4 = ipv6_addr_v4mapped((const struct in6_addr *)&sgid->gid);
	bool dst4 = ipv6_addr_v4mapped((const struct in6_addr *)dgid);

	if (sgid->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return -EINVAL;
	return src4 == dst4 && !ipv6_addr_any((const struct in6_addr *)dgid) ? 0 : -EINVAL;
}

int rxo_av_init(struct rxo_dev *dev, struct rxo_av *av, const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	int err;

	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) || !grh->sgid_attr)
		return -EINVAL;
	err = check_gids(grh->sgid_attr, &grh->dgid);
	if (err)
		return err;

	memset(av, 0, sizeof(*av));
	rdma_copy_ah_attr(&av->attr, attr);	/* takes a reference on the GID */
	rdma_gid2ip(&av->src._sa, &grh->sgid_attr->gid);
	rdma_gid2ip(&av->dst._sa, &grh->dgid);
	av->network_type = rdma_gid_attr_network_type(grh->sgid_attr);
	av->tos = grh->traffic_class & ~INET_ECN_MASK;
	av->ttl = grh->hop_limit;
	av->flow_label = cpu_to_be32(grh->flow_label & 0xfffff);
	av->oif = source_ifindex(grh->sgid_attr);
	rxo_av_set_qpns(av, 0, 0);
	return 0;
}

void rxo_av_set_qpns(struct rxo_av *av, u32 local, u32 remote)
{
	av->sport = htons(rdma_get_udp_sport(be32_to_cpu(av->flow_label), local, remote));
}

/* Ports beside the standard one: any hash that ECMP may use tells them apart. */
static __be16 next_sport(const struct rxo_av *av, u32 path)
{
	u16 base = ntohs(av->sport);

	return htons((base & ~SPORT_MASK) | ((base + path) & SPORT_MASK));
}

int rxo_av_spread(struct rxo_av *av, u32 paths)
{
	u32 i;

	if (paths <= 1)
		return 0;
	paths = min_t(u32, paths, OOO_PATHS_MAX);
	av->more = kcalloc(paths - 1, sizeof(*av->more), GFP_KERNEL);
	if (!av->more)
		return -ENOMEM;
	av->spread = true;
	for (i = 0; i < paths - 1; i++) {
		av->more[i] = *av;
		av->more[i].more = NULL;
		av->more[i].sport = next_sport(av, i + 1);
	}
	av->more_num = paths - 1;
	return 0;
}

void rxo_av_destroy(struct rxo_av *av)
{
	u32 i;

	for (i = 0; i < av->more_num; i++)
		rxo_route_forget(&av->more[i]);
	kfree(av->more);
	rxo_route_forget(av);
	rdma_destroy_ah_attr(&av->attr);
	memset(av, 0, sizeof(*av));
}
