/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The transport core: requester and responder of one connected endpoint
 * (RC, XRC INI, XRC TGT; UC uses the same structures with fewer rules).
 *
 * The core is plain C. It takes no lock, reads no clock, allocates nothing
 * and knows neither skb nor ib_*: whoever links it serialises all calls for
 * one endpoint (the module holds the QP's spinlock, the simulator has one
 * thread), passes the time in, and supplies the functions of env.h.
 *
 * Everything is in host byte order. PSNs are modulo 2^24.
 */
#ifndef RXE_OOO_CORE_CORE_H
#define RXE_OOO_CORE_CORE_H

#include "types.h"
#include "psn.h"
#include "packet.h"

/* ------------------------------------------------------------------ */
/* What the verbs layer and the core agree on                          */

enum ooo_service {
	OOO_RC,
	OOO_UC,
	OOO_XRC_INI,
	OOO_XRC_TGT,
};

/* Values of enum ib_qp_state, in their order. */
enum ooo_state {
	OOO_RESET,
	OOO_INIT,
	OOO_RTR,
	OOO_RTS,
	OOO_SQD,
	OOO_SQE,
	OOO_ERR,
};

/* Completion status: values of enum ib_wc_status. */
enum ooo_status {
	OOO_WC_SUCCESS = 0,
	OOO_WC_LOC_LEN_ERR = 1,
	OOO_WC_LOC_QP_OP_ERR = 2,
	OOO_WC_LOC_PROT_ERR = 4,
	OOO_WC_WR_FLUSH_ERR = 5,
	OOO_WC_MW_BIND_ERR = 6,
	OOO_WC_BAD_RESP_ERR = 7,
	OOO_WC_LOC_ACCESS_ERR = 8,
	OOO_WC_REM_INV_REQ_ERR = 9,
	OOO_WC_REM_ACCESS_ERR = 10,
	OOO_WC_REM_OP_ERR = 11,
	OOO_WC_RETRY_EXC_ERR = 12,
	OOO_WC_RNR_RETRY_EXC_ERR = 13,
	OOO_WC_FATAL_ERR = 19,
	OOO_WC_GENERAL_ERR = 21,
};

/* Send opcodes: values of enum ib_uverbs_wr_opcode / ib_wr_opcode. */
enum ooo_wr {
	OOO_WR_WRITE = 0,
	OOO_WR_WRITE_IMM = 1,
	OOO_WR_SEND = 2,
	OOO_WR_SEND_IMM = 3,
	OOO_WR_READ = 4,
	OOO_WR_CMP_SWAP = 5,
	OOO_WR_FETCH_ADD = 6,
	OOO_WR_BIND_MW = 8,		/* IB_UVERBS_WR_BIND_MW */
	OOO_WR_LOCAL_INV = 7,
	OOO_WR_SEND_INV = 9,
	OOO_WR_FLUSH = 14,
	OOO_WR_ATOMIC_WRITE = 15,
	OOO_WR_REG_MR = 0x20,		/* kernel consumers only */
};

/* Send flags: values of enum ib_send_flags. */
enum {
	OOO_SEND_FENCE = 1 << 0,
	OOO_SEND_SIGNALED = 1 << 1,
	OOO_SEND_SOLICITED = 1 << 2,
	OOO_SEND_INLINE = 1 << 3,
};

/* Access rights: values of enum ib_access_flags. */
enum {
	OOO_ACCESS_LOCAL_WRITE = 1 << 0,
	OOO_ACCESS_REMOTE_WRITE = 1 << 1,
	OOO_ACCESS_REMOTE_READ = 1 << 2,
	OOO_ACCESS_REMOTE_ATOMIC = 1 << 3,
	OOO_ACCESS_FLUSH_GLOBAL = 1 << 8,
	OOO_ACCESS_FLUSH_PERSISTENT = 1 << 9,
};

/* Answers of environment functions. */
enum ooo_result {
	OOO_OK = 0,
	OOO_NONE,		/* nothing there: no work request posted */
	OOO_AGAIN,		/* no room now; ooo_ep_resume() will be called */
	OOO_ACCESS,		/* key, range or right is wrong */
	OOO_LENGTH,		/* longer than the scatter list */
	OOO_INVALID,		/* malformed work request (opcode, counts, alignment) */
	OOO_LATER,		/* a page is being brought in; ooo_ep_resume() follows */
};

