// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues. The kernel produces; user space consumes from the mapped
 * ring by itself, a kernel consumer through rxo_poll_cq(). A full ring is an
 * overrun (IBTA 11.6.3.1): the queue is in error, told once, and takes nothing
 * more; its QPs fail; a completion is never overwritten.
 */
#include "objects.h"
#include "verbs_small.h"

/* Kernel CQs: where the QP is kept in an entry that user space never sees. */
static struct ib_qp *cqe_qp(const struct rxe_ooo_cqe *cqe)
{
	return (struct ib_qp *)(uintptr_t)cqe->reserved;
}

/* Entries not yet consumed; more than fit, when user space lies. */
static u32 cq_used(const struct rxo_cq *cq)
{
	return cq->ring.index - rxo_ring_consumer(&cq->ring);
}

static void cq_comp_work(struct work_struct *work)
{
	struct rxo_cq *cq = container_of(work, struct rxo_cq, comp_work);

	cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

/*
 * An XRC target QP completes to the CQ of each SRQ that a packet names: it fails
 * once a completion of its own was lost.
 */
static void fail_qp(struct rxo_cq *cq, struct rxo_qp *qp)
{
	if (qp->scq == cq || qp->rcq == cq || READ_ONCE(qp->cq_lost))
		rxo_qp_fatal(qp);
	rxo_qp_put(qp);
}

/* It has a number of its own, and is in no table. */
static void fail_gsi(struct rxo_cq *cq)
{
	struct rxo_qp *qp;

	rcu_read_lock();
	qp = rxo_qp_get_gsi(to_rxo(cq->ib.device));
	rcu_read_unlock();
	if (qp)
		fail_qp(cq, qp);
}

/* What these QPs complete is lost from now on, so they cannot go on (IBTA 11.6.3.2). */
static void fail_qps(struct rxo_cq *cq)
{
	struct rxo_dev *dev = to_rxo(cq->ib.device);
	unsigned long qpn = 0;
	struct rxo_qp *qp;

	while ((qp = rxo_qp_next(dev->rn, &qpn))) {
		fail_qp(cq, qp);
		qpn++;
		cond_resched();
	}
	fail_gsi(cq);
}

static void cq_event_work(struct work_struct *work)
{
	struct rxo_cq *cq = container_of(work, struct rxo_cq, event_work);
	struct ib_event event = {
		.device = cq->ib.device,
		.element.cq = &cq->ib,
		.event = IB_EVENT_CQ_ERR,
	};

	if (cq->ib.event_handler && !xchg(&cq->error_told, true))
		cq->ib.event_handler(&event, cq->ib.cq_context);
	fail_qps(cq);
}

/* The uverbs handler only queues an event, so it may run under qp->lock. */
static void cq_notify(struct rxo_cq *cq)
{
	if (!cq->ib.comp_handler)
		return;
	if (cq->is_user)
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
	else
		queue_work(system_bh_wq, &cq->comp_work);
}

/* IBTA 11.4.2.2: "solicited" also fires for an unsuccessful completion. */
static bool cq_take_notify(struct rxo_cq *cq, bool solicited)
{
	if (!cq->notify || (cq->notify == IB_CQ_SOLICITED && !solicited))
		return false;
	cq->notify = 0;
	return true;
}

static bool cq_add(struct rxo_cq *cq, const struct rxe_ooo_cqe *cqe)
{
	if (cq->error)
		return false;
	if (cq_used(cq) >= cq->ring.depth) {
		cq->error = !cq->ignore_overrun;
		return false;
	}
	memcpy(rxo_ring_entry(&cq->ring, cq->ring.index), cqe, sizeof(*cqe));
	cq->ring.index++;
	rxo_ring_set_producer(&cq->ring, cq->ring.index);
	return true;
}

void rxo_cq_push(struct rxo_cq *cq, struct rxo_qp *qp, struct rxe_ooo_cqe *cqe, bool solicited)
{
	bool notify, failed;
	unsigned long flags;

	cqe->qp_num = qp->ib.qp_num;
	cqe->port_num = 1;
	if (cq->timestamps)
		cqe->timestamp = ktime_get_real_ns();
	if (!cq->is_user)
		cqe->reserved = (uintptr_t)&qp->ib;

	spin_lock_irqsave(&cq->lock, flags);
	notify = cq_add(cq, cqe) &&
		 cq_take_notify(cq, solicited || cqe->status != IB_WC_SUCCESS);
	failed = cq->error;
	spin_unlock_irqrestore(&cq->lock, flags);

	if (notify)
		cq_notify(cq);
	/* A QP that is made later fails when it first needs the queue. */
	if (failed && qp->ep.state != OOO_ERR) {
		WRITE_ONCE(qp->cq_lost, true);
		schedule_work(&cq->event_work);
	}
}

int rxo_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags)
{
	struct rxo_cq *cq = to_rcq(ib);
	unsigned long irq;
	int missed = 0;

	spin_lock_irqsave(&cq->lock, irq);
	/* A request for any completion is not weakened by one for solicited ones. */
	if (cq->notify != IB_CQ_NEXT_COMP)
		cq->notify = flags & IB_CQ_SOLICITED_MASK;
	if ((flags & IB_CQ_REPORT_MISSED_EVENTS) && cq_used(cq))
		missed = 1;
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}

