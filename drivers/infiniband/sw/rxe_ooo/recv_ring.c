// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Entries of receive rings, of QPs and SRQs alike. */
#include "objects.h"

static u32 recv_length(const struct ooo_sge *sge, u32 num_sge)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < num_sge; i++)
		sum += sge[i].length;
	return min_t(u64, sum, U32_MAX);
}

bool rxo_recv_copy(const struct rxo_ring *ring, u32 index, u32 max_sge,
		   struct rxo_recv_copy *recv)
{
	const struct rxe_ooo_recv_wqe *shared = rxo_ring_entry(ring, index);
	struct rxe_ooo_recv_wqe wqe;

	BUILD_BUG_ON(sizeof(struct ooo_sge) != sizeof(struct rxe_ooo_sge));
	BUILD_BUG_ON(offsetof(struct ooo_sge, lkey) != offsetof(struct rxe_ooo_sge, lkey));

	rxo_ring_copy(&wqe, shared, sizeof(wqe));
	memset(&recv->rwqe, 0, sizeof(recv->rwqe));
	recv->rwqe.wr_id = wqe.wr_id;
	recv->rwqe.sge = recv->sge;
	if (wqe.num_sge > max_sge)
		return false;
	rxo_ring_copy(recv->sge, shared->sge, wqe.num_sge * sizeof(struct ooo_sge));
	recv->rwqe.num_sge = wqe.num_sge;
	recv->rwqe.length = recv_length(recv->sge, wqe.num_sge);
	return true;
}

int rxo_recv_post(struct rxo_ring *ring, u32 *posted, u32 max_sge, const struct ib_recv_wr *wr)
{
	struct rxe_ooo_recv_wqe *wqe;
	int i;

	if (wr->num_sge < 0 || wr->num_sge > max_sge)
		return -EINVAL;
	if (*posted - rxo_ring_consumer(ring) >= ring->depth)
		return -ENOMEM;
	wqe = rxo_ring_entry(ring, *posted);
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		wqe->sge[i].addr = wr->sg_list[i].addr;
		wqe->sge[i].length = wr->sg_list[i].length;
		wqe->sge[i].lkey = wr->sg_list[i].lkey;
	}
	rxo_ring_set_producer(ring, ++*posted);
	return 0;
}
