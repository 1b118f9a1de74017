/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Deterministic simulation: two endpoints of the real core, a seeded network
 * between them, and a model that knows what must happen. One seed is one run;
 * a run has several lives, each from RESET to RESET with its own settings.
 *
 *	sim_config.c	seed -> settings
 *	sim_run.c	event loop, life cycle, liveness
 *	sim_work.c	what is posted, and which faults are planted
 *	sim_env.c	the functions of core/env.h
 *	sim_net.c	packets to bytes and back, and what goes wrong between
 *	sim_mem.c	regions, keys, scatter/gather
 *	sim_model.c	the rules of DESIGN section 4, sender's side
 *	sim_resp.c	... responder's side
 *	sim_shadow.c	memory as an in-order network would have left it
 *	sim_rate.c	goodput of given settings, in virtual time
 *	sim_main.c	command line, workers, results
 */
#ifndef TESTS_CORE_SIM_H
#define TESTS_CORE_SIM_H

#include <setjmp.h>
#include <stdio.h>
#include "core.h"
#include "kernelish.h"
#include "opcode.h"
#include "rng.h"

#define SQ_MAX		64
#define RQ_MAX		64
#define SGE_MAX		4
#define INLINE_MAX	64
#define ATOM_WORDS	32
#define WIN_SIZE	8192
#define PSN_MAP		8192	/* PSNs that may be outstanding, a power of two */
#define PSN_OUTSTANDING	6000

#define MS		1000000ull
#define NEVER		OOO_NEVER

/* --- settings of one life --- */

#define ROUTES_MAX	4

/* One of several ways that begin behind the first link. */
struct sim_route {
	u64 delay;		/* ns, one way */
	u32 drop;		/* ppm */
	u32 ns_byte_x16;	/* serialisation */
	u32 tail_drop;		/* ns */
	u64 black_from, black_to;	/* not before both ends know that the other is capable */
};

struct sim_net_cfg {
	u64 delay;		/* ns, one way */
	u32 jitter;		/* ns, uniform */
	u32 reorder;		/* ppm: so many are late by up to ... */
	u32 late;		/* ... this many ns */
	u32 drop, dup, corrupt;	/* ppm */
	u32 burst;		/* ppm: a loss burst starts here ... */
	u32 burst_ns;		/* ... up to that long */
	u32 old;		/* ppm: a copy comes much later */
	u64 old_delay;
	u64 black_from, black_to;
	u32 ns_byte_x16;	/* serialisation, 1/16 ns a byte */
	u32 queue_limit;	/* local queue, ns; 0: endless */
	u32 tail_drop;		/* the link's queue, ns: what finds more waiting is lost; 0: endless */
	u32 mark;		/* ... gets a congestion mark; 0: never */
	u32 slow_every;		/* two paths: so many ppm take the one that is slower ... */
	u32 slow_by;		/* ... by this, ns */
	u32 pause_every;	/* ns: of half of the packets nothing arrives, again and again, ... */
	u32 pause;		/* ... for so long, and then everything at once: a CPU is away */
	u32 drop_control;	/* ppm of ACKs, NAKs and READ requests that are lost */
	u32 routes;		/* the core's path p takes route p modulo this; 0: there are none */
	struct sim_route route[ROUTES_MAX];
};

struct sim_mix {
	u16 send, send_imm, send_inv, write, write_imm, read, cmp_swap, fetch_add;
	u16 atomic_write, flush, local_inv;
};

struct sim_cfg {
	const char *profile;
	enum ooo_service service;
	bool ipv6;
	bool ooo[2];
	bool srq[2];
	bool sack[2];		/* shows the capability of docs/wire.md */
	bool plain[2];		/* as a responder: drops what is early, as stock rxe does */
	bool sig_all[2];
	u32 psn[2];
	u32 mtu;
	u32 max_msg;
	u32 sq_depth, rq_depth;
	u32 quota[2];		/* work requests to post */
	u8 timeout, retry_cnt, rnr_retry, min_rnr, rd_atomic;
	struct ooo_tunables tun;
	u32 room;		/* messages that the memory for WRITEs and READs has room for */
	u32 fixed_len;		/* all messages are so long; 0: drawn */
	u32 held_max;		/* packets an endpoint may hold */
	struct sim_net_cfg net[2];
	struct sim_mix mix;
	u32 again, later, hold_null, alloc_null;	/* ppm */
	u32 recv_late;		/* ppm: a receive is posted late ... */
	u32 recv_delay;		/* ... by up to that many ns */
	u32 fault;		/* ppm of work requests with a planted fault */
	u32 stale;		/* ppm of WRITEs under a key that is being invalidated */
	u32 overlap;		/* ppm of WRITEs onto one in flight */
	u32 fence, unsignaled, inl;	/* ppm */
	u32 post_gap;		/* ns between postings, up to */
	u32 sqd;		/* ppm of postings that begin an SQD cycle */
	u32 kill;		/* ppm of postings that move the QP to ERR ... */
	u32 destroy;		/* ... or straight to RESET */
	u32 dereg;		/* ppm of postings that deregister a window */
	u32 rts_delay[2];	/* ns in RTR; ~0: stays there */
	bool starve;		/* receives stop: RNR must run out */
	bool dead;		/* nothing arrives from black_from on */
	bool quiet;		/* only reordering: count needless packets */
	bool narrow;		/* receive windows are smaller than send windows */
	bool lossless;		/* no packet and no memory is ever lost */
};

