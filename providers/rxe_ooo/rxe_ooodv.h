/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rxe_ooodv.h - what rxe_ooo devices can do beyond plain verbs: out-of-order
 * placement of RDMA WRITE and READ data.
 *
 * With placement on, a QP writes the data of WRITE and READ packets to memory
 * as they arrive from a network that reorders, while completions stay in
 * order. A consumer then must not look at the target of a WRITE before the
 * receive completion of a WRITE with immediate, the receive completion of a
 * later SEND, or the effect of a later ATOMIC; nor at the buffer of a READ
 * before the completion of that READ or of a later request. See rxe_ooodv(7).
 *
 * Link with -lrxe_ooo (pkg-config librxe_ooo). Needs nothing but an ordinary
 * libibverbs; safe to include beside one that has these names itself.
 */
#ifndef RXE_OOODV_H
#define RXE_OOODV_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Bit of struct rxe_ooodv_ooo_caps: QPs of that service can place WRITE and
 * READ data out of order.
 */
#define RXE_OOODV_OOO_RW_DATA_PLACEMENT		(1 << 0)

/*
 * Bit 26 of ibv_modify_qp()'s attr_mask: place WRITE and READ data out of
 * order. There is no field with it. Optional, and valid only in the INIT->RTR
 * transition of RC, XRC_SEND and XRC_RECV QPs: with anything else
 * ibv_modify_qp() fails with EINVAL and changes nothing. Without it,
 * rxe_ooodv_set_ooo(), the environment and the device's ooo_default decide:
 * see rxe_ooodv(7).
 *
 * Devices of other drivers fail with an error of theirs when they see the
 * bit, or ignore it: pass it only where the capability above is set.
 */
#define RXE_OOODV_QP_OOO_RW_DATA_PLACEMENT	(1 << 26)

/*
 * The same two under the names of the kernel's interface. A preprocessor
 * cannot see whether <infiniband/verbs.h> has them as enumerators; when it
 * does, these macros have the same values, and since verbs.h came first they
 * change nothing in it. To be without them, define RXE_OOODV_NO_IBV_NAMES
 * before this header.
 */
#ifndef RXE_OOODV_NO_IBV_NAMES
#ifndef IBV_OOO_RW_DATA_PLACEMENT
#define IBV_OOO_RW_DATA_PLACEMENT	RXE_OOODV_OOO_RW_DATA_PLACEMENT
#endif
#ifndef IBV_QP_OOO_RW_DATA_PLACEMENT
#define IBV_QP_OOO_RW_DATA_PLACEMENT	RXE_OOODV_QP_OOO_RW_DATA_PLACEMENT
#endif
#endif

/**
 * rxe_ooodv_is_supported() - is it a device of rxe_ooo?
 * @device: from ibv_get_device_list(), or the device of a context
 *
 * Return: true if the functions below work on it.
 */
bool rxe_ooodv_is_supported(struct ibv_device *device);

/**
 * struct rxe_ooodv_ooo_caps - which services can place data out of order
 * @rc_caps: RXE_OOODV_OOO_*, for RC
 * @xrc_caps: for XRC, both ends
 * @ud_caps: for UD; 0
 * @uc_caps: for UC; 0
 */
struct rxe_ooodv_ooo_caps {
	uint32_t rc_caps;
	uint32_t xrc_caps;
	uint32_t ud_caps;
	uint32_t uc_caps;
};

/**
 * struct rxe_ooodv_device_attr_ex - ibv_query_device_ex()'s answer, and more
 * @base: as ibv_query_device_ex() gives it
 * @ooo_caps: see there; all 0 on devices of other drivers
 * @comp_mask: RXE_OOODV_DEVICE_ATTR_*, what was filled in besides @base.
 *	Output only.
 * @reserved: 0
 */
struct rxe_ooodv_device_attr_ex {
	struct ibv_device_attr_ex base;
	struct rxe_ooodv_ooo_caps ooo_caps;
	uint64_t comp_mask;
	uint64_t reserved[4];
};

/* Bits of rxe_ooodv_device_attr_ex.comp_mask */
#define RXE_OOODV_DEVICE_ATTR_OOO_CAPS	(1ULL << 0)

