// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Module entry and exit, and the order in which everything comes and goes. */
#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "rxe_ooo.h"
#include "env_pkt.h"

MODULE_DESCRIPTION("Software RoCEv2 with out-of-order placement");
MODULE_AUTHOR("The rxe_ooo maintainers");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS_RDMA_LINK("rxe_ooo");

static struct rdma_link_ops rxo_link_ops = {
	.type = "rxe_ooo",
	.newlink = rxo_link_add,
};

static int rxo_client_add(struct ib_device *ib)
{
	return ib->ops.driver_id == RXE_OOO_DRIVER_ID ? 0 : -EOPNOTSUPP;
}

/*
 * The core removes clients in reverse order of registration and ours comes
 * after uverbs (whose symbols we need): this runs while programs still have
 * their QPs, however the removal was caused. They see flushed work and an
 * event on each QP; then uverbs takes the objects away and raises
 * IB_EVENT_DEVICE_FATAL.
 */
static void rxo_client_remove(struct ib_device *ib, void *data)
{
	rxo_dev_fail_qps(to_rxo(ib));
}

static struct ib_client rxo_client = {
	.name = "rxe_ooo",
	.add = rxo_client_add,
	.remove = rxo_client_remove,
	.no_kverbs_req = true,
};

static int __init rxo_init(void)
{
	int err;

	err = rxo_env_init();
	if (err)
		return err;
	err = rxo_net_init();
	if (err)
		goto err_env;
	err = ib_register_client(&rxo_client);
	if (err)
		goto err_net;
	err = rxo_netdev_init();
	if (err)
		goto err_client;
	rdma_link_register(&rxo_link_ops);
	return 0;

err_client:
	ib_unregister_client(&rxo_client);
err_net:
	rxo_net_exit();
err_env:
	rxo_env_exit();
	return err;
}

static void __exit rxo_exit(void)
{
	rdma_link_unregister(&rxo_link_ops);	/* waits for a link add that runs */
	rxo_netdev_exit();
	ib_unregister_driver(RXE_OOO_DRIVER_ID);
	ib_unregister_client(&rxo_client);
	rxo_net_exit();
	rcu_barrier();				/* our call_rcu() callbacks */
	rxo_env_exit();
}

module_init(rxo_init);
module_exit(rxo_exit);