/* --- memory --- */

enum sim_region {
	R_SRC,			/* read only; local gather and remote READ */
	R_DST,			/* remote WRITE, READ, FLUSH */
	R_LAND,			/* READ data and atomic results come here */
	R_RECV,			/* receive buffers */
	R_ATOM,			/* remote atomics and ATOMIC WRITE */
	R_WIN,			/* four windows whose keys come and go */
	R_NUM = R_WIN + 4,
};

struct sim_mr {
	u8 *mem;
	u64 base;
	u64 size;
	u32 key;
	u32 access;
	bool valid;
	bool retiring;		/* its invalidation is posted */
};

/* Bytes of R_DST as the rules allow them: by mode @val, @val or @alt, or any. */
enum { CELL_ONE, CELL_TWO, CELL_ANY };

struct sim_cells {
	u8 *val, *alt, *mode;	/* one allocation, at @val */
};

/* --- the model's record of a work request --- */

enum sim_fault {
	F_NONE,
	F_KEY, F_RANGE, F_RIGHT,	/* remote access error */
	F_UNALIGNED,			/* remote invalid request */
	F_TOO_LONG,			/* SEND beyond its receive */
	F_LKEY,				/* source not readable */
	F_LAND,				/* landing not writable */
	F_MALFORMED,
	F_STALE,			/* key that a SEND before it invalidates */
	F_SRQ,				/* XRC: no such shared receive queue */
	F_NUM
};

enum sim_fate { FATE_OK, FATE_MAYBE, FATE_ERR };

struct sim_wr {
	u8 op, flags, nsge, fault;
	u8 fate;
	u8 status;		/* of the error, when fate is not OK */
	bool started;		/* a packet of it was emitted, or it was executed */
	bool result;		/* atomic result stored / local operation done */
	bool received;		/* its receive completion was raised, successfully */
	bool overlapped;	/* target or source shared with another in flight */
	bool row;		/* went out as WRITE ONLYs */
	u32 len, psn, packets;
	u32 landed;		/* READ: packets scattered */
	u32 imm;
	u8 region;
	u32 rkey;
	u32 stale;		/* F_STALE: the key */
	u64 roff, va;
	u64 add, swap, orig;
	u32 feth;
	u64 land_off;
	u64 started_at;
	u32 epoch;		/* fences posted up to here */
	struct ooo_sge sge[SGE_MAX];
	u8 inl[INLINE_MAX];
	struct sim_cells expect;	/* READ of R_DST */
};

/* What must have happened for a PSN, and what has. */
enum {
	DID_ARRIVE = 1 << 0,
	DID_DATA = 1 << 1,
	DID_RECV = 1 << 2,	/* receive completion */
	DID_INV = 1 << 3,
	DID_EXEC = 1 << 4,	/* atomic, flush */
	DID_REPLY = 1 << 5,	/* response emitted */
	DID_LAND = 1 << 6,	/* READ data scattered by the requester */
};

struct sim_psn {
	u32 psn;		/* ~0: unused */
	u32 wr;
	u8 need, got;
	bool arrived;		/* a request with this PSN came */
	bool reported;		/* a SACK said that it is here */
	bool first, last;	/* of the READ request (or part of one) that covers it */
	u16 plen;
	u32 msn;		/* messages that end here or before */
	u64 orig;
};

/* One direction: what an endpoint asks of its peer. */
struct sim_out {
	struct sim_wr wr[SQ_MAX];
	u32 posted, fetched, done;
	u32 next_psn;
	struct sim_psn map[PSN_MAP];
	u32 exec_next;		/* all PSNs below are executed, replies sent */
	u32 order_next;		/* ... executed, READ replies perhaps not sent */
	u32 sent_next;		/* lowest PSN that was never on the wire */
	u32 msn;		/* messages sent, as a responder counts them */
	u32 recv_at, exec_at, inv_at, local_at;	/* cursors over wr[] */
	u32 epoch;
	bool failed;		/* an error completion was seen: ... */
	u32 first_failed;	/* ... of this request; it and later ones may or may not happen */
	bool nak;		/* the peer reported an error ... */
	u32 nak_psn;		/* ... here ... */
	u8 nak_code;		/* ... of this kind */
	u32 rnr_naks, rnr_psn;	/* sent by the peer */
	u32 rnr_wait_psn;	/* an RNR NAK for it has arrived, ... */
	bool rnr_told;		/* ... and it was not sent since */
	u64 rnr_wait_until;	/* it may not be sent again before that */
	u64 last_done, last_response;
	bool moved;		/* progress since the event loop last looked ... */
	u64 last_moved;		/* ... and when it saw some */
	u64 land_head, land_tail;	/* ring over R_LAND */
	u64 dst_next;
};

