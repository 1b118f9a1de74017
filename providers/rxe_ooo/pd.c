// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Protection domains, thread domains, parent domains. */
#include <errno.h>
#include <stdlib.h>

#include "rxe_ooo.h"

struct ibv_pd *rxe_ooo_alloc_pd(struct ibv_context *ctx)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct ibv_alloc_pd cmd;
	struct rxe_ooo_pd *pd;
	int ret;

	pd = calloc(1, sizeof(*pd));
	if (!pd) {
		errno = ENOMEM;
		return NULL;
	}
	ret = ibv_cmd_alloc_pd(ctx, &pd->pd, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(pd);
		errno = ret;
		return NULL;
	}
	return &pd->pd;
}

static int dealloc_parent_domain(struct rxe_ooo_pd *pd)
{
	atomic_fetch_sub(&pd->parent_of->users, 1);
	if (pd->td)
		atomic_fetch_sub(&pd->td->users, 1);
	free(pd);
	return 0;
}

int rxe_ooo_dealloc_pd(struct ibv_pd *ibpd)
{
	struct rxe_ooo_pd *pd = to_rxe_ooo_pd(ibpd);
	int ret;

	if (atomic_load(&pd->users))
		return EBUSY;
	if (pd->parent_of)
		return dealloc_parent_domain(pd);
	ret = ibv_cmd_dealloc_pd(ibpd);
	if (!ret)
		free(pd);
	return ret;
}

struct ibv_td *rxe_ooo_alloc_td(struct ibv_context *ctx,
				struct ibv_td_init_attr *attr)
{
	struct rxe_ooo_td *td;

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td) {
		errno = ENOMEM;
		return NULL;
	}
	td->td.context = ctx;
	return &td->td;
}

int rxe_ooo_dealloc_td(struct ibv_td *ibtd)
{
	struct rxe_ooo_td *td = to_rxe_ooo_td(ibtd);

	if (atomic_load(&td->users))
		return EBUSY;
	free(td);
	return 0;
}

/*
 * Allocators are accepted and not called: they are for queues in the
 * process's memory, and ours are kernel memory that the process maps.
 */
struct ibv_pd *
rxe_ooo_alloc_parent_domain(struct ibv_context *ctx,
			    struct ibv_parent_domain_init_attr *attr)
{
	struct rxe_ooo_pd *pd;

	if (ibv_check_alloc_parent_domain(attr))
		return NULL;
	if (!check_comp_mask(attr->comp_mask,
			     IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) ||
	    to_rxe_ooo_pd(attr->pd)->parent_of) {
		errno = EINVAL;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (!pd) {
		errno = ENOMEM;
		return NULL;
	}
	ibv_initialize_parent_domain(&pd->pd, attr->pd);
	pd->parent_of = to_rxe_ooo_pd(attr->pd);
	atomic_fetch_add(&pd->parent_of->users, 1);
	if (attr->td) {
		pd->td = to_rxe_ooo_td(attr->td);
		atomic_fetch_add(&pd->td->users, 1);
	}
	return &pd->pd;
}

void rxe_ooo_pd_hold(struct ibv_pd *pd)
{
	if (pd && to_rxe_ooo_pd(pd)->parent_of)
		atomic_fetch_add(&to_rxe_ooo_pd(pd)->users, 1);
}

void rxe_ooo_pd_release(struct ibv_pd *pd)
{
	if (pd && to_rxe_ooo_pd(pd)->parent_of)
		atomic_fetch_sub(&to_rxe_ooo_pd(pd)->users, 1);
}

bool rxe_ooo_pd_single_threaded(const struct ibv_pd *pd)
{
	return pd && to_rxe_ooo_pd(pd)->td;
}

struct ibv_pd *rxe_ooo_import_pd(struct ibv_context *ctx, uint32_t handle)
{
	struct rxe_ooo_pd *pd = calloc(1, sizeof(*pd));

	if (!pd) {
		errno = ENOMEM;
		return NULL;
	}
	pd->pd.context = ctx;
	pd->pd.handle = handle;
	return &pd->pd;
}

void rxe_ooo_unimport_pd(struct ibv_pd *pd)
{
	free(to_rxe_ooo_pd(pd));
}
