/* SPDX-License-Identifier: MIT */
/* memprof-record: runs a program with the tracer preloaded. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tracer/record/diagnose.h"
#include "tracer/record/finish.h"
#include "tracer/record/launch.h"
#include "tracer/record/names.h"
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
			"memprof-record: %s.live: not of this trace, left "
			"there\n",
			trace->path);
	if (done.damaged_bytes)
		fprintf(stderr,
			"memprof-record: %s: the program wrote over %" PRIu64
			" bytes of its last events\n",
			trace->path, done.damaged_bytes);
	if (done.outside_count)
		fprintf(stderr,
			"memprof-record: %s: there was no room in the .live "
			"file for %" PRIu32 " buffers; what they held at the "
			"end is missing\n",
			trace->path, done.outside_count);
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
	const char *output = getenv("MEMORY_PROFILER_OUTPUT");

	if (output && !*output)
		fprintf(stderr,
			"memprof-record: %s was not traced: "
			"MEMORY_PROFILER_OUTPUT is empty\n",
			program);
	else if (is_announced && WIFSIGNALED(result->wait_status))
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

/* Safety: single thread.  @names: what the tracers wrote, @len bytes. */
static void report(const struct settings *set, const char *program,
		   const char *names, size_t len,
		   const struct launch_result *result)
{
	struct traces traces;

	traces_read(names, len, &traces);
	if (traces.count)
		finish_all(set, &traces, result);
	else
		tell_why_not(set, program, len > 0, result);
}

int main(int argc, char **argv)
{
	struct settings set;
	struct launch_result result = {0};
	struct names names;
	size_t len;
	char *text;
	int err;

	settings_parse(argc, argv, &set);
	names_open(&names);
	settings_set_environment(names.path);
	perf_map_init();
	err = launch_run(argv + set.program, &result);
	text = names_take(&names, &len);
	if (err)
		fail(err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN,
		     argv[set.program], err);
	report(&set, argv[set.program], text, len, &result);
	free(text);
	launch_exit_like(result.wait_status);
}
