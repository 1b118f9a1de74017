// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a send work request may say, whoever posted it. One table: the
 * services that have the operation (IBTA table 37 and A14, A19), and how its
 * scatter/gather list is to look.
 */
#include "objects.h"

enum {
	FOR_RC = 1 << 0,	/* and XRC_INI */
	FOR_UC = 1 << 1,
	FOR_UD = 1 << 2,
	KERNEL_ONLY = 1 << 3,
	NO_DATA = 1 << 4,	/* no gather list, no inline data */
	NO_INLINE = 1 << 5,	/* the list is written to */
	EIGHT_BYTES = 1 << 6,
};

static u8 wr_rules(u8 opcode)
{
	switch (opcode) {
	case OOO_WR_SEND:
	case OOO_WR_SEND_IMM:
		return FOR_RC | FOR_UC | FOR_UD;
	case OOO_WR_WRITE:
	case OOO_WR_WRITE_IMM:
		return FOR_RC | FOR_UC;
	case OOO_WR_SEND_INV:
		return FOR_RC | FOR_UC;
	case OOO_WR_READ:
		return FOR_RC | NO_INLINE;
	case OOO_WR_CMP_SWAP:
	case OOO_WR_FETCH_ADD:
		return FOR_RC | NO_INLINE | EIGHT_BYTES;
	case OOO_WR_ATOMIC_WRITE:
		return FOR_RC | EIGHT_BYTES;
	case OOO_WR_FLUSH:
		return FOR_RC | NO_DATA;
	case OOO_WR_LOCAL_INV:
	case OOO_WR_BIND_MW:
		return FOR_RC | FOR_UC | NO_DATA;
	case OOO_WR_REG_MR:
		return FOR_RC | NO_DATA | KERNEL_ONLY;
	default:
		return 0;
	}
}

static u8 qp_rule(const struct rxo_qp *qp)
{
	switch (qp->ib.qp_type) {
	case IB_QPT_RC:
	case IB_QPT_XRC_INI:
		return FOR_RC;
	case IB_QPT_UC:
		return FOR_UC;
	default:
		return FOR_UD;
	}
}

static bool rules_ok(const struct rxo_qp *qp, const struct ooo_swqe *wqe, u8 rules)
{
	if (!(rules & qp_rule(qp)))
		return false;
	if ((rules & KERNEL_ONLY) && qp->is_user)
		return false;
	if (wqe->flags & ~(OOO_SEND_FENCE | OOO_SEND_SIGNALED | OOO_SEND_SOLICITED |
			   OOO_SEND_INLINE))
		return false;
	if ((rules & NO_INLINE) && (wqe->flags & OOO_SEND_INLINE))
		return false;
	return !(rules & NO_DATA) || !wqe->num_sge;
}

/*
 * @wqe's opcode, flags, list and (inline only) length are filled in. Sets the
 * length otherwise. False: malformed.
 */
bool rxo_swqe_ok(const struct rxo_qp *qp, struct ooo_swqe *wqe)
{
	u8 rules = wr_rules(wqe->opcode);
	u64 sum = 0;
	u32 i;

	if (!rules_ok(qp, wqe, rules))
		return false;
	if (wqe->opcode == OOO_WR_FLUSH)
		return true;	/* the length is the range's */
	if (wqe->flags & OOO_SEND_INLINE)
		return !(rules & EIGHT_BYTES) || wqe->length == 8;
	for (i = 0; i < wqe->num_sge; i++)
		sum += wqe->sge[i].length;
	if (rules & EIGHT_BYTES) {
		if (wqe->num_sge != 1 || sum < 8)
			return false;
		sum = 8;
	}
	if (sum > RXO_MAX_MSG)
		return false;
	wqe->length = sum;
	return true;
}

u32 rxo_wc_opcode(u8 opcode)
{
	switch (opcode) {
	case OOO_WR_WRITE:
	case OOO_WR_WRITE_IMM:
		return IB_WC_RDMA_WRITE;
	case OOO_WR_READ:
		return IB_WC_RDMA_READ;
	case OOO_WR_CMP_SWAP:
		return IB_WC_COMP_SWAP;
	case OOO_WR_FETCH_ADD:
		return IB_WC_FETCH_ADD;
	case OOO_WR_BIND_MW:
		return IB_WC_BIND_MW;
	case OOO_WR_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case OOO_WR_FLUSH:
		return IB_WC_FLUSH;
	case OOO_WR_ATOMIC_WRITE:
		return IB_WC_ATOMIC_WRITE;
	case OOO_WR_REG_MR:
		return IB_WC_REG_MR;
	default:
		return IB_WC_SEND;
	}
}
