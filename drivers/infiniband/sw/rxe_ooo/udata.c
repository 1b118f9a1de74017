// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Driver parts of uverbs commands. A longer request than we know is accepted
 * only when the rest is zero, a shorter one reads as zero at its end; an
 * answer is cut to what user space has room for.
 */
#include "objects.h"

int rxo_udata_in(struct ib_udata *udata, void *req, size_t len)
{
	memset(req, 0, len);
	if (!udata || !udata->inlen)
		return 0;
	if (udata->inlen > len &&
	    !ib_is_udata_cleared(udata, len, udata->inlen - len))
		return -EOPNOTSUPP;
	return ib_copy_from_udata(req, udata, min(len, udata->inlen));
}

/* For commands without a driver part. */
int rxo_udata_in_empty(struct ib_udata *udata)
{
	if (!udata || !udata->inlen)
		return 0;
	return ib_is_udata_cleared(udata, 0, udata->inlen) ? 0 : -EOPNOTSUPP;
}

int rxo_udata_out(struct ib_udata *udata, const void *resp, size_t len)
{
	if (!udata || !udata->outlen)
		return 0;
	return ib_copy_to_udata(udata, (void *)resp, min(len, udata->outlen));
}
