/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The provider's objects and what its files offer each other.
 *
 * Locks: each queue has one spinlock; none is taken inside another. Whoever
 * creates a queue in a thread domain, or a completion queue for a single
 * thread, promises to need none, and the lock is not taken.
 */
#ifndef RXE_OOO_PROVIDER_H
#define RXE_OOO_PROVIDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <infiniband/driver.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <util/compiler.h>

#include "ooo.h"
#include "ring.h"
#include "rxe_ooo-abi.h"

struct rxe_ooo_lock {
	pthread_spinlock_t spin;
	bool off;		/* a single thread uses the queue */
};

static inline int rxe_ooo_lock_init(struct rxe_ooo_lock *lock, bool off)
{
	lock->off = off;
	return pthread_spin_init(&lock->spin, PTHREAD_PROCESS_PRIVATE);
}

static inline void rxe_ooo_lock_destroy(struct rxe_ooo_lock *lock)
{
	pthread_spin_destroy(&lock->spin);
}

static inline void rxe_ooo_lock(struct rxe_ooo_lock *lock)
{
	if (!lock->off)
		pthread_spin_lock(&lock->spin);
}

static inline void rxe_ooo_unlock(struct rxe_ooo_lock *lock)
{
	if (!lock->off)
		pthread_spin_unlock(&lock->spin);
}

struct rxe_ooo_context {
	struct verbs_context vctx;
	enum rxe_ooo_env env;	/* RXE_OOO_DATA_PLACEMENT, read at open */
};

struct rxe_ooo_td {
	struct ibv_td td;
	atomic_int users;	/* parent domains */
};

/* A protection domain, or a parent domain around one. */
struct rxe_ooo_pd {
	struct ibv_pd pd;
	struct rxe_ooo_pd *parent_of;	/* NULL: a protection domain */
	struct rxe_ooo_td *td;		/* parent domain: may be NULL */
	/* Parent domains; of one: what was created in it, which points to it */
	atomic_int users;
};

struct rxe_ooo_dm {
	struct verbs_dm vdm;
	uint8_t *map;
	size_t map_size;	/* bytes */
	uint64_t length;	/* bytes */
};

struct rxe_ooo_ah {
	struct ibv_ah ah;
	uint32_t num;		/* names it in a send ring */
};

struct rxe_ooo_cq {
	struct verbs_cq vcq;
	struct rxe_ooo_lock lock;	/* ring, and the fields below */
	struct rxe_ooo_ring ring;
	struct ibv_pd *parent;	/* parent domain it was created in */
	/* Between start_poll and end_poll */
	const struct rxe_ooo_cqe *cur;
	uint32_t end;			/* entries below this are there */
};

struct rxe_ooo_srq {
	struct verbs_srq vsrq;
	struct rxe_ooo_lock lock;	/* ring */
	struct rxe_ooo_ring ring;
	uint32_t max_sge;
};

/* Send or receive queue of a QP. */
struct rxe_ooo_wq {
	struct rxe_ooo_lock lock;	/* ring */
	struct rxe_ooo_ring ring;
	uint32_t max_sge;
};

/* The post in progress between ibv_wr_start and ibv_wr_complete; sq.lock */
struct rxe_ooo_wr_batch {
	struct rxe_ooo_send_wqe *wqe;	/* the request that setters fill, or NULL */
	uint32_t index;			/* of the next request */
	int err;			/* the first error */
	uint8_t missing;		/* setters that @wqe still needs, WR_NEEDS_* */
};

struct rxe_ooo_qp {
	struct verbs_qp vqp;
	struct rxe_ooo_wq sq, rq;
	uint32_t max_inline;		/* bytes */
	bool sq_sig_all;
	struct rxe_ooo_wr_batch batch;
	enum rxe_ooo_want want;		/* rxe_ooodv_set_ooo() */
	struct ibv_pd *pd;		/* NULL: none, unlike vqp.qp.pd */
};

/* Libibverbs hands us pointers to the verbs structs that start ours. */
#define rxe_ooo_to(type, member)					\
static inline struct rxe_ooo_##type *					\
to_rxe_ooo_##type(const struct ibv_##type *obj)				\
{									\
	return container_of(obj, struct rxe_ooo_##type, member);	\
}
rxe_ooo_to(td, td)
rxe_ooo_to(pd, pd)
rxe_ooo_to(dm, vdm.dm)
rxe_ooo_to(ah, ah)
rxe_ooo_to(cq, vcq.cq)
rxe_ooo_to(srq, vsrq.srq)
rxe_ooo_to(qp, vqp.qp)
#undef rxe_ooo_to

static inline struct rxe_ooo_cq *to_rxe_ooo_cq_ex(const struct ibv_cq_ex *cq)
{
	return container_of(cq, struct rxe_ooo_cq, vcq.cq_ex);
}

static inline struct rxe_ooo_context *
to_rxe_ooo_context(struct ibv_context *ctx)
{
	return container_of(ctx, struct rxe_ooo_context, vctx.context);
}

/* rxe_ooo.c: is it a device of ours? */
bool rxe_ooo_owns(struct ibv_device *device);

/* query.c */
int rxe_ooo_query_device_ex(struct ibv_context *ctx,
			    const struct ibv_query_device_ex_input *input,
			    struct ibv_device_attr_ex *attr, size_t attr_size);
int rxe_ooo_query_port(struct ibv_context *ctx, uint8_t port,
		       struct ibv_port_attr *attr);
int rxe_ooo_query_rt_values(struct ibv_context *ctx,
			    struct ibv_values_ex *values);

/* pd.c */
struct ibv_pd *rxe_ooo_alloc_pd(struct ibv_context *ctx);
int rxe_ooo_dealloc_pd(struct ibv_pd *pd);
struct ibv_td *rxe_ooo_alloc_td(struct ibv_context *ctx,
				struct ibv_td_init_attr *attr);
int rxe_ooo_dealloc_td(struct ibv_td *td);
struct ibv_pd *
rxe_ooo_alloc_parent_domain(struct ibv_context *ctx,
			    struct ibv_parent_domain_init_attr *attr);
struct ibv_pd *rxe_ooo_import_pd(struct ibv_context *ctx, uint32_t handle);
void rxe_ooo_unimport_pd(struct ibv_pd *pd);
/*
 * What is created in a parent domain keeps it. In a protection domain (or
 * NULL) it does nothing: there the kernel counts.
 */
void rxe_ooo_pd_hold(struct ibv_pd *pd);
void rxe_ooo_pd_release(struct ibv_pd *pd);
/* Does a single thread use what is created in @pd? */
bool rxe_ooo_pd_single_threaded(const struct ibv_pd *pd);

/* mr.c: memory regions and windows */
struct ibv_mr *rxe_ooo_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			      uint64_t iova, int access);
struct ibv_mr *rxe_ooo_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				     size_t length, uint64_t iova, int fd,
				     int access);
