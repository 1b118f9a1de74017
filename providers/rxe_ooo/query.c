// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the device and its port can do, and what time it is there. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "rxe_ooo.h"
#include "rxe_ooodv.h"

/*
 * rxe_ooodv_device_attr_ex is what libibverbs has, and this after it. The
 * caller's libibverbs can be older than the one we were built with, and its
 * part shorter.
 */
struct dv_tail {
	struct rxe_ooodv_ooo_caps ooo_caps;
	uint64_t comp_mask;
	uint64_t reserved[4];
};
static_assert(sizeof(struct rxe_ooodv_device_attr_ex) ==
	      sizeof(struct ibv_device_attr_ex) + sizeof(struct dv_tail),
	      "nothing between the two");
static_assert(offsetof(struct rxe_ooodv_device_attr_ex, comp_mask) ==
	      sizeof(struct ibv_device_attr_ex) +
	      offsetof(struct dv_tail, comp_mask),
	      "the same layout");

/* Our part, when it is rxe_ooodv_query_device_ex() of our header that asks. */
static struct dv_tail *find_dv_tail(struct ibv_device_attr_ex *attr,
				    size_t attr_size)
{
	struct dv_tail *tail;

	if (attr_size % 8 ||
	    attr_size < sizeof(attr->orig_attr) + sizeof(*tail) ||
	    attr_size > sizeof(*attr) + sizeof(*tail))
		return NULL;
	tail = (void *)((char *)attr + attr_size - sizeof(*tail));
	return tail->comp_mask == RXE_OOODV_DEVICE_ATTR_ASK ? tail : NULL;
}

static void format_fw_ver(uint64_t fw_ver, char *str, size_t len)
{
	snprintf(str, len, "%" PRIu64 ".%" PRIu64 ".%" PRIu64,
		 fw_ver >> 32 & 0xffff, fw_ver >> 16 & 0xffff, fw_ver & 0xffff);
}

static void fill_dv_tail(struct dv_tail *tail,
			 const struct rxe_ooo_ooo_caps *caps)
{
	memset(tail, 0, sizeof(*tail));
	tail->ooo_caps.rc_caps = caps->rc_caps;
	tail->ooo_caps.xrc_caps = caps->xrc_caps;
	tail->ooo_caps.ud_caps = caps->ud_caps;
	tail->ooo_caps.uc_caps = caps->uc_caps;
	tail->comp_mask = RXE_OOODV_DEVICE_ATTR_OOO_CAPS;
}

/*
 * Sizes: those that libibverbs' own structure had up to today, and these with
 * our part after them, which is known by the mark in it. A longer structure
 * of a newer libibverbs has fields that we cannot know, and must not be taken
 * for ours.
 */
int rxe_ooo_query_device_ex(struct ibv_context *ctx,
			    const struct ibv_query_device_ex_input *input,
			    struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct dv_tail *tail = find_dv_tail(attr, attr_size);
	struct rxe_ooo_u_query_device_resp resp = {};
	size_t resp_size = sizeof(resp);
	int ret;

	if (tail)
		attr_size -= sizeof(*tail);
	if (attr_size > sizeof(*attr))
		return EINVAL;
	ret = ibv_cmd_query_device_any(ctx, input, attr, attr_size,
				       &resp.ibv_resp, &resp_size);
	if (ret)
		return ret;

	format_fw_ver(resp.ibv_resp.base.fw_ver, attr->orig_attr.fw_ver,
		      sizeof(attr->orig_attr.fw_ver));
	if (tail)
		fill_dv_tail(tail, &resp.drv_payload.ooo_caps);
#ifdef HAVE_IBV_OOO_CAPS
	if (attr_size >= offsetofend(struct ibv_device_attr_ex, ooo_caps)) {
		attr->ooo_caps.rc_caps = resp.drv_payload.ooo_caps.rc_caps;
		attr->ooo_caps.xrc_caps = resp.drv_payload.ooo_caps.xrc_caps;
		attr->ooo_caps.ud_caps = resp.drv_payload.ooo_caps.ud_caps;
		attr->ooo_caps.uc_caps = resp.drv_payload.ooo_caps.uc_caps;
	}
#endif
	return 0;
}

int rxe_ooo_query_port(struct ibv_context *ctx, uint8_t port,
		       struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(ctx, port, attr, &cmd, sizeof(cmd));
}

/*
 * Completion timestamps are CLOCK_REALTIME in nanoseconds, and so is the raw
 * clock: all of it in tv_nsec, as libibverbs' users expect of a raw clock.
 */
int rxe_ooo_query_rt_values(struct ibv_context *ctx,
			    struct ibv_values_ex *values)
{
	struct timespec now;

	if (!check_comp_mask(values->comp_mask, IBV_VALUES_MASK_RAW_CLOCK))
		return EINVAL;
	if (!values->comp_mask)
		return 0;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return errno;
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = now.tv_sec * 1000000000LL + now.tv_nsec;
	return 0;
}
