/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "report/aggregate/histogram.h"
#include "report/engine/record.h"
#include "report/event/run.h"

/* The class that a lifetime in nanoseconds belongs to, by search. */
static unsigned class_of(uint64_t ns)
{
	static const uint64_t factors[] = { 1, 2, 5 };
	uint64_t power = 100;
	unsigned class = 0;

	for (;; power *= 10)
		for (size_t i = 0; i < 3; i++, class++)
			if (ns < power * factors[i])
				return class;
}

static void add_one(struct histogram *histogram, const struct histogram *empty,
		    const struct run *run, uint64_t from, uint64_t to)
{
	const struct record record = {
		.alloc_tick = from,
		.free_tick = to,
		.free_order = to,
		.size = 1,
	};

	*histogram = *empty;
	histogram_add(histogram, run, &record, 1);
}

/* A reader who takes the difference of the two times that the JSON has comes to
   the same classes, however long a tick is. */
static void lifetimes_are_those_that_are_written(void **state)
{
	static const double ticks_ns[] = { 1, 0.25, 0.4, 0.3333333333, 7.7, 52.08 };
	static const uint64_t bounds_ns[] = { 100, 200, 500, 1000, 50000, 1000000 };
	struct histogram histogram, empty;
	unsigned checked = 0;

	(void)state;
	memset(&empty, 0, sizeof(empty));
	for (size_t t = 0; t < sizeof(ticks_ns) / sizeof(ticks_ns[0]); t++) {
		struct run run = { .first_tick = 1000, .tick_ns = ticks_ns[t] };

		/* The first goes without. */
		if (t)
			histogram_prepare(&empty, &run);

		for (size_t b = 0; b < sizeof(bounds_ns) / sizeof(bounds_ns[0]);
		     b++) {
			uint64_t near = (uint64_t)((double)bounds_ns[b] /
						   run.tick_ns);

			for (uint64_t from = 1000; from < 1040; from++)
				for (uint64_t to = from + near - 4;
				     to < from + near + 6; to++) {
					uint64_t ns =
						run_span_ns(&run, from, to);

					add_one(&histogram, &empty, &run, from,
						to);
					assert_int_equal(
						histogram.lifetimes[class_of(ns)]
							.count,
						1);
					checked++;
				}
		}
	}
	assert_int_equal(checked, 6 * 6 * 40 * 10);
}

static void extremes_have_a_class(void **state)
{
	static const unsigned last = HISTOGRAM_LIFETIMES - 1;
	const struct run run = { .tick_ns = 1e9 };
	struct histogram histogram, empty;

	(void)state;
	memset(&empty, 0, sizeof(empty));
	for (int i = 0; i < 2; i++) {
		add_one(&histogram, &empty, &run, 5, 5);
		assert_int_equal(histogram.lifetimes[0].count, 1);
		add_one(&histogram, &empty, &run, 5, UINT64_MAX - 1);
		assert_int_equal(histogram.lifetimes[last].count, 1);
		add_one(&histogram, &empty, &run, 5, RECORD_NEVER);
		assert_int_equal(histogram.never_freed.count, 1);
		assert_int_equal(histogram.never_freed.leaked_count, 1);
		histogram_prepare(&empty, &run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lifetimes_are_those_that_are_written),
		cmocka_unit_test(extremes_have_a_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