struct sim_rq {
	u64 wr_id;
	u32 nsge, length;
	bool bad;		/* its memory is not what it says */
	bool malformed;
	struct ooo_sge sge[SGE_MAX];
};

enum sim_alarm { A_TIMER, A_RESUME, A_POST, A_RECV, A_SQD, A_RTS, A_NUM };

struct sim_ep {
	struct ooo_ep core;
	struct sim *sim;
	struct sim_ep *peer;
	u32 id;
	struct ooo_tunables tun;
	struct sim_mr mr[R_NUM];
	u32 key_gen;
	struct sim_cells dst;
	u64 atom[ATOM_WORDS];
	struct sim_out out;

	struct sim_rq rq[RQ_MAX];
	u32 rq_posted, rq_fetched, rq_done, rq_slot;
	u64 rq_ids;
	struct ooo_rwqe cur;
	struct ooo_sge cur_sge[SGE_MAX];
	bool cur_valid;

	u64 alarm[A_NUM];
	u32 held, held_peak;
	s64 allocated;
	u32 sqd_limit;		/* SQD: entries below may run */
	bool in_sqd, drained, dead, last_wqe, recv_failed, established;
	bool destroyed;		/* in RESET, in mid-run */
	bool plain_nak;		/* plain: has complained, waits for progress */
	u32 plain_psn;
	bool peer_shown;	/* a packet with the capability has come */
	u64 idle_timers;	/* timer calls since anything happened */
};

/* --- network --- */

struct sim_frame {
	u64 at;
	u64 order;
	struct sim_frame *next;
	u32 udp_payload;
	u8 to;
	bool flipped;
	bool ce;
	u32 room;
	u8 data[];
};

struct sim_net {
	struct sim_frame **heap;
	u32 count, size;
	struct sim_frame *small, *large;	/* free lists */
	struct sim_frame *current;	/* being delivered */
	u64 order;
	u64 burst_until[2];
	u64 link_free[2];
	u64 route_free[2][ROUTES_MAX];
	u64 route_packets[2][ROUTES_MAX];
};

struct sim_stats {
	u64 packets;		/* handed to the network */
	u64 marked;
	u64 delivered;
	u64 dropped, duplicated, corrupted, reordered;
	u64 requests;		/* PSNs of work requests posted */
	u64 refused;		/* packets that the environment did not keep */
	u64 retransmitted, naks, rnrs, completions, errors;
	u64 core[OOO_STAT_NUM];
};

struct sim {
	u64 seed;
	struct rng rng;
	struct sim_cfg cfg;
	u32 life;
	u64 now;
	struct sim_ep ep[2];
	struct sim_net net;
	struct sim_stats stats;		/* of all lives */
	struct sim_stats at_start;	/* ... before this one */
	bool learned;			/* quiet: the first part is over */
	u64 needless_then, packets_then;
	u64 events;
	u64 same_time;
	void (*configure)(struct sim *sim);	/* instead of drawing the settings */
	u32 lives;
	u64 rate_end;			/* when the last request was done ... */
	u32 rate_window;		/* ... and the window then */
	bool verbose;
	bool draining;
	jmp_buf fail;
	char reason[512];
};

/* sim_run.c */
bool sim_run_seed(struct sim *sim, u64 seed, bool verbose);
__printf(2, 3) __noreturn
void sim_fail(struct sim *sim, const char *fmt, ...);
__printf(2, 3)
void sim_trace(struct sim *sim, const char *fmt, ...);
void sim_free(struct sim *sim);

#define sim_check(sim, cond, ...)				\
	do {							\
		if (unlikely(!(cond)))				\
			sim_fail(sim, __VA_ARGS__);		\
	} while (0)

#define trace(sim, ...)						\
	do {							\
		if (unlikely((sim)->verbose))			\
			sim_trace(sim, __VA_ARGS__);		\
	} while (0)

void sim_wake(struct sim_ep *e, enum sim_alarm a, u64 at);

static inline struct sim_ep *sim_ep(struct ooo_ep *ep)
{
	return (struct sim_ep *)((char *)ep - offsetof(struct sim_ep, core));
}

/* sim_config.c */
void sim_configure(struct sim *sim);