struct ooo_sge {
	u64 addr;
	u32 length;
	u32 lkey;
};

/*
 * A send work request as the core keeps it: the environment's trusted copy
 * of what the consumer posted, valid until it is completed. The first part
 * is filled in by ooo_env_sq_fetch(), the second belongs to the requester.
 */
struct ooo_swqe {
	u64 wr_id;
	u8 opcode;		/* enum ooo_wr */
	u8 flags;		/* OOO_SEND_* */
	u8 num_sge;
	u8 reserved;
	u32 length;		/* sum of the SGEs, or the inline length; bytes */
	u32 imm;		/* immediate data in wire order, or the key to invalidate */
	u32 xrc_srqn;
	u64 remote_addr;
	u32 rkey;
	u32 flush;		/* FETH word of a FLUSH */
	union {
		struct {
			u64 compare_add;
			u64 swap;
		};
		struct {
			u64 bind_length;
			u32 bind_mr_lkey;
			u32 bind_mw_rkey;
			u32 bind_access;
		};
		void *reg_mr;	/* OOO_WR_REG_MR: the environment's */
		u8 atomic_write[8];
	};
	u32 reg_key;
	u32 reg_access;

	/* requester */
	u32 psn;		/* of its first packet */
	u32 packets;		/* PSNs that it takes, responses of a READ included */
	u8 wire;		/* how it was put on the wire: enum ooo_wire_form */
	u8 req_state;		/* private to the requester */
	u8 status;		/* enum ooo_status, for completion in order */
	u8 reserved1;
	u32 done;		/* private to the requester (READ: bytes placed...) */
	u64 req_private[2];

	/* then num_sge elements, or the inline bytes */
	struct ooo_sge sge[];
};

/* A receive work request as the environment hands it out. */
struct ooo_rwqe {
	u64 wr_id;
	u32 num_sge;
	u32 length;		/* sum of the SGEs, bytes */
	u32 srqn;		/* of the SRQ that it came from, 0 for none */
	struct ooo_sge *sge;
};

/* A receive completion. */
struct ooo_recv_done {
	u64 wr_id;
	u32 status;		/* enum ooo_status */
	u32 byte_len;
	u32 imm;		/* immediate data in wire order, or the invalidated key */
	u32 srqn;
	bool has_imm;
	bool has_inv;
	bool is_write;		/* RECV_RDMA_WITH_IMM, else RECV */
	bool solicited;
};

/* Where the payload of an outgoing packet comes from. */
struct ooo_source {
	enum ooo_source_kind {
		OOO_SRC_NONE,
		OOO_SRC_SWQE,	/* @len bytes at @offset of @wqe's gather list or inline data */
		OOO_SRC_REGION,	/* @len bytes at @va of the region @rkey (READ responses) */
	} kind;
	const struct ooo_swqe *wqe;
	u32 offset;
	u32 rkey;
	u64 va;
	u32 len;
};

/* Asynchronous events: the environment maps them to IB_EVENT_*. */
enum ooo_event {
	OOO_EVENT_COMM_EST,
	OOO_EVENT_SQ_DRAINED,
	OOO_EVENT_QP_FATAL,
	OOO_EVENT_QP_REQ_ERR,
	OOO_EVENT_QP_ACCESS_ERR,
	OOO_EVENT_LAST_WQE,
};

/* ------------------------------------------------------------------ */
/* Statistics, per endpoint; the device sums them when it is asked     */