static void cqe_to_wc(const struct rxe_ooo_cqe *cqe, struct ib_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->qp = cqe_qp(cqe);
	wc->src_qp = cqe->src_qp;
	wc->pkey_index = cqe->pkey_index;
	wc->sl = cqe->sl;
	wc->port_num = cqe->port_num;
	if (cqe->wc_flags & RXO_WC_GRH)
		wc->wc_flags |= IB_WC_GRH;
	if (cqe->wc_flags & RXO_WC_WITH_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = cqe->imm_data;
	}
	if (cqe->wc_flags & RXO_WC_WITH_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->invalidate_rkey;
	}
}

int rxo_poll_cq(struct ib_cq *ib, int num, struct ib_wc *wc)
{
	struct rxo_cq *cq = to_rcq(ib);
	unsigned long flags;
	u32 consumer;
	int i;

	if (cq->is_user)
		return -EINVAL;
	spin_lock_irqsave(&cq->lock, flags);
	consumer = cq->ring.hdr->consumer;
	for (i = 0; i < num && consumer != cq->ring.index; i++)
		cqe_to_wc(rxo_ring_entry(&cq->ring, consumer++), &wc[i]);
	cq->ring.hdr->consumer = consumer;
	spin_unlock_irqrestore(&cq->lock, flags);
	return i;
}

/* Closes the gaps that the QP's entries leave, so that no entry names a QP that is gone. */
void rxo_cq_purge(struct rxo_cq *cq, struct rxo_qp *qp)
{
	unsigned long flags;
	u32 from, to;

	if (!cq || cq->is_user)
		return;
	spin_lock_irqsave(&cq->lock, flags);
	to = cq->ring.hdr->consumer;
	for (from = to; from != cq->ring.index; from++) {
		struct rxe_ooo_cqe *cqe = rxo_ring_entry(&cq->ring, from);

		if (cqe_qp(cqe) != &qp->ib)
			memmove(rxo_ring_entry(&cq->ring, to++), cqe, sizeof(*cqe));
	}
	cq->ring.index = to;
	cq->ring.hdr->producer = to;
	spin_unlock_irqrestore(&cq->lock, flags);
}

static int cq_create_ring(struct rxo_cq *cq, u32 cqe, struct ib_udata *udata)
{
	struct rxe_ooo_create_cq_resp resp = {};
	int err;

	err = rxo_ring_create(&cq->ring, rxo_ring_depth(cqe), RXE_OOO_CQE_SIZE, udata);
	if (err)
		return err;
	rxo_ring_info(&cq->ring, &resp.ring);
	err = rxo_udata_out(udata, &resp, sizeof(resp));
	if (err)
		rxo_ring_destroy(&cq->ring);
	return err;
}

