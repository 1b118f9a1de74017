/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Unit tests: a table of functions per subject; the first CHECK that fails ends a test. */
#ifndef TESTS_CORE_UNIT_H
#define TESTS_CORE_UNIT_H

#include <setjmp.h>
#include <stdio.h>
#include "core.h"
#include "kernelish.h"

struct unit_test {
	const char *name;
	void (*run)(void);
};

#define UNIT_TEST(fn)	{ #fn, fn }

extern const struct unit_test psn_tests[], packet_tests[], icrc_tests[], resp_tests[],
	req_tests[], uc_tests[], sack_tests[], paths_tests[];

__printf(3, 4) __noreturn
void unit_fail(const char *file, int line, const char *fmt, ...);
__noreturn void unit_skip(const char *why);

/*
 * A second test of the same: PSNs in the middle, and PSNs that wrap within
 * three packets. The file's tests count from its @base.
 */
#define ALSO_OVER_THE_WRAP(fn)						\
	static void fn##_also_over_the_wrap(void)			\
	{								\
		base = 100;						\
		fn();							\
		base = 0xfffffe;					\
		fn();							\
		base = 0xffffff;					\
		fn();							\
	}

#define CHECK(cond)							\
	do {								\
		if (!(cond))						\
			unit_fail(__FILE__, __LINE__, "%s", #cond);	\
	} while (0)

#define CHECK_EQ(a, b)							\
	do {								\
		unsigned long long a_ = (a), b_ = (b);			\
		if (a_ != b_)						\
			unit_fail(__FILE__, __LINE__, "%s is 0x%llx, not 0x%llx (%s)", \
				  #a, a_, b_, #b);			\
	} while (0)

#endif
