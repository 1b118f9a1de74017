/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The commands that carry a part of our own, in the form that libibverbs'
 * command functions want.
 */
#ifndef RXE_OOO_ABI_H
#define RXE_OOO_ABI_H

#include <infiniband/kern-abi.h>
#include <rdma/rdma_user_rxe_ooo.h>
#include <kernel-abi/rdma_user_rxe_ooo.h>

DECLARE_DRV_CMD(rxe_ooo_u_get_context, IB_USER_VERBS_CMD_GET_CONTEXT,
		empty, rxe_ooo_alloc_ucontext_resp);
DECLARE_DRV_CMD(rxe_ooo_u_query_device, IB_USER_VERBS_EX_CMD_QUERY_DEVICE,
		empty, rxe_ooo_query_device_resp);
DECLARE_DRV_CMD(rxe_ooo_u_create_cq, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		empty, rxe_ooo_create_cq_resp);
DECLARE_DRV_CMD(rxe_ooo_u_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		empty, rxe_ooo_resize_cq_resp);
DECLARE_DRV_CMD(rxe_ooo_u_create_srq, IB_USER_VERBS_CMD_CREATE_XSRQ,
		empty, rxe_ooo_create_srq_resp);
DECLARE_DRV_CMD(rxe_ooo_u_modify_srq, IB_USER_VERBS_CMD_MODIFY_SRQ,
		rxe_ooo_modify_srq_req, empty);
DECLARE_DRV_CMD(rxe_ooo_u_create_qp, IB_USER_VERBS_EX_CMD_CREATE_QP,
		empty, rxe_ooo_create_qp_resp);
DECLARE_DRV_CMD(rxe_ooo_u_modify_qp, IB_USER_VERBS_EX_CMD_MODIFY_QP,
		rxe_ooo_modify_qp_req, rxe_ooo_modify_qp_resp);
DECLARE_DRV_CMD(rxe_ooo_u_create_ah, IB_USER_VERBS_CMD_CREATE_AH,
		empty, rxe_ooo_create_ah_resp);

#endif /* RXE_OOO_ABI_H */
