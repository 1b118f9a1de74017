/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* env_pkt.c: module-wide caches of the core's environment; main.c calls these. */
#ifndef RXE_OOO_ENV_PKT_H
#define RXE_OOO_ENV_PKT_H

int rxo_env_init(void);
void rxo_env_exit(void);

#endif
