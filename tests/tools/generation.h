/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A process that may well die of what it does, and is followed by another. */
#ifndef TESTS_TOOLS_GENERATION_H
#define TESTS_TOOLS_GENERATION_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void (*generation_fn)(const char *device, int index, uint64_t seed);

/*
 * Runs @abuse, which does not return, in a child. The provider may trip over
 * rubbish as well as the kernel. False: it could not even start.
 */
static inline bool generation(generation_fn abuse, const char *device, int index, uint64_t seed)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		abuse(device, index, seed);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		fprintf(stderr, "fork: %s\n", strerror(errno));
		exit(1);
	}
	return WIFSIGNALED(status);
}

#endif
