/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * The ABI between the rxe_ooo kernel module and its rdma-core provider.
 *
 * Everything here is in host byte order unless a field says otherwise. Every
 * reserved field must be zero when user space writes it (else EINVAL) and is
 * zero when the kernel writes it. Structures grow at the end only; the reader
 * of a longer structure accepts it only when the part that it does not know
 * is zero.
 */
#ifndef RDMA_USER_RXE_OOO_H
#define RDMA_USER_RXE_OOO_H

#include <linux/types.h>

/*
 * Outside the ranges of every in-tree driver: the stock soft-RoCE provider
 * claims devices by name when the ABI version is 1 or 2, and must refuse ours.
 */
#define RXE_OOO_UVERBS_ABI_VERSION	100

/* Outside enum rdma_driver_id, which belongs to the kernel. */
#define RXE_OOO_DRIVER_ID		0x6f6f01

/* Bit of rxe_ooo_ooo_caps: READ/WRITE data are placed as they arrive. */
#define RXE_OOO_CAP_RW_DATA_PLACEMENT	(1 << 0)

/**
 * struct rxe_ooo_ooo_caps - which services can place data out of order
 * @rc_caps: RXE_OOO_CAP_*, for RC
 * @xrc_caps: for XRC
 * @ud_caps: for UD (always 0)
 * @uc_caps: for UC (always 0)
 */
struct rxe_ooo_ooo_caps {
	__u32 rc_caps;
	__u32 xrc_caps;
	__u32 ud_caps;
	__u32 uc_caps;
};

/* Driver part of the response of the extended query_device command. */
struct rxe_ooo_query_device_resp {
	struct rxe_ooo_ooo_caps ooo_caps;
};

/**
 * struct rxe_ooo_alloc_ucontext_resp - driver part of alloc_context's response
 * @max_send_wr: largest send queue that create_qp accepts
 * @max_inline: largest max_inline_data, bytes
 */
struct rxe_ooo_alloc_ucontext_resp {
	__u32 max_send_wr;
	__u32 max_inline;
};

/*
 * Rings
 *
 * A ring is one mapping, shared by one producer and one consumer: a header of
 * RXE_OOO_RING_HDR_SIZE bytes, then @depth entries of @stride bytes. Indices
 * run freely through 32 bits; entry i lies at (i & (depth - 1)) * stride.
 * The producer writes an entry, then @producer with release semantics; the
 * consumer reads @producer with acquire semantics. The kernel trusts nothing
 * in here: it keeps its own index, bounds the difference and copies an entry
 * once before it looks at it.
 *
 * Send and receive rings: the kernel advances @consumer when a request is
 * complete, and does so before its completion can be seen: who has polled the
 * completion may post the next request. When a QP goes to RESET the kernel
 * forgets what is in its rings and leaves its own index in @consumer; user
 * space then sets @producer to that.
 */
struct rxe_ooo_ring_hdr {
	__u32 producer;		/* written by the producer only */
	__u32 reserved0[15];
	__u32 consumer;		/* written by the consumer only */
	__u32 reserved1[15];
	/*
	 * Send and receive rings: non-zero when the kernel wants a doorbell
	 * for new entries. The producer publishes @producer, executes a full
	 * barrier, then reads this; the kernel sets it, executes a full
	 * barrier, then looks at @producer once more before it rests.
	 * Written by the kernel only.
	 */
	__u32 need_doorbell;
	__u32 reserved2[31];
};

#define RXE_OOO_RING_HDR_SIZE		256

/**
 * struct rxe_ooo_ring_info - how to map a ring
 * @mmap_offset: the offset to pass to mmap() on the uverbs file
 * @mmap_size: bytes to map
 * @depth: number of entries, a power of two (0: no such ring)
 * @stride: bytes from one entry to the next
 * @reserved: zero
 */
struct rxe_ooo_ring_info {
	__aligned_u64 mmap_offset;
	__u32 mmap_size;
	__u32 depth;
	__u32 stride;
	__u32 reserved;
};

struct rxe_ooo_create_cq_resp {
	struct rxe_ooo_ring_info ring;
};

/*
 * A resized CQ or SRQ gets a new ring. The kernel copies what is still in the
 * old one and sets both indices in the new header; user space takes its own
 * index from there. It touches neither ring between command and answer.
 */
