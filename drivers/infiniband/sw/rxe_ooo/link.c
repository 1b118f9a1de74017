// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* "rdma link add": which netdevs may have a device, and one device for each. */
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/mutex.h>

#include "rxe_ooo.h"

/* One creation at a time: the look for an existing device and its registration are one step. */
static DEFINE_MUTEX(link_mutex);

static int check_netdev(const struct net_device *ndev)
{
	if (ndev->type != ARPHRD_ETHER)
		return -EINVAL;
	/*
	 * The core enters the addresses of a VLAN into the GID table of its
	 * real device only, so a device here would have none.
	 */
	if (is_vlan_dev(ndev)) {
		pr_warn_ratelimited("rxe_ooo: %s is a VLAN: add the link to its real device, which has the VLAN's GIDs\n",
				    ndev->name);
		return -EOPNOTSUPP;
	}
	return 0;
}

/*
 * A netdev that has changed its namespace may be here again before its old
 * device, of the other namespace, is gone: then wait for the end of that.
 */
static int check_moved(struct net_device *ndev)
{
	struct ib_device *ib;

	while ((ib = ib_device_get_by_netdev(ndev, RXE_OOO_DRIVER_ID))) {
		if (!READ_ONCE(to_rxo(ib)->leaving)) {
			ib_device_put(ib);
			return -EEXIST;
		}
		ib_unregister_device_and_put(ib);
	}
	return 0;
}

/*
 * The core hides a device while "rdma dev set NAME netns NS" takes its users off it;
 * our own list has it all the time.
 */
static int check_existing(struct net_device *ndev)
{
	struct rxo_net *rn = rxo_net(dev_net(ndev));
	struct rxo_dev *dev;
	bool leaving;

	while ((dev = rxo_net_get_dev(rn, ndev))) {
		leaving = READ_ONCE(dev->leaving);
		if (leaving)
			ib_unregister_device(&dev->ib);
		put_device(&dev->ib.dev);
		if (!leaving)
			return -EEXIST;
	}
	return check_moved(ndev);
}

int rxo_link_add(const char *name, struct net_device *ndev)
{
	int err;

	err = check_netdev(ndev);
	if (err)
		return err;
	mutex_lock(&link_mutex);
	err = check_existing(ndev);
	if (!err)
		err = rxo_dev_create(name, ndev);
	mutex_unlock(&link_mutex);

	/* What the core says when the name is taken. */
	return err == -ENFILE ? -EEXIST : err;
}
