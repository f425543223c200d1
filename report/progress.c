/* SPDX-License-Identifier: MIT */
#include "report/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/cli.h"

void progress_init(struct progress *progress, const struct cli *cli,
		   const char *trace)
{
	bool terminal = isatty(STDERR_FILENO);

	memset(progress, 0, sizeof(*progress));
	progress->line = terminal && !cli->quiet;
	progress->verbose = cli->verbose && !progress->line;
	progress->trace = trace;
}

void progress_phase(struct progress *progress, const char *phase)
{
	progress->phase = phase;
	progress->shown_ns = 0;
	if (progress->verbose)
		fprintf(stderr, "memprof-report: %s: %s\n", progress->trace,
			phase);
	if (progress->line)
		fprintf(stderr, "\r\033[K%s: %s", progress->trace, phase);
}

void progress_share(void *context, double share)
{
	struct progress *progress = context;
	struct timespec now;
	uint64_t now_ns;

	if (!progress->line)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (now_ns - progress->shown_ns < 100000000u)
		return;
	progress->shown_ns = now_ns;
	fprintf(stderr, "\r\033[K%s: %s, %.0f %%", progress->trace,
		progress->phase, share * 100);
}

void progress_clear(const struct progress *progress)
{
	if (progress->line)
		fputs("\r\033[K", stderr);
}
