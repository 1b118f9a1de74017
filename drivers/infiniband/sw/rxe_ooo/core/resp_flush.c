// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A FLUSH's turn (annex A19): what was placed before becomes visible or persistent. */
#include "resp_priv.h"

#define FETH_TYPE(feth)		((feth) & 0xf)		/* PLT */
#define FETH_SELECT(feth)	(((feth) >> 4) & 0x3)	/* SEL */
#define FETH_GLOBAL		0x1
#define FETH_PERSISTENT		0x2
#define FETH_RANGE		0
#define FETH_WHOLE_REGION	1

static u32 rights(u32 type)
{
	u32 access = 0;

	if (type & FETH_GLOBAL)
		access |= OOO_ACCESS_FLUSH_GLOBAL;
	if (type & FETH_PERSISTENT)
		access |= OOO_ACCESS_FLUSH_PERSISTENT;
	return access;
}

static enum resp_verdict flush(struct ooo_ep *ep, const struct ooo_hdr *h)
{
	u32 type = FETH_TYPE(h->feth), select = FETH_SELECT(h->feth);

	if (!type || (type & ~(FETH_GLOBAL | FETH_PERSISTENT)) || select > FETH_WHOLE_REGION)
		return RESP_NAK_INVALID;
	if (rights(type) & ~ep->attr.access)
		return RESP_NAK_ACCESS;
	return ooo_resp_verdict(ooo_env_flush(ep, h->rkey, h->va, h->dma_len, type,
					      select == FETH_WHOLE_REGION));
}

enum resp_verdict ooo_resp_exec_flush(struct ooo_ep *ep, struct resp_turn *turn)
{
	enum resp_verdict verdict = ooo_resp_reply_room(ep);

	if (verdict == RESP_DONE)
		verdict = flush(ep, &turn->pkt->h);
	if (verdict != RESP_DONE)
		return verdict;
	ooo_resp_reply_reserve(ep)->kind = OOO_REPLY_EMPTY;
	ooo_resp_reply_commit(ep, 1);
	return RESP_DONE;
}
