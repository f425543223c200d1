/* SPDX-License-Identifier: MIT */
/* Sorting beyond memory: the same as qsort() of everything, whatever the buffer. */
#include "tests/lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/core/diag.h"
#include "report/core/runs.h"
#include "report/core/temporary.h"
#include "tests/lib/random.h"

struct item {
	uint32_t key;
	uint32_t number; /* in the order of adding; not compared */
	uint64_t fill[3];
};

static int by_key(const void *a, const void *b, void *context)
{
	const struct item *x = a, *y = b;

	++*(uint64_t *)context;
	return (x->key > y->key) - (x->key < y->key);
}

static int by_key_and_number(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static void check_order(struct runs *runs, const struct item *wanted,
			size_t count)
{
	const void *got;

	assert_int_equal(runs_rewind(runs), 0);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(runs_next(runs, &got), 1);
		assert_memory_equal(got, &wanted[i], sizeof(wanted[i]));
	}
	assert_int_equal(runs_next(runs, &got), 0);
	assert_int_equal(runs_next(runs, &got), 0);
}

static void sort(size_t count, uint32_t keys, size_t buffer_bytes,
		 uint64_t seed)
{
	struct item *items = calloc(count + 1, sizeof(*items));
	struct random random = { seed };
	uint64_t compares = 0;
	struct runs runs;

	assert_non_null(items);
	runs_init(&runs, sizeof(*items), by_key, &compares, buffer_bytes,
		  "/tmp");
	for (size_t i = 0; i < count; i++) {
		items[i].key = (uint32_t)random_below(&random, keys);
		items[i].number = (uint32_t)i;
		items[i].fill[2] = random_u64(&random);
		assert_int_equal(runs_add(&runs, &items[i]), 0);
	}
	assert_int_equal(runs.count, count);
	qsort(items, count, sizeof(*items), by_key_and_number);
	check_order(&runs, items, count);
	/* Another artifact of the same view reads them again. */
	check_order(&runs, items, count);
	runs_done(&runs);
	free(items);
}

static void test_nothing(void **state)
{
	(void)state;
	sort(0, 1, 1 << 20, 1);
}

static void test_in_memory(void **state)
{
	(void)state;
	sort(1, 1, 1 << 20, 1);
	sort(1000, 1000000, 1 << 20, 2);
	sort(1000, 3, 1 << 20, 3);
}

/* Buffers of the least size: 64 items, 16 runs read at once, several levels. */
static void test_levels(void **state)
{
	(void)state;
	sort(65, 10, 0, 4);
	sort(64 * 16, 100, 0, 5);
	sort(64 * 16 + 1, 100, 0, 6);
	sort(64 * 16 * 16 + 777, 1 << 30, 0, 7);
	sort(100000, 7, 0, 8);
}

static void test_any_size(void **state)
{
	struct random random = { 9 };

	(void)state;
	for (int i = 0; i < 60; i++)
		sort(random_below(&random, 20000),
		     1 + (uint32_t)random_below(&random, 40000),
		     random_below(&random, 200000), random_u64(&random));
}

static void test_no_directory(void **state)
{
	struct diag diag = { 0 };
	uint64_t compares = 0;
	struct item item = { 0 };
	struct runs runs;
	int status = 0;

	(void)state;
	runs_init(&runs, sizeof(item), by_key, &compares, 0,
		  "/nowhere/at/all");
	for (int i = 0; i < 65 && status == 0; i++)
		status = runs_add(&runs, &item);
	assert_int_equal(status, -ENOENT);
	assert_int_equal(runs_explain(&runs, status, &diag), -ENOENT);
	assert_string_equal(diag.file, "/nowhere/at/all");
	assert_non_null(strstr(diag.text, "No such file"));
	runs_done(&runs);
}

/* A file that cannot take more is an error, not a shorter list. */
static void test_no_room(void **state)
{
	uint64_t compares = 0;
	struct item item = { 0 };
	struct runs runs;
	int status = 0;

	(void)state;
	runs_init(&runs, sizeof(item), by_key, &compares, 0, "/tmp");
	runs.fd = open("/dev/full", O_RDWR);
	assert_true(runs.fd >= 0);
	for (int i = 0; i < 65 && status == 0; i++)
		status = runs_add(&runs, &item);
	assert_int_equal(status, -ENOSPC);
	runs_done(&runs);
}

static void test_no_name(void **state)
{
	int fd = temporary_open("/tmp");
	char text[4] = "";
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_nlink, 0);
	assert_int_equal(temporary_write(fd, 5, "abc", 4), 0);
	assert_int_equal(temporary_read(fd, 5, text, 4), 0);
	assert_string_equal(text, "abc");
	assert_int_equal(temporary_read(fd, 6, text, 4), -EIO);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_in_memory),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_any_size),
		cmocka_unit_test(test_no_directory),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