#define OOO_STATS(X)							\
	X(RX_PACKETS, "rx_packets")					\
	X(TX_PACKETS, "tx_packets")					\
	X(RX_WRITE, "rx_write_requests")				\
	X(RX_READ, "rx_read_requests")					\
	X(RX_ATOMIC, "rx_atomic_requests")				\
	X(OUT_OF_SEQUENCE, "out_of_sequence")				\
	X(PLACED_OOO, "placed_out_of_order")				\
	X(HELD, "held_packets")						\
	X(DROP_WINDOW, "dropped_outside_window")			\
	X(DROP_MEMORY, "dropped_for_memory")				\
	X(DUPLICATE, "duplicate_request")				\
	X(DUPLICATE_RESP, "duplicate_response")				\
	X(GAPS, "gaps")							\
	X(REORDER_MAX, "reorder_distance_max")				\
	X(PACKET_SEQ_ERR, "packet_seq_err")				\
	X(NAK_SENT, "sent_seq_err_naks")				\
	X(RNR_SENT, "sent_rnr_naks")					\
	X(RNR_RCVD, "rnr_nak_retry_err")				\
	X(SACK_SENT, "sent_sacks")					\
	X(SACK_RCVD, "rcvd_sacks")					\
	X(ACK_SENT, "sent_acks")					\
	X(RETRANSMIT, "retransmitted_packets")				\
	X(SPURIOUS, "spurious_retransmissions")				\
	X(HOLES_RESENT, "holes_resent")					\
	X(TAIL_PROBES, "tail_probes")					\
	X(NEEDLESS, "needless_requests")				\
	X(CE_RCVD, "np_ecn_marked_roce_packets")			\
	X(CE_ECHO, "rp_ecn_echoed")					\
	X(CNP, "rp_cnp_handled")					\
	X(WINDOW_MAX, "window_max")					\
	X(PATHS_LEFT, "paths_left")					\
	X(PATHS_BACK, "paths_back")					\
	X(TIMEOUT, "local_ack_timeout_err")				\
	X(IMPLIED_NAK, "implied_nak_seq_err")				\
	X(ERR_REMOTE, "req_remote_errors")				\
	X(ERR_RESP, "resp_local_errors")				\
	X(BAD_STATE, "dropped_in_state")				\
	X(BAD_OPCODE, "dropped_opcode")

enum ooo_stat {
#define OOO_STAT_ENUM(id, name) OOO_STAT_##id,
	OOO_STATS(OOO_STAT_ENUM)
#undef OOO_STAT_ENUM
	OOO_STAT_NUM
};

/* ------------------------------------------------------------------ */
/* The endpoint                                                        */

/*
 * Attributes: set by the verbs layer before the transition that needs them,
 * read by the core.
 */
struct ooo_attr {
	enum ooo_service service;
	u32 mtu;		/* path MTU, bytes of payload */
	u32 sq_psn;		/* first PSN to send */
	u32 rq_psn;		/* first PSN expected */
	u32 access;		/* OOO_ACCESS_* that the QP grants its peer */
	u8 timeout;		/* T = 4.096 us * 2^timeout; 0 waits for ever */
	u8 retry_cnt;		/* 0..7 */
	u8 rnr_retry;		/* 0..6, 7 = for ever */
	u8 min_rnr_timer;	/* IBTA code 0..31 */
	u8 max_rd_atomic;	/* as requester: READs and ATOMICs on the wire */
	u8 max_dest_rd_atomic;	/* as responder: resources kept */
	bool ooo;		/* place READ and WRITE data out of order */
	bool sq_sig_all;
};

/* Bounds that the device's owner can change at run time. */
struct ooo_tunables {
	u32 window;		/* packets in flight that a requester starts with */
	u32 window_max;		/* ... and may come to, towards a peer that reports what it has */
	u32 recv_window;	/* PSNs beyond the expected one that a responder keeps */
	u32 reorder_init_us;	/* how late a packet may be before it counts as lost */
	u32 reorder_min_us;
	u32 reorder_max_us;
	u32 budget;		/* packets sent in one call before others get a turn */
	u32 gso;		/* not the core's: several packets in one pass through the stack */
	u32 sack;		/* show and use the capability (wire.h); looked at for RTR */
	u32 paths;		/* that a capable peer's packets take; looked at for RTR */
};

#include "req.h"
#include "resp.h"

struct ooo_ep {
	enum ooo_state state;
	struct ooo_attr attr;
	const struct ooo_tunables *tun;

	/* The send ring of struct ooo_swqe, memory of the environment */
	void *sq;
	u32 sq_stride;		/* bytes */
	u32 sq_depth;		/* entries, a power of two */

