/* SPDX-License-Identifier: MIT */
/* Readable names, paths, checksums and ranges, without any file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/symbol/crc32.h"
#include "report/symbol/demangle.h"
#include "report/symbol/names.h"
#include "report/symbol/range_table.h"

struct name_case {
	const char *linker_name;
	const char *readable;
};

static const struct name_case name_cases[] = {
    {"", ""},
    {"main", "main"},
    {"_Z", "_Z"},
    {"_Znotmangled", "_Znotmangled"},
    /* versions and copies */
    {"malloc@@GLIBC_2.2.5", "malloc"},
    {"memcpy@GLIBC_2.2.5", "memcpy"},
    {"@odd", "@odd"},
    {"parse.cold", "parse"},
    {"parse.constprop.0", "parse"},
    {"parse.part.0.isra.0.cold", "parse"},
    {"parse.llvm.1234567890", "parse"},
    {"parse.lto_priv.3", "parse"},
    {"parse.omp_fn.0", "parse.omp_fn.0"},
    {".cold", ".cold"},
    {"_Z3fooi.cold", "foo(int)"},
    {"_Z3fooi.constprop.0.isra.0", "foo(int)"},
    {"_Z3fooi._omp_fn.0", "foo(int) [clone ._omp_fn.0]"},
    /* C++ */
    {"_Znwm", "operator new(unsigned long)"},
    {"_ZdaPv", "operator delete[](void*)"},
    {"_ZNK4base3MapIiSsEixERKi",
     "base::Map<int, std::string>::operator[](int const&) const"},
    {"_Z5twiceIiET_S0_", "twice<int>(int)"},
    {"_ZN12_GLOBAL__N_13barEv", "(anonymous namespace)::bar()"},
    {"_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc",
     "std::operator<< <std::char_traits<char>>(std::ostream&, "
     "char const*)"},
    {"_Z1fNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
     "f(std::string)"},
    {"_Z1fSt6vectorIS_INSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE"
     "ESaIS4_EESaIS6_EE",
     NULL}, /* whatever it reads, it must not fail */
    {"_ZN3fooB5cxx11Ev", "foo()"},
    {"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const"},
    {"_ZGVZ4mainE1x", "guard variable for main::x"},
    /* Rust, legacy and v0 */
    {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
     "core::fmt::Formatter::pad"},
    {"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$"
     "Test$GT$$GT$3bar17h930b740aa94f1d3aE",
     "<Test + 'static as foo::Bar<Test>>::bar"},
    {"_ZN4test4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE"
     ".llvm.42",
     "test::main::{{closure}}"},
    {"_RNvC6_123foo3bar", "123foo::bar"},
    {"_RNvMs0_NtCs5l0EXMQXRMU_21rustc_data_structures17obligation_forest"
     "INtB5_16ObligationForestNtB5_4NodeE4push",
     NULL},
    {"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
    {"_RNCNvC5crate4main0.llvm.7", "crate::main::{closure#0}"},
};

static void test_demangle(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(name_cases) / sizeof(name_cases[0]);
	     i++) {
		const struct name_case *name = &name_cases[i];
		char *text =
		    demangle_name(name->linker_name, strlen(name->linker_name));

		assert_non_null(text);
		if (name->readable)
			assert_string_equal(text, name->readable);
		free(text);
	}
}

/* f(pair<pair<…>, pair<…>>) doubles with every level: 2^60 words. */
static void test_demangle_bomb(void **state)
{
	char mangled[2048] = "_Z1f1AIiiE";
	char *text;

	(void)state;
	for (int i = 1; i < 60; i++) {
		char level[32];
		char seq[8] = "";

		/* substitution i-th: S_, S0_, … in base 36 */
		if (i > 1) {
			int n = i - 2;
			const char *digits =
			    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

			if (n >= 36)
				snprintf(seq, sizeof(seq), "%c%c",
					 digits[n / 36], digits[n % 36]);
			else
				snprintf(seq, sizeof(seq), "%c", digits[n]);
		}
		snprintf(level, sizeof(level), "S_IS%s_S%s_E", seq, seq);
		strcat(mangled, level);
	}
	text = demangle_name(mangled, strlen(mangled));
	assert_non_null(text);
	assert_in_range(strlen(text), 1, 40000);
	free(text);
}

