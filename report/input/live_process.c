/* SPDX-License-Identifier: MIT */
#include "report/input/live_process.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/core/text.h"
#include "report/event/run.h"
#include "report/input/records.h"

/* The wall clock is put right now and then. */
#define CLOCK_SLACK_NS INT64_C(2000000000)

enum { SECOND_NS = 1000000000 };

static int64_t read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

/* Reads field 22 of /proc/PID/stat, in ticks after booting.  Return: whether the
   process is there and no zombie. */
static bool read_start(uint32_t pid, uint64_t *ret)
{
	char path[64], text[1024];
	const char *after;
	char state;
	size_t len;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	len = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[len] = '\0';
	/* The name in parentheses may hold anything. */
	after = strrchr(text, ')');
	return after &&
	       sscanf(after,
		      ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		      "%*s %*s %*s %*s %*s %*s %" SCNu64,
		      &state, ret) == 2 &&
	       state != 'Z' && state != 'X';
}

/* Processes in another container have the same numbers: compare the programs'
   names as well. */
static bool is_program(uint32_t pid, const char *executable)
{
	static const char deleted[] = " (deleted)";
	char path[64], target[4096];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pid);
	len = readlink(path, target, sizeof(target) - 1);
	if (len <= 0)
		return false;
	target[len] = '\0';
	len -= (ssize_t)sizeof(deleted) - 1;
	if (len > 0 && strcmp(target + len, deleted) == 0)
		target[len] = '\0';
	return strcmp(text_basename(target), text_basename(executable)) == 0;
}

bool live_process_runs(const struct records *records)
{
	const struct run *run = records->run;
	long hertz = sysconf(_SC_CLK_TCK);
	int64_t started;
	uint64_t ticks;

	if (!records->has_process || !records->pair_count || !run->pid ||
	    hertz <= 0 || !read_start(run->pid, &ticks) ||
	    !is_program(run->pid, run->executable))
		return false;
	started = read_ns(CLOCK_REALTIME) - read_ns(CLOCK_BOOTTIME) +
		  (int64_t)((double)ticks / (double)hertz * SECOND_NS);
	return records->first_pair.realtime_ns <= INT64_MAX &&
	       started <= (int64_t)records->first_pair.realtime_ns +
				  CLOCK_SLACK_NS;
}
