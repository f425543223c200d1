/* SPDX-License-Identifier: MIT */
/* arena, vec, sink, diag. */
#include "tests/lib/unit.h"

#include <errno.h>

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/core/vec.h"

static void arena(void **state)
{
	struct arena a = {0};
	char *big;

	(void)state;
	for (size_t size = 0; size < 300; size++) {
		unsigned char *p = arena_alloc(&a, size);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, size);
	}
	big = arena_alloc(&a, 1 << 20);
	assert_non_null(big);
	memset(big, 1, 1 << 20);
	assert_non_null(arena_alloc(&a, 10));
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_array(&a, SIZE_MAX / 2, 3));
	assert_string_equal(arena_copy(&a, "abcdef", 3), "abc");
	assert_string_equal(arena_copy(&a, NULL, 0), "");
	assert_string_equal(arena_printf(&a, "%d-%s", 5, "x"), "5-x");
	assert_true(a.used_bytes > 1 << 20);
	arena_done(&a);
	assert_int_equal(a.used_bytes, 0);
	assert_non_null(arena_alloc(&a, 1));
	arena_done(&a);
}

static void vec(void **state)
{
	struct {
		int *items;
		size_t count, capacity;
	} v = {0};
	size_t capacity = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int *item = vec_push(&v);

		assert_non_null(item);
		assert_int_equal(*item, 0);
		*item = i;
	}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(v.items[i], i);
	assert_true(v.capacity >= 1000);
	assert_true(vec_reserve(&v, 5000));
	assert_true(v.capacity >= 5000);
	assert_int_equal(v.count, 1000);
	vec_done(&v);
	assert_int_equal(v.capacity, 0);
	assert_null(vec_grow(NULL, &capacity, SIZE_MAX / 4, 8));
	assert_int_equal(capacity, 0);
}

static void sink_memory(void **state)
{
	struct sink sink;

	(void)state;
	sink_init_memory(&sink);
	sink_puts(&sink, "a");
	sink_write(&sink, "\0b", 2);
	for (int i = 0; i < 300; i++)
		sink_printf(&sink, "%04d", i);
	sink_printf(&sink, "%2000d", 7);
	assert_int_equal(sink.len, 3 + 300 * 4 + 2000);
	assert_memory_equal(sink.data, "a\0b0000", 7);
	assert_int_equal(sink.data[sink.len], 0);
	assert_int_equal(sink_done(&sink), 0);
}

static void sink_file(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct sink sink;

	(void)state;
	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	sink_init_file(&sink, full);
	sink_puts(&sink, "x");
	sink_puts(&sink, "y");
	assert_int_equal(sink_done(&sink), -ENOSPC);
	fclose(full);
}

static void messages(void **state)
{
	struct findings findings = {0};
	struct diag diag;
	char line[100];

	(void)state;
	assert_int_equal(diag_set(&diag, -5, "f", 12, "x%d", 1), -5);
	diag_format(&diag, line, sizeof(line));
	assert_string_equal(line, "f: offset 12: x1");
	diag_set_line(&diag, -5, "f", 12, "x");
	diag_format(&diag, line, sizeof(line));
	assert_string_equal(line, "f:12: x");
	diag_set(&diag, -5, "f", DIAG_NO_OFFSET, "x");
	diag_format(&diag, line, sizeof(line));
	assert_string_equal(line, "f: x");
	diag_set(&diag, -5, NULL, DIAG_NO_OFFSET, "x");
	diag_format(&diag, line, sizeof(line));
	assert_string_equal(line, "x");
	assert_int_equal(diag_set(NULL, -7, "f", 1, "x"), -7);
	for (size_t i = 0; i < FINDINGS_MAX + 10; i++)
		findings_add(&findings, "f", i, "%zu", i);
	assert_int_equal(findings.count, FINDINGS_MAX + 10);
	assert_int_equal(findings.stored, FINDINGS_MAX);
	assert_string_equal(findings.items[99].text, "99");
	findings_done(&findings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(arena),       cmocka_unit_test(vec),
	    cmocka_unit_test(sink_memory), cmocka_unit_test(sink_file),
	    cmocka_unit_test(messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
