// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * From a key to the bytes behind it. Every access looks the key up, checks
 * state, protection domain, range and rights, and copies, all between
 * mr_enter() and mr_leave(): an invalidation waits for that section
 * (rxo_mr_quiesce()). Callers have BH disabled, or a copy could be interrupted
 * by the softirq that waits for it; and a section with BH disabled is an RCU
 * reader, so a region that was found stays allocated.
 */
#include <linux/highmem.h>
#include "objects.h"

/* Somebody holds key_lock and changes the region, in microseconds. */
static void wait_while_busy(struct rxo_dev *dev)
{
	spin_lock(&dev->key_lock);
	spin_unlock(&dev->key_lock);
}

/* NULL: there is no such key, or it is not valid. */
static struct rxo_mr *mr_enter(struct rxo_dev *dev, u32 key)
{
	enum rxo_mr_state state;
	struct rxo_mr *mr;

	mr = xa_load(&dev->mrs, key >> 8);
	if (!mr)
		return NULL;
	for (;;) {
		atomic_inc(&mr->users);
		smp_mb__after_atomic();	/* pairs with rxo_mr_quiesce() */
		state = READ_ONCE(mr->state);
		if (state == RXO_MR_VALID && READ_ONCE(mr->key) == key)
			return mr;
		atomic_dec_return_release(&mr->users);
		if (state != RXO_MR_BUSY)
			return NULL;
		wait_while_busy(dev);
	}
}

static void mr_leave(struct rxo_mr *mr)
{
	atomic_dec_return_release(&mr->users);
}

static bool mr_in_range(const struct rxo_mr *mr, u64 va, u64 len)
{
	return va >= mr->iova && va - mr->iova <= mr->length &&
	       len <= mr->length - (va - mr->iova);
}

/*
 * @pd NULL: an XRC target QP belongs to a domain, not to a PD; the PD of the
 * SRQ that the request names decides there, which callers check. A type 2
 * window is good on the QP that it was bound through only (type 2B).
 */
static bool mr_allows(const struct rxo_mr *mr, const struct rxo_qp *qp, const struct rxo_pd *pd,
		      u32 access)
{
	if (pd && mr->pd != pd)
		return false;
	if (mr->type == RXO_MW2 && mr->qp_serial != qp->serial)
		return false;
	return (mr->access & access) == access;
}

/* An access that runs: the region behind a key, and where in it. */
struct mr_span {
	struct rxo_mr *key;	/* entered: the region itself, or a window on it */
	struct rxo_mr *mr;
	u64 va;			/* as @mr names it */
};

static void span_end(struct mr_span *span)
{
	rxo_odp_unlock(span->mr);
	mr_leave(span->key);
}

static enum ooo_result span_begin(struct mr_span *span, struct rxo_qp *qp, struct rxo_pd *pd,
				  u32 key, u64 va, u64 len, u32 access)
{
	struct rxo_mr *mr = mr_enter(qp->dev, key);
	enum ooo_result res;

	if (!mr)
		return OOO_ACCESS;
	if (!mr_allows(mr, qp, pd, access) || !mr_in_range(mr, va, len)) {
		mr_leave(mr);
		return OOO_ACCESS;
	}
	span->key = mr;
	span->mr = mr;
	span->va = va;
	if (rxo_mr_is_window(mr)) {
		span->mr = mr->parent;
		span->va = va - mr->iova + mr->base;
	}
	res = rxo_odp_lock(qp, span->mr, span->va, len, access & RXO_ACCESS_WRITES);
	if (res != OOO_OK)
		mr_leave(mr);
	return res;
}

/*
 * Kernel address of @va, good for *@n bytes (at most @len, up to the end of
 * the page); mr_unmap() ends its use. The range has been checked.
 */