struct rxe_ooo_resize_cq_resp {
	struct rxe_ooo_ring_info ring;
};

struct rxe_ooo_create_srq_resp {
	struct rxe_ooo_ring_info ring;
	__u32 srq_num;
	__u32 reserved;
};

/**
 * struct rxe_ooo_modify_srq_req - driver part of the modify_srq command
 * @resp_addr: user address of a struct rxe_ooo_modify_srq_resp that the kernel
 *	fills in: this command has no response of its own. 0: none wanted, then
 *	IB_SRQ_MAX_WR is EINVAL
 *
 * Absent (length 0) is the same as all zero.
 */
struct rxe_ooo_modify_srq_req {
	__aligned_u64 resp_addr;
};

struct rxe_ooo_modify_srq_resp {
	struct rxe_ooo_ring_info ring;	/* depth 0: the ring did not change */
};

struct rxe_ooo_create_qp_resp {
	struct rxe_ooo_ring_info sq;
	struct rxe_ooo_ring_info rq;	/* depth 0 where the QP uses an SRQ */
};

/* Bits of rxe_ooo_modify_qp_req.flags */
#define RXE_OOO_MODIFY_QP_OOO		(1 << 0) /* IB_QP_OOO_RW_DATA_PLACEMENT was passed */
/* rxe_ooodv_set_ooo(qp, 0): override ooo_default */
#define RXE_OOO_MODIFY_QP_OOO_OFF	(1 << 1)

/**
 * struct rxe_ooo_modify_qp_req - driver part of the (extended) modify_qp command
 * @flags: RXE_OOO_MODIFY_QP_*; anything but 0 is EINVAL unless the command is
 *	the INIT->RTR transition of an RC, XRC_INI or XRC_TGT QP; both bits at
 *	once are EINVAL
 * @reserved: zero
 *
 * Absent (length 0) is the same as all zero.
 */
struct rxe_ooo_modify_qp_req {
	__u32 flags;
	__u32 reserved;
};

/**
 * struct rxe_ooo_modify_qp_resp - driver part of its response
 * @ooo: 1 if the QP places READ and WRITE data out of order, else 0
 * @ooo_default: the device's ooo_default at this moment (what INIT->RTR would
 *	apply to a QP that does not ask)
 */
struct rxe_ooo_modify_qp_resp {
	__u32 ooo;
	__u32 ooo_default;
};

/* Driver part of create_ah's response */
struct rxe_ooo_create_ah_resp {
	__u32 ah_num;		/* names the address handle in a send entry */
	__u32 reserved;
};

/*
 * Driver-specific uverbs method on UVERBS_OBJECT_QP: number
 * RXE_OOO_METHOD_QP_QUERY, attributes below. Answered by the kernel, so right
 * for a QP that another process modified too (opened XRC QPs).
 */
#define RXE_OOO_UVERBS_NS		(1U << 12) /* UVERBS_ID_DRIVER_NS */
enum rxe_ooo_qp_methods {
	RXE_OOO_METHOD_QP_QUERY = RXE_OOO_UVERBS_NS,
};

enum rxe_ooo_qp_query_attrs {
	RXE_OOO_ATTR_QP_QUERY_HANDLE = RXE_OOO_UVERBS_NS,
	RXE_OOO_ATTR_QP_QUERY_RESP,	/* struct rxe_ooo_modify_qp_resp */
};

/*
 * Driver-specific uverbs method on UVERBS_OBJECT_DM: how to map device memory,
 * for memcpy_to_dm() and memcpy_from_dm() of who allocated or imported it.
 */
enum rxe_ooo_dm_methods {
	RXE_OOO_METHOD_DM_QUERY = RXE_OOO_UVERBS_NS,
};

enum rxe_ooo_dm_query_attrs {
	RXE_OOO_ATTR_DM_QUERY_HANDLE = RXE_OOO_UVERBS_NS,
	RXE_OOO_ATTR_DM_QUERY_RESP,	/* struct rxe_ooo_dm_query_resp */
};

/**
 * struct rxe_ooo_dm_query_resp - how to map device memory
 * @mmap_offset: the offset to pass to mmap() on the uverbs file
 * @mmap_size: bytes to map, a multiple of the page size
 * @length: bytes of device memory, from the start of the mapping
 */
