/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "report/progress.h"

static void expect(uint64_t events, uint64_t bytes, uint64_t total,
		   double seconds, const char *wanted)
{
	char text[200];

	progress_text(text, sizeof(text), events, bytes, total, seconds);
	assert_string_equal(text, wanted);
}

static void test_text(void **state)
{
	const uint64_t mib = 1 << 20;

	(void)state;
	expect(30000000, 300 * mib, 1500 * mib, 2,
	       "300 MiB of 1.46 GiB, 15.0 M events/s, 8.00 s left");
	expect(1000, mib, 2 * mib, 10,
	       "1.00 MiB of 2.00 MiB, 100 events/s, 10.0 s left");
	/* What says nothing is not said. */
	expect(1000, mib, 2 * mib, 0.1, "1.00 MiB of 2.00 MiB");
	expect(0, 0, 2 * mib, 10, "0 B of 2.00 MiB");
	expect(5, 3 * mib, 2 * mib, 1,
	       "2.00 MiB of 2.00 MiB, 5 events/s, 0 s left");
	expect(0, 0, 0, 1, "0 B of 0 B");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
