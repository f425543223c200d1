/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <locale.h>
#include <math.h>

#include "report/core/units.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_bytes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 1, "1 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.00 KiB" },
		{ 1536, "1.50 KiB" },
		{ 10234, "9.99 KiB" },
		{ 10235, "10.0 KiB" }, /* 9.9951 */
		{ 102348, "99.9 KiB" },
		{ 102349, "100 KiB" }, /* 99.9502 */
		{ 1048063, "1023 KiB" },
		{ 1048064, "1.00 MiB" }, /* 1023.5 */
		{ 12901234, "12.3 MiB" },
		{ UINT64_C(123) << 30, "123 GiB" },
		{ UINT64_C(1) << 40, "1.00 TiB" },
		{ UINT64_C(1) << 60, "1.00 EiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};
	char text[UNITS_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		units_format_bytes(text, sizeof(text), cases[i].bytes);
		assert_string_equal(text, cases[i].text);
	}
}

static void test_count(void **state)
{
	char text[UNITS_TEXT_SIZE], small[4];

	(void)state;
	units_format_count(text, sizeof(text), 0);
	assert_string_equal(text, "0");
	units_format_count(text, sizeof(text), 999);
	assert_string_equal(text, "999");
	units_format_count(text, sizeof(text), 1000);
	assert_string_equal(text, "1,000");
	units_format_count(text, sizeof(text), 1234567);
	assert_string_equal(text, "1,234,567");
	units_format_count(text, sizeof(text), UINT64_MAX);
	assert_string_equal(text, "18,446,744,073,709,551,615");
	units_format_count(small, sizeof(small), 1234567);
	assert_string_equal(small, "1,2");
}

static void test_seconds(void **state)
{
	static const struct {
		double seconds;
		const char *text;
	} cases[] = {
		{ 0, "0 s" },
		{ 5e-9, "5 ns" },
		{ 999e-9, "999 ns" },
		{ 1e-6, "1.00 µs" },
		{ 12.34e-6, "12.3 µs" },
		{ 999.6e-6, "1.00 ms" },
		{ 45.6e-3, "45.6 ms" },
		{ 0.9996, "1.00 s" },
		{ 1.234, "1.23 s" },
		{ 59.94, "59.9 s" },
		{ 59.96, "1 min 00 s" },
		{ 123.4, "2 min 03 s" },
		{ 3599.4, "59 min 59 s" },
		{ 3599.6, "1 h 00 min" },
		{ 3720, "1 h 02 min" },
		{ 360000, "100 h 00 min" },
		{ -1.5, "-1.50 s" },
		{ 1e300, ">285 years" },
		{ INFINITY, ">285 years" },
		{ NAN, "?" },
	};
	char text[UNITS_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		units_format_seconds(text, sizeof(text), cases[i].seconds);
		assert_string_equal(text, cases[i].text);
	}
}

static void test_ratio(void **state)
{
	static const struct {
		double ratio;
		const char *text;
	} cases[] = {
		{ 0, "0 %" },           { 1e-9, "<0.01 %" },
		{ 0.0005, "0.05 %" },   { 0.0123, "1.23 %" },
		{ 0.09994, "9.99 %" },  { 0.09996, "10.0 %" },
		{ 0.123, "12.3 %" },    { 0.9994, "99.9 %" },
		{ 0.99999, ">99.9 %" }, { 1, "100 %" },
		{ 12.34, "1,234 %" },   { -0.5, "-50.0 %" },
		{ NAN, "?" },           { INFINITY, "1,000,000,000,000,000 %" },
	};
	char text[UNITS_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		units_format_ratio(text, sizeof(text), cases[i].ratio);
		assert_string_equal(text, cases[i].text);
	}
}

static void test_date(void **state)
{
	static const struct {
		uint64_t seconds;
		const char *text;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00.123456789Z" },
		{ 951782400, "2000-02-29T00:00:00.123456789Z" },
		{ 1763686923, "2025-11-21T01:02:03.123456789Z" },
		{ 4107542399, "2100-02-28T23:59:59.123456789Z" },
		{ 4107542400, "2100-03-01T00:00:00.123456789Z" },
	};
	char text[UNITS_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		units_format_date(text, sizeof(text),
				  cases[i].seconds * UINT64_C(1000000000) +
					  123456789);
		assert_string_equal(text, cases[i].text);
	}
	units_format_date(text, sizeof(text), UINT64_MAX);
	assert_string_equal(text, "2554-07-21T23:34:33.709551615Z");
}

