// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The receive request that a SEND or a WRITE with immediate consumes. */
#include "resp_priv.h"

enum resp_verdict ooo_resp_recv_get(struct ooo_ep *ep, u32 srqn)
{
	struct ooo_rwqe *rwqe = NULL;

	if (ep->resp.rwqe)
		return RESP_DONE;
	switch (ooo_env_rq_fetch(ep, srqn, &rwqe)) {
	case OOO_OK:
		ep->resp.rwqe = rwqe;
		return RESP_DONE;
	case OOO_NONE:
	case OOO_AGAIN:
		return RESP_RNR;
	case OOO_INVALID:
		ep->resp.rwqe = rwqe;
		ooo_resp_recv_done(ep, OOO_WC_LOC_QP_OP_ERR, NULL, 0);
		return RESP_NAK_OPERATION;
	default:	/* XRC: no such shared receive queue */
		return RESP_NAK_INVALID;
	}
}

/* Completes the request taken. @h: the packet that ends the message, NULL on error. */
void ooo_resp_recv_done(struct ooo_ep *ep, enum ooo_status status, const struct ooo_hdr *h,
			u32 byte_len)
{
	struct ooo_recv_done done = { .status = status, .byte_len = byte_len };
	u32 info = h ? ooo_opcode_info(h->opcode) : 0;

	if (!ep->resp.rwqe)
		return;
	done.wr_id = ep->resp.rwqe->wr_id;
	done.srqn = ep->resp.rwqe->srqn;
	done.is_write = info & OOO_IS_WRITE;
	done.has_imm = info & OOO_HAS_IMM;
	done.has_inv = info & OOO_HAS_IETH;
	if (h) {
		done.imm = h->imm;
		done.solicited = h->solicited;
	}
	ep->resp.rwqe = NULL;
	ooo_env_recv_done(ep, &done);
}
