/* SPDX-License-Identifier: MIT */
/*
 * gen_trace [options] FILE - write a random valid trace; with -x, the events
 * that are in it to standard output, thread by thread as dump_events does if
 * there is one thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/event/event.h"
#include "tests/lib/trace_gen.h"
#include "tests/lib/trace_text.h"

static void print_event(void *context, uint32_t thread,
			const struct event *event, const uint64_t *keys,
			size_t depth)
{
	trace_text_event(context, thread, event, keys, depth);
}

static void usage(void)
{
	fputs(
	    "usage: gen_trace [-s SEED] [-t THREADS] [-n EVENTS] "
	    "[-c CHUNK_BYTES]\n"
	    "                 [-d DEPTH] [-u SHIFT] [-w] [-k] [-l] [-p] [-m] "
	    "[-e] [-b] [-r]\n"
	    "                 [-x] FILE\n"
	    "-w any kind and value  -k no END  -l FILE.live  -p uncompressed\n"
	    "-m monotonic clock     -r options drawn from the seed\n"
	    "-e EVENTS, not COLUMNS -u unit of time 2^SHIFT ticks\n"
	    "-b chunks of several buffers            -x print the events\n",
	    stderr);
	exit(2);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (end == text || *end)
		usage();
	return value;
}

static struct trace_gen_options parse(int argc, char **argv)
{
	struct trace_gen_options options = {
	    .seed = 1,
	    .threads = 1,
	    .events = 1000,
	    .chunk_bytes = 64 * 1024,
	    .depth_max = 40,
	    .clock = TRACE_CLOCK_TSC,
	    .columns = true,
	};
	int c;

	while ((c = getopt(argc, argv, "s:t:n:c:d:u:wklpmebrx")) != -1) {
		switch (c) {
		case 's':
			options.seed = number(optarg);
			break;
		case 't':
			options.threads = (uint32_t)number(optarg);
			break;
		case 'n':
			options.events = number(optarg);
			break;
		case 'c':
			options.chunk_bytes = (uint32_t)number(optarg);
			break;
		case 'd':
			options.depth_max = (uint32_t)number(optarg);
			break;
		case 'w':
			options.wild = true;
			break;
		case 'l':
			options.live = true;
			options.killed = true;
			break;
		case 'k':
			options.killed = true;
			break;
		case 'p':
			options.plain = true;
			break;
		case 'u':
			options.time_shift = (uint8_t)number(optarg);
			break;
		case 'e':
			options.columns = false;
			break;
		case 'b':
			options.buffers = true;
			break;
		case 'm':
			options.clock = TRACE_CLOCK_MONOTONIC;
			break;
		case 'r':
			options = trace_gen_random_options(options.seed);
			break;
		case 'x':
			options.expect = print_event;
			options.context = stdout;
			break;
		default:
			usage();
		}
	}
	if (optind != argc - 1 || options.time_shift > TRACE_TIME_SHIFT_MAX)
		usage();
	if (options.live)
		options.time_shift = 0;
	return options;
}

static void write_live(const char *path, const struct bytes *live)
{
	char *name;
	FILE *file;

	if (asprintf(&name, "%s.live", path) < 0)
		abort();
	file = fopen(name, "wb");
	if (!file || fwrite(live->data, 1, live->len, file) != live->len ||
	    fclose(file)) {
		fprintf(stderr, "gen_trace: %s: %s\n", name, strerror(errno));
		exit(1);
	}
	free(name);
}

int main(int argc, char **argv)
{
	struct trace_gen_options options = parse(argc, argv);
	const char *path = argv[argc - 1];
	struct trace_gen gen;

	options.out = fopen(path, "wb");
	if (!options.out) {
		fprintf(stderr, "gen_trace: %s: %s\n", path, strerror(errno));
		return 1;
	}
	trace_gen_run(&gen, &options);
	if (fclose(options.out)) {
		fprintf(stderr, "gen_trace: %s: %s\n", path, strerror(errno));
		return 1;
	}
	if (options.live)
		write_live(path, &gen.live);
	trace_gen_done(&gen);
	return 0;
}
