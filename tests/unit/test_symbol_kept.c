/* SPDX-License-Identifier: MIT */
/* Names from files that the trace holds: programs, generated code. */
#include "tests/symbol/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "report/core/kept.h"
#include "report/core/text.h"

/* A file that is kept in memory. */
struct keeping {
	struct kept_file file;
	struct kept_part part;
	uint8_t *bytes;
};

static int read_bytes(const struct kept_file *file,
		      const struct kept_part *part, uint8_t *ret)
{
	const struct keeping *keeping = file->source;

	if (!keeping->bytes)
		return -EIO;
	memcpy(ret, keeping->bytes, part->len);
	return 0;
}

/* Takes @bytes over. */
static void keep_bytes(struct keeping *keeping, enum kept_kind kind,
		       const char *path, uint8_t *bytes, size_t len)
{
	*keeping = (struct keeping){
		.file = { .kind = kind,
			  .is_whole = true,
			  .path = path,
			  .name = path,
			  .build_id = (const uint8_t *)"",
			  .bytes = len,
			  .parts = &keeping->part,
			  .part_count = 1,
			  .read = read_bytes,
			  .source = keeping },
		.part = { .len = (uint32_t)len },
		.bytes = bytes,
	};
}

/* Keeps the fixture called @name as if it lay at @path. */
static void keep_fixture(struct keeping *keeping, enum kept_kind kind,
			 const char *path, const char *name)
{
	FILE *file = fopen(fixture_path(name), "r");
	uint8_t *bytes;
	long len;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	len = ftell(file);
	rewind(file);
	bytes = malloc((size_t)len);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, (size_t)len, file), len);
	fclose(file);
	keep_bytes(keeping, kind, path, bytes, (size_t)len);
}

static void keep_text(struct keeping *keeping, const char *text)
{
	uint8_t *bytes = malloc(strlen(text) + 1);

	assert_non_null(bytes);
	memcpy(bytes, text, strlen(text));
	keep_bytes(keeping, KEPT_PERF_MAP, "/tmp/perf-1.map", bytes,
		   strlen(text));
}

static void keeping_done(struct keeping *keeping)
{
	free(keeping->bytes);
}

static int setup(void **state)
{
	(void)state;
	return fixture_build("chain files objects");
}

/* --- programs ------------------------------------------------------------ */

/* The run of "chain", of which @path is on this machine and @keeping in the
   trace.  Return: quality of the frame at a place that the program has. */
static enum symbol_quality resolve_chain(const char *path,
					 const char *id_from,
					 const struct keeping *keeping,
					 const char *note)
{
	uint64_t addr = fixture_symbol("chain", "mark_inner");
	const struct symbol_frame *frames;
	enum symbol_quality quality;
	struct subject subject;
	size_t count;

	subject_open(&subject, path, id_from, NULL, 0);
	symbols_set_run(subject.symbols, &keeping->file, 1, 0, 0, 0);
	frames = subject_frames(&subject, addr, &count);
	quality = frames[0].quality;
	if (quality == SYMBOL_LINE) {
		assert_int_equal(count, 3);
		assert_string_equal(frames[0].function, "inner");
		assert_string_equal(text_basename(frames[0].file), "chain.c");
	}
	assert_string_equal(subject_status(&subject)->note, note);
	subject_close(&subject);
	return quality;
}

static void keep_chain(struct keeping *keeping, const char *path, bool has_id)
{
	static uint8_t id[64];
	const char *note;
	struct elf_file *file =
		elf_file_open(fixture_path("chain"), ELF_FILE_LOADED, &note);

	assert_non_null(file);
	keep_fixture(keeping, KEPT_BINARY, path, "chain");
	if (has_id) {
		memcpy(id, file->build_id, file->build_id_len);
		keeping->file.build_id = id;
		keeping->file.build_id_len = file->build_id_len;
	}
	elf_file_close(file);
}

static void test_missing_program(void **state)
{
	char path[512];
	struct keeping keeping;

	(void)state;
	keep_chain(&keeping, "/elsewhere", true);
	assert_int_equal(resolve_chain("gone", "chain", &keeping, ""),
			 SYMBOL_LINE);
	/* Without a build ID the path must be the same. */
	assert_int_equal(resolve_chain("gone", NULL, &keeping, "no such file"),
			 SYMBOL_MODULE);
	keeping_done(&keeping);
	snprintf(path, sizeof(path), "%s", fixture_path("gone"));
	keep_chain(&keeping, path, false);
	assert_int_equal(resolve_chain("gone", NULL, &keeping, ""),
			 SYMBOL_LINE);
	keeping_done(&keeping);
}

