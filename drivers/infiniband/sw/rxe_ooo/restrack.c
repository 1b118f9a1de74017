// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* "rdma resource show -dd": what only we know about an object; docs/counters.md explains it. */
#include <rdma/restrack.h>
#include "objects.h"
#include "verbs_small.h"

static struct nlattr *begin(struct sk_buff *msg)
{
	return nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
}

static int end(struct sk_buff *msg, struct nlattr *table, int err)
{
	if (err) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

int rxo_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ib)
{
	struct nlattr *table = begin(msg);
	struct rxo_qp *qp = to_rqp(ib);
	int err;

	if (!table)
		return -EMSGSIZE;
	err = rdma_nl_put_driver_u32(msg, "ooo", READ_ONCE(qp->ep.attr.ooo)) ||
	      rdma_nl_put_driver_u32(msg, "held_bytes", READ_ONCE(qp->held_bytes)) ||
	      rdma_nl_put_driver_u32(msg, "path_mtu", READ_ONCE(qp->ep.attr.mtu));
	return end(msg, table, err);
}

int rxo_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ib)
{
	struct nlattr *table = begin(msg);
	struct rxo_cq *cq = to_rcq(ib);
	unsigned long flags;
	u32 used = 0;
	bool bad;
	int err;

	if (!table)
		return -EMSGSIZE;
	spin_lock_irqsave(&cq->lock, flags);	/* resizing replaces the ring */
	if (cq->ring.hdr)
		used = min(cq->ring.index - rxo_ring_consumer(&cq->ring), cq->ring.depth);
	bad = cq->error;
	spin_unlock_irqrestore(&cq->lock, flags);
	err = rdma_nl_put_driver_u32(msg, "unpolled", used) ||
	      rdma_nl_put_driver_u32(msg, "overrun", bad);
	return end(msg, table, err);
}

static const char *mr_type(const struct rxo_mr *mr)
{
	static const char * const names[] = {
		[RXO_MR_USER] = "user", [RXO_MR_DMA] = "dma", [RXO_MR_FAST] = "fast",
		[RXO_MR_DM] = "dm", [RXO_MR_ODP] = "odp", [RXO_MR_DMABUF] = "dmabuf",
		[RXO_MW1] = "mw1", [RXO_MW2] = "mw2",
	};

	return names[mr->type];
}

int rxo_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ib)
{
	struct nlattr *table = begin(msg);
	struct rxo_mr *mr = to_rmr(ib);
	int err;

	if (!table)
		return -EMSGSIZE;
	err = rdma_nl_put_driver_string(msg, "type", mr_type(mr)) ||
	      rdma_nl_put_driver_u32_hex(msg, "access", READ_ONCE(mr->access)) ||
	      rdma_nl_put_driver_u32(msg, "windows", READ_ONCE(mr->windows));
	return end(msg, table, err);
}

int rxo_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ib)
{
	struct nlattr *table = begin(msg);
	struct rxo_srq *srq = to_rsrq(ib);
	u32 posted = 0, limit, depth;
	int err;

	if (!table)
		return -EMSGSIZE;
	spin_lock_bh(&srq->lock);
	if (srq->ring.hdr)
		posted = rxo_ring_posted(&srq->ring, srq->ring.index);
	limit = srq->limit;
	depth = srq->ring.depth;
	spin_unlock_bh(&srq->lock);
	err = rdma_nl_put_driver_u32(msg, "depth", depth) ||
	      rdma_nl_put_driver_u32(msg, "posted", posted) ||
	      rdma_nl_put_driver_u32(msg, "limit", limit);
	return end(msg, table, err);
}