static void test_parse_bytes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "4096", 4096 },
		{ "64KiB", 65536 },
		{ "64kib", 65536 },
		{ "64K", 65536 },
		{ "10MB", 10000000 },
		{ "1.5 GiB", UINT64_C(3) << 29 },
		{ "0.1KiB", 102 },
		{ "2T", UINT64_C(2) << 40 },
		{ "12B", 12 },
		{ "0x1000", 4096 },
		{ "18446744073709551615", UINT64_MAX },
	};
	static const char *const bad[] = {
		"",      " 1",          "-1",
		"1.5",   "1 XB",        "1KK",
		"1KiB ", "0x",          "0xg",
		"1e3",   "99999999TiB", "18446744073709551616",
		"KiB",   ".",           "0x10000000000000000",
	};
	uint64_t bytes = 7;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_true(units_parse_bytes(good[i].text, &bytes));
		assert_int_equal(bytes, good[i].bytes);
	}
	bytes = 7;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(units_parse_bytes(bad[i], &bytes));
	assert_int_equal(bytes, 7);
}

static void test_parse_seconds(void **state)
{
	static const struct {
		const char *text;
		double seconds;
	} good[] = {
		{ "1.5", 1.5 },    { "1.5s", 1.5 },       { "250ms", 0.25 },
		{ "10us", 1e-5 },  { "10µs", 1e-5 },      { "5ns", 5e-9 },
		{ "2m", 120 },     { "1h", 3600 },        { "3d", 259200 },
		{ "1h30m", 5400 }, { "2 min 03 s", 123 }, { ".5", 0.5 },
		{ "1h30", 3630 },  { "2 min 1.5", 121.5 },
	};
	static const char *const bad[] = {
		"", "s", "1x", "1s30", "30 m 1h", "1m1m", "-1", "1 s x", "1e3",
	};
	double seconds, same;

	(void)state;
	/* To the bit, or a range from one to the other would be empty. */
	assert_true(units_parse_seconds("1.500004403s", &seconds));
	assert_true(units_parse_seconds("1s500004403ns", &same));
	assert_memory_equal(&seconds, &same, sizeof(seconds));
	assert_true(units_parse_seconds("1500004.403us", &same));
	assert_memory_equal(&seconds, &same, sizeof(seconds));
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_true(units_parse_seconds(good[i].text, &seconds));
		assert_true(fabs(seconds - good[i].seconds) <
			    1e-12 * (1 + good[i].seconds));
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(units_parse_seconds(bad[i], &seconds));
}

static void test_parse_others(void **state)
{
	uint64_t number;
	double ratio;

	(void)state;
	assert_true(units_parse_percent("12.5%", &ratio));
	assert_true(fabs(ratio - 0.125) < 1e-15);
	assert_true(units_parse_percent("250 %", &ratio));
	assert_false(units_parse_percent("12.5", &ratio));
	assert_false(units_parse_percent("%", &ratio));
	assert_false(units_parse_percent("-1%", &ratio));
	assert_true(units_parse_integer("42", &number));
	assert_int_equal(number, 42);
	assert_true(units_parse_integer("0xffffffffffffffff", &number));
	assert_int_equal(number, UINT64_MAX);
	assert_false(units_parse_integer("", &number));
	assert_false(units_parse_integer("1.0", &number));
	assert_false(units_parse_integer("18446744073709551616", &number));
}

/* What is formatted reads back, and a decimal comma elsewhere changes
   nothing. */
static void test_locale(void **state)
{
	char text[UNITS_TEXT_SIZE];
	uint64_t bytes;

	(void)state;
	setlocale(LC_ALL, "de_DE.UTF-8");
	units_format_bytes(text, sizeof(text), 1536);
	assert_string_equal(text, "1.50 KiB");
	assert_true(units_parse_bytes(text, &bytes));
	assert_int_equal(bytes, 1536);
	setlocale(LC_ALL, "C");
}

static void zeros_are_trimmed(void **state)
{
	static const char *const texts[][2] = {
		{ "1.00 KiB", "1 KiB" },  { "1.50 KiB", "1.5 KiB" },
		{ "10.0 \xc2\xb5s", "10 \xc2\xb5s" }, { "1.23 s", "1.23 s" },
		{ "100 B", "100 B" },	  { "0 s", "0 s" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char text[UNITS_TEXT_SIZE];

		snprintf(text, sizeof(text), "%s", texts[i][0]);
		units_trim_zeros(text);
		assert_string_equal(text, texts[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zeros_are_trimmed),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_ratio),
		cmocka_unit_test(test_date),
		cmocka_unit_test(test_parse_bytes),
		cmocka_unit_test(test_parse_seconds),
		cmocka_unit_test(test_parse_others),
		cmocka_unit_test(test_locale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