static void test_demangle_long(void **state)
{
	size_t len = 200000;
	char *name = malloc(len + 1);
	char *text;

	(void)state;
	assert_non_null(name);
	memset(name, 'P', len);
	memcpy(name, "_Z1f", 4);
	name[len] = '\0';
	for (size_t n = 10; n < len; n = n * 3 / 2) {
		text = demangle_name(name, n);
		assert_non_null(text);
		free(text);
	}
	memset(name + 4, 'F', len - 4);
	for (size_t n = 10; n < len; n = n * 3 / 2) {
		text = demangle_name(name, n);
		assert_non_null(text);
		free(text);
	}
	free(name);
}

static void test_names(void **state)
{
	struct names names = {0};
	const char *text;

	(void)state;
	text = names_function(&names, "_Z3fooi");
	assert_string_equal(text, "foo(int)");
	assert_ptr_equal(names_function(&names, "_Z3fooi"), text);
	assert_ptr_equal(names_function(&names, "_Z3fooi.cold"), text);
	assert_ptr_equal(names_text(&names, "foo(int)", 8), text);
	assert_string_equal(names_text(&names, "a\nb", 3), "a\xef\xbf\xbd"
							   "b");
	for (int i = 0; i < 5000; i++) {
		char buf[32];

		snprintf(buf, sizeof(buf), "function%d", i);
		assert_string_equal(names_function(&names, buf), buf);
	}
	assert_ptr_equal(names_function(&names, "_Z3fooi"), text);
	names_done(&names);
}

static void test_paths(void **state)
{
	static const char *const cases[][3] = {
	    {"/a/b", "c.c", "/a/b/c.c"},
	    {"/a/b", "../c.c", "/a/c.c"},
	    {"/a/b", "./c.c", "/a/b/c.c"},
	    {"/a/b/", "/x//y/./z.h", "/x/y/z.h"},
	    {"/a", "../../../c.c", "/c.c"},
	    {NULL, "../c.c", "../c.c"},
	    {NULL, "a/../../c.c", "../c.c"},
	    {NULL, "../a/../c.c", "../c.c"},
	    {"", "a/b/../c.c", "a/c.c"},
	    {"./x", "../x/c.c", "x/c.c"},
	    {"./x", "./x/c.c", "x/c.c"},
	    {"./x", "./xy/c.c", "x/xy/c.c"},
	    {"x", "x/../y/c.c", "y/c.c"},
	    {"/x", "x/c.c", "/x/x/c.c"},
	    {"/a", "b..c/..d/...", "/a/b..c/..d/..."},
	    {NULL, "/", "/"},
	    {"/", "c", "/c"},
	    {NULL, ".", ""},
	};
	struct names names = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(
		    names_path(&names, cases[i][0], cases[i][1]), cases[i][2]);
	assert_ptr_equal(names_path(&names, "/a/b", "../c.c"),
			 names_path(&names, NULL, "/a/c.c"));
	names_done(&names);
}

static void test_crc32(void **state)
{
	(void)state;
	/* The check value of every list of CRCs, and of the parts of it. */
	assert_int_equal(crc32_update(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(crc32_update(crc32_update(0, "1234", 4), "56789", 5),
			 0xcbf43926);
	assert_int_equal(crc32_update(0, "", 0), 0);
}

static void test_ranges(void **state)
{
	struct range_table table = {0};
	struct range_cursor cursor;
	uint32_t value;

	(void)state;
	range_table_add(&table, 100, 200, 1);
	range_table_add(&table, 0, 1000, 2);
	range_table_add(&table, 150, 160, 3);
	range_table_add(&table, 100, 300, 4);
	range_table_add(&table, 50, 50, 5);
	range_table_ready(&table);
	assert_int_equal(table.count, 4);

	cursor = range_table_seek(&table, 155);
	assert_true(range_table_next(&table, 155, &cursor, &value));
	assert_int_equal(value, 3);
	assert_true(range_table_next(&table, 155, &cursor, &value));
	assert_int_equal(value, 1);
	assert_true(range_table_next(&table, 155, &cursor, &value));
	assert_int_equal(value, 4);
	assert_true(range_table_next(&table, 155, &cursor, &value));
	assert_int_equal(value, 2);
	assert_false(range_table_next(&table, 155, &cursor, &value));
	assert_false(range_table_next(&table, 155, &cursor, &value));

	cursor = range_table_seek(&table, 1000);
	assert_false(range_table_next(&table, 1000, &cursor, &value));
	range_table_done(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_demangle),
	    cmocka_unit_test(test_demangle_bomb),
	    cmocka_unit_test(test_demangle_long),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_paths),
	    cmocka_unit_test(test_crc32),
	    cmocka_unit_test(test_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
