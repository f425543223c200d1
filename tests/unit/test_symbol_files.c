/* SPDX-License-Identifier: MIT */
/* Where debug information is found, and what is known without it. */
#include "tests/symbol/fixture.h"

#include <sys/stat.h>

#include "report/core/text.h"

static int setup(void **state)
{
	(void)state;
	return fixture_build("files");
}

/* All three frames of mark_inner, whatever file they came from. */
static void assert_full(struct subject *subject, uint64_t addr,
			const char *debug_path)
{
	const struct symbol_module_status *status;
	const struct symbol_frame *frames;
	size_t count;

	frames = subject_frames(subject, addr, &count);
	assert_int_equal(count, 3);
	assert_string_equal(frames[0].function, "inner");
	assert_string_equal(frames[2].function, "outer");
	assert_int_equal(frames[0].line, fixture_line("chain.c", "at inner"));
	assert_int_equal(frames[0].quality, SYMBOL_LINE);
	status = subject_status(subject);
	assert_string_equal(status->note, "");
	assert_string_equal(status->debug_path, debug_path);
}

/* One frame with a function and nothing else. */
static void assert_function(struct subject *subject, uint64_t addr,
			    const char *function)
{
	size_t count;
	const struct symbol_frame *frames =
	    subject_frames(subject, addr, &count);

	assert_int_equal(count, 1);
	assert_string_equal(frames[0].function, function);
	assert_null(frames[0].file);
	assert_int_equal(frames[0].quality, SYMBOL_FUNCTION);
}

/* One frame that reads module+0xoffset. */
static void assert_offset(struct subject *subject, uint64_t addr)
{
	size_t count;
	const struct symbol_frame *frames =
	    subject_frames(subject, addr, &count);
	char text[512];

	snprintf(text, sizeof(text), "%s+0x%llx", text_basename(subject->path),
		 (unsigned long long)addr + 1);
	assert_int_equal(count, 1);
	assert_string_equal(frames[0].function, text);
	assert_string_equal(frames[0].module, text_basename(subject->path));
	assert_int_equal(frames[0].quality, SYMBOL_MODULE);
}

static void assert_note(struct subject *subject, const char *note)
{
	assert_string_equal(subject_status(subject)->note, note);
	assert_null(subject_status(subject)->debug_path);
}

static void test_symbol_table_only(void **state)
{
	struct subject subject;

	(void)state;
	subject_open(&subject, "symbols.so", "full.so", NULL, 0);
	assert_function(&subject, fixture_symbol("full.so", "mark_inner"),
			"outer");
	assert_function(&subject, fixture_symbol("full.so", "mark_local"),
			"local");
	assert_note(&subject, "no debug information");
	assert_false(subject_status(&subject)->is_rebuilt);
	subject_close(&subject);
}

static void test_stripped(void **state)
{
	struct subject subject;

	(void)state;
	subject_open(&subject, "stripped.so", "full.so", NULL, 0);
	assert_function(&subject, fixture_symbol("full.so", "mark_inner"),
			"outer");
	assert_offset(&subject, fixture_symbol("full.so", "local"));
	assert_note(&subject, "stripped: exported functions only");
	assert_int_equal(subject_status(&subject)->addresses, 2);
	assert_int_equal(subject_status(&subject)->resolved[SYMBOL_MODULE], 1);
	subject_close(&subject);
}

static void test_minidebug(void **state)
{
	struct subject subject;

	(void)state;
	fixture_need("mini.so");
	subject_open(&subject, "mini.so", "full.so", NULL, 0);
	assert_function(&subject, fixture_symbol("full.so", "mark_inner"),
			"outer");
	assert_function(&subject, fixture_symbol("full.so", "local"), "local");
	assert_note(&subject, "stripped: functions from .gnu_debugdata");
	subject_close(&subject);
}

static void check_user_dir(const char *dir, const char *file)
{
	const char *const dirs[] = {"/nonexistent", fixture_path(dir)};
	char expected[600];
	struct subject subject;

	subject_open(&subject, "stripped.so", "full.so", dirs, 2);
	snprintf(expected, sizeof(expected), "%s/%s", dirs[1], file);
	assert_full(&subject, fixture_symbol("full.so", "mark_inner"),
		    expected);
	subject_close(&subject);
}

static void test_user_dirs(void **state)
{
	char path[600];

	(void)state;
	check_user_dir("byname", "stripped.so.debug");
	snprintf(path, sizeof(path), "%s/stripped.so.debug", fixture_dir + 1);
	check_user_dir("bypath", path);
}

/* By build ID, for which the module itself need not be there. */
static void check_build_id_dir(const char *dir, const char *name)
{
	struct subject subject;
	char path[600];

	subject_open(&subject, "gone.so", "full.so",
		     (const char *[]){fixture_path(dir)}, 1);
	subject_frames(&subject, fixture_symbol("full.so", "mark_inner"),
		       &(size_t){0});
	snprintf(path, sizeof(path), "%s",
		 subject_status(&subject)->debug_path);
	assert_non_null(strstr(path, name));
	assert_full(&subject, fixture_symbol("full.so", "mark_inner"), path);
	subject_close(&subject);
}

