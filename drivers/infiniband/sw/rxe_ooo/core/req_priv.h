/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the requester's files share. */
#ifndef RXE_OOO_CORE_REQ_PRIV_H
#define RXE_OOO_CORE_REQ_PRIV_H

#include "ep_priv.h"

#define OOO_ACK_EVERY	16u	/* packets, at the most, between two that ask for an ACK ... */
#define OOO_ACK_OFTEN	8u	/* ... with several paths: some may lose it */

/* struct ooo_swqe.req_state */
enum {
	REQ_FETCHED,
	REQ_MALFORMED,	/* ooo_env_sq_fetch() said INVALID */
	REQ_STARTED,	/* has PSNs, or was executed (local operations) */
	REQ_FAILED,	/* completes with its status when its turn comes */
};

/* What a step of the send loop came to. */
enum req_step {
	REQ_DONE,	/* a packet went out, or a request was executed or failed */
	REQ_IDLE,	/* nothing to send, or it must wait for the peer */
	REQ_STALLED,	/* the environment must make room first */
};

/* req.c: what ep.c calls */
void ooo_req_init(struct ooo_ep *ep);
void ooo_req_rts(struct ooo_ep *ep, u64 now);
void ooo_req_release(struct ooo_ep *ep);
void ooo_req_reset(struct ooo_ep *ep);
bool ooo_req_drained(const struct ooo_ep *ep);
void ooo_req_rx(struct ooo_ep *ep, const struct ooo_pkt *pkt, u64 now);

/* req_window.c: packets that may be in flight, and how many more may be sent now. */
u32 ooo_req_window(const struct ooo_ep *ep);
u32 ooo_req_room(const struct ooo_ep *ep);
bool ooo_req_fills_peer(const struct ooo_ep *ep);

/* req_send.c: sends up to @budget packets; true: more could be sent. */
bool ooo_req_send(struct ooo_ep *ep, u32 *budget, u64 now);

/* req_start.c: gives PSNs to the request at @cur, or executes it when it is local. */
enum req_step ooo_req_start(struct ooo_ep *ep, u64 now);
enum ooo_result ooo_req_fetch(struct ooo_ep *ep, u32 index);

/* req_emit.c */
enum ooo_result ooo_req_emit(struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 seq,
			     u32 count, bool ack_req, bool again);

/* req_read.c: requests whose answer carries data. */
bool ooo_req_has_reply(const struct ooo_swqe *wqe);
u32 ooo_req_reply_len(const struct ooo_ep *ep, const struct ooo_swqe *wqe, u32 seq);
u32 ooo_req_read_room(const struct ooo_ep *ep, const struct ooo_swqe *wqe);
bool ooo_req_read_waits(const struct ooo_ep *ep, const struct ooo_swqe *next);
bool ooo_req_rd_full(const struct ooo_ep *ep);
void ooo_req_rd_add(struct ooo_ep *ep, u32 seq, u32 count);
void ooo_req_rd_retire(struct ooo_ep *ep);
const struct ooo_req_read *ooo_req_rd_find(const struct ooo_ep *ep, u32 seq);

/* req_resend.c */
void ooo_req_want_unit(struct ooo_ep *ep, u32 seq, bool whole);
u32 ooo_req_span(struct ooo_ep *ep, u32 seq, bool whole);
void ooo_req_ask(struct ooo_ep *ep);
enum req_step ooo_req_resend(struct ooo_ep *ep, u32 seq, bool whole, bool ack_req,
			     u32 *count, u64 now);
enum req_step ooo_req_resend_unit(struct ooo_ep *ep, u64 now);
enum req_step ooo_req_resend_next(struct ooo_ep *ep, u64 now);
void ooo_req_skip_acked(struct ooo_ep *ep);
void ooo_req_go_back(struct ooo_ep *ep, u32 seq, u64 now);

/* req_response.c: READ responses and ATOMIC acknowledgements. */
bool ooo_req_have(struct ooo_ep *ep, u32 seq);
u32 ooo_req_hole(struct ooo_ep *ep, u32 from, u32 to);
void ooo_req_response(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq, u64 now);
u32 ooo_req_collect(struct ooo_ep *ep, u32 from, u32 to);

/* req_sent.c: what was sent when, and what is known to have arrived */
u32 ooo_req_tick(u64 now);
u32 ooo_req_in_flight(const struct ooo_ep *ep);
bool ooo_req_is_here(const struct ooo_ep *ep, u32 seq);
void ooo_req_set_here(struct ooo_ep *ep, u32 seq);
void ooo_req_clear_here(struct ooo_ep *ep, u32 from, u32 to);
void ooo_req_record(struct ooo_ep *ep, u32 seq, bool reply, u64 now);
void ooo_req_record_again(struct ooo_ep *ep, u32 seq, u64 now);
void ooo_req_delivered(struct ooo_ep *ep, u32 seq, u64 now);
void ooo_req_executed(struct ooo_ep *ep, u32 seq, u64 now);
void ooo_req_forgive(struct ooo_ep *ep, u32 from);
void ooo_req_revoke(struct ooo_ep *ep, u32 from, u64 now);

/* req_sack.c */
void ooo_req_sack(struct ooo_ep *ep, const struct ooo_sack *sack, u64 now);

