// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues, basic and XRC. Any QP that uses one takes entries
 * under srq->lock; an XRC SRQ is found by its number in dev->srqs.
 */
#include "objects.h"
#include "verbs_small.h"

static void srq_event_work(struct work_struct *work)
{
	struct rxo_srq *srq = container_of(work, struct rxo_srq, event_work);
	struct ib_event event = {
		.device = srq->ib.device,
		.element.srq = &srq->ib,
	};

	if (!srq->ib.event_handler)
		return;
	if (test_and_clear_bit(RXO_SRQ_EVENT_LIMIT, &srq->events)) {
		event.event = IB_EVENT_SRQ_LIMIT_REACHED;
		srq->ib.event_handler(&event, srq->ib.srq_context);
	}
	if (test_and_clear_bit(RXO_SRQ_EVENT_ERR, &srq->events)) {
		event.event = IB_EVENT_SRQ_ERR;
		srq->ib.event_handler(&event, srq->ib.srq_context);
	}
}

static void srq_event(struct rxo_srq *srq, int event)
{
	set_bit(event, &srq->events);
	schedule_work(&srq->event_work);
}

/* IBTA 10.2.9.2: the event comes once, when fewer than the limit are left. */
static void srq_check_limit(struct rxo_srq *srq, u32 left)
{
	if (left >= srq->limit)
		return;
	srq->limit = 0;
	srq_event(srq, RXO_SRQ_EVENT_LIMIT);
}

static enum ooo_result srq_take(struct rxo_srq *srq, struct rxo_recv_copy *recv)
{
	struct rxo_ring *ring = &srq->ring;
	enum ooo_result res;
	u32 posted;

	if (srq->error)
		return OOO_NONE;
	posted = rxo_ring_posted(ring, ring->index);
	if (!posted)
		return OOO_NONE;
	res = rxo_recv_copy(ring, ring->index, srq->max_sge, recv) ? OOO_OK : OOO_INVALID;
	ring->index++;
	rxo_ring_set_consumer(ring, ring->index);
	srq_check_limit(srq, posted - 1);
	return res;
}

enum ooo_result rxo_srq_fetch(struct rxo_srq *srq, struct rxo_recv_copy *recv)
{
	enum ooo_result res;

	spin_lock_bh(&srq->lock);
	res = srq_take(srq, recv);
	spin_unlock_bh(&srq->lock);
	recv->pd = to_rpd(srq->ib.pd);
	return res;
}

static int srq_check_caps(const struct ib_srq_init_attr *init)
{
	if (init->srq_type != IB_SRQT_BASIC && init->srq_type != IB_SRQT_XRC)
		return -EOPNOTSUPP;
	if (!init->attr.max_wr || init->attr.max_wr > RXO_MAX_SRQ_WR)
		return -EINVAL;
	if (init->attr.max_sge > RXO_MAX_SRQ_SGE)
		return -EINVAL;
	return 0;
}

/* XRC: from here on peers can name it, and reach memory of its PD. */
static int srq_number(struct rxo_dev *dev, struct rxo_srq *srq)
{
	struct ib_xrcd *xrcd;
	int err;

	if (srq->ib.srq_type != IB_SRQT_XRC)
		return 0;
	xrcd = srq->ib.ext.xrc.xrcd;
	if (!xrcd)
		return -EINVAL;
	err = rxo_xrcd_add_pd(xrcd, srq->ib.pd);
	if (err)
		return err;
	err = xa_alloc(&dev->srqs, &srq->num, srq, XA_LIMIT(1, 0xffffff), GFP_KERNEL);
	if (err)
		rxo_xrcd_del_pd(xrcd, srq->ib.pd);
	return err;
}

/* Not findable any more; look-ups that found it are over when this returns. */
static void srq_unnumber(struct rxo_dev *dev, struct rxo_srq *srq)
{
	if (!srq->num)
		return;
	xa_erase(&dev->srqs, srq->num);
	rxo_xrcd_del_pd(srq->ib.ext.xrc.xrcd, srq->ib.pd);
	synchronize_rcu_expedited();
}

static int srq_setup(struct rxo_dev *dev, struct rxo_srq *srq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata)
{
	struct rxe_ooo_create_srq_resp resp = {};
	int err;

	err = rxo_ring_create(&srq->ring, rxo_ring_depth(init->attr.max_wr),
			      rxo_recv_stride(srq->max_sge), udata);
	if (err)
		return err;
	err = srq_number(dev, srq);
	if (err)
		goto err_ring;
	rxo_ring_info(&srq->ring, &resp.ring);
	resp.srq_num = srq->num;
	err = rxo_udata_out(udata, &resp, sizeof(resp));
	if (err)
		goto err_number;
	return 0;

err_number:
	srq_unnumber(dev, srq);
err_ring:
	rxo_ring_destroy(&srq->ring);
	return err;
}

