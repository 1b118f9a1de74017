// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast groups: which UD QPs of a device are attached to which GID.
 *
 * A multicast GID is an IP multicast address (annex A17.4.1), so a group with
 * members is joined on the netdev like one of a socket: IGMP or MLD tell the
 * network, the Ethernet filter lets its frames in, and the stack loops what
 * is sent here back to us.
 *
 * Packets find a group under RCU and hold each member by its refcount.
 * Everything that changes goes under dev->mcast_lock, and RTNL inside it.
 */
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>

#include "objects.h"

static const struct rhashtable_params group_params = {
	.key_len = sizeof(union ib_gid),
	.key_offset = offsetof(struct rxo_mcast_group, mgid),
	.head_offset = offsetof(struct rxo_mcast_group, node),
	.automatic_shrinking = true,
};

static void rejoin_work(struct work_struct *work);

int rxo_mcast_init(struct rxo_dev *dev)
{
	mutex_init(&dev->mcast_lock);
	INIT_WORK(&dev->mcast_work, rejoin_work);
	INIT_LIST_HEAD(&dev->mcast_list);
	return rhashtable_init(&dev->mcast_groups, &group_params);
}

/* Every QP is gone, and with it every group. */
void rxo_mcast_exit(struct rxo_dev *dev)
{
	cancel_work_sync(&dev->mcast_work);
	WARN_ON(dev->num_mcast_groups);
	rhashtable_destroy(&dev->mcast_groups);
	mutex_destroy(&dev->mcast_lock);
}

struct rxo_mcast_group *rxo_mcast_find(struct rxo_dev *dev, const union ib_gid *mgid)
{
	return rhashtable_lookup(&dev->mcast_groups, mgid, group_params);
}

/* ------------------------------------------------------------------ */
/* The netdev's membership; RTNL held                                  */

static bool is_ipv4(const struct rxo_mcast_group *group)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)&group->mgid);
}

static __be32 ipv4(const struct rxo_mcast_group *group)
{
	return ((const struct in6_addr *)&group->mgid)->s6_addr32[3];
}

/*
 * The inet devices are remembered: when the netdev goes, or goes to another
 * namespace, they are replaced and the membership is gone with them. What has
 * the name then is not ours to leave.
 */
static int join4(struct rxo_mcast_group *group, struct net_device *ndev)
{
	struct in_device *in_dev = __in_dev_get_rtnl(ndev);

	if (!in_dev)
		return -ENODEV;
	refcount_inc(&in_dev->refcnt);
	group->in_dev = in_dev;
	ip_mc_inc_group(in_dev, ipv4(group));
	return 0;
}

static void leave4(struct rxo_mcast_group *group, struct net_device *ndev)
{
	if (__in_dev_get_rtnl(ndev) == group->in_dev)
		ip_mc_dec_group(group->in_dev, ipv4(group));
	in_dev_put(group->in_dev);
}

#if IS_ENABLED(CONFIG_IPV6)
static int join6(struct rxo_mcast_group *group, struct net_device *ndev)
{
	int err;

	group->in6_dev = in6_dev_get(ndev);
	if (!group->in6_dev)
		return -ENODEV;
	err = ipv6_dev_mc_inc(ndev, (const struct in6_addr *)&group->mgid);
	if (err)
		in6_dev_put(group->in6_dev);
	return err;
}

static void leave6(struct rxo_mcast_group *group, struct net_device *ndev)
{
	if (__in6_dev_get(ndev) == group->in6_dev)
		ipv6_dev_mc_dec(ndev, (const struct in6_addr *)&group->mgid);
	in6_dev_put(group->in6_dev);
}
#else
static int join6(struct rxo_mcast_group *group, struct net_device *ndev)
{
	return -EAFNOSUPPORT;
}

static void leave6(struct rxo_mcast_group *group, struct net_device *ndev)
{
}
#endif

static int join(struct rxo_mcast_group *group, struct net_device *ndev)
{
	int err;

	rtnl_lock();
	if (ndev->reg_state != NETREG_REGISTERED)
		err = -ENODEV;
	else
		err = is_ipv4(group) ? join4(group, ndev) : join6(group, ndev);
	rtnl_unlock();
	return err;
}

static void leave(struct rxo_mcast_group *group, struct net_device *ndev)
{
	rtnl_lock();
	if (is_ipv4(group))
		leave4(group, ndev);
	else
		leave6(group, ndev);
	rtnl_unlock();
}

/*
 * An MTU that IP cannot work with takes an inet device away; a larger one brings another,
 * which knows nothing of us. While there is none, or no memory, the group stays as it is.
 */
static void rejoin4(struct rxo_mcast_group *group, struct net_device *ndev)
{
	struct in_device *old = group->in_dev;

	if (__in_dev_get_rtnl(ndev) != old && !join4(group, ndev))
		in_dev_put(old);
}

#if IS_ENABLED(CONFIG_IPV6)
static void rejoin6(struct rxo_mcast_group *group, struct net_device *ndev)
{
	struct inet6_dev *old = group->in6_dev;

	if (__in6_dev_get(ndev) == old)
		return;
	if (join6(group, ndev))
		group->in6_dev = old;
	else
		in6_dev_put(old);
}
#else
static void rejoin6(struct rxo_mcast_group *group, struct net_device *ndev)
{
}
#endif

/* A netdev that is about to leave us is not touched any more. */
static bool is_ours(const struct rxo_dev *dev)
{
	return dev->ndev->reg_state == NETREG_REGISTERED &&
	       net_eq(dev_net(dev->ndev), dev->rn->net);
}

