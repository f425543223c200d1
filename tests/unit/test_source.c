/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <errno.h>
#include <unistd.h>

#include "report/core/diag.h"
#include "report/source/source.h"

static void regular(void **state)
{
	char path[] = "/tmp/memprof-test-XXXXXX";
	struct source source;
	struct diag diag;
	char buf[16];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789", 10), 10);
	assert_int_equal(source_open(&source, path, &diag), 0);
	assert_int_equal(source.size, 10);
	assert_int_equal(source_read(&source, 3, buf, 4, &diag), 4);
	assert_memory_equal(buf, "3456", 4);
	assert_int_equal(source_read(&source, 8, buf, 10, &diag), 2);
	assert_int_equal(source_read(&source, 10, buf, 10, &diag), 0);
	assert_int_equal(source_read(&source, UINT64_MAX, buf, 10, &diag), 0);
	/* Growing and shrinking files. */
	assert_int_equal(write(fd, "ab", 2), 2);
	assert_int_equal(source_read(&source, 8, buf, 10, &diag), 2);
	assert_int_equal(ftruncate(fd, 5), 0);
	assert_int_equal(source_read(&source, 3, buf, 10, &diag), 2);
	source_close(&source);
	source_close(&source);
	close(fd);
	unlink(path);
}

/* Standard input that cannot be read at an offset. */
static void standard_input(void **state)
{
	int saved = dup(STDIN_FILENO);
	struct source source, live;
	struct diag diag;
	char buf[16];
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "0123456789", 10), 10);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	assert_int_equal(source_open(&source, "-", &diag), 0);
	assert_int_equal(source.size, 10);
	assert_int_equal(source_read(&source, 7, buf, 10, &diag), 3);
	assert_memory_equal(buf, "789", 3);
	assert_int_equal(source_read(&source, 0, buf, 2, &diag), 2);
	assert_memory_equal(buf, "01", 2);
	assert_int_equal(source_open_live(&live, &source, &diag), -ENOENT);
	source_close(&source);
	dup2(saved, STDIN_FILENO);
	close(saved);
}

static void no_room_for_spool(void **state)
{
	const char *was = getenv("TMPDIR");
	char *copy = was ? strdup(was) : NULL;
	int saved = dup(STDIN_FILENO);
	struct source source;
	struct diag diag;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	setenv("TMPDIR", "/no/such/dir", 1);
	assert_int_equal(source_open(&source, "-", &diag), -ENOENT);
	assert_string_equal(diag.file, "/no/such/dir");
	if (copy)
		setenv("TMPDIR", copy, 1);
	else
		unsetenv("TMPDIR");
	free(copy);
	dup2(saved, STDIN_FILENO);
	close(saved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(regular),
	    cmocka_unit_test(standard_input),
	    cmocka_unit_test(no_room_for_spool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
