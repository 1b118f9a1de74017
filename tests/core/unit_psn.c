// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "unit.h"

static void psn_wraps(void)
{
	CHECK_EQ(psn_add(0xffffff, 1), 0);
	CHECK_EQ(psn_add(0xfffffe, 4), 2);
	CHECK_EQ(psn_add(5, -6u), 0xffffff);
}

static void psn_compares_over_the_wrap(void)
{
	CHECK(psn_diff(0, 0xffffff) == 1);
	CHECK(psn_diff(0xffffff, 0) == -1);
	CHECK(psn_diff(7, 7) == 0);
	CHECK(psn_diff(0x7fffff, 0) == 0x7fffff);
	CHECK(psn_diff(0x800000, 0) == -0x800000);
}

static void psn_diff_undoes_add(void)
{
	u32 psn, step;

	for (psn = 0; psn <= PSN_MASK; psn += 0x10001)
		for (step = 0; step < 0x800000; step += 0x7ffff) {
			CHECK(psn_diff(psn_add(psn, step), psn) == (s32)step);
			CHECK(psn_diff(psn, psn_add(psn, step)) == -(s32)step);
		}
}

const struct unit_test psn_tests[] = {
	UNIT_TEST(psn_wraps),
	UNIT_TEST(psn_compares_over_the_wrap),
	UNIT_TEST(psn_diff_undoes_add),
	{ NULL, NULL },
};
