/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Who decides whether a QP places READ and WRITE data out of order: pure
 * functions, tested without a kernel in tests/core.
 */
#ifndef RXE_OOO_PROVIDER_OOO_H
#define RXE_OOO_PROVIDER_OOO_H

#include <stdbool.h>
#include <stdint.h>

/* The environment variable RXE_OOO_DATA_PLACEMENT */
enum rxe_ooo_env {
	RXE_OOO_ENV_UNSET,	/* or something that we do not know */
	RXE_OOO_ENV_OFF,	/* "0": off, whatever a program asks for */
	RXE_OOO_ENV_ON,		/* "1": on, unless a program asks for off */
};

/* What a program asked for with rxe_ooodv_set_ooo() */
enum rxe_ooo_want {
	RXE_OOO_WANT_DEFAULT,
	RXE_OOO_WANT_OFF,
	RXE_OOO_WANT_ON,
};

/* Only "0" and "1" count. @value may be NULL. */
enum rxe_ooo_env rxe_ooo_parse_env(const char *value);

/*
 * What to tell the kernel at INIT->RTR. @bit: the program passed
 * RXE_OOODV_QP_OOO_RW_DATA_PLACEMENT. RXE_OOO_WANT_DEFAULT: nothing, so the
 * device's ooo_default decides.
 */
enum rxe_ooo_want rxe_ooo_decide(enum rxe_ooo_env env, enum rxe_ooo_want want,
				 bool bit);

/* As flags of struct rxe_ooo_modify_qp_req. */
uint32_t rxe_ooo_modify_flags(enum rxe_ooo_want decision);

/*
 * Could the QP end up with placement on although its program does not pass
 * the bit? For a QP that is not in RTR yet.
 */
bool rxe_ooo_may_turn_on(enum rxe_ooo_env env, enum rxe_ooo_want want,
			 bool device_default);

#endif /* RXE_OOO_PROVIDER_OOO_H */
