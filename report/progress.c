/* SPDX-License-Identifier: MIT */
#include "report/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "report/cli.h"
#include "report/core/units.h"

enum { LINE_SIZE = 512, COLUMNS_DEFAULT = 80 };

/* Before that much of a phase a rate says nothing. */
#define SECONDS_MIN 0.5

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A line longer than the terminal is wide could not be taken away again. */
static void show(const struct progress *progress, const char *detail)
{
	struct winsize window;
	char line[LINE_SIZE];
	size_t columns = COLUMNS_DEFAULT;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col)
		columns = window.ws_col;
	if (columns > sizeof(line))
		columns = sizeof(line);
	snprintf(line, columns, "%s: %s%s%s", progress->trace,
		 progress->phase, detail[0] ? ": " : "", detail);
	fprintf(stderr, "\r\033[K%s", line);
}

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
	progress->start_ns = progress->shown_ns = now_ns();
	if (progress->verbose)
		fprintf(stderr, "memprof-report: %s: %s\n", progress->trace,
			phase);
	if (progress->line)
		show(progress, "");
}

static void per_second(char *buf, size_t size, double events)
{
	if (events >= 1e6)
		snprintf(buf, size, "%.1f M", events * 1e-6);
	else
		units_format_count(buf, size, (uint64_t)events);
}

void progress_text(char *buf, size_t size, uint64_t events, uint64_t bytes,
		   uint64_t total_bytes, double seconds)
{
	char done[UNITS_TEXT_SIZE], total[UNITS_TEXT_SIZE];
	char rate[UNITS_TEXT_SIZE], left[UNITS_TEXT_SIZE];
	int len;

	if (bytes > total_bytes)
		bytes = total_bytes;
	units_format_bytes(done, sizeof(done), bytes);
	units_format_bytes(total, sizeof(total), total_bytes);
	len = snprintf(buf, size, "%s of %s", done, total);
	if (seconds < SECONDS_MIN || !bytes || len < 0 || (size_t)len >= size)
		return;
	per_second(rate, sizeof(rate), (double)events / seconds);
	units_format_seconds(left, sizeof(left),
			     (double)(total_bytes - bytes) / (double)bytes *
				     seconds);
	snprintf(buf + len, size - (size_t)len, ", %s events/s, %s left", rate,
		 left);
}

void progress_read(void *context, uint64_t events, uint64_t bytes)
{
	struct progress *progress = context;
	char text[LINE_SIZE];
	uint64_t now;

	if (!progress->line)
		return;
	now = now_ns();
	if (now - progress->shown_ns < 100000000u)
		return;
	progress->shown_ns = now;
	progress_text(text, sizeof(text), events, bytes, progress->total_bytes,
		      (double)(now - progress->start_ns) * 1e-9);
	show(progress, text);
}

void progress_clear(const struct progress *progress)
{
	if (progress->line)
		fputs("\r\033[K", stderr);
}