int rxe_ooo_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		     void *addr, size_t length, int access);
int rxe_ooo_dereg_mr(struct verbs_mr *vmr);
int rxe_ooo_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		      uint32_t flags, struct ibv_sge *sg_list,
		      uint32_t num_sge);
struct ibv_mr *rxe_ooo_import_mr(struct ibv_pd *pd, uint32_t handle);
void rxe_ooo_unimport_mr(struct ibv_mr *mr);
struct ibv_mw *rxe_ooo_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int rxe_ooo_dealloc_mw(struct ibv_mw *mw);

/* dm.c: device memory */
struct ibv_dm *rxe_ooo_alloc_dm(struct ibv_context *ctx,
				struct ibv_alloc_dm_attr *attr);
int rxe_ooo_free_dm(struct ibv_dm *dm);
struct ibv_mr *rxe_ooo_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
				 uint64_t offset, size_t length,
				 unsigned int access);
struct ibv_dm *rxe_ooo_import_dm(struct ibv_context *ctx, uint32_t handle);
void rxe_ooo_unimport_dm(struct ibv_dm *dm);

/* ah.c: address handles, multicast */
struct ibv_ah *rxe_ooo_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int rxe_ooo_destroy_ah(struct ibv_ah *ah);

/* cq.c */
struct ibv_cq *rxe_ooo_create_cq(struct ibv_context *ctx, int cqe,
				 struct ibv_comp_channel *channel,
				 int comp_vector);
struct ibv_cq_ex *rxe_ooo_create_cq_ex(struct ibv_context *ctx,
				       struct ibv_cq_init_attr_ex *attr);
int rxe_ooo_destroy_cq(struct ibv_cq *cq);
int rxe_ooo_resize_cq(struct ibv_cq *cq, int cqe);
int rxe_ooo_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
int rxe_ooo_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc);
/* Drop the completions of a QP that is gone or was reset. @cq may be NULL. */
void rxe_ooo_cq_forget_qp(struct ibv_cq *cq, uint32_t qp_num);

/* cq_ex.c */
void rxe_ooo_cq_ex_set_ops(struct rxe_ooo_cq *cq);

/* srq.c */
struct ibv_srq *rxe_ooo_create_srq(struct ibv_pd *pd,
				   struct ibv_srq_init_attr *attr);
struct ibv_srq *rxe_ooo_create_srq_ex(struct ibv_context *ctx,
				      struct ibv_srq_init_attr_ex *attr);
int rxe_ooo_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
		       int mask);
int rxe_ooo_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int rxe_ooo_get_srq_num(struct ibv_srq *srq, uint32_t *num);
int rxe_ooo_destroy_srq(struct ibv_srq *srq);

/* xrcd.c */
struct ibv_xrcd *rxe_ooo_open_xrcd(struct ibv_context *ctx,
				   struct ibv_xrcd_init_attr *attr);
int rxe_ooo_close_xrcd(struct ibv_xrcd *xrcd);

/* qp.c */
struct ibv_qp *rxe_ooo_create_qp(struct ibv_pd *pd,
				 struct ibv_qp_init_attr *attr);
struct ibv_qp *rxe_ooo_create_qp_ex(struct ibv_context *ctx,
				    struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *rxe_ooo_open_qp(struct ibv_context *ctx,
			       struct ibv_qp_open_attr *attr);
int rxe_ooo_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		     struct ibv_qp_init_attr *init_attr);
int rxe_ooo_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int rxe_ooo_destroy_qp(struct ibv_qp *qp);

/* dv.c */
int rxe_ooo_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op,
				   uint32_t flags);

/* post_send.c, post_recv.c */
int rxe_ooo_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		      struct ibv_send_wr **bad_wr);
int rxe_ooo_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr);
int rxe_ooo_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **bad_wr);
int rxe_ooo_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		    struct ibv_mw_bind *bind);
/* May a send be posted? EINVAL until a QP is in RTS. */
int rxe_ooo_check_send_state(const struct rxe_ooo_qp *qp);
/* Tell the kernel to look at the send ring. */
int rxe_ooo_send_doorbell(struct rxe_ooo_qp *qp);

/* wr_api.c: ibv_wr_*() */
/* 0, or EOPNOTSUPP when the QP's type does not have all of @send_ops. */
int rxe_ooo_wr_api_check(enum ibv_qp_type type, uint64_t send_ops);
void rxe_ooo_wr_api_set_ops(struct rxe_ooo_qp *qp);

#endif /* RXE_OOO_PROVIDER_H */
