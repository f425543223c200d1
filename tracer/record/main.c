/* SPDX-License-Identifier: MIT */
/* memprof-record: runs a program with the tracer preloaded. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracer/record/diagnose.h"
#include "tracer/record/finish.h"
#include "tracer/record/launch.h"
#include "tracer/record/perf_map.h"
#include "tracer/record/settings.h"
#include "tracer/trace_format.h"

/**
 * struct trace - one that a tracer has named
 * @head: zero where it cannot be read
 */
struct trace {
	const char *path;
	struct finish_head head;
};

/**
 * struct traces - all of them, in the order of their beginning
 * @previous: what their heads say of the pieces before them, sorted
 */
struct traces {
	struct trace *items;
	uint64_t *previous;
	size_t count;
};

/* Safety: pure.  For qsort() and bsearch(). */
static int compare_ids(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Safety: single thread.  @names: @len bytes of strings, then a zero.  What
   @ret has is never freed. */
static void read_traces(const char *names, size_t len, struct traces *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += !names[i];
	ret->items = calloc(count + 1, sizeof(*ret->items));
	ret->previous = calloc(count + 1, sizeof(*ret->previous));
	if (!ret->items || !ret->previous)
		fail(EXIT_OWN_FAILURE, "trace names", ENOMEM);
	for (ret->count = 0; ret->count < count; ret->count++) {
		struct trace *trace = &ret->items[ret->count];

		trace->path = names;
		finish_read_head(names, &trace->head);
		ret->previous[ret->count] = trace->head.previous_id;
		names += strlen(names) + 1;
	}
	qsort(ret->previous, count, sizeof(*ret->previous), compare_ids);
}

/* Safety: single thread.  Return: enum trace_end_how of the trace's END. */
static uint32_t finish_one(const struct traces *traces,
			   const struct trace *trace,
			   const struct launch_result *launched)
{
	struct finish_result done;
	struct finish_end end = {
	    .launched = launched,
	    .is_followed = bsearch(&trace->head.trace_id, traces->previous,
				   traces->count, sizeof(*traces->previous),
				   compare_ids) != NULL,
	};
	int err = finish_trace(trace->path, &end, &done);

	if (err)
		fprintf(stderr, "memprof-record: %s: %s\n", trace->path,
			strerror(-err));
	if (done.damaged_bytes)
		fprintf(stderr,
			"memprof-record: %s: the program wrote over %" PRIu64
			" bytes of its last events\n",
			trace->path, done.damaged_bytes);
	return done.how;
}

/* Safety: single thread.  @pieces: traces of the program itself. */
static void tell_where(const struct traces *traces, size_t pieces)
{
	size_t others = traces->count - pieces;

	fprintf(stderr, "memprof-record: trace written to %s",
		traces->items[0].path);
	if (pieces > 1)
		fprintf(stderr, ", and %zu more piece%s of it", pieces - 1,
			pieces > 2 ? "s" : "");
	if (others > 0)
		fprintf(stderr, ", and %zu more of its children", others);
	fputs("\n", stderr);
}

/* Safety: single thread.  Finishes each trace and says where they are. */
static void finish_all(const struct settings *set, const struct traces *traces,
		       const struct launch_result *result)
{
	uint32_t how = 0;
	size_t pieces = 0;

	for (size_t i = 0; i < traces->count; i++) {
		const struct trace *trace = &traces->items[i];
		bool is_own = trace->head.pid == result->pid;
		uint32_t its = finish_one(traces, trace,
					  is_own ? result : NULL);

		if (is_own || !i)
			how = its;
		pieces += is_own || !i;
	}
	if (set->quiet)
		return;
	if (how == TRACE_END_EXEC && pieces == traces->count)
		fputs("memprof-record: the program replaced itself by another, "
		      "which was not traced; see --children\n",
		      stderr);
	tell_where(traces, pieces);
}

/* Safety: single thread.  What the tracers wrote into @fd. */
static void report(const struct settings *set, const char *program, int fd,
		   const struct launch_result *result)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *names = calloc(1, size > 0 ? (size_t)size + 1 : 1);
	struct traces traces;
	ssize_t len;

	if (!names)
		fail(EXIT_OWN_FAILURE, "trace names", ENOMEM);
	len = pread(fd, names, (size_t)size, 0);
	if (len > 0) {
		read_traces(names, (size_t)len, &traces);
		finish_all(set, &traces, result);
	} else if (!set->is_disabled) {
		fprintf(stderr, "memprof-record: %s was not traced: %s\n",
			program, diagnose_untraced(program));
	} else if (!set->quiet) {
		fprintf(stderr,
			"memprof-record: recording was never started\n");
	}
	free(names);
}

int main(int argc, char **argv)
{
	struct settings set;
	struct launch_result result = {0};
	int names_fd = memfd_create("memprof-record", MFD_CLOEXEC);
	int err;

	if (names_fd < 0)
		fail(EXIT_OWN_FAILURE, "memfd_create", errno);
	settings_parse(argc, argv, &set);
	settings_set_environment(names_fd);
	perf_map_init();
	err = launch_run(argv + set.program, &result);
	if (err)
		fail(err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN,
		     argv[set.program], err);
	report(&set, argv[set.program], names_fd, &result);
	launch_exit_like(result.wait_status);
}
