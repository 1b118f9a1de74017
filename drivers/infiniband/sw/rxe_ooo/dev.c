// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The device: creation, attributes, port, removal. */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>

#include "rxe_ooo.h"
#include "compat.h"
#include "odp.h"

#define RXO_GID_TABLE_LEN	1024
#define RXO_PKEY		IB_DEFAULT_PKEY_FULL

/* ------------------------------------------------------------------ */
/* Attributes                                                          */

static void fill_limits(struct ib_device_attr *attr)
{
	attr->max_mr_size = RXO_MAX_MR_SIZE;
	attr->page_size_cap = ~0ULL & PAGE_MASK;
	attr->max_qp = RXO_MAX_QP;
	attr->max_qp_wr = RXO_MAX_QP_WR;
	attr->max_send_sge = RXO_MAX_SGE;
	attr->max_recv_sge = RXO_MAX_SGE;
	attr->max_sge_rd = RXO_MAX_SGE_RD;
	attr->max_cq = RXO_MAX_CQ;
	attr->max_cqe = RXO_MAX_CQE;
	attr->max_mr = RXO_MAX_MR;
	attr->max_mw = RXO_MAX_MW;
	attr->max_dm_size = RXO_MAX_DM_SIZE;
	attr->max_pd = RXO_MAX_PD;
	attr->max_srq = RXO_MAX_SRQ;
	attr->max_srq_wr = RXO_MAX_SRQ_WR;
	attr->max_srq_sge = RXO_MAX_SRQ_SGE;
	attr->max_ah = RXO_MAX_AH;
	attr->max_qp_rd_atom = RXO_MAX_RD_ATOM;
	attr->max_qp_init_rd_atom = RXO_MAX_RD_ATOM;
	attr->max_res_rd_atom = RXO_MAX_QP * RXO_MAX_RD_ATOM;
	attr->max_fast_reg_page_list_len = RXO_MAX_FAST_REG_PAGES;
	attr->max_pkeys = RXO_MAX_PKEYS;
	attr->max_mcast_grp = RXO_MAX_MCAST_GRP;
	attr->max_mcast_qp_attach = RXO_MAX_MCAST_QP_ATTACH;
	attr->max_total_mcast_qp_attach = RXO_MAX_MCAST_GRP * RXO_MAX_MCAST_QP_ATTACH;
}

static void fill_attr(struct rxo_dev *dev, struct ib_device_attr *attr)
{
	attr->fw_ver = 1ULL << 32;
	attr->vendor_id = 0xffffff;		/* no OUI */
	attr->vendor_part_id = 1;
	attr->hw_ver = 1;
	attr->sys_image_guid = dev->ib.node_guid;
	attr->device_cap_flags = IB_DEVICE_BAD_PKEY_CNTR |
				 IB_DEVICE_BAD_QKEY_CNTR |
				 IB_DEVICE_CURR_QP_STATE_MOD |
				 IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_SRQ_RESIZE |
				 IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_MEM_WINDOW |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B |
				 IB_DEVICE_FLUSH_GLOBAL |
				 IB_DEVICE_FLUSH_PERSISTENT |
				 IB_DEVICE_ATOMIC_WRITE;
	/* "rdma link del" works */
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG;
	attr->atomic_cap = IB_ATOMIC_HCA;
	attr->local_ca_ack_delay = 15;		/* 4.096 us * 2^15: 134 ms, scheduling included */
	attr->timestamp_mask = ~0ULL;
	attr->hca_core_clock = 1000000;		/* kHz: completion timestamps are nanoseconds */
	rxo_odp_caps(attr);
	fill_limits(attr);
}

/*
 * The driver part of the reply is as long as the caller made room for: a
 * program with a newer or an older header gets the part that both know.
 */
static int answer_query_device(struct ib_udata *udata)
{
	struct rxe_ooo_query_device_resp resp = {
		.ooo_caps.rc_caps = RXE_OOO_CAP_RW_DATA_PLACEMENT,
		.ooo_caps.xrc_caps = RXE_OOO_CAP_RW_DATA_PLACEMENT,
	};

	if (!udata)		/* 7.0: the core asks for itself */
		return 0;
	if (udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	if (!udata->outlen)
		return 0;
	return ib_copy_to_udata(udata, &resp, min(udata->outlen, sizeof(resp)));
}

static int rxo_query_device(struct ib_device *ib, struct ib_device_attr *attr,
			    struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	fill_attr(to_rxo(ib), attr);
	return answer_query_device(udata);
}

static int rxo_modify_device(struct ib_device *ib, int mask,
			     struct ib_device_modify *modify)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ib->node_desc, modify->node_desc, sizeof(ib->node_desc));
	return 0;
}

