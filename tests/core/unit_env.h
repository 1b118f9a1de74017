/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One endpoint in a script: what it is given is chosen, what it does is recorded. */
#ifndef TESTS_CORE_UNIT_ENV_H
#define TESTS_CORE_UNIT_ENV_H

#include "core.h"

#define UE_KEY		0x77u
#define UE_BASE		0x10000ull
#define UE_SIZE		65536u
#define UE_LOG		512

struct ue_sent {
	struct ooo_hdr h;
	u32 len;
	u64 va;		/* of an OOO_SRC_REGION source */
	u32 offset;	/* of an OOO_SRC_SWQE source */
};

struct ue_done {
	u32 index;	/* send: ring index */
	u32 status;
	bool completion;
	struct ooo_recv_done recv;
};

/* Two different endpoints never live at once: one world. */
extern struct ue {
	struct ooo_ep ep;
	struct ooo_tunables tun;
	u64 now;
	u64 timer;
	u8 mem[UE_SIZE];	/* region UE_KEY at UE_BASE, all rights */
	u8 recv[UE_SIZE];	/* where receives go: one after the other, 4096 each */
	u8 land[UE_SIZE];	/* where READs and atomics land: 4096 a request */
	bool dead_key;		/* UE_KEY was invalidated */
	u32 recv_posted, recv_taken;
	u32 recv_size;
	struct ooo_rwqe rwqe;
	u32 posted, fetched;
	struct ooo_swqe wr[64];
	struct ue_sent sent[UE_LOG];
	u32 n_sent;
	struct ue_done send_done[UE_LOG], recv_done[UE_LOG];
	u32 n_send_done, n_recv_done;
	u32 writes, atomics, flushes, local_ops, events[8];
	u32 held;
	s64 allocated;
	bool again, hold_null, later, local_bad, source_bad, alloc_null;	/* be unhelpful from now on */
	enum ooo_state state;
} ue;

/* Psn of both directions; the endpoint is in RTS. */
void ue_start(u32 psn, bool ooo);
/* ... and shows the capability of docs/wire.md. */
void ue_start_capable(u32 psn, bool ooo);
/* ... and spreads its packets over several paths to a capable peer. */
void ue_start_paths(u32 psn, bool ooo, u32 paths);
void ue_start_service(enum ooo_service service, u32 psn, bool ooo);
void ue_stop(void);

/* A packet arrives; @data may be NULL for zeros. */
void ue_rx(u8 op, u32 psn, const struct ooo_hdr *fields, const void *data, u32 len);
void ue_rx_write(u8 op, u32 psn, u64 offset, u32 total, u8 fill, u32 len);
void ue_rx_ack(u32 psn, u8 syndrome);
bool ue_filled(u64 offset, u32 len, u8 fill);

struct ooo_swqe *ue_post(u8 op, u32 len, u8 flags);
void ue_doorbell(void);
/* Time passes, timers run. */
void ue_wait(u64 ns);
void ue_resume(void);

/* The last packet sent, or the only one of that kind. */
const struct ue_sent *ue_last(void);
u32 ue_count(u8 op, u8 syndrome_class);

#endif
