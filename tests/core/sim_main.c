// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * sim: runs seeds, in several processes; says what failed and how to see it
 * again; writes a JSON record of the whole.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "crc32.h"
#include "sim.h"

#define JOBS_MAX	64
#define FAILED_MAX	64
#define SEED_SECONDS	30

struct failed {
	u64 seed;
	char profile[32];
	char reason[512];
};

/* Shared with the workers: each writes its own. */
struct worker {
	pid_t pid;
	bool running;
	u64 index;		/* of the seed in the run's order */
	u64 seed;		/* the one it is at */
	u64 seeds;		/* done */
	struct sim_stats stats;
	u32 failures;
	struct failed failed[FAILED_MAX];
};

static struct options {
	u64 first;
	u64 seeds;
	u64 packets;
	u32 seconds;
	u32 jobs;
	u64 one;
	bool has_one, verbose;
	bool stop;		/* at the first failure */
	const char *rates;	/* measure those whose name contains this */
	const char *json;
	const char *list;	/* seeds that failed once */
	const char *label;
} opt = { .first = 1, .seeds = 100, .jobs = 2, .seconds = 3600, .label = "sim" };

static struct worker *workers;
static u64 kept[1000];
static u32 kept_num;
static struct sim sim;
static time_t started;

/* Leaks are counted by the simulator itself; a failed seed leaves some on purpose. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0:quarantine_size_mb=8:malloc_context_size=6";
}

/* --- one worker --- */

static void add_stats(struct sim_stats *to, const struct sim_stats *from)
{
	u64 *a = (u64 *)to;
	const u64 *b = (const u64 *)from;
	size_t i;

	for (i = 0; i < sizeof(*to) / sizeof(u64); i++)
		a[i] += b[i];
}

static void note_failure(struct worker *w, u64 seed, const char *profile, const char *reason)
{
	struct failed *f = &w->failed[w->failures % FAILED_MAX];

	w->failures++;
	f->seed = seed;
	snprintf(f->profile, sizeof(f->profile), "%s", profile ? profile : "?");
	snprintf(f->reason, sizeof(f->reason), "%s", reason);
	printf("SEED %llu FAILED: %s (%s)\n    replay: tests/core/sim --seed %llu --verbose\n",
	       (unsigned long long)seed, reason, f->profile, (unsigned long long)seed);
	fflush(stdout);
}

static void limit_cpu(u32 seconds)
{
	struct itimerval t = { .it_value.tv_sec = seconds };

	setitimer(ITIMER_PROF, &t, NULL);
}

static void run_one(struct worker *w, u64 seed)
{
	w->seed = seed;
	limit_cpu(SEED_SECONDS);	/* the core hangs in a call: SIGPROF ends us */
	if (!sim_run_seed(&sim, seed, false)) {
		note_failure(w, seed, sim.cfg.profile, sim.reason);
		sim_free(&sim);
		memset(&sim, 0, sizeof(sim));
	}
	add_stats(&w->stats, &sim.stats);
	w->seeds++;
}

static u64 sum_packets(void)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < opt.jobs; i++)
		sum += workers[i].stats.packets;
	return sum;
}

static u64 sum_seeds(void)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < opt.jobs; i++)
		sum += workers[i].seeds;
	return sum;
}

static u32 sum_failures(void)
{
	u32 i, sum = 0;

	for (i = 0; i < opt.jobs; i++)
		sum += workers[i].failures;
	return sum;
}

static bool enough(void)
{
	return (sum_seeds() >= opt.seeds && sum_packets() >= opt.packets) ||
	       time(NULL) - started >= (time_t)opt.seconds || sum_failures() >= (opt.stop ? 1 : 20);
}

/* The run's seeds in order: those that failed once, then one after the other. */
static u64 seed_at(u64 index)
{
	return index < kept_num ? kept[index] : opt.first + index - kept_num;
}

static void work(struct worker *w, u64 from)
{
	for (w->index = from; !enough(); w->index += opt.jobs)
		run_one(w, seed_at(w->index));
	sim_free(&sim);
	exit(0);
}

static void spawn(struct worker *w, u64 from)
{
	pid_t pid;

	fflush(stdout);
	w->running = true;
	pid = fork();
	if (!pid)
		work(w, from);
	w->pid = pid;
}

/* --- the parent --- */

