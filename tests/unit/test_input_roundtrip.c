/* SPDX-License-Identifier: MIT */
/* What the generator wrote is what the reader finds, over thousands of random
   files of every shape. */
#include "tests/lib/unit.h"

#include <unistd.h>

#include "report/core/vec.h"
#include "report/input/input.h"
#include "tests/lib/trace_gen.h"
#include "tests/lib/trace_read.h"

enum { FILES = 3000 };

static void write_file(const char *path, const struct bytes *bytes)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes->data, 1, bytes->len, file), bytes->len);
	assert_int_equal(fclose(file), 0);
}

static void check_run(const struct trace_read *read,
		      const struct trace_gen *gen,
		      const struct trace_gen_options *options)
{
	const struct run *run = &read->run;

	assert_int_equal(run->damage.count, 0);
	assert_int_equal(run->first_tick, gen->first_tick);
	assert_int_equal(run->last_tick, gen->last_tick);
	assert_int_equal(run->events_lost, gen->lost);
	assert_int_equal(run->live_events, gen->live_coded);
	assert_int_equal(run->thread_count, options->threads);
	assert_int_equal(run->modules.count, options->wild ? 5 : 4);
	assert_int_equal(run->pid, 4711);
	assert_string_equal(run->arguments[1],
			    "--first=\xef\xbf\xbd\xef\xbf\xbd");
	assert_false(run->truncated);
	if (options->clock == TRACE_CLOCK_MONOTONIC)
		assert_true(run->tick_ns == 1);
	else
		assert_true(run->tick_ns > 0.49 && run->tick_ns < 0.51);
	if (options->killed) {
		assert_int_equal(run->end, RUN_END_MISSING);
	} else {
		assert_int_equal(run->end, RUN_END_EXIT);
		assert_int_equal(run->events_declared, gen->coded);
	}
}

static void check_seen(const struct seen_events *got,
		       const struct seen_events *want, uint64_t seed)
{
	assert_int_equal(got->count, want->count);
	for (size_t i = 0; i < got->count; i++)
		if (got->items[i].thread != want->items[i].thread ||
		    got->items[i].fields != want->items[i].fields ||
		    got->items[i].frames != want->items[i].frames)
			fail_msg("seed %llu: event %zu differs",
				 (unsigned long long)seed, i);
}

static void check_seed(uint64_t seed, const char *path, const char *live)
{
	struct trace_gen_options options = trace_gen_random_options(seed);
	struct seen_events want = {0}, got = {0}, again = {0};
	struct trace_read read;
	struct trace_gen gen;

	options.expect = seen_expect;
	options.context = &want;
	trace_gen_run(&gen, &options);
	write_file(path, &gen.trace);
	if (options.live)
		write_file(live, &gen.live);
	trace_read_open_path(&read, path);
	assert_int_equal(read.status, 0);
	assert_int_equal(trace_read_events(&read, &got), 0);
	if (read.run.damage.count)
		trace_read_complain(&read);
	check_run(&read, &gen, &options);
	seen_sort(&want);
	check_seen(&got, &want, seed);
	read.input->format->rewind(read.input);
	assert_int_equal(trace_read_events(&read, &again), 0);
	check_seen(&again, &want, seed);
	assert_int_equal(read.run.events_lost, gen.lost);
	trace_read_close(&read);
	if (options.live)
		unlink(live);
	trace_gen_done(&gen);
	vec_done(&want);
	vec_done(&got);
	vec_done(&again);
}

static void roundtrip(void **state)
{
	char dir[] = "/tmp/memprof-test-XXXXXX";
	char path[64], live[80];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/trace", dir);
	snprintf(live, sizeof(live), "%s.live", path);
	for (uint64_t seed = 1; seed <= FILES; seed++)
		check_seed(seed, path, live);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(roundtrip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
