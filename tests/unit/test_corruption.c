/* SPDX-License-Identifier: MIT */
/*
 * A real trace, cut at every length and flipped at every byte, through the
 * whole of memprof-report: input, engine, views, figures.  Built with the
 * sanitizers, so a wrong read anywhere ends the test.
 *
 * What must hold for each mutation: no crash; either an error with a text that
 * names the file, or a report; a flipped byte is noticed; and never more
 * allocations than the sound trace has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/artifacts.h"
#include "report/cli.h"
#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/engine/engine.h"
#include "report/output/artifact.h"
#include "report/pipeline.h"
#include "report/spec.h"

/* Every step of the file would take too long for larger traces. */
enum { MUTATIONS_MAX = 4000 };

static char trace_path[64] = "/tmp/memprof-corruption-XXXXXX";
static char *trace;
static size_t trace_len;
static uint64_t sound_allocations;

struct outcome {
	int error;
	size_t findings;
	uint64_t allocations;
	bool missing_end;
	char text[1024];
};

static void report_file(const char *path, const char *view,
			const char *artifact, struct outcome *ret)
{
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	struct spec spec = { 0 };
	struct cli cli = { .mode = CLI_VIEW, .as = artifact_find(artifact) };
	char *name = strdup(path);
	struct pipeline pipeline;
	struct sink sink;

	assert_non_null(name);
	assert_non_null(cli.as);
	assert_int_equal(spec_view_parse(&spec, view, cli.as, NULL, &diag), 0);
	memset(ret, 0, sizeof(*ret));
	ret->error = pipeline_open(&pipeline, &cli, &spec, &name, 1, &diag);
	if (ret->error == 0)
		ret->error = pipeline_run(&pipeline, &diag);
	if (ret->error == 0) {
		sink_init_memory(&sink);
		ret->error = artifacts_write_view(&pipeline, cli.as, &sink,
						  &diag);
		/* Only folded stacks may be empty. */
		assert_true(ret->error || sink.len > 0 ||
			    strcmp(artifact, "folded") == 0);
		sink_done(&sink);
		ret->allocations =
			engine_totals(pipeline.engine)->allocated_count;
		ret->findings = pipeline.run.damage.count;
		ret->missing_end = pipeline.run.end == RUN_END_MISSING;
	}
	diag_format(&diag, ret->text, sizeof(ret->text));
	pipeline_close(&pipeline);
	free(name);
	spec_done(&spec);
}

static void write_trace(const char *path, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, trace, len), (ssize_t)len);
	close(fd);
}

static int record_trace(void **state)
{
	char command[512];
	struct stat info;
	FILE *file;
	int fd = mkstemp(trace_path);

	(void)state;
	if (fd < 0)
		return -1;
	close(fd);
	unlink(trace_path);
	snprintf(command, sizeof(command),
		 "build/release/memprof-record --quiet -o %s -- true </dev/null",
		 trace_path);
	if (system(command) != 0 || stat(trace_path, &info) != 0)
		return -1;
	trace_len = (size_t)info.st_size;
	trace = malloc(trace_len);
	file = fopen(trace_path, "rb");
	if (!trace || !file || fread(trace, 1, trace_len, file) != trace_len)
		return -1;
	fclose(file);
	return 0;
}

static int remove_trace(void **state)
{
	(void)state;
	unlink(trace_path);
	free(trace);
	return 0;
}

static void sound_trace_is_sound(void **state)
{
	struct outcome outcome;

	(void)state;
	report_file(trace_path, "", "groups", &outcome);
	assert_int_equal(outcome.error, 0);
	assert_int_equal(outcome.findings, 0);
	assert_false(outcome.missing_end);
	sound_allocations = outcome.allocations;
}

static size_t step_of(size_t len)
{
	return len / MUTATIONS_MAX + 1;
}

static void every_cut_is_survived(void **state)
{
	struct outcome outcome;

	(void)state;
	for (size_t len = 0; len < trace_len; len += step_of(trace_len)) {
		write_trace(trace_path, len);
		report_file(trace_path, "alive_at=peak", "groups", &outcome);
		if (outcome.error) {
			assert_non_null(strstr(outcome.text, trace_path));
			continue;
		}
		assert_true(outcome.allocations <= sound_allocations);
		/* Cut between two chunks, only the end record tells. */
		assert_true(outcome.findings || outcome.missing_end);
	}
}

static void every_flip_is_noticed(void **state)
{
	struct outcome outcome;
	unsigned random = 1;

	(void)state;
	for (size_t at = 0; at < trace_len; at += step_of(trace_len)) {
		char mask;

		random = random * 1103515245u + 12345u;
		mask = (char)(1u << (random >> 16) % 8);
		trace[at] ^= mask;
		write_trace(trace_path, trace_len);
		report_file(trace_path, "lifetime=only_leaked", "tree",
			    &outcome);
		trace[at] ^= mask;
		assert_true(outcome.error || outcome.findings);
		if (outcome.error)
			assert_non_null(strstr(outcome.text, trace_path));
		else
			assert_true(outcome.allocations <= sound_allocations);
	}
}

static void garbage_is_survived(void **state)
{
	struct outcome outcome;
	unsigned random = 7;

	(void)state;
	for (int turn = 0; turn < 500; turn++) {
		char *copy = malloc(trace_len);

		assert_non_null(copy);
		memcpy(copy, trace, trace_len);
		for (int i = 0; i < 1 + turn % 40; i++) {
			random = random * 1103515245u + 12345u;
			trace[(random >> 4) % trace_len] = (char)(random >> 20);
		}
		write_trace(trace_path, trace_len);
		report_file(trace_path, "size_min=10", "folded", &outcome);
		memcpy(trace, copy, trace_len);
		free(copy);
		assert_true(outcome.error ||
			    outcome.allocations <= sound_allocations);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_trace_is_sound),
		cmocka_unit_test(every_cut_is_survived),
		cmocka_unit_test(every_flip_is_noticed),
		cmocka_unit_test(garbage_is_survived),
	};

	return cmocka_run_group_tests(tests, record_trace, remove_trace);
}
