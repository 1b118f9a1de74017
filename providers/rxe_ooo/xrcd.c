// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* XRC domains. */
#include <errno.h>
#include <stdlib.h>

#include "rxe_ooo.h"

struct ibv_xrcd *rxe_ooo_open_xrcd(struct ibv_context *ctx,
				   struct ibv_xrcd_init_attr *attr)
{
	struct ib_uverbs_open_xrcd_resp resp = {};
	struct ibv_open_xrcd cmd = {};
	struct verbs_xrcd *vxrcd;
	int ret;

	vxrcd = calloc(1, sizeof(*vxrcd));
	if (!vxrcd) {
		errno = ENOMEM;
		return NULL;
	}
	ret = ibv_cmd_open_xrcd(ctx, vxrcd, sizeof(*vxrcd), attr, &cmd,
				sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		free(vxrcd);
		errno = ret;
		return NULL;
	}
	return &vxrcd->xrcd;
}

int rxe_ooo_close_xrcd(struct ibv_xrcd *xrcd)
{
	struct verbs_xrcd *vxrcd = container_of(xrcd, struct verbs_xrcd, xrcd);
	int ret = ibv_cmd_close_xrcd(vxrcd);

	if (!ret)
		free(vxrcd);
	return ret;
}
