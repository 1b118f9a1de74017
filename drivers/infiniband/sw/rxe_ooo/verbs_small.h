/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ucontext.c: user contexts, PDs, XRC domains, and the count of every kind of object. */
#ifndef RXE_OOO_VERBS_SMALL_H
#define RXE_OOO_VERBS_SMALL_H

#include "rxe_ooo.h"

int rxo_account(atomic_t *count, int limit);

int rxo_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata);
void rxo_dealloc_ucontext(struct ib_ucontext *ib);
int rxo_query_ucontext(struct ib_ucontext *ib, struct uverbs_attr_bundle *attrs);
int rxo_alloc_pd(struct ib_pd *ib, struct ib_udata *udata);
int rxo_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata);
int rxo_alloc_xrcd(struct ib_xrcd *ib, struct ib_udata *udata);
int rxo_dealloc_xrcd(struct ib_xrcd *ib, struct ib_udata *udata);

/* restrack.c; rxo_fill_res_qp_entry() is in objects.h */
int rxo_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ib);
int rxo_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ib);
int rxo_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ib);

/* xrcd.c: the PDs that take part in a domain */
int rxo_xrcd_add_pd(struct ib_xrcd *ib, struct ib_pd *pd);
void rxo_xrcd_del_pd(struct ib_xrcd *ib, struct ib_pd *pd);
bool rxo_xrcd_has_pd(struct ib_xrcd *ib, const struct rxo_pd *pd);

#endif