static void rxo_get_dev_fw_str(struct ib_device *ib, char *str)
{
	strscpy(str, "1.0.0", IB_FW_VERSION_NAME_MAX);	/* as fw_ver */
}

/* ------------------------------------------------------------------ */
/* The port                                                            */

static int rxo_query_port(struct ib_device *ib, u32 port_num, struct ib_port_attr *attr)
{
	struct rxo_dev *dev = to_rxo(ib);
	bool active = rxo_netdev_active(dev->ndev);

	attr->state = active ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = active ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = iboe_get_mtu(READ_ONCE(dev->ndev->mtu)) ?: IB_MTU_256;
	attr->gid_tbl_len = RXO_GID_TABLE_LEN;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = RXO_MAX_MSG;
	attr->pkey_tbl_len = RXO_MAX_PKEYS;
	attr->max_vl_num = 1;
	attr->active_speed = READ_ONCE(dev->speed);
	attr->active_width = READ_ONCE(dev->width);
	return 0;
}

static int rxo_query_pkey(struct ib_device *ib, u32 port_num, u16 index, u16 *pkey)
{
	if (index >= RXO_MAX_PKEYS)
		return -EINVAL;
	*pkey = RXO_PKEY;
	return 0;
}

static enum rdma_link_layer rxo_get_link_layer(struct ib_device *ib, u32 port_num)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int rxo_get_port_immutable(struct ib_device *ib, u32 port_num,
				  struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	immutable->pkey_tbl_len = RXO_MAX_PKEYS;
	immutable->gid_tbl_len = RXO_GID_TABLE_LEN;
	return 0;
}

/* ------------------------------------------------------------------ */
/* Life                                                                */

/* uverbs destroys every object itself; our mappings hold their pages, so nothing is to do. */
static void rxo_disassociate_ucontext(struct ib_ucontext *context)
{
}

void rxo_dev_fail_qps(struct rxo_dev *dev)
{
	unsigned long qpn = 0;
	struct rxo_qp *qp;

	while ((qp = rxo_qp_next(dev->rn, &qpn))) {
		if (qp->dev == dev)
			rxo_qp_fatal(qp);
		rxo_qp_put(qp);
		qpn++;
		cond_resched();
	}
}

/* What alloc_dev() made. The ib_device itself stays. */
static void free_dev(struct rxo_dev *dev)
{
	rxo_net_del_dev(dev);
	cancel_work_sync(&dev->speed_work);
	rxo_mcast_exit(dev);
	netdev_put(dev->ndev, &dev->ndev_tracker);
	free_percpu(dev->stats);
	xa_destroy(&dev->mrs);
	xa_destroy(&dev->ahs);
	xa_destroy(&dev->srqs);
}

static void rxo_dealloc_driver(struct ib_device *ib)
{
	free_dev(to_rxo(ib));
}

const struct ib_device_ops rxo_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)RXE_OOO_DRIVER_ID,
	.uverbs_abi_ver = RXE_OOO_UVERBS_ABI_VERSION,
	.device_group = &rxo_dev_group,

	.alloc_hw_port_stats = rxo_alloc_hw_stats,
	.dealloc_driver = rxo_dealloc_driver,
	.disassociate_ucontext = rxo_disassociate_ucontext,
	.get_dev_fw_str = rxo_get_dev_fw_str,
	.get_hw_stats = rxo_get_hw_stats,
	.get_link_layer = rxo_get_link_layer,
	.get_port_immutable = rxo_get_port_immutable,
	.modify_device = rxo_modify_device,
	.query_device = rxo_query_device,
	.query_pkey = rxo_query_pkey,
	.query_port = rxo_query_port,
};

