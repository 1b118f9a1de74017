// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Driver-specific uverbs: is placement out of order in force, where is device memory? */
#include "objects.h"

#define UVERBS_MODULE_NAME rxe_ooo
#include <rdma/uverbs_named_ioctl.h>

static int UVERBS_HANDLER(RXE_OOO_METHOD_QP_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ib = uverbs_attr_get_obj(attrs, RXE_OOO_ATTR_QP_QUERY_HANDLE);
	struct rxe_ooo_modify_qp_resp resp = {};
	struct rxo_qp *qp;

	qp = to_rqp(ib->real_qp);	/* an opened XRC QP is a handle for another */
	resp.ooo = READ_ONCE(qp->ep.attr.ooo);
	resp.ooo_default = READ_ONCE(qp->dev->ooo_default);
	return uverbs_copy_to(attrs, RXE_OOO_ATTR_QP_QUERY_RESP, &resp, sizeof(resp));
}

DECLARE_UVERBS_NAMED_METHOD(RXE_OOO_METHOD_QP_QUERY,
			    UVERBS_ATTR_IDR(RXE_OOO_ATTR_QP_QUERY_HANDLE, UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(RXE_OOO_ATTR_QP_QUERY_RESP,
						UVERBS_ATTR_TYPE(struct rxe_ooo_modify_qp_resp),
						UA_MANDATORY));

ADD_UVERBS_METHODS(rxo_qp_methods, UVERBS_OBJECT_QP, &UVERBS_METHOD(RXE_OOO_METHOD_QP_QUERY));

static int UVERBS_HANDLER(RXE_OOO_METHOD_DM_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ib = uverbs_attr_get_obj(attrs, RXE_OOO_ATTR_DM_QUERY_HANDLE);
	struct rxe_ooo_dm_query_resp resp = {};

	rxo_dm_query(ib, &resp);
	return uverbs_copy_to(attrs, RXE_OOO_ATTR_DM_QUERY_RESP, &resp, sizeof(resp));
}

DECLARE_UVERBS_NAMED_METHOD(RXE_OOO_METHOD_DM_QUERY,
			    UVERBS_ATTR_IDR(RXE_OOO_ATTR_DM_QUERY_HANDLE, UVERBS_OBJECT_DM,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(RXE_OOO_ATTR_DM_QUERY_RESP,
						UVERBS_ATTR_TYPE(struct rxe_ooo_dm_query_resp),
						UA_MANDATORY));

ADD_UVERBS_METHODS(rxo_dm_methods, UVERBS_OBJECT_DM, &UVERBS_METHOD(RXE_OOO_METHOD_DM_QUERY));

const struct uapi_definition rxo_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &rxo_qp_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &rxo_dm_methods),
	{},
};