/*
 * Internal: how the function below says to the provider that it asks, and not
 * ibv_query_device_ex() of a libibverbs whose structure has grown to the very
 * same size.
 */
#define RXE_OOODV_DEVICE_ATTR_ASK	0x7278655f6f6f6f31ULL

/**
 * rxe_ooodv_query_device_ex() - ibv_query_device_ex() with ooo_caps
 * @context: a context of any device
 * @input: as for ibv_query_device_ex(); may be NULL
 * @attr: filled in when 0 is returned. Need not be initialised.
 *
 * On a device of another driver, @attr->base is filled in all the same, and
 * @attr->comp_mask and @attr->ooo_caps are 0.
 *
 * Return: 0, or the errno of ibv_query_device_ex(): EINVAL if @input has a
 * comp_mask.
 */
static inline int
rxe_ooodv_query_device_ex(struct ibv_context *context,
			  const struct ibv_query_device_ex_input *input,
			  struct rxe_ooodv_device_attr_ex *attr)
{
	struct verbs_context *vctx;

	memset(attr, 0, sizeof(*attr));
	if (input && input->comp_mask)
		return EINVAL;
	if (!rxe_ooodv_is_supported(context->device))
		return ibv_query_device_ex(context, input, &attr->base);

	vctx = verbs_get_ctx_op(context, query_device_ex);
	if (!vctx)
		return EOPNOTSUPP;
	attr->comp_mask = RXE_OOODV_DEVICE_ATTR_ASK;
	return vctx->query_device_ex(context, input, &attr->base,
				     sizeof(*attr));
}

/**
 * rxe_ooodv_set_ooo() - ask for placement before someone else does INIT->RTR
 * @qp: an RC, XRC_SEND or XRC_RECV QP in RESET or INIT
 * @on: 1: the QP is to place WRITE and READ data out of order, as if
 *	RXE_OOODV_QP_OOO_RW_DATA_PLACEMENT were passed at INIT->RTR.
 *	0: it is not to, whatever the device's ooo_default is
 *
 * For users of librdmacm, which makes the transition itself: call it between
 * rdma_create_qp() and rdma_connect() or rdma_accept(). What was set stays
 * until it is set again, through RESET too.
 *
 * Return: 0, or
 * EINVAL: the QP is in RTR or beyond, its service cannot do it, or @on is
 *	neither 0 nor 1; nothing has changed.
 * EOPNOTSUPP: the device is not one of rxe_ooo.
 */
int rxe_ooodv_set_ooo(struct ibv_qp *qp, int on);

/**
 * struct rxe_ooodv_qp_attr - the answer of rxe_ooodv_query_qp()
 * @comp_mask: RXE_OOODV_QP_ATTR_*, what was filled in. Output only.
 * @ooo: 1 if the QP places WRITE and READ data out of order, else 0. Decided
 *	at INIT->RTR, and 0 before that
 * @ooo_default: the device's ooo_default right now: what INIT->RTR would give
 *	to a QP of a program that does not ask
 * @reserved: 0
 */
struct rxe_ooodv_qp_attr {
	uint64_t comp_mask;
	uint32_t ooo;
	uint32_t ooo_default;
	uint64_t reserved[4];
};

/* Bits of rxe_ooodv_qp_attr.comp_mask */
#define RXE_OOODV_QP_ATTR_OOO		(1ULL << 0)
#define RXE_OOODV_QP_ATTR_OOO_DEFAULT	(1ULL << 1)

/**
 * rxe_ooodv_query_qp() - does the QP place data out of order?
 * @qp: a QP of any type
 * @attr: filled in when 0 is returned. Need not be initialised.
 *
 * The kernel answers, so it is right as well for an XRC QP that another
 * process brought to RTR and this one opened.
 *
 * Return: 0, or
 * EOPNOTSUPP: the device is not one of rxe_ooo.
 * EIO: the device is gone.
 */
int rxe_ooodv_query_qp(struct ibv_qp *qp, struct rxe_ooodv_qp_attr *attr);

#ifdef __cplusplus
}
#endif

#endif /* RXE_OOODV_H */