static void reap(void)
{
	int status;
	pid_t pid = waitpid(-1, &status, WNOHANG);
	u32 i;

	for (i = 0; pid > 0 && i < opt.jobs; i++) {
		struct worker *w = &workers[i];

		if (w->pid != pid)
			continue;
		w->running = false;
		if (WIFEXITED(status) && !WEXITSTATUS(status))
			continue;
		note_failure(w, w->seed, "?", WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF ?
			     "hangs in a call" : "the process died: see the report above");
		w->seeds++;
		if (!enough())
			spawn(w, w->index + opt.jobs);
	}
}

static bool any_running(void)
{
	u32 i;

	for (i = 0; i < opt.jobs; i++)
		if (workers[i].running)
			return true;
	return false;
}

static void progress(void)
{
	printf("%s: %4ld s, %llu seeds, %.1f million packets, %u failures\n", opt.label,
	       (long)(time(NULL) - started), (unsigned long long)sum_seeds(),
	       (double)sum_packets() / 1e6, sum_failures());
	fflush(stdout);
}

/* Seeds that failed once: the first on a line; the rest of it says what was wrong. */
static void read_list(void)
{
	FILE *f = opt.list ? fopen(opt.list, "r") : NULL;
	char line[512], *end;
	u64 seed;

	if (!f)
		return;
	while (kept_num < ARRAY_SIZE(kept) && fgets(line, sizeof(line), f)) {
		seed = strtoull(line, &end, 0);
		if (end != line)
			kept[kept_num++] = seed;
	}
	fclose(f);
	printf("%s: %u seeds that failed once come first\n", opt.label, kept_num);
	fflush(stdout);
}

static void run_all(void)
{
	time_t shown = time(NULL);
	u32 i;

	read_list();
	for (i = 0; i < opt.jobs; i++)
		spawn(&workers[i], i);
	while (any_running()) {
		usleep(20000);
		reap();
		if (time(NULL) - shown < 5)
			continue;
		shown = time(NULL);
		progress();
	}
}

/* --- results --- */

/* Of all workers: what the run costs, however busy the machine is. */
static double cpu_seconds(void)
{
	struct rusage r;

	getrusage(RUSAGE_CHILDREN, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static void put_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		fputc(*s, f);
	}
	fputc('"', f);
}

static void put_failures(FILE *f)
{
	const char *comma = "";
	u32 i, k;

	fprintf(f, "  \"failed_seeds\": [");
	for (i = 0; i < opt.jobs; i++) {
		for (k = 0; k < min_t(u32, workers[i].failures, FAILED_MAX); k++) {
			fprintf(f, "%s\n    {\"seed\": %llu, \"reason\": ", comma,
				(unsigned long long)workers[i].failed[k].seed);
			put_string(f, workers[i].failed[k].reason);
			fprintf(f, "}");
			comma = ",";
		}
	}
	fprintf(f, "],\n");
}

static void put_counters(FILE *f, const struct sim_stats *s)
{
	static const char * const names[] = {
#define NAME(id, name) name,
		OOO_STATS(NAME)
#undef NAME
	};
	u32 i;

	fprintf(f, "  \"core\": {");
	for (i = 0; i < OOO_STAT_NUM; i++)
		fprintf(f, "%s\n    \"%s\": %llu", i ? "," : "", names[i],
			(unsigned long long)s->core[i]);
	fprintf(f, "}\n");
}

static void put_json(const struct sim_stats *s, double seconds)
{
	FILE *f = opt.json ? fopen(opt.json, "w") : NULL;

	if (!f)
		return;
	fprintf(f, "{\n  \"seeds\": %llu,\n  \"packets\": %llu,\n  \"seconds\": %.1f,\n",
		(unsigned long long)sum_seeds(), (unsigned long long)s->packets, seconds);
	fprintf(f, "  \"failures\": %u,\n  \"sanitizers\": \"%s\",\n  \"jobs\": %u,\n",
		sum_failures(),
#ifdef __SANITIZE_ADDRESS__
		"address,undefined",
#else
		"none",
#endif
		opt.jobs);
	fprintf(f, "  \"cpu_seconds\": %.1f,\n", cpu_seconds());
	fprintf(f, "  \"completions\": %llu,\n  \"errors\": %llu,\n  \"delivered\": %llu,\n",
		(unsigned long long)s->completions, (unsigned long long)s->errors,
		(unsigned long long)s->delivered);
	fprintf(f, "  \"dropped\": %llu,\n  \"duplicated\": %llu,\n  \"corrupted\": %llu,\n",
		(unsigned long long)s->dropped, (unsigned long long)s->duplicated,
		(unsigned long long)s->corrupted);
	fprintf(f, "  \"late\": %llu,\n  \"retransmitted\": %llu,\n  \"naks\": %llu,\n",
		(unsigned long long)s->reordered, (unsigned long long)s->retransmitted,
		(unsigned long long)s->naks);
	put_failures(f);
	put_counters(f, s);
	fprintf(f, "}\n");
	fclose(f);
}

