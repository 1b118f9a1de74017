// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address handles. User space names one by number in a send entry; a kernel
 * consumer by pointer, so its handles need no number and no sleeping.
 */
#include "objects.h"
#include "verbs_small.h"

static int ah_number(struct rxo_dev *dev, struct rxo_ah *ah, struct ib_udata *udata)
{
	struct rxe_ooo_create_ah_resp resp = {};
	int err;

	err = xa_alloc(&dev->ahs, &ah->num, ah, XA_LIMIT(1, 0xffffff), GFP_KERNEL);
	if (err)
		return err;
	resp.ah_num = ah->num;
	err = rxo_udata_out(udata, &resp, sizeof(resp));
	if (err) {
		xa_erase(&dev->ahs, ah->num);
		synchronize_rcu_expedited();
	}
	return err;
}

int rxo_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	struct rxo_dev *dev = to_rxo(ib->device);
	struct rxo_ah *ah = to_rah(ib);
	int err;

	err = rxo_udata_in_empty(udata);
	if (!err)
		err = rxo_account(&dev->num_ah, RXO_MAX_AH);
	if (err)
		return err;
	err = rxo_av_init(dev, &ah->av, init->ah_attr);
	if (err)
		goto err_count;
	if (udata) {
		err = ah_number(dev, ah, udata);
		if (err)
			goto err_av;
	}
	return 0;

err_av:
	rxo_av_destroy(&ah->av);
err_count:
	atomic_dec(&dev->num_ah);
	return err;
}

int rxo_query_ah(struct ib_ah *ib, struct rdma_ah_attr *attr)
{
	*attr = to_rah(ib)->av.attr;
	return 0;
}

int rxo_destroy_ah(struct ib_ah *ib, u32 flags)
{
	struct rxo_ah *ah = to_rah(ib);
	struct rxo_dev *dev = to_rxo(ib->device);

	if (ah->num) {
		xa_erase(&dev->ahs, ah->num);
		synchronize_rcu_expedited();
	}
	rxo_av_destroy(&ah->av);
	atomic_dec(&dev->num_ah);
	return 0;
}
