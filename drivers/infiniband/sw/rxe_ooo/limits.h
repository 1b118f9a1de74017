/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the device admits to. At least what rdma_rxe does. */
#ifndef RXE_OOO_LIMITS_H
#define RXE_OOO_LIMITS_H

#define RXO_MAX_QP		0x40000
#define RXO_QPN_MIN		16
#define RXO_QPN_MAX		0xfffffe	/* 0xffffff means multicast */
#define RXO_MAX_QP_WR		0x8000
#define RXO_MAX_SGE		32
#define RXO_MAX_SGE_RD		32
#define RXO_MAX_INLINE		2048	/* bytes */
#define RXO_MAX_CQ		0x100000
#define RXO_MAX_CQE		(1 << 22)
#define RXO_MAX_MR		0x800000
#define RXO_MAX_MW		0x800000
#define RXO_MAX_MR_SIZE		(~0ULL)
#define RXO_MAX_DM_SIZE	(16U << 20)	/* bytes */
#define RXO_DM_PER_DEVICE	(64U << 20)
#define RXO_MAX_PD		0x100000
#define RXO_MAX_SRQ		0x40000
#define RXO_MAX_SRQ_WR		0x8000
#define RXO_MAX_SRQ_SGE		32
#define RXO_MAX_AH		0x100000
#define RXO_MAX_RD_ATOM		128
#define RXO_MAX_FAST_REG_PAGES	1024
#define RXO_MAX_MSG		0x80000000U
#define RXO_MAX_PKEYS		1
#define RXO_MAX_MCAST_GRP	8192
#define RXO_MAX_MCAST_QP_ATTACH	64		/* copies of one packet */
#define RXO_MAX_UCONTEXT	(1 << 20)

#define RXO_HELD_PER_QP		(8U << 20)	/* bytes of out-of-order packets */
#define RXO_HELD_PER_DEVICE	(256U << 20)
#define RXO_BACKLOG_MAX		4096		/* packets */
/* bytes of one QP in local queues, overhead included */
#define RXO_TX_QUEUE_MAX	(512U << 10)
#define RXO_TX_BATCH_MAX	64		/* packets that go through the stack as one */

/* Tunables at creation, and what sysfs accepts (sysfs.c) */
#define RXO_TUN_WINDOW		256		/* packets */
#define RXO_TUN_WINDOW_TOP	8192		/* packets: where the path needs them */
#define RXO_TUN_RECV_WINDOW	4096		/* PSNs */
#define RXO_TUN_WINDOW_MAX	8192		/* OOO_WINDOW_MAX */
#define RXO_TUN_REORDER_INIT_US	10000
#define RXO_TUN_REORDER_MIN_US	1000
#define RXO_TUN_REORDER_MAX_US	1000000
#define RXO_TUN_REORDER_TOP_US	60000000
#define RXO_TUN_BUDGET		64		/* packets */
#define RXO_TUN_BUDGET_MAX	4096

#endif