static void test_program_of_another_build(void **state)
{
	struct keeping keeping;

	(void)state;
	keep_chain(&keeping, "/elsewhere", true);
	assert_int_equal(resolve_chain("full.so", "chain", &keeping, ""),
			 SYMBOL_LINE);
	keeping_done(&keeping);
}

/* What is not what it says, or not all there, is not used. */
static void test_program_not_usable(void **state)
{
	struct keeping keeping;

	(void)state;
	keep_chain(&keeping, "/elsewhere", true);
	keeping.file.is_whole = false;
	assert_int_equal(resolve_chain("gone", "chain", &keeping,
				       "no such file"),
			 SYMBOL_MODULE);
	keeping.file.is_whole = keeping.file.is_cut = true;
	assert_int_equal(resolve_chain("gone", "chain", &keeping,
				       "no such file"),
			 SYMBOL_MODULE);
	keeping.file.is_cut = false;
	keeping.file.kind = KEPT_INCLUDED;
	assert_int_equal(resolve_chain("gone", "chain", &keeping,
				       "no such file"),
			 SYMBOL_MODULE);
	/* Its own build ID is another one than the trace says. */
	keeping.file.kind = KEPT_BINARY;
	assert_int_equal(resolve_chain("gone", "full.so", &keeping,
				       "no such file"),
			 SYMBOL_MODULE);
	free(keeping.bytes);
	keeping.bytes = NULL;
	assert_int_equal(resolve_chain("gone", "chain", &keeping,
				       "no such file"),
			 SYMBOL_MODULE);
}

/* --- generated code ------------------------------------------------------ */

static const struct symbol_frame *
generated_frames(struct subject *subject, uint64_t addr, size_t *ret_count)
{
	return symbols_resolve(subject->symbols, addr + 1, ret_count);
}

static void assert_generated(struct subject *subject, uint64_t addr,
			     const char *name, const char *module)
{
	size_t count;
	const struct symbol_frame *frames =
		generated_frames(subject, addr, &count);

	assert_int_equal(count, 1);
	assert_string_equal(frames[0].function, name);
	assert_string_equal(frames[0].module, module);
	assert_int_equal(frames[0].quality,
			 module[0] ? SYMBOL_FUNCTION : SYMBOL_ADDRESS);
}

static void test_perf_map(void **state)
{
	struct subject subject;
	struct keeping keeping;

	(void)state;
	keep_text(&keeping, "5000 100 Builtin:Call\n"
			    "5100 100 _ZN3foo3barEv\n"
			    "5200 10 bad\x1b[31m\xff\n");
	subject_open(&subject, "chain", NULL, NULL, 0);
	symbols_set_run(subject.symbols, &keeping.file, 1, 0, 0, 0);
	assert_generated(&subject, 0x5000, "Builtin:Call", "[jit]");
	assert_generated(&subject, 0x50ff, "Builtin:Call", "[jit]");
	assert_generated(&subject, 0x5100, "foo::bar()", "[jit]");
	assert_generated(&subject, 0x5200,
			 "bad\xef\xbf\xbd[31m\xef\xbf\xbd", "[jit]");
	/* Others are one function, not as many as there are addresses. */
	assert_generated(&subject, 0x4fff, "[anonymous]", "");
	assert_generated(&subject, 0x6000, "[anonymous]", "");
	subject_close(&subject);
	keeping_done(&keeping);
}

static void test_object_with_lines(void **state)
{
	uint64_t addr = fixture_symbol("chain-nopie", "mark_inner");
	const struct symbol_frame *frames;
	struct subject subject;
	struct keeping keeping;
	size_t count;

	(void)state;
	keep_fixture(&keeping, KEPT_JIT_OBJECT, "", "chain-nopie");
	subject_open(&subject, "chain", NULL, NULL, 0);
	symbols_set_run(subject.symbols, &keeping.file, 1, 0, 0, 0);
	frames = generated_frames(&subject, addr, &count);
	assert_int_equal(count, 3);
	assert_string_equal(frames[0].function, "inner");
	assert_string_equal(frames[2].function, "outer");
	assert_string_equal(frames[2].module, "[jit]");
	assert_int_equal(frames[0].line, fixture_line("chain.c", "at inner"));
	subject_close(&subject);
	keeping_done(&keeping);
}

