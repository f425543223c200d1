/* SPDX-License-Identifier: MIT */
/*
 * Compiled programs for the symbol tests, and a run in which one of them was
 * the only module.
 */
#ifndef TESTS_SYMBOL_FIXTURE_H
#define TESTS_SYMBOL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/symbol/elf_file.h"
#include "report/symbol/symbol.h"
#include "report/symbol/symtab.h"

#define FIXTURE_SOURCES "tests/symbol"
#define FIXTURE_BIAS UINT64_C(0x7f1200000000)

static char fixture_dir[256];

/* @parts: of build.sh, separated by spaces.  Return: 0, as a group setup. */
static inline int fixture_build(const char *parts)
{
	const char *base = getenv("TMPDIR");
	char command[1024];

	snprintf(fixture_dir, sizeof(fixture_dir), "%s/symbol-test.XXXXXX",
		 base ? base : "/tmp");
	if (!mkdtemp(fixture_dir))
		return -1;
	snprintf(command, sizeof(command), "%s/build.sh '%s' %s %s >/dev/null",
		 FIXTURE_SOURCES, fixture_dir, FIXTURE_SOURCES, parts);
	return system(command);
}

static inline int fixture_remove(void **state)
{
	char command[512];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", fixture_dir);
	return system(command);
}

/* Return: path of the fixture called @name; four are kept. */
static inline const char *fixture_path(const char *name)
{
	static char paths[4][512];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", fixture_dir, name);
	return path;
}

static inline void fixture_need(const char *name)
{
	if (access(fixture_path(name), R_OK) < 0) {
		print_message("no %s: a tool is missing\n", name);
		skip();
	}
}

/* Return: ELF address of @symbol in the fixture called @name. */
static inline uint64_t fixture_symbol(const char *name, const char *symbol)
{
	const char *note;
	struct elf_file *file =
	    elf_file_open(fixture_path(name), ELF_FILE_LOADED, &note);
	struct symtab table = {0};
	uint64_t addr = 0;

	assert_non_null(file);
	assert_int_equal(symtab_add(&table, file->elf, SHT_SYMTAB), 0);
	for (size_t i = 0; i < table.count; i++)
		if (strcmp(table.items[i].name, symbol) == 0)
			addr = table.items[i].start;
	symtab_done(&table);
	elf_file_close(file);
	assert_int_not_equal(addr, 0);
	return addr;
}

/* Return: line of @source that has the comment @mark. */
static inline uint32_t fixture_line(const char *source, const char *mark)
{
	char path[256], comment[128], text[512];
	uint32_t line = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", FIXTURE_SOURCES, source);
	snprintf(comment, sizeof(comment), "/* %s */", mark);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(text, sizeof(text), file)) {
		line++;
		if (strstr(text, comment)) {
			fclose(file);
			return line;
		}
	}
	fclose(file);
	fail_msg("%s has no comment \"%s\"", path, mark);
	return 0;
}

/* A run with one module. */
struct subject {
	struct module module;
	struct module_map map;
	struct symbols *symbols;
	char path[512];
	uint8_t build_id[64];
};

/**
 * subject_open() - a run in which @name was loaded
 * @id_from: fixture whose build ID the trace has, NULL for none
 * @dirs:    as for symbols_new(), borrowed until subject_close()
 */
static inline void subject_open(struct subject *subject, const char *name,
				const char *id_from, const char *const *dirs,
				size_t dir_count)
{
	*subject = (struct subject){0};
	snprintf(subject->path, sizeof(subject->path), "%s",
		 fixture_path(name));
	subject->module = (struct module){
	    .number = 1,
	    .bias = FIXTURE_BIAS,
	    .start = FIXTURE_BIAS,
	    .end = FIXTURE_BIAS + 0x10000000,
	    .unload_tick = MODULE_NEVER_UNLOADED,
	    .path = subject->path,
	    .name = subject->path,
	};
	if (id_from) {
		const char *note;
		struct elf_file *file = elf_file_open(fixture_path(id_from),
						      ELF_FILE_LOADED, &note);

		assert_non_null(file);
		assert_in_range(file->build_id_len, 2, 64);
		memcpy(subject->build_id, file->build_id, file->build_id_len);
		subject->module.build_id = subject->build_id;
		subject->module.build_id_len = file->build_id_len;
		elf_file_close(file);
	}
	module_map_build(&subject->map, &subject->module, 1);
	subject->symbols = symbols_new(&subject->map, dirs, dir_count);
	assert_non_null(subject->symbols);
}

/* Frames of a call at ELF address @addr. */
static inline const struct symbol_frame *
subject_frames(struct subject *subject, uint64_t addr, size_t *ret_count)
{
	const struct symbol_frame *frames = symbols_resolve(
	    subject->symbols, FIXTURE_BIAS + addr + 1, ret_count);

	assert_non_null(frames);
	assert_in_range(*ret_count, 1, 1000);
	return frames;
}

static inline const struct symbol_module_status *
subject_status(struct subject *subject)
{
	size_t count;
	const struct symbol_module_status *rows =
	    symbols_module_status(subject->symbols, &count);

	assert_int_equal(count, 1);
	assert_ptr_equal(rows[0].module, &subject->module);
	return rows;
}

static inline void subject_close(struct subject *subject)
{
	symbols_free(subject->symbols);
}

#endif /* TESTS_SYMBOL_FIXTURE_H */
