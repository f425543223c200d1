/* SPDX-License-Identifier: MIT */
/* memprof-record: runs a program with the tracer preloaded. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracer/record/diagnose.h"
#include "tracer/record/finish.h"
#include "tracer/record/launch.h"
#include "tracer/record/perf_map.h"
#include "tracer/record/settings.h"
#include "tracer/record/traces.h"
#include "tracer/trace_format.h"

/* Safety: single thread.  Return: enum trace_end_how of the trace's END. */
static uint32_t finish_one(const struct trace *trace,
			   const struct launch_result *launched)
{
	struct finish_result done;
	struct finish_end end = {
	    .launched = launched,
	    .next = trace->next ? trace->next->path : NULL,
	};
	int err = finish_trace(trace->path, &trace->head, &end, &done);

	if (err == -EBUSY)
		fprintf(stderr,
			"memprof-record: %s: not completed, another process "
			"still has it open\n",
			trace->path);
	else if (err)
		fprintf(stderr, "memprof-record: %s: %s\n", trace->path,
			strerror(-err));
	if (done.has_other_live)
		fprintf(stderr,
			"memprof-record: %s.live: of another trace, left "
			"there\n",
			trace->path);
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
		uint32_t its = finish_one(trace, is_own ? result : NULL);

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

/* Safety: single thread.  Says why there is no trace.  @is_announced: one was
   going to be made. */
static void tell_why_not(const struct settings *set, const char *program,
			 bool is_announced, const struct launch_result *result)
{
	if (is_announced && WIFSIGNALED(result->wait_status))
		fprintf(stderr,
			"memprof-record: %s was killed before it used any "
			"memory\n",
			program);
	else if (is_announced)
		fprintf(stderr,
			"memprof-record: %s was not traced: the trace could "
			"not be made, or is gone\n",
			program);
	else if (!set->is_disabled)
		fprintf(stderr, "memprof-record: %s was not traced: %s\n",
			program, diagnose_untraced(program));
	else if (!set->quiet)
		fprintf(stderr,
			"memprof-record: recording was never started\n");
}

/* Safety: single thread.  What the tracers wrote into @fd. */
static void report(const struct settings *set, const char *program, int fd,
		   const struct launch_result *result)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *names = calloc(1, size > 0 ? (size_t)size + 1 : 1);
	struct traces traces = {0};
	ssize_t len;

	if (!names)
		fail(EXIT_OWN_FAILURE, "trace names", ENOMEM);
	len = pread(fd, names, (size_t)size, 0);
	if (len > 0)
		traces_read(names, (size_t)len, &traces);
	if (traces.count)
		finish_all(set, &traces, result);
	else
		tell_why_not(set, program, len > 0, result);
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