/* sim_rate.c: goodput in virtual time */
int sim_rates(struct sim *sim, const char *only, const char *json);

/* sim_mem.c */
void sim_mem_create(struct sim_ep *e);
void sim_mem_destroy(struct sim_ep *e);
u32 sim_new_key(struct sim_ep *e, u32 region);
struct sim_mr *sim_mr_find(struct sim_ep *e, u32 key, u64 va, u64 len, u32 access);
bool sim_scatter(struct sim_ep *e, const struct ooo_sge *sge, u32 n, u32 off,
		 const u8 *data, u32 len);
bool sim_gather(struct sim_ep *e, const struct ooo_sge *sge, u32 n, u32 off,
		u8 *data, u32 len);

/* sim_net.c */
void sim_net_reset(struct sim *sim);
void sim_net_free(struct sim *sim);
enum ooo_result sim_net_send(struct sim_ep *from, const struct ooo_hdr *hdr,
			     const struct ooo_source *src);
u64 sim_net_next(struct sim *sim);
void sim_net_deliver(struct sim *sim);
const char *sim_op_name(u8 opcode);

/* sim_work.c */
void sim_post_some(struct sim_ep *e);
void sim_post_recv(struct sim_ep *e);
void sim_recv_posting(struct sim_ep *e);
u32 sim_recv_slot(const struct sim_cfg *cfg);
bool sim_wr_has_receive(const struct sim_wr *w);

/* sim_model.c: the requester's side */
static inline struct sim_wr *sim_wr(struct sim_out *o, u32 index)
{
	return &o->wr[index & (SQ_MAX - 1)];
}

static inline struct sim_psn *sim_psn(struct sim_out *o, u32 psn)
{
	struct sim_psn *p = &o->map[psn & (PSN_MAP - 1)];

	return p->psn == psn ? p : NULL;
}

/* The first request whose packets may still have an effect. */
static inline u32 sim_first_live(const struct sim_out *o)
{
	return o->failed ? o->first_failed : o->done;
}

void model_reset(struct sim_ep *e);
void model_posted(struct sim_ep *e, struct sim_wr *w);
void model_fetched(struct sim_ep *e, u32 index);
void model_request(struct sim_ep *e, const struct ooo_hdr *h, const struct ooo_source *src);
void model_landed(struct sim_ep *e, u32 offset, const struct ooo_pkt *pkt);
void model_atomic_result(struct sim_ep *e, const struct ooo_swqe *wqe, u64 value);
void model_local_op(struct sim_ep *e, const struct ooo_swqe *wqe);
void model_send_done(struct sim_ep *e, u32 index, bool completion, const struct ooo_swqe *wqe);
void model_expect(struct sim_ep *e, const struct sim_wr *w, u32 off, u8 *data, u32 len);
void model_advance(struct sim_out *o);
struct sim_wr *model_wr_of(struct sim_ep *e, const struct ooo_swqe *wqe);

/* sim_resp.c: the responder's side; @e is the responder */
void model_arrived(struct sim_ep *e, const struct ooo_hdr *h);
bool model_plain_drops(struct sim_ep *e, const struct ooo_hdr *h, struct ooo_hdr *nak);
void model_window(struct sim_ep *e, const struct ooo_pkt *pkt);
void model_write(struct sim_ep *e, u64 va, const struct ooo_pkt *pkt, const u8 *data);
void model_scatter(struct sim_ep *e, u32 offset, const struct ooo_pkt *pkt, const u8 *data);
void model_atomic(struct sim_ep *e, u64 va, bool cmp_swap, u64 a, u64 b, u64 orig);
void model_atomic_write(struct sim_ep *e, u64 va, const struct ooo_pkt *pkt, const u8 *data);
void model_flush(struct sim_ep *e, u64 va, u64 len);
void model_invalidate(struct sim_ep *e, u32 rkey);
void model_recv_done(struct sim_ep *e, const struct ooo_recv_done *d);
void model_response(struct sim_ep *e, const struct ooo_hdr *h, const struct ooo_source *src);
void model_bits(struct sim_ep *e, const struct ooo_hdr *h);

/* sim_shadow.c; @e requests, its peer's memory is meant */
struct sim_cells cells_new(u64 n);
void cells_free(struct sim_cells *c);
void shadow_write(struct sim_ep *e, struct sim_wr *w, u32 index);
void shadow_read(struct sim_ep *e, struct sim_wr *w);
void shadow_read_done(struct sim_ep *e, struct sim_wr *w);
void shadow_write_done(struct sim_ep *e, struct sim_wr *w);
void shadow_spoil(struct sim_ep *e, struct sim_wr *w, u32 index);
void shadow_forget(struct sim_ep *e, struct sim_wr *w);
void shadow_compare(struct sim_ep *owner);

#endif /* TESTS_CORE_SIM_H */