static double wall(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int report(double seconds)
{
	struct sim_stats sum = { 0 };
	u64 seeds = sum_seeds();
	u32 i;

	for (i = 0; i < opt.jobs; i++)
		add_stats(&sum, &workers[i].stats);
	put_json(&sum, seconds);
	printf("%s: %llu seeds, %llu packets, %llu completions ", opt.label,
	       (unsigned long long)seeds, (unsigned long long)sum.packets,
	       (unsigned long long)sum.completions);
	printf("in %.1f s (%.1f of CPU), %u failures\n", seconds, cpu_seconds(), sum_failures());
	if (seeds < opt.seeds || sum.packets < opt.packets)
		printf("%s: stopped before %llu seeds and %llu packets were done\n", opt.label,
		       (unsigned long long)opt.seeds, (unsigned long long)opt.packets);
	return sum_failures() ? 1 : 0;
}

static int run_rates(void)
{
	int bad = sim_rates(&sim, opt.rates, opt.json);

	sim_free(&sim);
	return bad;
}

static int run_single(void)
{
	bool good = sim_run_seed(&sim, opt.one, opt.verbose);

	if (good)
		printf("seed %llu: good, %llu packets, %llu completions\n",
		       (unsigned long long)opt.one, (unsigned long long)sim.stats.packets,
		       (unsigned long long)sim.stats.completions);
	else
		printf("SEED %llu FAILED: %s (%s, life %u)\n", (unsigned long long)opt.one,
		       sim.reason, sim.cfg.profile, sim.life);
	sim_free(&sim);
	return !good;
}

static void usage(void)
{
	printf("sim [--seed N [--verbose]] | [--rates NAME] | [--first N] [--seeds N] [--packets N] [--seconds S]\n"
	       "    [--jobs J] [--list FILE] [--json FILE] [--label NAME] [--stop]\n"
	       "Runs until that many seeds and packets are done, or the time is up.\n");
	exit(2);
}

static void parse_options(int argc, char **argv)
{
	static const struct option o[] = {
		{ "seed", 1, 0, 's' }, { "verbose", 0, 0, 'v' }, { "first", 1, 0, 'f' },
		{ "seeds", 1, 0, 'n' }, { "packets", 1, 0, 'p' }, { "seconds", 1, 0, 't' },
		{ "jobs", 1, 0, 'j' }, { "list", 1, 0, 'l' }, { "json", 1, 0, 'o' },
		{ "label", 1, 0, 'L' }, { "stop", 0, 0, 'S' },
		{ "rates", 1, 0, 'R' }, { 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", o, NULL)) != -1) {
		switch (c) {
		case 's':
			opt.one = strtoull(optarg, NULL, 0);
			opt.has_one = true;
			break;
		case 'v':
			opt.verbose = true;
			break;
		case 'f':
			opt.first = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			opt.seeds = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			opt.packets = strtoull(optarg, NULL, 0);
			break;
		case 't':
			opt.seconds = (u32)strtoul(optarg, NULL, 0);
			break;
		case 'j':
			opt.jobs = (u32)strtoul(optarg, NULL, 0);
			break;
		case 'l':
			opt.list = optarg;
			break;
		case 'o':
			opt.json = optarg;
			break;
		case 'R':
			opt.rates = optarg;
			break;
		case 'S':
			opt.stop = true;
			break;
		case 'L':
			opt.label = optarg;
			break;
		default:
			usage();
		}
	}
	if (!opt.jobs || opt.jobs > JOBS_MAX)
		usage();
}

int main(int argc, char **argv)
{
	double t0;

	parse_options(argc, argv);
	crc32_init();
	if (opt.rates)
		return run_rates();
	if (opt.has_one)
		return run_single();
	workers = mmap(NULL, sizeof(*workers) * JOBS_MAX, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (workers == MAP_FAILED)
		return 2;
	started = time(NULL);
	t0 = wall();
	run_all();
	return report(wall() - t0);
}
