// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* unit [--counts FILE]: runs every test, prints each, and leaves the counts for the Makefile. */
#include <stdarg.h>
#include <stdlib.h>
#include "crc32.h"
#include "unit.h"

static const struct {
	const char *name;
	const struct unit_test *tests;
} subjects[] = {
	{ "psn", psn_tests },
	{ "packet", packet_tests },
	{ "icrc", icrc_tests },
	{ "responder", resp_tests },
	{ "requester", req_tests },
	{ "uc", uc_tests }, { "sack", sack_tests },
	{ "paths", paths_tests },
};

static jmp_buf out;
static char message[512];

void unit_fail(const char *file, int line, const char *fmt, ...)
{
	int n = snprintf(message, sizeof(message), "%s:%d: ", file, line);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message + n, sizeof(message) - n, fmt, ap);
	va_end(ap);
	longjmp(out, 1);
}

void unit_skip(const char *why)
{
	snprintf(message, sizeof(message), "%s", why);
	longjmp(out, 2);
}

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static u32 count[3];	/* passed, failed, skipped */

static int outcome(const struct unit_test *t)
{
	int how = setjmp(out);

	if (how)
		return how;
	message[0] = 0;
	t->run();
	return 0;
}

static void run_subject(const char *name, const struct unit_test *t)
{
	static const char * const words[] = { "ok", "FAILED", "skipped" };
	int how;

	for (; t->name; t++) {
		how = outcome(t);
		count[how]++;
		printf("%-8s %s: %s%s%s\n", words[how], name, t->name, message[0] ? ": " : "",
		       message);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	size_t i;

	crc32_init();
	for (i = 0; i < ARRAY_SIZE(subjects); i++)
		run_subject(subjects[i].name, subjects[i].tests);
	printf("unit: %u passed, %u failed, %u skipped\n", count[0], count[1], count[2]);
	if (argc > 2) {
		FILE *f = fopen(argv[2], "w");

		if (f) {
			fprintf(f, "%u %u %u\n", count[0], count[1], count[2]);
			fclose(f);
		}
	}
	return count[1] ? 1 : 0;
}
