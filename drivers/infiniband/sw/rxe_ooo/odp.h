/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * On-demand paging: regions whose pages are not pinned.
 *
 * A region remembers the pages that it has used. It forgets them when the
 * memory manager says that the process's mapping changes (odp.c), and asks for
 * those that are missing from a workqueue, while the QP waits (odp_fault.c).
 */
#ifndef RXE_OOO_ODP_H
#define RXE_OOO_ODP_H

#include <linux/mmu_notifier.h>
#include "rxe_ooo.h"

struct rxo_odp {
	struct mmu_interval_notifier notifier;
	struct mutex forgetting;	/* one at a time, as ib_umem_odp's umem_mutex */
	/*
	 * Copies hold it for reading, so a page that is found stays what it is
	 * until the copy is over; invalidations and faults hold it for writing.
	 */
	rwlock_t lock;			/* BH disabled */
	struct xarray leaves;		/* user address >> LEAF_SHIFT; they stay to the end */
};

#if IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING)

int rxo_odp_init(void);
void rxo_odp_exit(void);
void rxo_odp_caps(struct ib_device_attr *attr);

int rxo_odp_create(struct rxo_mr *mr, u64 start, u64 length);
void rxo_odp_destroy(struct rxo_odp *odp);

/*
 * BH disabled, @qp locked. OK: the pages of [@va, @va + @len) are there, and
 * stay until rxo_odp_unlock(). LATER: they are asked for, rxo_qp_resume()
 * follows. ACCESS: there are none. Always OK for regions of other types.
 */
enum ooo_result rxo_odp_lock(struct rxo_qp *qp, struct rxo_mr *mr, u64 va, u64 len, bool write);
void rxo_odp_unlock(struct rxo_mr *mr);
struct page *rxo_odp_page(const struct rxo_mr *mr, u64 addr);
/* Lock held: is every page of the range here? */
bool rxo_odp_present(struct rxo_odp *odp, u64 addr, u64 len, bool write);

enum rxo_odp_get {
	RXO_ODP_READ = 1 << 0,		/* fault in what is missing */
	RXO_ODP_WRITE = 1 << 1,		/* ... to be written to */
};

/*
 * Takes up the pages of the range (@how 0: those that are mapped). May sleep.
 * 0; -EFAULT: there are none; -EAGAIN: the mapping keeps changing, or no memory.
 */
int rxo_odp_get(struct rxo_odp *odp, u64 addr, u64 len, unsigned int how);

void rxo_fault_init(struct rxo_fault *fault);
/* @qp locked, the region in use: asks for pages. LATER, or ACCESS when that has failed. */
enum ooo_result rxo_fault(struct rxo_qp *qp, struct rxo_mr *mr, u64 addr, u32 len, bool write);
void rxo_odp_queue(struct work_struct *work);

int rxo_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		  struct ib_sge *sg_list, u32 num_sge, struct uverbs_attr_bundle *attrs);

#else

static inline int rxo_odp_init(void) { return 0; }
static inline void rxo_odp_exit(void) { }
static inline void rxo_odp_caps(struct ib_device_attr *attr) { }
static inline int rxo_odp_create(struct rxo_mr *mr, u64 start, u64 length) { return -EOPNOTSUPP; }
static inline void rxo_odp_destroy(struct rxo_odp *odp) { }
static inline enum ooo_result rxo_odp_lock(struct rxo_qp *qp, struct rxo_mr *mr, u64 va, u64 len,
					   bool write) { return OOO_OK; }
static inline void rxo_odp_unlock(struct rxo_mr *mr) { }
static inline struct page *rxo_odp_page(const struct rxo_mr *mr, u64 addr) { return NULL; }
static inline void rxo_fault_init(struct rxo_fault *fault) { }
#define rxo_advise_mr NULL

#endif

#endif