/* req_rack.c: which packets are lost, by time */
u64 ooo_req_reo(const struct ooo_ep *ep);
void ooo_req_late(struct ooo_ep *ep, u64 late);
void ooo_req_rack_arrival(struct ooo_ep *ep, u32 seq, const struct ooo_req_sent *rec, u64 now);
void ooo_req_allow_repairs(struct ooo_ep *ep);
void ooo_req_needless(struct ooo_ep *ep, u32 seq);
void ooo_req_rack(struct ooo_ep *ep, u64 now);
enum req_step ooo_req_resend_lost(struct ooo_ep *ep, u64 now);

/* req_hole.c: missing responses of a capable peer */
void ooo_req_watch_asks(struct ooo_ep *ep, u64 now);
void ooo_req_asks_over(struct ooo_ep *ep);
void ooo_req_late_response(struct ooo_ep *ep, u32 seq, u64 now);
u32 ooo_req_extra_reads(const struct ooo_ep *ep);
enum req_step ooo_req_send_ask(struct ooo_ep *ep, u64 now);

/* req_window.c */
void ooo_req_flow(struct ooo_ep *ep, u64 now);
void ooo_req_ce(struct ooo_ep *ep, u16 ce, u64 now);
void ooo_req_cnp(struct ooo_ep *ep, u64 now);

/* req_nak.c */
void ooo_req_nak(struct ooo_ep *ep, u32 seq, u64 now);
void ooo_req_judge_peer(struct ooo_ep *ep, u64 now);

/* req_ack.c */
void ooo_req_ack(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq, u64 now);

/* req_rnr.c */
void ooo_req_rnr(struct ooo_ep *ep, u8 code, u32 seq, u64 now);
void ooo_req_rnr_over(struct ooo_ep *ep, u64 now);

/* req_complete.c: moves @una and completes in posting order. */
void ooo_req_advance(struct ooo_ep *ep, u64 now);

/* req_fail.c */
struct ooo_swqe *ooo_req_find(const struct ooo_ep *ep, u32 seq, u32 *index);
void ooo_req_fail_at(struct ooo_ep *ep, u32 index, enum ooo_status status);
void ooo_req_fail_seq(struct ooo_ep *ep, u32 seq, enum ooo_status status);
void ooo_req_fatal(struct ooo_ep *ep, enum ooo_status status, u64 now);

/* req_timer.c */
void ooo_req_timer(struct ooo_ep *ep, u64 now);
u64 ooo_req_deadline(const struct ooo_ep *ep);
void ooo_req_progress(struct ooo_ep *ep, u64 now);
void ooo_req_sent(struct ooo_ep *ep, u32 seq, bool ack_req, u64 now);
void ooo_req_watch_hole(struct ooo_ep *ep, u64 now);

/* req_rtt.c */
void ooo_req_rtt_start(struct ooo_ep *ep, u32 seq, u64 now);
void ooo_req_rtt_take(struct ooo_req *req, u64 rtt);
void ooo_req_rtt_sample(struct ooo_ep *ep, u64 now);
u64 ooo_req_rtt_guard(const struct ooo_ep *ep);
u64 ooo_req_rto(const struct ooo_ep *ep);
u64 ooo_req_ack_timeout(const struct ooo_ep *ep);

/* req_window.c */
void ooo_req_trip(struct ooo_req_trip *trip, u64 rtt, u64 now);
bool ooo_req_queue_stands(const struct ooo_req_trip *trip);

/* req_paths.c: several paths; most of it only when there are */
void ooo_paths_exit(struct ooo_ep *ep);
void ooo_path_add(struct ooo_req *req, const struct ooo_req_sent *rec);
void ooo_path_remove(struct ooo_req *req, const struct ooo_req_sent *rec);
void ooo_path_loss(struct ooo_req *req, const struct ooo_req_sent *rec);
void ooo_path_arrival(struct ooo_ep *ep, const struct ooo_req_sent *rec, u64 now);
u64 ooo_path_rtt(const struct ooo_req *req, u8 path);
u64 ooo_path_base_rtt(const struct ooo_req *req, u8 path);
u64 ooo_paths_slowest(const struct ooo_ep *ep);
bool ooo_paths_full(const struct ooo_ep *ep);
void ooo_paths_watch(struct ooo_ep *ep, u64 now);
u64 ooo_paths_due(const struct ooo_ep *ep);
void ooo_paths_choose(struct ooo_ep *ep, bool may_probe, u64 now);
void ooo_paths_choose_again(struct ooo_ep *ep, u32 seq, u64 now);

static inline u32 ooo_req_ack_every(const struct ooo_ep *ep)
{
	return unlikely(ep->paths) ? OOO_ACK_OFTEN : OOO_ACK_EVERY;
}

static inline void ooo_path_on(struct ooo_req *req, const struct ooo_req_sent *rec)
{
	if (unlikely(req->path))
		ooo_path_add(req, rec);
}

static inline void ooo_path_off(struct ooo_req *req, const struct ooo_req_sent *rec)
{
	if (unlikely(req->path))
		ooo_path_remove(req, rec);
}

#endif /* RXE_OOO_CORE_REQ_PRIV_H */
