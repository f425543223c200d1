/* SPDX-License-Identifier: MIT */
/*
 * dump_events [-q | -b] TRACE - print what a trace holds, one thread after the
 * other.  -q: no events.  -b: read them, print only how long that took.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/event/event.h"
#include "report/event/run.h"
#include "report/event/stacks.h"
#include "report/input/input.h"
#include "report/source/source.h"
#include "tests/lib/trace_text.h"

enum mode { MODE_ALL, MODE_QUIET, MODE_BENCH };

static int fail(const struct diag *diag)
{
	char line[2048];

	diag_format(diag, line, sizeof(line));
	fprintf(stderr, "dump_events: %s\n", line);
	return 3;
}

static int dump_lanes(struct input *input, const struct stacks *stacks,
		      enum mode mode, uint64_t *ret_count, struct diag *diag)
{
	const struct input_format *format = input->format;
	struct event_batch batch = { 0 };
	uint64_t *keys = NULL;
	size_t capacity = 0;
	int result = 0;

	for (size_t i = 0; i < format->lane_count(input); i++) {
		uint32_t thread = format->lane_thread(input, i);

		while ((result = format->lane_next(input, i, &batch, diag)) >
		       0) {
			*ret_count += batch.count;
			for (size_t j = 0; mode == MODE_ALL && j < batch.count;
			     j++)
				trace_text_event(
				    stdout, thread, &batch.items[j], keys,
				    trace_text_keys(stacks,
						    batch.items[j].stack, &keys,
						    &capacity));
		}
		if (result < 0)
			break;
	}
	free(keys);
	event_batch_done(&batch);
	return result;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int dump(const char *path, enum mode mode)
{
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	struct input *input = NULL;
	struct stacks stacks;
	struct source source;
	struct run run = {0};
	uint64_t count = 0;
	double start, opened, end;

	if (stacks_init(&stacks))
		abort();
	start = seconds();
	if (source_open(&source, path, &diag) ||
	    input_open(&source, &stacks, &run, &input, &diag))
		return fail(&diag);
	opened = seconds();
	if (mode != MODE_QUIET &&
	    dump_lanes(input, &stacks, mode, &count, &diag))
		return fail(&diag);
	end = seconds();
	trace_text_run(stdout, &run);
	printf("# %" PRIu64 " events, %" PRIu32 " stack nodes, %zu lanes\n",
	       count, stacks.count, input->format->lane_count(input));
	if (mode == MODE_BENCH)
		printf("# opened in %.3f s, read in %.3f s: %.1f M events/s\n",
		       opened - start, end - opened,
		       (double)count / (end - opened) * 1e-6);
	input_close(input);
	run_done(&run);
	source_close(&source);
	stacks_done(&stacks);
	return 0;
}

int main(int argc, char **argv)
{
	enum mode mode = MODE_ALL;

	if (argc == 3 && strcmp(argv[1], "-q") == 0)
		mode = MODE_QUIET;
	else if (argc == 3 && strcmp(argv[1], "-b") == 0)
		mode = MODE_BENCH;
	else if (argc != 2 || argv[1][0] == '-') {
		fputs("usage: dump_events [-q | -b] TRACE\n", stderr);
		return 2;
	}
	return dump(argv[argc - 1], mode);
}
