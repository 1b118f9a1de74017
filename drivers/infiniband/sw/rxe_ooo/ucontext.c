// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* User contexts and protection domains: little more than counts. */
#include "objects.h"
#include "verbs_small.h"

/* Refuses the object when @limit of its kind exist; no line in the log for it. */
int rxo_account(atomic_t *count, int limit)
{
	return atomic_add_unless(count, 1, limit) ? 0 : -ENOMEM;
}

int rxo_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata)
{
	struct rxo_dev *dev = to_rxo(ib->device);
	struct rxe_ooo_alloc_ucontext_resp resp = {
		.max_send_wr = RXO_MAX_QP_WR,
		.max_inline = RXO_MAX_INLINE,
	};
	int err;

	err = rxo_udata_in_empty(udata);
	if (err)
		return err;
	err = rxo_account(&dev->num_ctx, RXO_MAX_UCONTEXT);
	if (err)
		return err;
	err = rxo_udata_out(udata, &resp, sizeof(resp));
	if (err)
		atomic_dec(&dev->num_ctx);
	return err;
}

void rxo_dealloc_ucontext(struct ib_ucontext *ib)
{
	atomic_dec(&to_rxo(ib->device)->num_ctx);
}

/* For ibv_import_device(): what it needs is in the rings' descriptions already. */
int rxo_query_ucontext(struct ib_ucontext *ib, struct uverbs_attr_bundle *attrs)
{
	return 0;
}

int rxo_alloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	int err = rxo_udata_in_empty(udata);

	return err ? err : rxo_account(&to_rxo(ib->device)->num_pd, RXO_MAX_PD);
}

int rxo_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	atomic_dec(&to_rxo(ib->device)->num_pd);
	return 0;
}
