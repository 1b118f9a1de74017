/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the object files (rings, CQs, QPs, memory) offer each other. */
#ifndef RXE_OOO_OBJECTS_H
#define RXE_OOO_OBJECTS_H

#include <rdma/ib_mad.h>	/* IB_DEFAULT_PKEY_FULL */
#include "rxe_ooo.h"

/* udata.c: driver parts of uverbs commands */
int rxo_udata_in(struct ib_udata *udata, void *req, size_t len);
int rxo_udata_in_empty(struct ib_udata *udata);
int rxo_udata_out(struct ib_udata *udata, const void *resp, size_t len);

/* ------------------------------------------------------------------ */
/* ring.c                                                              */

struct rxo_mmap {
	struct rdma_user_mmap_entry entry;	/* first */
	void *mem;
};

/* The smallest ring that holds @n entries: a power of two. */
static inline u32 rxo_ring_depth(u32 n)
{
	return n <= 1 ? 1 : roundup_pow_of_two(n);
}

int rxo_ring_create(struct rxo_ring *ring, u32 depth, u32 stride, struct ib_udata *udata);
void rxo_ring_destroy(struct rxo_ring *ring);
void rxo_ring_info(const struct rxo_ring *ring, struct rxe_ooo_ring_info *info);

int rxo_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma);
void rxo_mmap_free(struct rdma_user_mmap_entry *entry);

static inline void *rxo_ring_entry(const struct rxo_ring *ring, u32 i)
{
	return ring->entries + (size_t)(i & (ring->depth - 1)) * ring->stride;
}

/*
 * Indices. An entry is written before the index that covers it (release) and
 * read after it (acquire); a slot is written again only after the consumer
 * has passed it.
 */
static inline u32 rxo_ring_producer(const struct rxo_ring *ring)
{
	return smp_load_acquire(&ring->hdr->producer);	/* entries: read after */
}

static inline u32 rxo_ring_consumer(const struct rxo_ring *ring)
{
	return smp_load_acquire(&ring->hdr->consumer);	/* slots: written after */
}

static inline void rxo_ring_set_producer(const struct rxo_ring *ring, u32 index)
{
	smp_store_release(&ring->hdr->producer, index);	/* entries: written before */
}

static inline void rxo_ring_set_consumer(const struct rxo_ring *ring, u32 index)
{
	smp_store_release(&ring->hdr->consumer, index);	/* entries: read before */
}

/* Entries from @index on that the other side has published, bounded: more than fit is a lie. */
static inline u32 rxo_ring_posted(const struct rxo_ring *ring, u32 index)
{
	u32 n = rxo_ring_producer(ring) - index;

	return n <= ring->depth ? n : 0;
}

/*
 * The other side may change shared memory at any time: what is copied here is
 * read once, and only the copy may be looked at.
 */
static inline void rxo_ring_copy(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	barrier();
}

/* ------------------------------------------------------------------ */
/* cq.c                                                                */

/* rxe_ooo_cqe.wc_flags: the values of user space's enum ibv_wc_flags */
enum {
	RXO_WC_GRH = 1 << 0,
	RXO_WC_WITH_IMM = 1 << 1,
	RXO_WC_WITH_INV = 1 << 3,
};

int rxo_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs);
int rxo_destroy_cq(struct ib_cq *ib, struct ib_udata *udata);
int rxo_resize_cq(struct ib_cq *ib, unsigned int cqe, struct ib_udata *udata);
int rxo_poll_cq(struct ib_cq *ib, int num, struct ib_wc *wc);
int rxo_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags);

/* Adds a completion of @qp. BH disabled. */
void rxo_cq_push(struct rxo_cq *cq, struct rxo_qp *qp, struct rxe_ooo_cqe *cqe, bool solicited);
/* Kernel CQs: forgets what a QP that goes away has left in there. */
void rxo_cq_purge(struct rxo_cq *cq, struct rxo_qp *qp);

/* ------------------------------------------------------------------ */
/* mcast.c                                                             */

int rxo_attach_mcast(struct ib_qp *ib, union ib_gid *mgid, u16 lid);
int rxo_detach_mcast(struct ib_qp *ib, union ib_gid *mgid, u16 lid);

/* ------------------------------------------------------------------ */
/* srq.c                                                               */

int rxo_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *init, struct ib_udata *udata);
int rxo_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct ib_udata *udata);
int rxo_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr);
int rxo_destroy_srq(struct ib_srq *ib, struct ib_udata *udata);
int rxo_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr);
/* Takes one entry into @recv: OK, NONE or INVALID. BH disabled. */
enum ooo_result rxo_srq_fetch(struct rxo_srq *srq, struct rxo_recv_copy *recv);

/* ------------------------------------------------------------------ */
/* recv_ring.c: receive entries                                        */

struct rxo_recv_copy {
	struct ooo_rwqe rwqe;
	struct rxo_pd *pd;		/* that its local keys belong to */
	struct ooo_sge sge[RXO_MAX_SGE];
};

