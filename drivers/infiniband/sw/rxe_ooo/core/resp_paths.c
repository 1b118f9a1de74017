// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which of several paths the responder's packets take. It is not told what arrives, so
 * ACKs take turns: each one tells all, and on any path that works some come through.
 * When the peer, after a pause, repeats what has been acknowledged, the last ACK was
 * lost, and its path is left out for a while.
 *
 * The data of READs stays on one path, in order, until the peer asks again for
 * something that was sent after the last change; then the next path's turn comes.
 */
#include "resp_priv.h"

#define LOST_FOR	1024u	/* ACKs that such a path is left out */
#define GOLDEN		0x9e3779b1u	/* of 2^32 */
#define PAUSE		2000000u	/* ns: an ACK that is younger may still be on its way */

/* Those that our own requests have left only if there is no other. */
static bool may_use(const struct ooo_ep *ep, u8 path)
{
	return !ep->req.path || ep->req.path[path].share;
}

static u8 next_path(const struct ooo_ep *ep, u8 path)
{
	u32 i;

	for (i = 1; i <= ep->paths; i++)
		if (may_use(ep, (path + i) % ep->paths))
			return (path + i) % ep->paths;
	return (path + 1) % ep->paths;
}

static bool loses_acks(const struct ooo_resp *resp, u8 path)
{
	return resp->ack_lost[path] && ooo_before(resp->ack_turn, resp->ack_lost[path]);
}

/* One whose ACKs are not lost, if there is any. */
static u8 next_for_ack(const struct ooo_ep *ep)
{
	u8 first = next_path(ep, ep->resp.ack_path), path = first;

	while (loses_acks(&ep->resp, path)) {
		path = next_path(ep, path);
		if (path == first)
			break;
	}
	return path;
}

u8 ooo_resp_ack_path(struct ooo_ep *ep, u64 now)
{
	struct ooo_resp *resp = &ep->resp;

	if (!ep->capable)
		return 0;
	resp->ack_turn++;
	resp->ack_at = now;
	resp->ack_path = next_for_ack(ep);
	return resp->ack_path;
}

/* A packet comes again that has been here. Those with a reply are another matter. */
void ooo_resp_ack_again(struct ooo_ep *ep, const struct ooo_pkt *pkt, u64 now)
{
	struct ooo_resp *resp = &ep->resp;

	if (!ep->capable || !(pkt->h.rsvd7 & OOO_BTH_RETX) || now - resp->ack_at < PAUSE ||
	    !(ooo_opcode_info(pkt->h.opcode) & (OOO_IS_SEND | OOO_IS_WRITE)))
		return;
	resp->ack_lost[resp->ack_path] = max_t(u32, resp->ack_turn + LOST_FOR, 1);
}

/*
 * What is sent again takes turns as well, in steps of the golden ratio: with equal steps
 * the same response of a READ would come to the same kind of path each time.
 */
u8 ooo_resp_data_path(struct ooo_ep *ep, bool again)
{
	if (!again || !ep->capable)
		return ep->resp.data_path;
	ep->resp.again_turn += GOLDEN;
	return next_path(ep, (u8)((u64)ep->resp.again_turn * ep->paths >> 32));
}

/* The peer asks for the response @seq again. */
void ooo_resp_data_lost(struct ooo_ep *ep, u32 seq)
{
	struct ooo_resp *resp = &ep->resp;

	if (!ep->capable || (resp->moved && ooo_before(seq, resp->moved_seq)))
		return;
	resp->data_path = next_path(ep, resp->data_path);
	resp->moved = true;
	resp->moved_seq = resp->eseq;
}
