// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * XRC domains. A target QP has no protection domain; peers reach memory
 * through it by the PD of the SRQ that they name (IBTA annex A14). We ask for a
 * little less: a PD that has an SRQ in the domain, whichever the packet names.
 * Who makes one there has opened the domain, and shares it knowingly; all other
 * memory of the device stays out of reach.
 */
#include "objects.h"
#include "verbs_small.h"

static DEFINE_MUTEX(count_lock);	/* writers of @pds, of all domains */

static struct rxo_xrcd *to_rxrcd(struct ib_xrcd *ib)
{
	return container_of(ib, struct rxo_xrcd, ib);
}

int rxo_alloc_xrcd(struct ib_xrcd *ib, struct ib_udata *udata)
{
	int err = rxo_udata_in_empty(udata);

	if (!err)
		xa_init(&to_rxrcd(ib)->pds);
	return err;
}

/* The core has seen to it that no SRQ is left. */
int rxo_dealloc_xrcd(struct ib_xrcd *ib, struct ib_udata *udata)
{
	xa_destroy(&to_rxrcd(ib)->pds);
	return 0;
}

static unsigned long count_of(void *entry)
{
	return entry ? xa_to_value(entry) : 0;
}

int rxo_xrcd_add_pd(struct ib_xrcd *ib, struct ib_pd *pd)
{
	unsigned long key = (unsigned long)to_rpd(pd);
	struct xarray *pds = &to_rxrcd(ib)->pds;
	int err;

	mutex_lock(&count_lock);
	err = xa_err(xa_store(pds, key, xa_mk_value(count_of(xa_load(pds, key)) + 1),
			      GFP_KERNEL));
	mutex_unlock(&count_lock);
	return err;
}

void rxo_xrcd_del_pd(struct ib_xrcd *ib, struct ib_pd *pd)
{
	unsigned long key = (unsigned long)to_rpd(pd);
	struct xarray *pds = &to_rxrcd(ib)->pds;
	unsigned long n;

	mutex_lock(&count_lock);
	n = count_of(xa_load(pds, key));
	if (n > 1)
		xa_store(pds, key, xa_mk_value(n - 1), GFP_KERNEL);	/* the slot is there */
	else
		xa_erase(pds, key);
	mutex_unlock(&count_lock);
}

bool rxo_xrcd_has_pd(struct ib_xrcd *ib, const struct rxo_pd *pd)
{
	return xa_load(&to_rxrcd(ib)->pds, (unsigned long)pd);
}
