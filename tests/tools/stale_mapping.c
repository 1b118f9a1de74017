// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Does a running thread see at once that the kernel has moved a page of its process? No RDMA in
 * it: this says what a machine can promise to tests of on-demand paging.
 *
 *   stale_mapping [ROUNDS]
 *
 * A reader spins on a private page without ever entering the kernel. Another process writes to the
 * page with process_vm_writev() while a child of the reader still shares it, so that the kernel
 * copies it (copy on write) and the reader's address means the copy. When the call has returned,
 * the writer says so in shared memory. The reader must then read what was written; where it does
 * not, it looks again after a system call.
 *
 * x86 flushes the reader's TLB before process_vm_writev() returns: 0 of 300. User-mode Linux only
 * notes that it has to change the reader's mapping, and does so when the reader enters the kernel
 * the next time (arch/um/include/asm/tlbflush.h): the old page is read until then.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096

struct shared {
	atomic_int wanted;	/* round that the writer is to write */
	atomic_int written;	/* round that it has written */
	pid_t reader;
	void *target;
};

static void writer(struct shared *s)
{
	int done = 0, round;

	for (;;) {
		round = s->wanted;
		if (round == done) {
			usleep(50);
			continue;
		}
		if (round < 0)
			_exit(0);
		struct iovec local = { &round, sizeof(round) };
		struct iovec remote = { s->target, sizeof(round) };

		if (process_vm_writev(s->reader, &local, 1, &remote, 1, 0) != sizeof(round))
			_exit(1);
		done = round;
		s->written = round;
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 300, i, status, stale = 0, after_syscall = 0;
	struct shared *s = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				-1, 0);
	volatile int *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child, other;

	s->reader = getpid();
	s->target = (void *)page;
	other = fork();
	if (!other)
		writer(s);
	for (i = 1; i <= rounds; i++) {
		*page = -i;
		child = fork();		/* shares the page until it is killed */
		if (!child) {
			pause();
			_exit(0);
		}
		s->wanted = i;
		while (s->written != i)
			;
		if (*page != i) {
			stale++;
			sched_yield();
			after_syscall += *page != i;
		}
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	s->wanted = -1;
	waitpid(other, &status, 0);
	printf("%d of %d times the reader saw the old page, %d times after a system call as well\n",
	       stale, rounds, after_syscall);
	return status || after_syscall;
}