static void *mr_map(const struct rxo_mr *mr, u64 va, u32 len, u32 *n)
{
	u64 pos = va - mr->iova + mr->mem.offset;
	u64 size = 1ULL << mr->page_shift;
	u32 in_page = pos & (size - 1);

	*n = len;
	switch (mr->type) {
	case RXO_MR_DMA:
		return (void *)(uintptr_t)va;
	case RXO_MR_DM:
	case RXO_MR_DMABUF:
		return mr->kva + (va - mr->iova);
	default:
		break;
	}
	*n = min_t(u64, len, size - in_page);
	switch (mr->type) {
	case RXO_MR_FAST:
		return (void *)(uintptr_t)mr->mem.addrs[pos >> mr->page_shift] + in_page;
	case RXO_MR_ODP:
		return kmap_local_page(rxo_odp_page(mr, pos)) + in_page;
	default:
		return kmap_local_page(mr->mem.pages[pos >> mr->page_shift]) + in_page;
	}
}

static void mr_unmap(const struct rxo_mr *mr, void *addr)
{
	if (mr->type == RXO_MR_USER || mr->type == RXO_MR_ODP)
		kunmap_local(addr);
}

enum ooo_result rxo_mr_check(struct rxo_qp *qp, struct rxo_pd *pd, u32 key, u64 va, u64 len,
			     u32 access)
{
	enum ooo_result res = OOO_ACCESS;
	struct rxo_mr *mr;

	if (!len)
		return OOO_OK;
	mr = mr_enter(qp->dev, key);
	if (!mr)
		return OOO_ACCESS;
	if (mr_allows(mr, qp, pd, access) && mr_in_range(mr, va, len))
		res = OOO_OK;
	mr_leave(mr);
	return res;
}

enum ooo_result rxo_mr_write_skb(struct rxo_qp *qp, struct rxo_pd *pd, u32 key, u64 va,
				 u32 access, const struct sk_buff *skb, u32 offset, u32 len)
{
	enum ooo_result res;
	struct mr_span s;
	u32 done, n;
	void *to;

	if (!len)
		return OOO_OK;
	res = span_begin(&s, qp, pd, key, va, len, access);
	if (res != OOO_OK)
		return res;
	for (done = 0; done < len; done += n) {
		to = mr_map(s.mr, s.va + done, len - done, &n);
		if (skb_copy_bits(skb, offset + done, to, n))
			res = OOO_ACCESS;	/* cannot be: the length was checked */
		mr_unmap(s.mr, to);
	}
	span_end(&s);
	return res;
}

/* Between the region and kernel memory. */
static enum ooo_result mr_copy(struct rxo_qp *qp, struct rxo_pd *pd, u32 key, u64 va,
			       u32 access, void *buf, u32 len, bool to_mr)
{
	enum ooo_result res;
	struct mr_span s;
	u32 done, n;
	void *mem;

	if (!len)
		return OOO_OK;
	res = span_begin(&s, qp, pd, key, va, len, access);
	if (res != OOO_OK)
		return res;
	for (done = 0; done < len; done += n) {
		mem = mr_map(s.mr, s.va + done, len - done, &n);
		if (to_mr)
			memcpy(mem, buf + done, n);
		else
			memcpy(buf + done, mem, n);
		mr_unmap(s.mr, mem);
	}
	span_end(&s);
	return OOO_OK;
}

enum ooo_result rxo_mr_write(struct rxo_qp *qp, struct rxo_pd *pd, u32 key, u64 va,
			     u32 access, const void *src, u32 len)
{
	return mr_copy(qp, pd, key, va, access, (void *)src, len, true);
}

enum ooo_result rxo_mr_read(struct rxo_qp *qp, struct rxo_pd *pd, u32 key, u64 va,
			    u32 access, void *dst, u32 len)
{
	return mr_copy(qp, pd, key, va, access, dst, len, false);
}

/*
 * The address that peers use is aligned, but that of a zero-based region need
 * not be aligned in memory: then the device's lock makes the operation atomic
 * against the others of its kind, byte by byte.
 */
