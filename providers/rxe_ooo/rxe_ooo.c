// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The device and its contexts. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rxe_ooo.h"

static const struct verbs_device_ops rxe_ooo_device_ops;

static const struct verbs_context_ops rxe_ooo_context_ops = {
	.advise_mr = rxe_ooo_advise_mr,
	.alloc_dm = rxe_ooo_alloc_dm,
	.alloc_mw = rxe_ooo_alloc_mw,
	.alloc_parent_domain = rxe_ooo_alloc_parent_domain,
	.alloc_pd = rxe_ooo_alloc_pd,
	.alloc_td = rxe_ooo_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = rxe_ooo_bind_mw,
	.close_xrcd = rxe_ooo_close_xrcd,
	.create_ah = rxe_ooo_create_ah,
	.create_cq = rxe_ooo_create_cq,
	.create_cq_ex = rxe_ooo_create_cq_ex,
	.create_qp = rxe_ooo_create_qp,
	.create_qp_ex = rxe_ooo_create_qp_ex,
	.create_srq = rxe_ooo_create_srq,
	.create_srq_ex = rxe_ooo_create_srq_ex,
	.dealloc_mw = rxe_ooo_dealloc_mw,
	.dealloc_pd = rxe_ooo_dealloc_pd,
	.dealloc_td = rxe_ooo_dealloc_td,
	.dereg_mr = rxe_ooo_dereg_mr,
	.destroy_ah = rxe_ooo_destroy_ah,
	.destroy_cq = rxe_ooo_destroy_cq,
	.destroy_qp = rxe_ooo_destroy_qp,
	.destroy_srq = rxe_ooo_destroy_srq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_dm = rxe_ooo_free_dm,
	.get_srq_num = rxe_ooo_get_srq_num,
	.import_dm = rxe_ooo_import_dm,
	.import_mr = rxe_ooo_import_mr,
	.import_pd = rxe_ooo_import_pd,
	.modify_cq = rxe_ooo_modify_cq,
	.modify_qp = rxe_ooo_modify_qp,
	.modify_srq = rxe_ooo_modify_srq,
	.open_qp = rxe_ooo_open_qp,
	.open_xrcd = rxe_ooo_open_xrcd,
	.poll_cq = rxe_ooo_poll_cq,
	.post_recv = rxe_ooo_post_recv,
	.post_send = rxe_ooo_post_send,
	.post_srq_recv = rxe_ooo_post_srq_recv,
	.query_device_ex = rxe_ooo_query_device_ex,
	.query_port = rxe_ooo_query_port,
	.query_qp = rxe_ooo_query_qp,
	.query_qp_data_in_order = rxe_ooo_query_qp_data_in_order,
	.query_rt_values = rxe_ooo_query_rt_values,
	.query_srq = rxe_ooo_query_srq,
	.reg_dm_mr = rxe_ooo_reg_dm_mr,
	.reg_dmabuf_mr = rxe_ooo_reg_dmabuf_mr,
	.reg_mr = rxe_ooo_reg_mr,
	.req_notify_cq = ibv_cmd_req_notify_cq,
	.rereg_mr = rxe_ooo_rereg_mr,
	.resize_cq = rxe_ooo_resize_cq,
	.unimport_dm = rxe_ooo_unimport_dm,
	.unimport_mr = rxe_ooo_unimport_mr,
	.unimport_pd = rxe_ooo_unimport_pd,
};

static void rxe_ooo_free_context(struct ibv_context *ibctx)
{
	struct rxe_ooo_context *ctx = to_rxe_ooo_context(ibctx);

	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static const struct verbs_context_ops rxe_ooo_free_ops = {
	.free_context = rxe_ooo_free_context,
};

/* Closes @cmd_fd when it fails, as libibverbs expects. */
static struct rxe_ooo_context *new_context(struct ibv_device *device,
					   int cmd_fd)
{
	struct rxe_ooo_context *ctx;

	ctx = verbs_init_and_alloc_context(device, cmd_fd, ctx, vctx,
					   RXE_OOO_DRIVER_ID);
	if (!ctx)
		return NULL;
	ctx->env = rxe_ooo_parse_env(getenv("RXE_OOO_DATA_PLACEMENT"));
	verbs_set_ops(&ctx->vctx, &rxe_ooo_context_ops);
	verbs_set_ops(&ctx->vctx, &rxe_ooo_free_ops);
	return ctx;
}

static struct verbs_context *rxe_ooo_alloc_context(struct ibv_device *device,
						   int cmd_fd,
						   void *private_data)
{
	struct rxe_ooo_u_get_context_resp resp = {};
	struct ibv_get_context cmd = {};
	struct rxe_ooo_context *ctx;
	int ret;

	ctx = new_context(device, cmd_fd);
	if (!ctx)
		return NULL;
	ret = ibv_cmd_get_context(&ctx->vctx, &cmd, sizeof(cmd),
				  &resp.ibv_resp, sizeof(resp));
	if (ret) {
		rxe_ooo_free_context(&ctx->vctx.context);
		errno = ret;
		return NULL;
	}
	return &ctx->vctx;
}

static struct verbs_context *rxe_ooo_import_context(struct ibv_device *device,
						    int cmd_fd)
{
	struct rxe_ooo_context *ctx;
	int ret;

	ctx = new_context(device, cmd_fd);
	if (!ctx)
		return NULL;
	ret = ibv_cmd_query_context(&ctx->vctx.context, NULL);
	if (ret) {
		rxe_ooo_free_context(&ctx->vctx.context);
		errno = ret;
		return NULL;
	}
	return &ctx->vctx;
}

static struct verbs_device *
rxe_ooo_alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	struct verbs_device *vdev = calloc(1, sizeof(*vdev));

	if (!vdev)
		errno = ENOMEM;
	return vdev;
}

static void rxe_ooo_uninit_device(struct verbs_device *vdev)
{
	free(vdev);
}

/*
 * By driver id alone: a device may have any name. The id is outside the
 * kernel's enum.
 */
static const struct verbs_match_ent rxe_ooo_matches[] = {
	VERBS_DRIVER_ID(RXE_OOO_DRIVER_ID),
	{}
};

static const struct verbs_device_ops rxe_ooo_device_ops = {
	.name = "rxe_ooo",
	.match_min_abi_version = RXE_OOO_UVERBS_ABI_VERSION,
	.match_max_abi_version = RXE_OOO_UVERBS_ABI_VERSION,
	.match_table = rxe_ooo_matches,
	.alloc_device = rxe_ooo_alloc_device,
	.uninit_device = rxe_ooo_uninit_device,
	.alloc_context = rxe_ooo_alloc_context,
	.import_context = rxe_ooo_import_context,
};

/*
 * By name, not by address: a program may hold a second copy of this library,
 * when what it links with and what libibverbs loads are different files.
 */
bool rxe_ooo_owns(struct ibv_device *device)
{
	const struct verbs_device_ops *ops = verbs_get_device(device)->ops;

	return ops == &rxe_ooo_device_ops ||
	       (ops && ops->name && !strcmp(ops->name, rxe_ooo_device_ops.name));
}

PROVIDER_DRIVER(rxe_ooo, rxe_ooo_device_ops);
