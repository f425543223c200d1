/* SPDX-License-Identifier: MIT */
/*
 * Every cut and every flipped byte of small traces: nothing crashes, nothing
 * is accepted in silence, and no event is made up.
 */
#include "tests/lib/unit.h"

#include "report/core/vec.h"
#include "report/input/input.h"
#include "tests/lib/random.h"
#include "tests/lib/trace_gen.h"
#include "tests/lib/trace_read.h"

enum { TRACES = 8 };

enum damage { DAMAGE_CUT, DAMAGE_FLIP, DAMAGE_WILD };

static void check_read(const void *data, size_t len, size_t at,
		       enum damage damage, const struct seen_events *want)
{
	struct seen_events got = {0};
	struct trace_read read;
	const struct run *run = &read.run;

	trace_read_open_memory(&read, data, len);
	if (read.status) {
		assert_true(read.status < 0);
		assert_true(read.diag.text[0]);
		assert_true(read.diag.file[0]);
	} else {
		assert_int_equal(trace_read_events(&read, &got), 0);
		if (damage == DAMAGE_FLIP && !run->damage.count)
			fail_msg("flip at %zu was not noticed", at);
		if (damage == DAMAGE_CUT && !run->damage.count &&
		    run->end != RUN_END_MISSING)
			fail_msg("cut at %zu was not noticed", at);
		if (damage != DAMAGE_WILD && !seen_within(&got, want)) {
			trace_read_complain(&read);
			fail_msg("events were made up after damage at %zu", at);
		}
	}
	trace_read_close(&read);
	vec_done(&got);
}

/* Small: a trace of a few kilobytes with all kinds of chunks. */
static void make_trace(struct trace_gen *gen, uint64_t seed,
		       struct seen_events *want)
{
	struct trace_gen_options options = trace_gen_random_options(seed);

	options.threads = 1 + seed % 3;
	options.events = 20 + seed * 5;
	options.depth_max = 6;
	options.chunk_bytes = 60 + (uint32_t)seed * 20;
	options.killed = options.live = false;
	options.plain = seed & 1;
	options.wild = seed & 2;
	options.expect = seen_expect;
	options.context = want;
	trace_gen_run(gen, &options);
	seen_sort(want);
}

static void cut_anywhere(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < TRACES; seed++) {
		struct seen_events want = {0};
		struct trace_gen gen;

		make_trace(&gen, seed, &want);
		for (size_t len = 0; len < gen.trace.len; len++)
			check_read(gen.trace.data, len, len, DAMAGE_CUT, &want);
		trace_gen_done(&gen);
		vec_done(&want);
	}
}

static void flip_anywhere(void **state)
{
	struct random random = {7};

	(void)state;
	for (uint64_t seed = 0; seed < TRACES; seed++) {
		struct seen_events want = {0};
		struct trace_gen gen;

		make_trace(&gen, seed, &want);
		for (size_t at = 0; at < gen.trace.len; at++) {
			uint8_t flip =
			    (uint8_t)(1u << random_below(&random, 8));

			if (seed & 4)
				flip = 1 + (uint8_t)random_below(&random, 255);
			gen.trace.data[at] ^= flip;
			check_read(gen.trace.data, gen.trace.len, at,
				   DAMAGE_FLIP, &want);
			gen.trace.data[at] ^= flip;
		}
		trace_gen_done(&gen);
		vec_done(&want);
	}
}

/* The same with the checksums made right again: what a broken or malicious
   writer could have written. */
static void flip_and_repair(void **state)
{
	struct random random = {11};

	(void)state;
	for (uint64_t seed = 0; seed < TRACES; seed++) {
		struct seen_events want = {0};
		struct trace_gen gen;
		uint8_t *copy;

		make_trace(&gen, seed, &want);
		copy = malloc(gen.trace.len);
		assert_non_null(copy);
		for (size_t at = 0; at < gen.trace.len; at++) {
			memcpy(copy, gen.trace.data, gen.trace.len);
			copy[at] ^= 1 + (uint8_t)random_below(&random, 255);
			trace_repair(copy, gen.trace.len);
			check_read(copy, gen.trace.len, at, DAMAGE_WILD, &want);
		}
		free(copy);
		trace_gen_done(&gen);
		vec_done(&want);
	}
}

/* Bytes taken out, put in, overwritten by others. */
static void mangle(void **state)
{
	struct random random = {13};

	(void)state;
	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct seen_events want = {0};
		struct trace_gen gen;
		size_t at, n;

		make_trace(&gen, seed % TRACES, &want);
		at = random_below(&random, gen.trace.len);
		n = random_below(&random, gen.trace.len - at);
		switch (random_below(&random, 3)) {
		case 0:
			memmove(gen.trace.data + at, gen.trace.data + at + n,
				gen.trace.len - at - n);
			gen.trace.len -= n;
			break;
		case 1:
			for (size_t i = at; i < at + n; i++)
				gen.trace.data[i] =
				    (uint8_t)random_u64(&random);
			break;
		default:
			memmove(gen.trace.data + at,
				gen.trace.data +
				    random_below(&random, gen.trace.len - n),
				n);
			break;
		}
		check_read(gen.trace.data, gen.trace.len, at, DAMAGE_WILD,
			   &want);
		trace_gen_done(&gen);
		vec_done(&want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cut_anywhere),
	    cmocka_unit_test(flip_anywhere),
	    cmocka_unit_test(flip_and_repair),
	    cmocka_unit_test(mangle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