struct rxe_ooo_dm_query_resp {
	__aligned_u64 mmap_offset;
	__aligned_u64 mmap_size;
	__aligned_u64 length;
};

/* One scatter/gather element. */
struct rxe_ooo_sge {
	__aligned_u64 addr;	/* virtual address, or offset for a zero-based MR */
	__u32 length;		/* bytes */
	__u32 lkey;
};

/**
 * struct rxe_ooo_send_wqe - an entry of a send ring
 * @wr_id: returned in the completion
 * @opcode: enum ib_uverbs_wr_opcode
 * @flags: enum ib_uverbs_send_flags: FENCE, SIGNALED, SOLICITED, INLINE
 * @num_sge: number of elements at @sge (0 with INLINE)
 * @inline_len: bytes at @inline_data (0 without INLINE). An ATOMIC WRITE from
 *	ibv_wr_atomic_write() has its 8 bytes there, whatever max_inline_data
 *	is: the stride of a send ring has room for one element at least
 * @imm_data: immediate data, big endian
 * @invalidate_rkey: of SEND_WITH_INV and LOCAL_INV
 * @xrc_remote_srqn: of an XRC_INI QP
 * @remote_addr: of WRITE, READ, atomics, FLUSH, ATOMIC WRITE; of BIND_MW the
 *	start address
 * @rkey: remote key; of BIND_MW the window's new key
 */
struct rxe_ooo_send_wqe {
	__aligned_u64 wr_id;
	__u8 opcode;
	__u8 flags;
	__u16 num_sge;
	__u32 inline_len;
	union {
		__be32 imm_data;
		__u32 invalidate_rkey;
	};
	__u32 xrc_remote_srqn;
	__aligned_u64 remote_addr;
	__u32 rkey;
	__u32 reserved;
	union {
		struct {
			__aligned_u64 compare_add;
			__aligned_u64 swap;
		} atomic;
		struct {
			__u32 remote_qpn;
			__u32 remote_qkey;
			__u32 ah_num;
		} ud;
		struct {
			__aligned_u64 length;	/* bytes */
			__u32 mr_lkey;
			__u32 mw_rkey;		/* the window's present key */
			__u32 access;		/* enum ibv_access_flags */
		} bind_mw;
		struct {
			__u32 length;		/* bytes */
			__u8 type;		/* enum ibv_flush placement bits */
			__u8 level;		/* 0 range, 1 whole region */
		} flush;
		__u8 raw[24];
	};
	union {
		struct rxe_ooo_sge sge[0];
		__u8 inline_data[0];
	};
};

#define RXE_OOO_SEND_WQE_HDR_SIZE	64

/* An entry of a receive ring (QP or SRQ). */
struct rxe_ooo_recv_wqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;
	struct rxe_ooo_sge sge[];
};

#define RXE_OOO_RECV_WQE_HDR_SIZE	16

/**
 * struct rxe_ooo_cqe - an entry of a completion ring, 64 bytes
 * @wr_id: of the work request
 * @status: enum ib_wc_status
 * @opcode: enum ib_uverbs_wc_opcode; undefined when @status is an error
 * @byte_len: bytes transferred
 * @imm_data: immediate data, big endian, when @wc_flags says so
 * @invalidate_rkey: the key that the sender invalidated, when @wc_flags says so
 * @qp_num: local QP
 * @src_qp: remote QP (UD)
 * @wc_flags: enum ib_wc_flags (GRH 1, WITH_IMM 2, WITH_INVALIDATE 8)
 * @vendor_err: further detail of an error, for people
 * @timestamp: CLOCK_REALTIME, nanoseconds
 */
struct rxe_ooo_cqe {
	__aligned_u64 wr_id;
	__u32 status;
	__u32 opcode;
	__u32 byte_len;
	union {
		__be32 imm_data;
		__u32 invalidate_rkey;
	};
	__u32 qp_num;
	__u32 src_qp;
	__u32 wc_flags;
	__u32 vendor_err;
	__aligned_u64 timestamp;
	__u16 pkey_index;
	__u8 sl;
	__u8 port_num;
	__u32 srq_num;		/* XRC: the SRQ that the receive came from */
	__aligned_u64 reserved;
};

#define RXE_OOO_CQE_SIZE		64

#endif /* RDMA_USER_RXE_OOO_H */