static inline u32 rxo_recv_stride(u32 max_sge)
{
	return RXE_OOO_RECV_WQE_HDR_SIZE + max_sge * sizeof(struct rxe_ooo_sge);
}

/* Copies entry @index once; false: malformed, only the wr_id is good. */
bool rxo_recv_copy(const struct rxo_ring *ring, u32 index, u32 max_sge,
		   struct rxo_recv_copy *recv);
/* Kernel consumers: writes one request and publishes it. -ENOMEM: full. */
int rxo_recv_post(struct rxo_ring *ring, u32 *posted, u32 max_sge, const struct ib_recv_wr *wr);

/* ------------------------------------------------------------------ */
/* mr.c                                                                */

struct ib_mr *rxo_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *rxo_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg);
int rxo_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int nents, unsigned int *offset);
int rxo_dereg_mr(struct ib_mr *mr, struct ib_udata *udata);
struct ib_mr *rxo_reg_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			 struct ib_udata *udata);

#define RXO_ACCESS_WRITES	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |	\
				 IB_ACCESS_REMOTE_ATOMIC)
#define RXO_MR_ACCESS		(RXO_ACCESS_WRITES | IB_ACCESS_REMOTE_READ |		\
				 IB_ACCESS_MW_BIND | IB_ZERO_BASED | IB_ACCESS_HUGETLB | \
				 IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT |	\
				 IB_ACCESS_ON_DEMAND | IB_ACCESS_OPTIONAL)

/* A region that nobody can find yet; mr_finish() publishes and mr_free() forgets it. */
struct rxo_mr *rxo_mr_new(struct ib_pd *pd, enum rxo_mr_type type, int access);
struct ib_mr *rxo_mr_finish(struct rxo_mr *mr);		/* consumes it on error */
struct ib_mr *rxo_mr_finish_valid(struct rxo_mr *mr, u64 iova, u64 length);	/* as well */
void rxo_mr_free(struct rxo_mr *mr);
/* Puts a key into force; the caller has filled in everything else. */
int rxo_mr_publish(struct rxo_mr *mr);
/* State and wait: when it returns, nothing is read or written under the key. */
void rxo_mr_quiesce(struct rxo_mr *mr, enum rxo_mr_state state);
void rxo_mr_put(struct rxo_mr *mr);
/* Pins user memory for @access: 0 with @mem filled in, or an errno. */
int rxo_mr_pin(struct rxo_dev *dev, struct rxo_mr_memory *mem, u64 start, u64 length, int access);
void rxo_mr_unpin(struct rxo_mr_memory *mem);

/* mr_rereg.c, mr_dmabuf.c */
struct ib_mr *rxo_rereg_mr(struct ib_mr *ib, int flags, u64 start, u64 length, u64 iova,
			   int access, struct ib_pd *pd, struct ib_udata *udata);
struct ib_mr *rxo_reg_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				int access);
void rxo_dmabuf_release(struct rxo_mr *mr);

/* mr_pmem.c */
int rxo_pmem_check(const struct rxo_mr_memory *mem, int access);
void rxo_pmem_write_back(void *addr, size_t len);

/* dm.c: device memory */
struct rxo_dm {
	struct ib_dm ib;		/* first */
	struct rxo_mmap *mmap;
};

struct ib_dm *rxo_alloc_dm(struct ib_device *ib, struct ib_ucontext *context,
			   struct ib_dm_alloc_attr *attr, struct uverbs_attr_bundle *attrs);
int rxo_dealloc_dm(struct ib_dm *ib, struct uverbs_attr_bundle *attrs);
struct ib_mr *rxo_reg_dm_mr(struct ib_pd *pd, struct ib_dm *ib, struct ib_dm_mr_attr *attr,
			    struct uverbs_attr_bundle *attrs);
void rxo_dm_query(struct ib_dm *ib, struct rxe_ooo_dm_query_resp *resp);

#include "odp.h"

/* mr_access.c: all with BH disabled */
enum ooo_result rxo_mr_check(struct rxo_qp *qp, struct rxo_pd *pd, u32 key, u64 va, u64 len,
			     u32 access);
enum ooo_result rxo_mr_write_skb(struct rxo_qp *qp, struct rxo_pd *pd, u32 key, u64 va,
				 u32 access, const struct sk_buff *skb, u32 offset, u32 len);
enum ooo_result rxo_mr_write(struct rxo_qp *qp, struct rxo_pd *pd, u32 key, u64 va,
			     u32 access, const void *src, u32 len);
enum ooo_result rxo_mr_read(struct rxo_qp *qp, struct rxo_pd *pd, u32 key, u64 va,
			    u32 access, void *dst, u32 len);
struct rxo_mr_atomic {
	bool cmp_swap;
	u64 compare_add;
	u64 swap;
	u64 orig;		/* result */
};

