// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory regions and memory windows. */
#include <errno.h>
#include <stdlib.h>

#include "rxe_ooo.h"

static struct verbs_mr *new_mr(void)
{
	struct verbs_mr *vmr = calloc(1, sizeof(*vmr));

	if (!vmr)
		errno = ENOMEM;
	return vmr;
}

/* The region if a command made one in @pd, else NULL and errno. */
static struct ibv_mr *mr_or_error(struct ibv_pd *pd, struct verbs_mr *vmr,
				  int ret)
{
	if (!ret) {
		rxe_ooo_pd_hold(pd);
		return &vmr->ibv_mr;
	}
	free(vmr);
	errno = ret;
	return NULL;
}

struct ibv_mr *rxe_ooo_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			      uint64_t iova, int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct verbs_mr *vmr = new_mr();
	struct ibv_reg_mr cmd;

	if (!vmr)
		return NULL;
	return mr_or_error(pd, vmr,
			   ibv_cmd_reg_mr(pd, addr, length, iova, access, vmr,
					  &cmd, sizeof(cmd), &resp,
					  sizeof(resp)));
}

struct ibv_mr *rxe_ooo_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				     size_t length, uint64_t iova, int fd,
				     int access)
{
	struct verbs_mr *vmr = new_mr();

	if (!vmr)
		return NULL;
	return mr_or_error(pd, vmr,
			   ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd,
						 access, vmr, NULL));
}

int rxe_ooo_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		     void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd = {};
	int ret;

	ret = ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr,
			       access, pd, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	/* libibverbs writes the new one into the region after this. */
	if (!ret && (flags & IBV_REREG_MR_CHANGE_PD)) {
		rxe_ooo_pd_hold(pd);
		rxe_ooo_pd_release(vmr->ibv_mr.pd);
	}
	return ret;
}

int rxe_ooo_dereg_mr(struct verbs_mr *vmr)
{
	int ret = ibv_cmd_dereg_mr(vmr);

	if (ret)
		return ret;
	rxe_ooo_pd_release(vmr->ibv_mr.pd);
	free(vmr);
	return 0;
}

int rxe_ooo_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		      uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge)
{
	return ibv_cmd_advise_mr(pd, advice, flags, sg_list, num_sge);
}

struct ibv_mr *rxe_ooo_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct verbs_mr *vmr = new_mr();

	if (!vmr)
		return NULL;
	return mr_or_error(pd, vmr, ibv_cmd_query_mr(pd, vmr, handle));
}

void rxe_ooo_unimport_mr(struct ibv_mr *mr)
{
	rxe_ooo_pd_release(mr->pd);
	free(verbs_get_mr(mr));
}

struct ibv_mw *rxe_ooo_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd;
	struct ibv_mw *mw;
	int ret;

	mw = calloc(1, sizeof(*mw));
	if (!mw) {
		errno = ENOMEM;
		return NULL;
	}
	ret = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(mw);
		errno = ret;
		return NULL;
	}
	rxe_ooo_pd_hold(pd);
	return mw;
}

int rxe_ooo_dealloc_mw(struct ibv_mw *mw)
{
	int ret = ibv_cmd_dealloc_mw(mw);

	if (ret)
		return ret;
	rxe_ooo_pd_release(mw->pd);
	free(mw);
	return 0;
}
