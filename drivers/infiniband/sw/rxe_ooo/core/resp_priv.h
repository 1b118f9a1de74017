/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the responder's files share. */
#ifndef RXE_OOO_CORE_RESP_PRIV_H
#define RXE_OOO_CORE_RESP_PRIV_H

#include "ep_priv.h"

#define OOO_FRESH_ACKS	4u	/* that tell what has changed */

/* What executing a request in its turn came to. */
enum resp_verdict {
	RESP_DONE,
	RESP_LATER,		/* a page is being brought in: try again on resume */
	RESP_DROP,		/* no memory: as if it had been lost */
	RESP_RNR,		/* no receive request */
	RESP_NAK_INVALID,	/* NAKs: the QP fails */
	RESP_NAK_ACCESS,
	RESP_NAK_OPERATION,
};

/* A request whose turn has come. */
struct resp_turn {
	const struct ooo_pkt *pkt;	/* payload valid unless @placed */
	u32 info;			/* ooo_opcode_info() */
	u32 packets;			/* PSNs that it takes; set by its execution */
	bool placed;			/* the payload was placed when it came early */
	bool recheck;			/* ... but a key has been invalidated since */
};

/* resp.c: what ep.c calls */
void ooo_resp_init(struct ooo_ep *ep);
void ooo_resp_rtr(struct ooo_ep *ep);
void ooo_resp_release(struct ooo_ep *ep);
void ooo_resp_reset(struct ooo_ep *ep);
void ooo_resp_timer(struct ooo_ep *ep, u64 now);
u64 ooo_resp_deadline(const struct ooo_ep *ep);

/* resp_rx.c */
void ooo_resp_rx(struct ooo_ep *ep, const struct ooo_pkt *pkt, u64 now);
u32 ooo_resp_window(const struct ooo_ep *ep);

/* resp_exec.c */
void ooo_resp_turn(struct ooo_ep *ep, const struct ooo_pkt *pkt, u64 now);
bool ooo_resp_drain(struct ooo_ep *ep, u64 now);

/* resp_send.c, resp_write.c, resp_read.c, resp_atomic.c, resp_flush.c */
enum resp_verdict ooo_resp_exec_send(struct ooo_ep *ep, struct resp_turn *turn);
enum resp_verdict ooo_resp_exec_write(struct ooo_ep *ep, struct resp_turn *turn);
enum resp_verdict ooo_resp_exec_read(struct ooo_ep *ep, struct resp_turn *turn);
enum resp_verdict ooo_resp_exec_atomic(struct ooo_ep *ep, struct resp_turn *turn);
enum resp_verdict ooo_resp_exec_atomic_write(struct ooo_ep *ep, struct resp_turn *turn);
enum resp_verdict ooo_resp_exec_flush(struct ooo_ep *ep, struct resp_turn *turn);
enum ooo_result ooo_resp_check_reth(struct ooo_ep *ep, const struct ooo_hdr *h, u32 access);
enum resp_verdict ooo_resp_verdict(enum ooo_result res);

/* resp_recv.c: receive requests */
enum resp_verdict ooo_resp_recv_get(struct ooo_ep *ep, u32 srqn);
void ooo_resp_recv_done(struct ooo_ep *ep, enum ooo_status status, const struct ooo_hdr *h,
			u32 byte_len);

/* resp_early.c: a packet above the expected one */
void ooo_resp_early(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq);
bool ooo_resp_hold(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq);
void ooo_resp_forget(struct ooo_ep *ep, u32 seq);

/* resp_early_write.c */
bool ooo_resp_place_early(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq);
void ooo_resp_place_held(struct ooo_ep *ep, const struct ooo_resp_write *w);
void ooo_resp_early_over(struct ooo_ep *ep, u32 seq);

/* resp_duplicate.c: a packet below the expected one */
void ooo_resp_duplicate(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq);

/* resp_reply.c: the ring of replies */
enum resp_verdict ooo_resp_reply_room(struct ooo_ep *ep);
struct ooo_resp_reply *ooo_resp_reply_reserve(struct ooo_ep *ep);
void ooo_resp_reply_commit(struct ooo_ep *ep, u32 packets);
struct ooo_resp_reply *ooo_resp_reply_find(struct ooo_ep *ep, u32 seq, u32 *index);
void ooo_resp_replay(struct ooo_ep *ep, u32 index, u32 from, u32 to);
struct ooo_resp_replay *ooo_resp_replay_oldest(struct ooo_resp *resp);

/* resp_sack.c: what a capable peer is told about early and needless packets */
void ooo_resp_note(struct ooo_ep *ep, const struct ooo_pkt *pkt);
void ooo_resp_note_early(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq);
void ooo_resp_note_needless(struct ooo_ep *ep, const struct ooo_pkt *pkt, u32 seq);
void ooo_resp_extend(struct ooo_ep *ep, struct ooo_hdr *hdr);

/* resp_emit.c: replies, ACKs and NAKs go out; true: more could be sent. */
bool ooo_resp_emit(struct ooo_ep *ep, u32 *budget, u64 now);

/* uc.c: a request arrives on a UC endpoint. */
void ooo_uc_rx(struct ooo_ep *ep, const struct ooo_pkt *pkt);

/* resp_nak.c */
void ooo_resp_fail(struct ooo_ep *ep, enum ooo_nak code, enum ooo_event event);
void ooo_resp_fail_at(struct ooo_ep *ep, u32 seq, enum ooo_nak code, enum ooo_event event);
void ooo_resp_rnr(struct ooo_ep *ep, u64 now);
void ooo_resp_nak_sequence(struct ooo_ep *ep, u64 now);

/* resp_gap.c */
void ooo_resp_missed(struct ooo_ep *ep, u32 seq);
void ooo_resp_watch_gap(struct ooo_ep *ep, u64 now);
void ooo_resp_gap_moved(struct ooo_ep *ep, u64 now);

/* resp_paths.c */
u8 ooo_resp_ack_path(struct ooo_ep *ep, u64 now);
void ooo_resp_ack_again(struct ooo_ep *ep, const struct ooo_pkt *pkt, u64 now);
u8 ooo_resp_data_path(struct ooo_ep *ep, bool again);
void ooo_resp_data_lost(struct ooo_ep *ep, u32 seq);

#endif /* RXE_OOO_CORE_RESP_PRIV_H */
