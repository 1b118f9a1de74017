// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* How a device follows its netdev: state, speed, MTU, removal, change of namespace. */
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <rdma/ib_addr.h>

#include "rxe_ooo.h"
#include "compat.h"

bool rxo_netdev_active(const struct net_device *ndev)
{
	return netif_running(ndev) && netif_carrier_ok(ndev);
}

bool rxo_mtu_ok(struct rxo_dev *dev, enum ib_mtu mtu)
{
	enum ib_mtu port = iboe_get_mtu(READ_ONCE(dev->ndev->mtu)) ?: IB_MTU_256;

	return mtu >= IB_MTU_256 && mtu <= port;
}

/* ------------------------------------------------------------------ */
/* Speed                                                               */

static const struct {
	u32 mbps;
	u16 speed;
	u8 width;
} speed_table[] = {		/* fastest first */
	{ 800000, IB_SPEED_XDR, IB_WIDTH_4X },
	{ 400000, IB_SPEED_NDR, IB_WIDTH_4X },
	{ 200000, IB_SPEED_HDR, IB_WIDTH_4X },
	{ 100000, IB_SPEED_EDR, IB_WIDTH_4X },
	{ 50000, IB_SPEED_HDR, IB_WIDTH_1X },
	{ 40000, IB_SPEED_QDR, IB_WIDTH_4X },
	{ 25000, IB_SPEED_EDR, IB_WIDTH_1X },
	{ 10000, IB_SPEED_QDR, IB_WIDTH_1X },
	{ 0, IB_SPEED_SDR, IB_WIDTH_1X },
};

static void set_speed(struct rxo_dev *dev, u32 mbps)
{
	int i = 0;

	while (mbps < speed_table[i].mbps)
		i++;
	WRITE_ONCE(dev->speed, speed_table[i].speed);
	WRITE_ONCE(dev->width, speed_table[i].width);
}

/*
 * Asked for when the device is made and after each change of the link, not
 * when somebody queries the port: it needs RTNL, and a netdev without a speed
 * would write a line for each query.
 */
void rxo_netdev_speed(struct work_struct *work)
{
	struct rxo_dev *dev = container_of(work, struct rxo_dev, speed_work);
	struct ethtool_link_ksettings settings;
	int err = -ENODEV;

	rtnl_lock();
	if (dev->ndev->reg_state == NETREG_REGISTERED)
		err = __ethtool_get_link_ksettings(dev->ndev, &settings);
	rtnl_unlock();
	if (err || settings.base.speed == (u32)SPEED_UNKNOWN)
		settings.base.speed = SPEED_1000;
	set_speed(dev, settings.base.speed);
}

/* ------------------------------------------------------------------ */
/* Events                                                              */

/* RTNL is held: one event after the other. */
static void port_event(struct rxo_dev *dev)
{
	struct ib_event event = {
		.device = &dev->ib,
		.element.port_num = 1,
	};
	bool active = rxo_netdev_active(dev->ndev);

	schedule_work(&dev->speed_work);
	if (active == dev->port_active)
		return;
	dev->port_active = active;
	if (rxo_core_raises_port_events(dev->ndev))
		return;
	event.event = active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR;
	ib_dispatch_event(&event);
}

/*
 * Also called when the netdev changes its namespace. RTNL is held: a work
 * item removes the device.
 */
static void netdev_leaves(struct rxo_dev *dev)
{
	WRITE_ONCE(dev->leaving, true);
	ib_unregister_device_queued(&dev->ib);
}

static void netdev_event(struct rxo_dev *dev, unsigned long event)
{
	if (event == NETDEV_UNREGISTER)
		return netdev_leaves(dev);
	if (event == NETDEV_UP || event == NETDEV_CHANGEMTU)
		rxo_mcast_rejoin(dev);
	if (event != NETDEV_CHANGEMTU)
		port_event(dev);
}

static int rxo_netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);
	struct ib_device *ib;

	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
	case NETDEV_UNREGISTER:
		break;
	default:
		/*
		 * The name is looked up when somebody asks, and so is the MTU; the
		 * core keeps the GID table itself.
		 */
		return NOTIFY_DONE;
	}

	ib = ib_device_get_by_netdev(ndev, (enum rdma_driver_id)RXE_OOO_DRIVER_ID);
	if (!ib)
		return NOTIFY_DONE;
	netdev_event(to_rxo(ib), event);
	ib_device_put(ib);
	return NOTIFY_DONE;
}

static struct notifier_block rxo_netdev_nb = {
	.notifier_call = rxo_netdev_event,
};

int rxo_netdev_init(void)
{
	return register_netdevice_notifier(&rxo_netdev_nb);
}

/* Every device sees its netdev go: the core queues their removal. */
void rxo_netdev_exit(void)
{
	unregister_netdevice_notifier(&rxo_netdev_nb);
}