int rxo_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct rxo_dev *dev = to_rxo(ib->device);
	struct rxo_srq *srq = to_rsrq(ib);
	int err;

	err = srq_check_caps(init);
	if (!err)
		err = rxo_udata_in_empty(udata);
	if (!err)
		err = rxo_account(&dev->num_srq, RXO_MAX_SRQ);
	if (err)
		return err;

	spin_lock_init(&srq->lock);
	spin_lock_init(&srq->post_lock);
	INIT_WORK(&srq->event_work, srq_event_work);
	srq->is_user = udata;
	srq->max_sge = max(init->attr.max_sge, 1U);
	err = srq_setup(dev, srq, init, udata);
	if (err) {
		atomic_dec(&dev->num_srq);
		return err;
	}
	init->attr.max_wr = srq->ring.depth;
	init->attr.max_sge = srq->max_sge;
	if (ib->srq_type == IB_SRQT_XRC)
		ib->ext.xrc.srq_num = srq->num;
	return 0;
}

int rxo_destroy_srq(struct ib_srq *ib, struct ib_udata *udata)
{
	struct rxo_srq *srq = to_rsrq(ib);
	struct rxo_dev *dev = to_rxo(ib->device);
	struct rxo_ring ring;

	srq_unnumber(dev, srq);
	cancel_work_sync(&srq->event_work);
	spin_lock_bh(&srq->lock);	/* restrack.c, as with a CQ */
	ring = srq->ring;
	srq->ring.hdr = NULL;
	spin_unlock_bh(&srq->lock);
	rxo_ring_destroy(&ring);
	atomic_dec(&dev->num_srq);
	return 0;
}

/*
 * Moves what is posted and not yet taken into a ring of another size, at the
 * same free-running indices.
 */
static int srq_switch_ring(struct rxo_srq *srq, struct rxo_ring *ring, struct rxo_ring *old)
{
	u32 posted = rxo_ring_posted(&srq->ring, srq->ring.index);
	u32 i;

	if (posted > ring->depth)
		return -EINVAL;
	for (i = 0; i < posted; i++)
		memcpy(rxo_ring_entry(ring, srq->ring.index + i),
		       rxo_ring_entry(&srq->ring, srq->ring.index + i), ring->stride);
	ring->index = srq->ring.index;
	ring->hdr->consumer = ring->index;
	rxo_ring_set_producer(ring, ring->index + posted);
	*old = srq->ring;
	srq->ring = *ring;
	return 0;
}

/* The command has no response of its own: user space names a place for ours. */
static int srq_answer(const struct rxo_ring *ring, const struct rxe_ooo_modify_srq_req *req)
{
	struct rxe_ooo_modify_srq_resp resp = {};

	rxo_ring_info(ring, &resp.ring);
	return copy_to_user(u64_to_user_ptr(req->resp_addr), &resp, sizeof(resp)) ? -EFAULT : 0;
}

static int srq_resize(struct rxo_srq *srq, u32 max_wr, const struct rxe_ooo_modify_srq_req *req,
		      struct ib_udata *udata)
{
	struct rxo_ring ring = {}, old = {};
	int err;

	if (!max_wr || max_wr > RXO_MAX_SRQ_WR || (srq->is_user && !req->resp_addr))
		return -EINVAL;
	err = rxo_ring_create(&ring, rxo_ring_depth(max_wr), srq->ring.stride, udata);
	if (err)
		return err;
	if (srq->is_user)
		err = srq_answer(&ring, req);
	if (!err) {
		spin_lock_irq(&srq->post_lock);
		spin_lock(&srq->lock);
		err = srq_switch_ring(srq, &ring, &old);
		spin_unlock(&srq->lock);
		spin_unlock_irq(&srq->post_lock);
	}
	rxo_ring_destroy(err ? &ring : &old);
	return err;
}

int rxo_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct ib_udata *udata)
{
	struct rxo_srq *srq = to_rsrq(ib);
	u32 depth = mask & IB_SRQ_MAX_WR ? rxo_ring_depth(attr->max_wr) : srq->ring.depth;
	struct rxe_ooo_modify_srq_req req;
	int err;

	err = rxo_udata_in(udata, &req, sizeof(req));
	if (err)
		return err;
	if (mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return -EINVAL;
	if ((mask & IB_SRQ_LIMIT) && attr->srq_limit > depth)
		return -EINVAL;
	if (mask & IB_SRQ_MAX_WR) {
		err = srq_resize(srq, attr->max_wr, &req, udata);
		if (err)
			return err;
	}
	if (mask & IB_SRQ_LIMIT) {
		spin_lock_bh(&srq->lock);
		srq->limit = attr->srq_limit;
		spin_unlock_bh(&srq->lock);
	}
	return 0;
}

int rxo_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	struct rxo_srq *srq = to_rsrq(ib);

	attr->max_wr = srq->ring.depth;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	return 0;
}

int rxo_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr)
{
	struct rxo_srq *srq = to_rsrq(ib);
	unsigned long flags;
	int err = 0;

	*bad_wr = wr;
	if (srq->is_user)
		return wr ? -EINVAL : 0;
	spin_lock_irqsave(&srq->post_lock, flags);
	for (; wr && !err; wr = wr->next) {
		*bad_wr = wr;
		err = rxo_recv_post(&srq->ring, &srq->posted, srq->max_sge, wr);
	}
	spin_unlock_irqrestore(&srq->post_lock, flags);
	return err;
}
