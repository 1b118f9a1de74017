// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The responder's life cycle. */
#include "resp_priv.h"

void ooo_resp_init(struct ooo_ep *ep)
{
	struct ooo_resp *resp = &ep->resp;

	memset(resp, 0, sizeof(*resp));
	ooo_slots_init(&resp->slots, sizeof(struct ooo_resp_slot));
	ooo_reorder_init(&resp->reorder);
}

void ooo_resp_rtr(struct ooo_ep *ep)
{
	struct ooo_resp *resp = &ep->resp;

	resp->active = true;
	resp->eseq = ep->attr.rq_psn;
	resp->high = resp->eseq;
	resp->fresh = OOO_FRESH_ACKS;	/* tell the window */
}

/* Lets go of every packet kept, and of the memory for reordering and replies. */
void ooo_resp_release(struct ooo_ep *ep)
{
	struct ooo_resp *resp = &ep->resp;
	u32 seq;

	for (seq = resp->eseq; resp->slots.in_use && seq != resp->eseq + OOO_WINDOW_MAX; seq++)
		ooo_resp_forget(ep, seq);
	ooo_slots_exit(ep, &resp->slots);
	if (resp->reply)
		ooo_env_free(ep, resp->reply, resp->reply_num * sizeof(*resp->reply));
	resp->reply = NULL;
	resp->reply_first = 0;
	resp->reply_emit = 0;
	resp->reply_next = 0;
	resp->replay_first = 0;
	resp->replay_next = 0;
	ooo_reorder_close(&resp->reorder);
}

void ooo_resp_reset(struct ooo_ep *ep)
{
	ooo_resp_release(ep);
	ooo_resp_init(ep);
}