	u32 mtu_shift;		/* log2 of attr.mtu; set at RTR */
	u64 armed;		/* deadline that ooo_env_arm() was last told, ns */
	bool flush_send;	/* ERR: entries of the send queue are left to flush */
	bool flush_recv;	/* ERR: the same for the receive queue */
	bool last_wqe;		/* ERR: OOO_EVENT_LAST_WQE was raised */

	/* What the peer has shown (docs/wire.md); forgotten in RESET and at RTR. */
	bool sack;		/* we show the capability ourselves */
	bool heard;		/* a packet has come from the peer */
	bool capable;		/* ... with the capability, and we have it, too */
	u8 paths;		/* to a capable peer; 0: just one */

	struct ooo_req req;	/* req.h: private to req*.c */
	struct ooo_resp resp;	/* resp.h: private to resp*.c */

	u64 stat[OOO_STAT_NUM];
};

static inline struct ooo_swqe *ooo_sq_entry(const struct ooo_ep *ep, u32 index)
{
	return (struct ooo_swqe *)((u8 *)ep->sq +
				   (size_t)(index & (ep->sq_depth - 1)) * ep->sq_stride);
}

/* ------------------------------------------------------------------ */
/* Calls into the core. All for one endpoint are serialised by the      */
/* caller. @now is monotonic time in nanoseconds. Functions that return */
/* bool: true means "my budget ran out, call ooo_ep_resume() soon".     */

/* Once, when the endpoint is created: state RESET, nothing outstanding. */
void ooo_ep_init(struct ooo_ep *ep);

/*
 * State transitions; the verbs layer has checked that the transition is
 * legal and has filled ep->attr. RESET and destroy release every held packet
 * and completes nothing; ERR flushes (send and receive completions with
 * WR_FLUSH_ERR through the environment; receive requests are fetched one by
 * one until ooo_env_rq_fetch() says NONE, unless the QP uses an SRQ: then
 * OOO_EVENT_LAST_WQE is raised).
 */
void ooo_ep_to_reset(struct ooo_ep *ep);
void ooo_ep_to_init(struct ooo_ep *ep);
void ooo_ep_to_rtr(struct ooo_ep *ep, u64 now);
bool ooo_ep_to_rts(struct ooo_ep *ep, u64 now);	/* from RTR, SQD, SQE */
void ooo_ep_to_sqd(struct ooo_ep *ep, u64 now);	/* OOO_EVENT_SQ_DRAINED when drained */
void ooo_ep_to_err(struct ooo_ep *ep, u64 now);

/* True once nothing that was started before SQD is outstanding. */
bool ooo_ep_sq_drained(const struct ooo_ep *ep);

/*
 * A packet for this endpoint, headers parsed and checked for exact length by
 * the caller (ooo_parse() plus ooo_packet_length_ok()), ICRC good, addresses
 * right. @pkt and its payload are the caller's again when this returns; what
 * must be kept is kept by ooo_env_hold().
 */
bool ooo_ep_rx(struct ooo_ep *ep, const struct ooo_pkt *pkt, u64 now);

/* The network asks for less (a CNP arrived). */
void ooo_ep_cnp(struct ooo_ep *ep, u64 now);

/* New entries are in the send ring (ERR: flushes them). */
bool ooo_ep_post_send(struct ooo_ep *ep, u64 now);

/* New entries are in the receive ring; needed in ERR only (flushes them). */
void ooo_ep_post_recv(struct ooo_ep *ep, u64 now);

/* The deadline of ooo_env_arm() has passed. Calls that come early are harmless. */
bool ooo_ep_timer(struct ooo_ep *ep, u64 now);

/* After OOO_AGAIN/OOO_LATER or a return of true: go on. */
bool ooo_ep_resume(struct ooo_ep *ep, u64 now);

/*
 * The environment's own asynchronous failure of a local operation on the
 * receive side (for example an SRQ in error): the QP goes to ERR with an event.
 */
void ooo_ep_fatal(struct ooo_ep *ep, enum ooo_event event, u64 now);

#include "env.h"

#endif /* RXE_OOO_CORE_CORE_H */