static void atomic_unaligned(struct rxo_mr *mr, u64 va, struct rxo_mr_atomic *op)
{
	u64 value;
	u8 bytes[8];
	void *p;
	u32 n;
	int i;

	spin_lock_bh(&mr->dev->atomic_lock);
	for (i = 0; i < 8; i++) {
		p = mr_map(mr, va + i, 1, &n);
		bytes[i] = *(u8 *)p;
		mr_unmap(mr, p);
	}
	memcpy(&op->orig, bytes, 8);
	if (op->cmp_swap)
		value = op->orig == op->compare_add ? op->swap : op->orig;
	else
		value = op->orig + op->compare_add;
	memcpy(bytes, &value, 8);
	for (i = 0; i < 8; i++) {
		p = mr_map(mr, va + i, 1, &n);
		*(u8 *)p = bytes[i];
		mr_unmap(mr, p);
	}
	spin_unlock_bh(&mr->dev->atomic_lock);
}

static void atomic_aligned(u64 *p, struct rxo_mr_atomic *op)
{
	if (op->cmp_swap)
		op->orig = cmpxchg64(p, op->compare_add, op->swap);
	else
		op->orig = atomic64_fetch_add(op->compare_add, (atomic64_t *)p);
}

enum ooo_result rxo_mr_atomic(struct rxo_qp *qp, struct rxo_pd *pd, u32 key, u64 va,
			      struct rxo_mr_atomic *op)
{
	enum ooo_result res;
	struct mr_span s;
	void *p;
	u32 n;

	res = span_begin(&s, qp, pd, key, va, 8, IB_ACCESS_REMOTE_ATOMIC);
	if (res != OOO_OK)
		return res;
	p = mr_map(s.mr, s.va, 8, &n);
	if (IS_ALIGNED((uintptr_t)p, 8))
		atomic_aligned(p, op);
	mr_unmap(s.mr, p);
	if (!IS_ALIGNED((uintptr_t)p, 8))
		atomic_unaligned(s.mr, s.va, op);
	span_end(&s);
	return OOO_OK;
}

/* ATOMIC WRITE (IBTA A19): the eight bytes appear together. */
enum ooo_result rxo_mr_store8(struct rxo_qp *qp, struct rxo_pd *pd, u32 key, u64 va,
			      u64 value)
{
	enum ooo_result res;
	struct mr_span s;
	void *p;
	u32 n;

	res = span_begin(&s, qp, pd, key, va, 8, IB_ACCESS_REMOTE_WRITE);
	if (res != OOO_OK)
		return res;
	p = mr_map(s.mr, s.va, 8, &n);
	if (IS_ALIGNED((uintptr_t)p, 8))
		smp_store_release((u64 *)p, value);	/* after what was placed */
	else
		res = OOO_ACCESS;
	mr_unmap(s.mr, p);
	span_end(&s);
	return res;
}

/* What the CPU has in its caches goes to the persistent memory behind them. */
static void write_back(const struct mr_span *s, u64 len)
{
	u64 done;
	void *p;
	u32 n;

	for (done = 0; done < len; done += n) {
		p = mr_map(s->mr, s->va + done, min_t(u64, len - done, U32_MAX), &n);
		rxo_pmem_write_back(p, n);
		mr_unmap(s->mr, p);
	}
}

/*
 * Memory here is coherent, so what was placed is globally visible as soon as
 * our stores are ordered. Regions that allow persistence are persistent
 * memory: their registration saw to it.
 */
enum ooo_result rxo_mr_flush(struct rxo_qp *qp, struct rxo_pd *pd, u32 key, u64 va, u64 len,
			     u32 access, bool whole)
{
	struct rxo_mr *mr = mr_enter(qp->dev, key);
	struct mr_span s = { .key = mr, .mr = mr };
	enum ooo_result res = OOO_ACCESS;

	if (!mr)
		return OOO_ACCESS;
	if (whole) {
		va = mr->iova;
		len = mr->length;
	}
	if (mr_allows(mr, qp, pd, access) && mr_in_range(mr, va, len)) {
		s.va = va;
		if (rxo_mr_is_window(mr)) {
			s.mr = mr->parent;
			s.va = va - mr->iova + mr->base;
		}
		if (access & IB_ACCESS_FLUSH_PERSISTENT)
			write_back(&s, len);
		smp_mb();	/* what was placed, before the answer */
		res = OOO_OK;
	}
	mr_leave(mr);
	return res;
}
