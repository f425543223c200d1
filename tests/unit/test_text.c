/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "report/core/arena.h"
#include "report/core/text.h"
#include "tests/lib/random.h"

#define BAD "\xef\xbf\xbd"

static void sanitize(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
	    {"", ""},
	    {"plain", "plain"},
	    {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
	    {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
	    {"a\tb\nc", "a" BAD "b" BAD "c"},
	    {"\x7f", BAD},
	    {"\xc2\x85", BAD},     /* C1 */
	    {"\xe2\x80\xae", BAD}, /* override */
	    {"\xe2\x81\xa6", BAD}, /* isolate */
	    {"\xe2\x80\xa8", BAD}, /* line separator */
	    {"\xef\xbf\xbe", BAD}, /* U+FFFE */
	    {"\xff", BAD},
	    {"\xc3", BAD}, /* cut off */
	    {"\xc3(", BAD "("},
	    {"\xc0\x80", BAD BAD},                 /* overlong */
	    {"\xed\xa0\x80", BAD BAD BAD},         /* surrogate */
	    {"\xf4\x90\x80\x80", BAD BAD BAD BAD}, /* too high */
	};
	struct arena arena = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(
		    text_sanitize(&arena, cases[i].in, strlen(cases[i].in)),
		    cases[i].out);
	assert_string_equal(text_sanitize(&arena, "a\0b", 3), "a" BAD "b");
	arena_done(&arena);
}

/* Whatever comes in, what comes out passes unchanged. */
static void sanitize_is_stable(void **state)
{
	struct random random = {2};

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct arena arena = {0};
		char in[40];
		size_t len = random_below(&random, sizeof(in));
		const char *once, *twice;

		for (size_t j = 0; j < len; j++)
			in[j] = (char)random_wide(&random, 8);
		once = text_sanitize(&arena, in, len);
		twice = text_sanitize(&arena, once, strlen(once));
		assert_string_equal(once, twice);
		for (const char *c = once; *c; c++)
			assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
		arena_done(&arena);
	}
}

static void basename_of(void **state)
{
	(void)state;
	assert_string_equal(text_basename("/a/b"), "b");
	assert_string_equal(text_basename("b"), "b");
	assert_string_equal(text_basename("/a/"), "/a/");
	assert_string_equal(text_basename("/"), "/");
	assert_string_equal(text_basename(""), "");
}

static void nearest(void **state)
{
	static const char *const words[] = {"lifetime", "size_min", "size_max",
					    "from",     "to",       NULL};

	(void)state;
	assert_string_equal(text_nearest("lifetme", words), "lifetime");
	assert_string_equal(text_nearest("size-min", words), "size_min");
	assert_string_equal(text_nearest("form", words), "from");
	assert_null(text_nearest("zzzzzzzz", words));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sanitize),
	    cmocka_unit_test(sanitize_is_stable),
	    cmocka_unit_test(basename_of),
	    cmocka_unit_test(nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
