/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef RXE_OOO_STATS_H
#define RXE_OOO_STATS_H

#include "rxe_ooo.h"

/* As "rdma statistic" shows it. */
const char *rxo_dev_stat_name(enum rxo_dev_stat stat);

#endif /* RXE_OOO_STATS_H */
