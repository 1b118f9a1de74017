// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Who decides about out-of-order placement. */
#include <string.h>

#include <rdma/rdma_user_rxe_ooo.h>

#include "ooo.h"

enum rxe_ooo_env rxe_ooo_parse_env(const char *value)
{
	if (value && !strcmp(value, "0"))
		return RXE_OOO_ENV_OFF;
	if (value && !strcmp(value, "1"))
		return RXE_OOO_ENV_ON;
	return RXE_OOO_ENV_UNSET;
}

/*
 * Off is always safe, since it only promises more; so the person at the shell
 * has the last word there. The attribute bit is the program's latest and
 * clearest word, then what it set before, then the shell's wish.
 */
enum rxe_ooo_want rxe_ooo_decide(enum rxe_ooo_env env, enum rxe_ooo_want want,
				 bool bit)
{
	if (env == RXE_OOO_ENV_OFF)
		return RXE_OOO_WANT_OFF;
	if (bit)
		return RXE_OOO_WANT_ON;
	if (want != RXE_OOO_WANT_DEFAULT)
		return want;
	if (env == RXE_OOO_ENV_ON)
		return RXE_OOO_WANT_ON;
	return RXE_OOO_WANT_DEFAULT;
}

uint32_t rxe_ooo_modify_flags(enum rxe_ooo_want decision)
{
	switch (decision) {
	case RXE_OOO_WANT_ON:
		return RXE_OOO_MODIFY_QP_OOO;
	case RXE_OOO_WANT_OFF:
		return RXE_OOO_MODIFY_QP_OOO_OFF;
	default:
		return 0;
	}
}

bool rxe_ooo_may_turn_on(enum rxe_ooo_env env, enum rxe_ooo_want want,
			 bool device_default)
{
	enum rxe_ooo_want decision = rxe_ooo_decide(env, want, false);

	if (decision == RXE_OOO_WANT_DEFAULT)
		return device_default;
	return decision == RXE_OOO_WANT_ON;
}
