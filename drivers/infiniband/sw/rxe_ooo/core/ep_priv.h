/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the files of the core share with each other and with nobody else. */
#ifndef RXE_OOO_CORE_EP_PRIV_H
#define RXE_OOO_CORE_EP_PRIV_H

#include "core.h"
#include "opcode.h"

#define OOO_MAX_LENGTH	0x80000000u	/* of a message, bytes (IBTA 9.7.8) */

/* Work done in one call before somebody else gets a turn. */
#define OOO_EXEC_BUDGET		256u	/* early packets executed */
#define OOO_FLUSH_BUDGET	256u	/* work requests flushed */

static inline void ooo_count(struct ooo_ep *ep, enum ooo_stat stat)
{
	ep->stat[stat]++;
}

static inline bool ooo_is_xrc(const struct ooo_ep *ep)
{
	return ep->attr.service == OOO_XRC_INI || ep->attr.service == OOO_XRC_TGT;
}

static inline bool ooo_is_uc(const struct ooo_ep *ep)
{
	return ep->attr.service == OOO_UC;
}

/* The service bits of every opcode that this endpoint sends or accepts. */
static inline u8 ooo_service_bits(const struct ooo_ep *ep)
{
	if (ooo_is_xrc(ep))
		return OOO_BTH_XRC;
	return ooo_is_uc(ep) ? OOO_BTH_UC : OOO_BTH_RC;
}

/* Packets that a message of @len bytes takes. */
static inline u32 ooo_packets(const struct ooo_ep *ep, u32 len)
{
	return len ? (u32)(((u64)len + ep->attr.mtu - 1) >> ep->mtu_shift) : 1;
}

/* Serial number arithmetic on sequence numbers. */
static inline bool ooo_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/* The sequence number near @base whose PSN is @psn. */
static inline u32 ooo_unwrap(u32 base, u32 psn)
{
	return base + (u32)psn_diff(psn, base & PSN_MASK);
}

/* req_rnr.c: the time that an RNR NAK code stands for. */
u64 ooo_rnr_ns(u8 code);

/*
 * ep.c: each packet shows whether its sender has the capability (docs/wire.md).
 * For packets whose PSN fits only: a forged or an old one shows nothing.
 */
void ooo_learn_peer(struct ooo_ep *ep, const struct ooo_pkt *pkt);

/* ep.c: the QP fails by itself. */
void ooo_ep_fail(struct ooo_ep *ep, u64 now);

/* flush.c: completes what is left in ERR (SQE: the send queue); true: more is left. */
bool ooo_flush_send(struct ooo_ep *ep);
bool ooo_flush_recv(struct ooo_ep *ep);

#endif /* RXE_OOO_CORE_EP_PRIV_H */