static void init_tunables(struct ooo_tunables *tun)
{
	tun->window = RXO_TUN_WINDOW;
	tun->window_max = RXO_TUN_WINDOW_TOP;
	tun->recv_window = RXO_TUN_RECV_WINDOW;
	tun->reorder_init_us = RXO_TUN_REORDER_INIT_US;
	tun->reorder_min_us = RXO_TUN_REORDER_MIN_US;
	tun->reorder_max_us = RXO_TUN_REORDER_MAX_US;
	tun->budget = RXO_TUN_BUDGET;
	tun->sack = 1;
	tun->paths = 1;
}

static void init_fields(struct rxo_dev *dev)
{
	INIT_LIST_HEAD(&dev->net_list);
	INIT_WORK(&dev->speed_work, rxo_netdev_speed);
	init_tunables(&dev->tun);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC);
	xa_init_flags(&dev->ahs, XA_FLAGS_ALLOC);
	xa_init_flags(&dev->srqs, XA_FLAGS_ALLOC);
	dev->next_key = get_random_u32();	/* an old key is not soon a valid one */
	spin_lock_init(&dev->dead_lock);
	spin_lock_init(&dev->atomic_lock);
	spin_lock_init(&dev->key_lock);
}

static void init_ib(struct rxo_dev *dev)
{
	struct ib_device *ib = &dev->ib;

	ib->node_type = RDMA_NODE_IB_CA;
	ib->phys_port_cnt = 1;
	ib->num_comp_vectors = num_possible_cpus();
	ib->driver_def = rxo_uapi_defs;
	ib->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
			       BIT_ULL(IB_USER_VERBS_CMD_POST_RECV) |
			       BIT_ULL(IB_USER_VERBS_CMD_POST_SRQ_RECV) |
			       BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	strscpy(ib->node_desc, "rxe_ooo", sizeof(ib->node_desc));
	addrconf_addr_eui48((u8 *)&ib->node_guid, dev->ndev->dev_addr);
	ib_set_device_ops(ib, &rxo_dev_ops);
	ib_set_device_ops(ib, &rxo_obj_ops);
}

static struct rxo_dev *alloc_dev(struct net_device *ndev)
{
	struct rxo_dev *dev;

	dev = rxo_alloc_ib_device(rxo_dev, ib, dev_net(ndev));
	if (!dev)
		return NULL;
	dev->stats = alloc_percpu(struct rxo_dev_stats);
	if (!dev->stats)
		goto err_dev;
	if (rxo_mcast_init(dev))
		goto err_stats;
	dev->rn = rxo_net(dev_net(ndev));
	dev->ndev = ndev;
	netdev_hold(ndev, &dev->ndev_tracker, GFP_KERNEL);
	init_fields(dev);
	init_ib(dev);		/* from here ib_dealloc_device() calls dealloc_driver */
	return dev;

err_stats:
	free_percpu(dev->stats);
err_dev:
	ib_dealloc_device(&dev->ib);
	return NULL;
}

/*
 * The notifier finds a device only once it is registered. A netdev that went
 * away before that has not been noticed, so look again under RTNL.
 */
static bool netdev_gone(struct rxo_dev *dev)
{
	bool gone;

	rtnl_lock();
	dev->port_active = rxo_netdev_active(dev->ndev);
	gone = dev->ndev->reg_state != NETREG_REGISTERED ||
	       !net_eq(dev_net(dev->ndev), dev->rn->net);
	rtnl_unlock();
	return gone;
}

static int register_dev(struct rxo_dev *dev, const char *name)
{
	int err;

	err = rxo_net_add_dev(dev);
	if (err)
		return err;
	err = ib_device_set_netdev(&dev->ib, dev->ndev, 1);
	if (err)
		return err;
	rxo_netdev_speed(&dev->speed_work);
	/* NULL: addresses in work requests are virtual ones. GIDs are there when this returns. */
	return ib_register_device(&dev->ib, name, NULL);
}

int rxo_dev_create(const char *name, struct net_device *ndev)
{
	struct rxo_dev *dev = alloc_dev(ndev);
	int err;

	if (!dev)
		return -ENOMEM;
	get_device(&dev->ib.dev);	/* somebody may unregister it before we look again */
	err = register_dev(dev, name);
	if (err) {
		ib_dealloc_device(&dev->ib);
	} else if (netdev_gone(dev)) {
		ib_unregister_device(&dev->ib);
		err = -ENODEV;
	}
	put_device(&dev->ib.dev);
	return err;
}