enum ooo_result rxo_mr_atomic(struct rxo_qp *qp, struct rxo_pd *pd, u32 key, u64 va,
			      struct rxo_mr_atomic *op);
enum ooo_result rxo_mr_store8(struct rxo_qp *qp, struct rxo_pd *pd, u32 key, u64 va,
			      u64 value);
enum ooo_result rxo_mr_flush(struct rxo_qp *qp, struct rxo_pd *pd, u32 key, u64 va, u64 len,
			     u32 access, bool whole);

/* mr_local.c: work requests that change keys */
enum ooo_result rxo_mr_invalidate(struct rxo_qp *qp, struct rxo_pd *pd, u32 key);
enum ooo_result rxo_mr_fast_reg(struct rxo_qp *qp, const struct ooo_swqe *wqe);

/* ------------------------------------------------------------------ */
/* qp.c, qp_attr.c, qp_post.c, qp_run.c                                */

int rxo_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *init, struct ib_udata *udata);
int rxo_destroy_qp(struct ib_qp *ib, struct ib_udata *udata);
int rxo_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
int rxo_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int rxo_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr);
int rxo_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr);
int rxo_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ib);

static inline bool rxo_qp_connected(const struct rxo_qp *qp)
{
	switch (qp->ib.qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return true;
	default:
		return false;
	}
}

static inline bool rxo_qp_can_ooo(const struct rxo_qp *qp)
{
	return rxo_qp_connected(qp) && qp->ib.qp_type != IB_QPT_UC;
}

/* qp_run.c */
void rxo_qp_run_init(struct rxo_qp *qp);
void rxo_qp_lock(struct rxo_qp *qp);	/* disables BH */
void rxo_qp_unlock(struct rxo_qp *qp);	/* does what came in meanwhile */
void rxo_qp_wake(struct rxo_qp *qp, unsigned int pending);	/* any context */
void rxo_qp_defer(struct rxo_qp *qp);	/* to the BH work item; any context */
void rxo_qp_run_stop(struct rxo_qp *qp);	/* destroy: process context */
void rxo_qp_event(struct rxo_qp *qp, unsigned int event);	/* enum ooo_event */
void rxo_qp_arm(struct rxo_qp *qp);	/* @lock held */

/* wqe.c: what a send queue entry may say */
bool rxo_swqe_ok(const struct rxo_qp *qp, struct ooo_swqe *wqe);
u32 rxo_wc_opcode(u8 wr_opcode);

/* The PD that a key must belong to when @qp's peer uses it. */
struct rxo_pd *rxo_remote_pd(struct rxo_qp *qp, u32 rkey);

/* env_mem.c: gather and scatter, shared with ud.c */
enum ooo_result rxo_gather(struct rxo_qp *qp, const struct ooo_swqe *wqe, u32 offset, u32 len,
			   u8 *dst);
enum ooo_result rxo_scatter(struct rxo_qp *qp, struct rxo_pd *pd, const struct ooo_sge *sge,
			    u32 num_sge, u32 offset, const struct sk_buff *skb, u32 skb_off,
			    u32 len);
enum ooo_result rxo_scatter_bytes(struct rxo_qp *qp, struct rxo_pd *pd,
				  const struct ooo_sge *sge, u32 num_sge, u32 offset,
				  const void *src, u32 len);
/* env_sq.c, env_rq.c */
enum ooo_result rxo_sq_fetch(struct rxo_qp *qp, u32 index);
void rxo_sq_done(struct rxo_qp *qp, u32 index, bool completion);
enum ooo_result rxo_rq_fetch(struct rxo_qp *qp);
void rxo_rings_reset(struct rxo_qp *qp);

/* ud.c: UD and GSI; @lock held */
bool rxo_ud_post_send(struct rxo_qp *qp);	/* true: budget ran out */
void rxo_ud_flush(struct rxo_qp *qp);
void rxo_ud_rx_one(struct rxo_qp *qp, struct sk_buff *skb, const struct ooo_pkt *pkt);
void rxo_ud_fill(struct ooo_swqe *wqe, const struct ib_send_wr *wr);
void rxo_ud_fetch(struct ooo_swqe *wqe, const struct rxe_ooo_send_wqe *shared);

/* ah.c */
int rxo_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int rxo_query_ah(struct ib_ah *ib, struct rdma_ah_attr *attr);
int rxo_destroy_ah(struct ib_ah *ib, u32 flags);

/* mw.c */
int rxo_alloc_mw(struct ib_mw *ib, struct ib_udata *udata);
int rxo_dealloc_mw(struct ib_mw *ib);
/* BH disabled */
enum ooo_result rxo_mw_bind(struct rxo_qp *qp, const struct ooo_swqe *wqe);
enum ooo_result rxo_mw_invalidate(struct rxo_qp *qp, struct rxo_mr *mw);	/* key_lock held */

#endif /* RXE_OOO_OBJECTS_H */
