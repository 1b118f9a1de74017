// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * "rdma statistic show": what the QPs count (core.h), summed over the living
 * and the dead, then what belongs to no QP. docs/counters.md says what each means.
 */
#include "stats.h"

static const struct rdma_stat_desc rxo_stat_descs[OOO_STAT_NUM + RXO_DEV_STAT_NUM] = {
#define QP_STAT_DESC(id, text) [OOO_STAT_##id].name = text,
	OOO_STATS(QP_STAT_DESC)
#undef QP_STAT_DESC
#define DEV_STAT_DESC(id, text) [OOO_STAT_NUM + RXO_##id].name = text,
	RXO_DEV_STATS(DEV_STAT_DESC)
#undef DEV_STAT_DESC
};

const char *rxo_dev_stat_name(enum rxo_dev_stat stat)
{
	return rxo_stat_descs[OOO_STAT_NUM + stat].name;
}

struct rdma_hw_stats *rxo_alloc_hw_stats(struct ib_device *ib, u32 port_num)
{
	return rdma_alloc_hw_stats_struct(rxo_stat_descs, ARRAY_SIZE(rxo_stat_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static bool is_maximum(int stat)
{
	return stat == OOO_STAT_REORDER_MAX || stat == OOO_STAT_WINDOW_MAX;
}

/* The largest distance and window are maxima, everything else a sum. */
static void merge(u64 *to, const u64 *from)
{
	int i;

	for (i = 0; i < OOO_STAT_NUM; i++) {
		u64 value = READ_ONCE(from[i]);

		if (is_maximum(i))
			to[i] = max(to[i], value);
		else
			to[i] += value;
	}
}

void rxo_stats_bury(struct rxo_dev *dev, const u64 *stat)
{
	spin_lock(&dev->dead_lock);
	merge(dev->dead_stat, stat);
	spin_unlock(&dev->dead_lock);
}

static void sum_living(struct rxo_dev *dev, u64 *value)
{
	unsigned long qpn = 0;
	struct rxo_qp *qp;

	while ((qp = rxo_qp_next(dev->rn, &qpn))) {
		if (qp->dev == dev)
			merge(value, qp->ep.stat);
		rxo_qp_put(qp);
		qpn++;
		cond_resched();
	}
}

static void sum_cpus(struct rxo_dev *dev, u64 *value)
{
	int cpu, i;

	for_each_possible_cpu(cpu)
		for (i = 0; i < RXO_DEV_STAT_NUM; i++)
			value[i] += READ_ONCE(per_cpu_ptr(dev->stats, cpu)->value[i]);
}

int rxo_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port_num, int index)
{
	struct rxo_dev *dev = to_rxo(ib);

	if (port_num != 1)
		return -EINVAL;
	memset(stats->value, 0, ARRAY_SIZE(rxo_stat_descs) * sizeof(*stats->value));
	spin_lock(&dev->dead_lock);
	merge(stats->value, dev->dead_stat);
	spin_unlock(&dev->dead_lock);
	sum_living(dev, stats->value);
	sum_cpus(dev, stats->value + OOO_STAT_NUM);
	return stats->num_counters;
}
