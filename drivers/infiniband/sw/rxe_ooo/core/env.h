/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the core calls and its surroundings supply at link time: the module
 * (env_*.c, with skbs, MRs and completion queues) or the simulator
 * (tests/core/). No function pointers: a call costs a call.
 *
 * None of these may call back into the core for the same endpoint. All are
 * called in the context of the core's caller; none may sleep.
 */
#ifndef RXE_OOO_CORE_ENV_H
#define RXE_OOO_CORE_ENV_H

/* --- send ring --- */

/*
 * Copies the next posted entry, number @index (free-running), into
 * ooo_sq_entry(ep, index), once, with every count and length bounded.
 * OK; NONE: nothing posted (the environment has then asked the producer for
 * a doorbell and looked again); INVALID: the entry is malformed, wr_id, opcode
 * and flags are filled in as far as possible: it completes with
 * OOO_WC_LOC_QP_OP_ERR.
 */
enum ooo_result ooo_env_sq_fetch(struct ooo_ep *ep, u32 index);

/*
 * Entry @index is finished: its ring slot is free from now on, and if
 * @completion, a completion with wqe->wr_id, wqe->opcode, wqe->status and
 * wqe->length as byte count is raised. Called in posting order.
 */
void ooo_env_send_done(struct ooo_ep *ep, u32 index, bool completion);

/*
 * Work that stays at home, executed when its turn comes: LOCAL_INV, BIND_MW,
 * REG_MR. OK or ACCESS/INVALID.
 */
enum ooo_result ooo_env_local_op(struct ooo_ep *ep, const struct ooo_swqe *wqe);

/* --- receive ring --- */

/*
 * Takes the next receive request (from the RQ, the SRQ, or for XRC the SRQ
 * @srqn). Its memory is the endpoint's own copy and stays valid until
 * ooo_env_recv_done() or the next fetch. OK; NONE; ACCESS (XRC: no such SRQ);
 * INVALID: malformed entry (*rwqe has its wr_id): local QP operation error.
 */
enum ooo_result ooo_env_rq_fetch(struct ooo_ep *ep, u32 srqn, struct ooo_rwqe **rwqe);

/* Raises a receive completion. */
void ooo_env_recv_done(struct ooo_ep *ep, const struct ooo_recv_done *done);

/* True when receive requests come from a shared queue. */
bool ooo_env_has_srq(struct ooo_ep *ep);

/* --- memory --- */

/*
 * May the peer do @access (one OOO_ACCESS_REMOTE_* or FLUSH_* bit) on
 * [va, va + len) under @rkey? OK or ACCESS. @len 0 is always OK (IBTA
 * C9-88: the R_Key of a zero-length request is not validated).
 */
enum ooo_result ooo_env_check(struct ooo_ep *ep, u32 rkey, u64 va, u64 len, u32 access);

/*
 * Writes pkt's payload to @va under @rkey (checked again: REMOTE_WRITE).
 * Either all of it is placed (OK) or nothing (ACCESS, LATER).
 */
enum ooo_result ooo_env_write(struct ooo_ep *ep, u32 rkey, u64 va, const struct ooo_pkt *pkt);

/* Scatters pkt's payload at @offset of the receive request. OK, ACCESS, LENGTH, LATER. */
enum ooo_result ooo_env_scatter_recv(struct ooo_ep *ep, struct ooo_rwqe *rwqe, u32 offset,
				     const struct ooo_pkt *pkt);

/* Scatters a READ response's payload at @offset of @wqe's list. OK, ACCESS, LATER. */
enum ooo_result ooo_env_scatter_read(struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 offset,
				     const struct ooo_pkt *pkt);

/* Stores the 8 bytes that an atomic returned (host value) into @wqe's list. */
enum ooo_result ooo_env_atomic_result(struct ooo_ep *ep, const struct ooo_swqe *wqe, u64 value);

/*
 * Executes COMPARE_SWAP / FETCH_ADD on 8 bytes of host memory, atomically
 * against every other atomic of the device. @va is aligned by 8 (the
 * core has checked). OK with the original value, ACCESS, LATER.
 */
enum ooo_result ooo_env_atomic(struct ooo_ep *ep, u32 rkey, u64 va, bool cmp_swap,
			       u64 compare_add, u64 swap, u64 *orig);

/* ATOMIC WRITE: 8 bytes from the payload, stored as one. */
enum ooo_result ooo_env_atomic_write(struct ooo_ep *ep, u32 rkey, u64 va,
				     const struct ooo_pkt *pkt);

/* FLUSH of a range (or @whole region) for @type (FETH placement bits). */
enum ooo_result ooo_env_flush(struct ooo_ep *ep, u32 rkey, u64 va, u64 len, u32 type, bool whole);

/* SEND with invalidate: when this returns OK, nothing can be placed under @rkey. */
enum ooo_result ooo_env_invalidate(struct ooo_ep *ep, u32 rkey);

/* --- packets --- */

/*
 * Sends one packet. @hdr complete (opcode, PSN and extended headers; the
 * environment adds addresses, P_Key, Q_Key, destination QP and ICRC). Packets with
 * different hdr->path should take different ways, if there are any.
 * OK: it is on its way. AGAIN: no memory or the local queue is full; nothing
 * was sent; ooo_ep_resume() will be called when there is room. ACCESS: the
 * source memory is not readable (wrong lkey/rkey, range); nothing was sent.
 */
enum ooo_result ooo_env_emit(struct ooo_ep *ep, const struct ooo_hdr *hdr,
			     const struct ooo_source *src);

/*
 * Keeps a packet beyond ooo_ep_rx(): returns a copy of the descriptor whose
 * payload stays readable until ooo_env_release(). NULL when the memory bound
 * of the endpoint or the device is reached.
 */
struct ooo_pkt *ooo_env_hold(struct ooo_ep *ep, const struct ooo_pkt *pkt);
void ooo_env_release(struct ooo_ep *ep, struct ooo_pkt *pkt);

/* Zeroed memory for the reordering state, bounded; NULL when there is none. */
void *ooo_env_alloc(struct ooo_ep *ep, u32 bytes);
void ooo_env_free(struct ooo_ep *ep, void *mem, u32 bytes);

/* --- time and events --- */

/*
 * Calls ooo_ep_timer() at @deadline (ns) or a little later. One timer an
 * endpoint; a new call replaces the deadline; OOO_NEVER disarms.
 */
#define OOO_NEVER	(~0ULL)
void ooo_env_arm(struct ooo_ep *ep, u64 deadline);

/* Asks for ooo_ep_resume() soon (from a context where the core cannot return true). */
void ooo_env_kick(struct ooo_ep *ep);

void ooo_env_event(struct ooo_ep *ep, enum ooo_event event);

/* The endpoint's state changed by itself (to SQE or ERR, SQD drained). */
void ooo_env_state(struct ooo_ep *ep, enum ooo_state state);

#endif /* RXE_OOO_CORE_ENV_H */
