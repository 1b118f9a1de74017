// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * /sys/class/infiniband/NAME/ooo_*: what an administrator can change while
 * the device runs. Described in docs/sysfs.md; keep the two in step.
 */
#include <linux/sysfs.h>

#include "rxe_ooo.h"

static struct rxo_dev *attr_dev(struct device *device)
{
	return rdma_device_to_drv_device(device, struct rxo_dev, ib);
}

static ssize_t ooo_default_show(struct device *device, struct device_attribute *attr,
				char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(attr_dev(device)->ooo_default));
}

static ssize_t ooo_default_store(struct device *device, struct device_attribute *attr,
				 const char *buf, size_t count)
{
	u32 on;
	int err = kstrtou32(buf, 0, &on);

	if (err || on > 1)
		return -EINVAL;
	WRITE_ONCE(attr_dev(device)->ooo_default, on);
	return count;
}
static DEVICE_ATTR_RW(ooo_default);

/* A tunable is a u32 of struct ooo_tunables that the core may read at any time. */
struct tunable {
	struct device_attribute attr;
	size_t offset;
	u32 min, max;
};

static struct tunable *to_tunable(struct device_attribute *attr)
{
	return container_of(attr, struct tunable, attr);
}

static u32 *tunable_value(struct device *device, const struct tunable *tunable)
{
	return (u32 *)((u8 *)&attr_dev(device)->tun + tunable->offset);
}

static ssize_t tunable_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(*tunable_value(device, to_tunable(attr))));
}

static ssize_t tunable_store(struct device *device, struct device_attribute *attr,
			     const char *buf, size_t count)
{
	struct tunable *tunable = to_tunable(attr);
	u32 value;
	int err = kstrtou32(buf, 0, &value);

	if (err)
		return err;
	if (value < tunable->min || value > tunable->max)
		return -ERANGE;
	WRITE_ONCE(*tunable_value(device, tunable), value);
	return count;
}

#define TUNABLE(field, lo, hi)							\
	static struct tunable tunable_##field = {				\
		.attr = __ATTR(ooo_##field, 0644, tunable_show, tunable_store),	\
		.offset = offsetof(struct ooo_tunables, field),			\
		.min = (lo),							\
		.max = (hi),							\
	}

TUNABLE(window, 1, RXO_TUN_WINDOW_MAX);
TUNABLE(window_max, 1, RXO_TUN_WINDOW_MAX);
TUNABLE(recv_window, 1, RXO_TUN_WINDOW_MAX);
TUNABLE(reorder_init_us, 0, RXO_TUN_REORDER_TOP_US);
TUNABLE(reorder_min_us, 0, RXO_TUN_REORDER_TOP_US);
TUNABLE(reorder_max_us, 0, RXO_TUN_REORDER_TOP_US);
TUNABLE(budget, 1, RXO_TUN_BUDGET_MAX);
TUNABLE(gso, 0, 1);
TUNABLE(sack, 0, 1);
TUNABLE(paths, 1, OOO_PATHS_MAX);

static struct attribute *rxo_dev_attrs[] = {
	&dev_attr_ooo_default.attr,
	&tunable_window.attr.attr,
	&tunable_window_max.attr.attr,
	&tunable_recv_window.attr.attr,
	&tunable_reorder_init_us.attr.attr,
	&tunable_reorder_min_us.attr.attr,
	&tunable_reorder_max_us.attr.attr,
	&tunable_budget.attr.attr,
	&tunable_gso.attr.attr,
	&tunable_sack.attr.attr,
	&tunable_paths.attr.attr,
	NULL
};

const struct attribute_group rxo_dev_group = {
	.attrs = rxo_dev_attrs,
};