int rxo_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs)
{
	struct rxo_dev *dev = to_rxo(ib->device);
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct rxo_cq *cq = to_rcq(ib);
	int err;

	if (attr->flags & ~(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION |
			    IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN))
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > RXO_MAX_CQE)
		return -EINVAL;
	err = rxo_udata_in_empty(udata);
	if (err)
		return err;
	err = rxo_account(&dev->num_cq, RXO_MAX_CQ);
	if (err)
		return err;

	spin_lock_init(&cq->lock);
	INIT_WORK(&cq->comp_work, cq_comp_work);
	INIT_WORK(&cq->event_work, cq_event_work);
	cq->is_user = udata;
	cq->timestamps = attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
	cq->ignore_overrun = attr->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN;
	err = cq_create_ring(cq, attr->cqe, udata);
	if (err) {
		atomic_dec(&dev->num_cq);
		return err;
	}
	ib->cqe = cq->ring.depth;
	return 0;
}

/*
 * No QP uses it any more, so nothing is added. But "rdma resource show" may still look
 * at it: some kernels take the object out of that list afterwards.
 */
int rxo_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct rxo_cq *cq = to_rcq(ib);
	struct rxo_ring ring;
	unsigned long flags;

	cancel_work_sync(&cq->comp_work);
	cancel_work_sync(&cq->event_work);
	spin_lock_irqsave(&cq->lock, flags);
	ring = cq->ring;
	cq->ring.hdr = NULL;
	spin_unlock_irqrestore(&cq->lock, flags);
	rxo_ring_destroy(&ring);
	atomic_dec(&to_rxo(ib->device)->num_cq);
	return 0;
}

/*
 * Moves what is not yet consumed into @ring, at the same free-running
 * indices, so that user space goes on where it was. -EINVAL: does not fit.
 */
static int cq_switch_ring(struct rxo_cq *cq, struct rxo_ring *ring, struct rxo_ring *old)
{
	u32 consumer, used, i;

	used = cq_used(cq);
	if (used > cq->ring.depth || used > ring->depth)
		return -EINVAL;
	consumer = cq->ring.index - used;
	for (i = consumer; i != cq->ring.index; i++)
		memcpy(rxo_ring_entry(ring, i), rxo_ring_entry(&cq->ring, i), ring->stride);
	ring->index = cq->ring.index;
	ring->hdr->consumer = consumer;
	rxo_ring_set_producer(ring, ring->index);
	*old = cq->ring;
	cq->ring = *ring;
	return 0;
}

int rxo_resize_cq(struct ib_cq *ib, unsigned int cqe, struct ib_udata *udata)
{
	struct rxe_ooo_resize_cq_resp resp = {};
	struct rxo_ring ring = {}, old = {};
	struct rxo_cq *cq = to_rcq(ib);
	unsigned long flags;
	int err;

	if (!cqe || cqe > RXO_MAX_CQE)
		return -EINVAL;
	err = rxo_udata_in_empty(udata);
	if (err)
		return err;
	err = rxo_ring_create(&ring, rxo_ring_depth(cqe), RXE_OOO_CQE_SIZE, udata);
	if (err)
		return err;
	/* Answer first: what user space cannot learn of must not come into force. */
	rxo_ring_info(&ring, &resp.ring);
	err = rxo_udata_out(udata, &resp, sizeof(resp));
	if (!err) {
		spin_lock_irqsave(&cq->lock, flags);
		err = cq_switch_ring(cq, &ring, &old);
		spin_unlock_irqrestore(&cq->lock, flags);
	}
	if (err) {
		rxo_ring_destroy(&ring);
		return err;
	}
	rxo_ring_destroy(&old);
	ib->cqe = ring.depth;
	return 0;
}