static void test_build_id_dirs(void **state)
{
	(void)state;
	check_build_id_dir("byid", "/byid/.build-id/");
	check_build_id_dir("bycache", "/debuginfo");
}

/* A file that merely has the right name is not believed. */
static void test_user_dir_of_other_build(void **state)
{
	struct subject subject;

	(void)state;
	subject_open(&subject, "stripped.so", "full.so",
		     (const char *[]){fixture_path("wrongid")}, 1);
	assert_offset(&subject, fixture_symbol("full.so", "local"));
	assert_note(&subject, "debug file is of another build");
	subject_close(&subject);
}

static void test_debug_link(void **state)
{
	uint64_t inner = fixture_symbol("anonymous.so", "mark_inner");
	uint64_t local = fixture_symbol("anonymous.so", "local");
	struct subject subject;

	(void)state;
	subject_open(&subject, "bylink/anonymous.so", NULL, NULL, 0);
	assert_full(&subject, inner,
		    fixture_path("bylink/.debug/anonymous.debug"));
	subject_close(&subject);

	subject_open(&subject, "badlink/anonymous.so", NULL, NULL, 0);
	assert_offset(&subject, local);
	assert_note(&subject, "debug file is of another build");
	subject_close(&subject);
}

static void test_rebuilt(void **state)
{
	struct subject subject;

	(void)state;
	subject_open(&subject, "other.so", "full.so", NULL, 0);
	assert_offset(&subject, fixture_symbol("full.so", "mark_inner"));
	assert_note(&subject, "build ID differs: file was rebuilt");
	assert_true(subject_status(&subject)->is_rebuilt);
	subject_close(&subject);

	/* Without a build ID in the trace the segments must tell. */
	subject_open(&subject, "full.so", NULL, NULL, 0);
	subject.module.segments =
	    &(struct module_segment){ .vaddr = 0, .mem_bytes = 0x1234 };
	subject.module.segment_count = 1;
	assert_offset(&subject, fixture_symbol("full.so", "mark_inner"));
	assert_note(&subject, "segments differ: file was rebuilt");
	assert_true(subject_status(&subject)->is_rebuilt);
	subject_close(&subject);
}

static void check_unreadable(const char *name, const char *note)
{
	struct subject subject;

	subject_open(&subject, name, NULL, NULL, 0);
	assert_offset(&subject, 0x1234);
	assert_note(&subject, note);
	subject_close(&subject);
}

static void write_file(const char *name, const void *data, size_t len)
{
	FILE *file = fopen(fixture_path(name), "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static void test_unreadable(void **state)
{
	unsigned char header[64] = {0x7f, 'E', 'L', 'F', 1, 1, 1};

	(void)state;
	check_unreadable("gone", "no such file");
	check_unreadable("gone (deleted)", "no such file");
	check_unreadable(".", "not a regular file");
	assert_int_equal(mkfifo(fixture_path("fifo"), 0600), 0);
	check_unreadable("fifo", "not a regular file");
	write_file("empty", "", 0);
	check_unreadable("empty", "not an ELF file");
	write_file("text", "#!/bin/sh\n", 10);
	check_unreadable("text", "not an ELF file");
	header[18] = 3; /* i386 */
	header[20] = 1;
	header[40] = sizeof(header) - 12;
	write_file("i386", header, sizeof(header));
	check_unreadable("i386", "the file is for another architecture");
}

/* /proc marks files that were replaced; the old bytes may be back. */
static void test_deleted_mark(void **state)
{
	struct subject subject;

	(void)state;
	subject_open(&subject, "full.so", "full.so", NULL, 0);
	strcat(subject.path, " (deleted)");
	assert_full(&subject, fixture_symbol("full.so", "mark_inner"),
		    fixture_path("full.so"));
	subject_close(&subject);
}

static void test_vdso(void **state)
{
	const struct symbol_frame *frames;
	struct subject subject;
	size_t count;

	(void)state;
	subject_open(&subject, "unused", NULL, NULL, 0);
	subject.module.is_vdso = true;
	subject.module.path = subject.module.name = "[vdso]";
	frames = subject_frames(&subject, 0xabc, &count);
	assert_string_equal(frames[0].function, "[vdso]+0xabd");
	assert_note(&subject, "part of the kernel, no file");
	subject_close(&subject);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_symbol_table_only),
	    cmocka_unit_test(test_stripped),
	    cmocka_unit_test(test_minidebug),
	    cmocka_unit_test(test_user_dirs),
	    cmocka_unit_test(test_build_id_dirs),
	    cmocka_unit_test(test_user_dir_of_other_build),
	    cmocka_unit_test(test_debug_link),
	    cmocka_unit_test(test_rebuilt),
	    cmocka_unit_test(test_unreadable),
	    cmocka_unit_test(test_deleted_mark),
	    cmocka_unit_test(test_vdso),
	};

	return cmocka_run_group_tests(tests, setup, fixture_remove);
}
