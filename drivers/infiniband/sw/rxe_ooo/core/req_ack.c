// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An acknowledgment arrives: it speaks for everything below its PSN, too
 * (coalesced, IBTA 9.7.5.1.2), except that READ and ATOMIC need their data.
 * Only PSNs count, never the MSN. Old news is ignored.
 */
#include "req_priv.h"

static void error_nak(struct ooo_ep *ep, u8 code, u32 seq)
{
	ooo_count(ep, OOO_STAT_ERR_REMOTE);
	switch (code) {
	case OOO_NAK_ACCESS:
		return ooo_req_fail_seq(ep, seq, OOO_WC_REM_ACCESS_ERR);
	case OOO_NAK_OPERATION:
		return ooo_req_fail_seq(ep, seq, OOO_WC_REM_OP_ERR);
	default:
		return ooo_req_fail_seq(ep, seq, OOO_WC_REM_INV_REQ_ERR);
	}
}

static void negative(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq, u64 now)
{
	u8 value = OOO_AETH_VALUE(pkt->h.syndrome);

	if (ooo_before(seq, ep->req.acked))
		return;
	ooo_req_executed(ep, seq, now);
	if (OOO_AETH_CLASS(pkt->h.syndrome) == OOO_AETH_RNR)
		ooo_req_rnr(ep, value, seq, now);
	else if (value == OOO_NAK_SEQUENCE)
		ooo_req_nak(ep, seq, now);
	else if (value <= OOO_NAK_OPERATION)
		error_nak(ep, value, seq);
}

void ooo_req_ack(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq, u64 now)
{
	switch (OOO_AETH_CLASS(pkt->h.syndrome)) {
	case OOO_AETH_ACK:
		ooo_req_executed(ep, seq + 1, now);
		if (pkt->h.has_sack && ep->capable)
			ooo_req_sack(ep, &pkt->h.sack, now);
		break;
	case OOO_AETH_RNR:
	case OOO_AETH_NAK:
		negative(ep, pkt, seq, now);
		break;
	}
}
