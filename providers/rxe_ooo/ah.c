// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Address handles. */
#include <errno.h>
#include <stdlib.h>

#include "rxe_ooo.h"

struct ibv_ah *rxe_ooo_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct rxe_ooo_u_create_ah_resp resp = {};
	struct rxe_ooo_ah *ah;
	int ret;

	ah = calloc(1, sizeof(*ah));
	if (!ah) {
		errno = ENOMEM;
		return NULL;
	}
	ret = ibv_cmd_create_ah(pd, &ah->ah, attr, &resp.ibv_resp,
				sizeof(resp));
	if (ret) {
		free(ah);
		errno = ret;
		return NULL;
	}
	ah->num = resp.drv_payload.ah_num;
	rxe_ooo_pd_hold(pd);
	return &ah->ah;
}

int rxe_ooo_destroy_ah(struct ibv_ah *ibah)
{
	int ret = ibv_cmd_destroy_ah(ibah);

	if (ret)
		return ret;
	rxe_ooo_pd_release(ibah->pd);
	free(to_rxe_ooo_ah(ibah));
	return 0;
}
