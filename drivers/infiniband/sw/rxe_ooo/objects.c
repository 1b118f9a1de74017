// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The verbs of everything that is not the device itself. */
#include "objects.h"
#include "compat.h"
#include "verbs_small.h"

#ifdef RXO_HAVE_DMAH
/* TPH hints mean nothing in software. */
static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
				 struct ib_dmah *dmah, struct ib_udata *udata)
{
	return dmah ? ERR_PTR(-EOPNOTSUPP) : rxo_reg_mr(pd, start, length, iova, access, udata);
}

static struct ib_mr *reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
					int access, struct ib_dmah *dmah,
					struct uverbs_attr_bundle *attrs)
{
	return dmah ? ERR_PTR(-EOPNOTSUPP) :
		      rxo_reg_mr_dmabuf(pd, offset, length, iova, fd, access);
}
#else
static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
				 struct ib_udata *udata)
{
	return rxo_reg_mr(pd, start, length, iova, access, udata);
}

static struct ib_mr *reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
					int access, struct uverbs_attr_bundle *attrs)
{
	return rxo_reg_mr_dmabuf(pd, offset, length, iova, fd, access);
}
#endif

#ifndef RXO_HAVE_RESIZE_USER_CQ
static int resize_cq(struct ib_cq *ib, int cqe, struct ib_udata *udata)
{
	return cqe < 0 ? -EINVAL : rxo_resize_cq(ib, cqe, udata);
}
#endif

const struct ib_device_ops rxo_obj_ops = {
	.alloc_ucontext = rxo_alloc_ucontext,
	.dealloc_ucontext = rxo_dealloc_ucontext,
	.query_ucontext = rxo_query_ucontext,
	.mmap = rxo_mmap,
	.mmap_free = rxo_mmap_free,

	.alloc_pd = rxo_alloc_pd,
	.dealloc_pd = rxo_dealloc_pd,
	.alloc_xrcd = rxo_alloc_xrcd,
	.dealloc_xrcd = rxo_dealloc_xrcd,

	.create_ah = rxo_create_ah,
	.create_user_ah = rxo_create_ah,
	.query_ah = rxo_query_ah,
	.destroy_ah = rxo_destroy_ah,

	.create_cq = rxo_create_cq,
	.destroy_cq = rxo_destroy_cq,
#ifdef RXO_HAVE_RESIZE_USER_CQ
	.resize_user_cq = rxo_resize_cq,
#else
	.resize_cq = resize_cq,
#endif
	.poll_cq = rxo_poll_cq,
	.req_notify_cq = rxo_req_notify_cq,

	.create_srq = rxo_create_srq,
	.modify_srq = rxo_modify_srq,
	.query_srq = rxo_query_srq,
	.destroy_srq = rxo_destroy_srq,
	.post_srq_recv = rxo_post_srq_recv,

	.create_qp = rxo_create_qp,
	.modify_qp = rxo_modify_qp,
	.query_qp = rxo_query_qp,
	.destroy_qp = rxo_destroy_qp,
	.post_send = rxo_post_send,
	.post_recv = rxo_post_recv,

	.attach_mcast = rxo_attach_mcast,
	.detach_mcast = rxo_detach_mcast,

	.get_dma_mr = rxo_get_dma_mr,
	.reg_user_mr = reg_user_mr,
	.reg_user_mr_dmabuf = reg_user_mr_dmabuf,
	.rereg_user_mr = rxo_rereg_mr,
	.advise_mr = rxo_advise_mr,
	.alloc_mr = rxo_alloc_mr,
	.map_mr_sg = rxo_map_mr_sg,
	.dereg_mr = rxo_dereg_mr,
	.alloc_dm = rxo_alloc_dm,
	.dealloc_dm = rxo_dealloc_dm,
	.reg_dm_mr = rxo_reg_dm_mr,
	.alloc_mw = rxo_alloc_mw,
	.dealloc_mw = rxo_dealloc_mw,

	.fill_res_cq_entry = rxo_fill_res_cq_entry,
	.fill_res_mr_entry = rxo_fill_res_mr_entry,
	.fill_res_qp_entry = rxo_fill_res_qp_entry,
	.fill_res_srq_entry = rxo_fill_res_srq_entry,

	INIT_RDMA_OBJ_SIZE(ib_ah, rxo_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, rxo_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_mw, rxo_mr, mw),
	INIT_RDMA_OBJ_SIZE(ib_pd, rxo_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, rxo_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, rxo_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, rxo_ucontext, ib),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, rxo_xrcd, ib),
};