static void rejoin_work(struct work_struct *work)
{
	struct rxo_dev *dev = container_of(work, struct rxo_dev, mcast_work);
	struct rxo_mcast_group *group;

	mutex_lock(&dev->mcast_lock);
	rtnl_lock();
	list_for_each_entry(group, &dev->mcast_list, list) {
		if (!is_ours(dev))
			break;
		if (is_ipv4(group))
			rejoin4(group, dev->ndev);
		else
			rejoin6(group, dev->ndev);
	}
	rtnl_unlock();
	mutex_unlock(&dev->mcast_lock);
}

void rxo_mcast_rejoin(struct rxo_dev *dev)
{
	schedule_work(&dev->mcast_work);
}

/* ------------------------------------------------------------------ */
/* Groups; mcast_lock held                                             */

static struct rxo_mcast_group *create_group(struct rxo_dev *dev, const union ib_gid *mgid)
{
	struct rxo_mcast_group *group;
	int err;

	if (dev->num_mcast_groups >= RXO_MAX_MCAST_GRP)
		return ERR_PTR(-ENOMEM);
	group = kzalloc(sizeof(*group), GFP_KERNEL);
	if (!group)
		return ERR_PTR(-ENOMEM);
	group->mgid = *mgid;
	INIT_LIST_HEAD(&group->members);
	err = join(group, dev->ndev);
	if (err)
		goto err_free;
	err = rhashtable_insert_fast(&dev->mcast_groups, &group->node, group_params);
	if (err)
		goto err_leave;
	list_add(&group->list, &dev->mcast_list);
	dev->num_mcast_groups++;
	return group;

err_leave:
	leave(group, dev->ndev);
err_free:
	kfree(group);
	return ERR_PTR(err);
}

static struct rxo_mcast_group *get_group(struct rxo_dev *dev, const union ib_gid *mgid)
{
	struct rxo_mcast_group *group;

	/* Inserted and removed under mcast_lock only. */
	group = rhashtable_lookup_fast(&dev->mcast_groups, mgid, group_params);
	return group ?: create_group(dev, mgid);
}

static void put_group(struct rxo_dev *dev, struct rxo_mcast_group *group)
{
	if (group->num_members)
		return;
	rhashtable_remove_fast(&dev->mcast_groups, &group->node, group_params);
	list_del(&group->list);
	dev->num_mcast_groups--;
	leave(group, dev->ndev);
	kfree_rcu(group, rcu);
}

static struct rxo_mcast_member *find_member(struct rxo_mcast_group *group, struct rxo_qp *qp)
{
	struct rxo_mcast_member *member;

	list_for_each_entry(member, &group->members, list)
		if (member->qp == qp)
			return member;
	return NULL;
}

/* One member a QP, however often it is attached: it gets one copy. */
static int add_member(struct rxo_mcast_group *group, struct rxo_qp *qp)
{
	struct rxo_mcast_member *member = find_member(group, qp);

	if (member) {
		member->attached++;
		return 0;
	}
	if (group->num_members >= RXO_MAX_MCAST_QP_ATTACH)
		return -ENOMEM;
	member = kzalloc(sizeof(*member), GFP_KERNEL);
	if (!member)
		return -ENOMEM;
	member->qp = qp;
	member->group = group;
	member->attached = 1;
	list_add_tail_rcu(&member->list, &group->members);
	list_add_tail(&member->qp_list, &qp->mcast_members);
	group->num_members++;
	return 0;
}

static void del_member(struct rxo_mcast_member *member)
{
	list_del_rcu(&member->list);
	list_del(&member->qp_list);
	member->group->num_members--;
	kfree_rcu(member, rcu);
}

/* ------------------------------------------------------------------ */
/* Verbs: the core has checked that the GID is multicast, the QP UD    */

int rxo_attach_mcast(struct ib_qp *ib, union ib_gid *mgid, u16 lid)
{
	struct rxo_dev *dev = to_rxo(ib->device);
	struct rxo_mcast_group *group;
	int err;

	mutex_lock(&dev->mcast_lock);
	group = get_group(dev, mgid);
	if (IS_ERR(group)) {
		err = PTR_ERR(group);
	} else {
		err = add_member(group, to_rqp(ib));
		put_group(dev, group);
	}
	mutex_unlock(&dev->mcast_lock);
	return err;
}

int rxo_detach_mcast(struct ib_qp *ib, union ib_gid *mgid, u16 lid)
{
	struct rxo_dev *dev = to_rxo(ib->device);
	struct rxo_mcast_member *member = NULL;
	struct rxo_mcast_group *group;

	mutex_lock(&dev->mcast_lock);
	group = rhashtable_lookup_fast(&dev->mcast_groups, mgid, group_params);
	if (group)
		member = find_member(group, to_rqp(ib));
	if (member && !--member->attached) {
		del_member(member);
		put_group(dev, group);
	}
	mutex_unlock(&dev->mcast_lock);
	return member ? 0 : -EINVAL;
}

void rxo_mcast_detach_all(struct rxo_qp *qp)
{
	struct rxo_mcast_member *member, *next;
	struct rxo_dev *dev = qp->dev;

	mutex_lock(&dev->mcast_lock);
	list_for_each_entry_safe(member, next, &qp->mcast_members, qp_list) {
		struct rxo_mcast_group *group = member->group;

		del_member(member);
		put_group(dev, group);
	}
	mutex_unlock(&dev->mcast_lock);
}