/* As compilers make them: addresses of symbols are relative to sections, and
   debug information is not ready to be read. */
static void test_relocatable_object(void **state)
{
	struct subject subject;
	struct keeping keeping;

	(void)state;
	keep_fixture(&keeping, KEPT_JIT_OBJECT, "", "object-at-7f00");
	subject_open(&subject, "chain", NULL, NULL, 0);
	symbols_set_run(subject.symbols, &keeping.file, 1, 0, 0, 0);
	assert_generated(&subject, 0x7f0000001000, "alone", "[jit]");
	assert_generated(&subject, 0x7f0000000fff, "[anonymous]", "");
	subject_close(&subject);
	keeping_done(&keeping);
}

static void test_last_object_counts(void **state)
{
	struct keeping first, second;
	struct kept_file files[2];
	struct subject subject;

	(void)state;
	keep_fixture(&first, KEPT_JIT_OBJECT, "", "object-at-7f00");
	keep_fixture(&second, KEPT_JIT_OBJECT, "", "newer-at-7f00");
	for (int round = 0; round < 2; round++) {
		files[round] = first.file;
		files[!round] = second.file;
		subject_open(&subject, "chain", NULL, NULL, 0);
		symbols_set_run(subject.symbols, files, 2, 0, 0, 0);
		assert_generated(&subject, 0x7f0000001000,
				 round ? "alone" : "newer", "[jit]");
		subject_close(&subject);
	}
	keeping_done(&first);
	keeping_done(&second);
}

/* Every byte of an object changed, and every length. */
static void test_damaged_object(void **state)
{
	struct keeping keeping;
	size_t len;

	(void)state;
	keep_fixture(&keeping, KEPT_JIT_OBJECT, "", "object-at-7f00");
	len = keeping.part.len;
	for (size_t i = 0; i < 2 * len; i++) {
		struct subject subject;
		size_t count;

		if (i < len)
			keeping.bytes[i] ^= 0xff;
		else
			keeping.file.bytes = keeping.part.len =
				(uint32_t)(i - len);
		subject_open(&subject, "chain", NULL, NULL, 0);
		symbols_set_run(subject.symbols, &keeping.file, 1, 0, 0, 0);
		generated_frames(&subject, 0x7f0000001000, &count);
		assert_int_equal(count, 1);
		subject_close(&subject);
		if (i < len)
			keeping.bytes[i] ^= 0xff;
	}
	keeping_done(&keeping);
}

/* --- a map that is not in the trace -------------------------------------- */

static void check_outside(uint64_t start_ns, uint64_t end_ns, const char *name,
			  const char *module)
{
	struct subject subject;

	subject_open(&subject, "chain", NULL, NULL, 0);
	symbols_set_run(subject.symbols, NULL, 0, (uint32_t)getpid(), start_ns,
			end_ns);
	assert_generated(&subject, 0x5000, name, module);
	subject_close(&subject);
}

static void test_map_outside_of_trace(void **state)
{
	const uint64_t second = 1000000000;
	const struct timespec times[2] = { { 1000000, 0 }, { 1000000, 0 } };
	const uint64_t written = 1000000 * second;
	char path[64];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("5000 100 outside\n", file);
	fclose(file);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	check_outside(written - second, written + second, "outside", "[jit]");
	/* Of an older process of that number, or of a newer one. */
	check_outside(written + second, written + 2 * second, "[anonymous]",
		      "");
	check_outside(written - 3600 * second, written - 1800 * second,
		      "[anonymous]", "");
	unlink(path);
	/* What is no regular file at that place is not followed. */
	assert_int_equal(symlink("/etc/passwd", path), 0);
	check_outside(0, UINT64_MAX / 2, "[anonymous]", "");
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing_program),
		cmocka_unit_test(test_program_of_another_build),
		cmocka_unit_test(test_program_not_usable),
		cmocka_unit_test(test_perf_map),
		cmocka_unit_test(test_object_with_lines),
		cmocka_unit_test(test_relocatable_object),
		cmocka_unit_test(test_last_object_counts),
		cmocka_unit_test(test_damaged_object),
		cmocka_unit_test(test_map_outside_of_trace),
	};

	return cmocka_run_group_tests(tests, setup, fixture_remove);
}
