// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What rxe_ooodv.h promises about queue pairs. */
#include <errno.h>
#include <string.h>

#include "rxe_ooo.h"
#include "rxe_ooodv.h"

static_assert(RXE_OOODV_OOO_RW_DATA_PLACEMENT == RXE_OOO_CAP_RW_DATA_PLACEMENT,
	      "the kernel's bits are passed on as they are");

bool rxe_ooodv_is_supported(struct ibv_device *device)
{
	return rxe_ooo_owns(device);
}

static int query_ooo(struct ibv_qp *qp, struct rxe_ooo_modify_qp_resp *resp)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_QP, RXE_OOO_METHOD_QP_QUERY,
			       2);

	memset(resp, 0, sizeof(*resp));
	fill_attr_in_obj(cmd, RXE_OOO_ATTR_QP_QUERY_HANDLE, qp->handle);
	fill_attr_out_ptr(cmd, RXE_OOO_ATTR_QP_QUERY_RESP, resp);
	return execute_ioctl(qp->context, cmd);
}

/* The state of an opened XRC QP is known to the kernel alone. */
static int get_state(struct ibv_qp *qp, enum ibv_qp_state *state)
{
	struct ibv_qp_init_attr init_attr;
	struct ibv_qp_attr attr;
	int ret;

	*state = qp->state;
	if (*state != IBV_QPS_UNKNOWN)
		return 0;
	ret = rxe_ooo_query_qp(qp, &attr, IBV_QP_STATE, &init_attr);
	if (!ret)
		*state = attr.qp_state;
	return ret;
}

static bool is_before_rtr(enum ibv_qp_state state)
{
	return state == IBV_QPS_RESET || state == IBV_QPS_INIT;
}

static bool type_can_place(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND ||
	       type == IBV_QPT_XRC_RECV;
}

int rxe_ooodv_set_ooo(struct ibv_qp *qp, int on)
{
	enum ibv_qp_state state;
	int ret;

	if (!rxe_ooo_owns(qp->context->device))
		return EOPNOTSUPP;
	if (!type_can_place(qp->qp_type) || (on != 0 && on != 1))
		return EINVAL;
	ret = get_state(qp, &state);
	if (ret)
		return ret;
	if (!is_before_rtr(state))
		return EINVAL;
	to_rxe_ooo_qp(qp)->want = on ? RXE_OOO_WANT_ON : RXE_OOO_WANT_OFF;
	return 0;
}

int rxe_ooodv_query_qp(struct ibv_qp *qp, struct rxe_ooodv_qp_attr *attr)
{
	struct rxe_ooo_modify_qp_resp resp;
	int ret;

	if (!rxe_ooo_owns(qp->context->device))
		return EOPNOTSUPP;
	ret = query_ooo(qp, &resp);
	if (ret)
		return ret;
	memset(attr, 0, sizeof(*attr));
	attr->comp_mask = RXE_OOODV_QP_ATTR_OOO | RXE_OOODV_QP_ATTR_OOO_DEFAULT;
	attr->ooo = resp.ooo;
	attr->ooo_default = resp.ooo_default;
	return 0;
}

/* Is placement on, or could INIT->RTR still turn it on unasked? */
static bool may_place(struct ibv_qp *qp)
{
	struct rxe_ooo_context *ctx = to_rxe_ooo_context(qp->context);
	struct rxe_ooo_modify_qp_resp resp;
	enum ibv_qp_state state;

	if (!type_can_place(qp->qp_type))
		return false;
	/* When in doubt, do not promise order. */
	if (query_ooo(qp, &resp) || get_state(qp, &state))
		return true;
	if (!is_before_rtr(state))
		return resp.ooo;
	return rxe_ooo_may_turn_on(ctx->env, to_rxe_ooo_qp(qp)->want,
				   resp.ooo_default);
}

/*
 * May a program poll memory for data? What is held until its turn is placed
 * in order, so only WRITE and READ with placement are different.
 */
int rxe_ooo_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op,
				   uint32_t flags)
{
	switch (op) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		if (may_place(qp))
			return 0;
		break;
	default:
		break;
	}
	return IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG;
}
