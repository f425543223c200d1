/* SPDX-License-Identifier: MIT */
/* Files that were cut or changed: any answer will do, a crash will not. */
#include "tests/symbol/fixture.h"

#include <sys/stat.h>

enum { ADDRESSES_MAX = 64, CUTS = 200, FLIPS = 400 };

struct bytes {
	unsigned char *data;
	size_t len;
};

static int setup(void **state)
{
	(void)state;
	return fixture_build("chain names files");
}

static struct bytes read_fixture(const char *name)
{
	FILE *file = fopen(fixture_path(name), "r");
	struct bytes bytes = {0};

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	bytes.len = (size_t)ftell(file);
	rewind(file);
	bytes.data = malloc(bytes.len);
	assert_non_null(bytes.data);
	assert_int_equal(fread(bytes.data, 1, bytes.len, file), bytes.len);
	fclose(file);
	return bytes;
}

static void write_damaged(const unsigned char *data, size_t len)
{
	FILE *file = fopen(fixture_path("damaged"), "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

/* ELF addresses of the functions of @name. */
static size_t read_addresses(const char *name, uint64_t *addrs)
{
	struct symtab table = {0};
	const char *note;
	struct elf_file *file =
	    elf_file_open(fixture_path(name), ELF_FILE_LOADED, &note);
	size_t count;

	assert_non_null(file);
	assert_int_equal(symtab_add(&table, file->elf, SHT_SYMTAB), 0);
	count = table.count < ADDRESSES_MAX ? table.count : ADDRESSES_MAX;
	for (size_t i = 0; i < count; i++)
		addrs[i] = table.items[table.count - 1 - i].start;
	symtab_done(&table);
	elf_file_close(file);
	return count;
}

static void resolve_all(const uint64_t *addrs, size_t addr_count)
{
	struct subject subject;

	subject_open(&subject, "damaged", NULL, NULL, 0);
	for (size_t i = 0; i < addr_count; i++) {
		size_t count;
		const struct symbol_frame *frames =
		    subject_frames(&subject, addrs[i], &count);

		for (size_t n = 0; n < count; n++) {
			assert_non_null(frames[n].function);
			assert_non_null(frames[n].module);
		}
	}
	subject_close(&subject);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 11;
}

static void damage(const char *name, const char *intact)
{
	uint64_t addrs[ADDRESSES_MAX];
	uint64_t random = UINT64_C(88172645463325252);
	struct bytes bytes;
	size_t count;

	fixture_need(name);
	count = read_addresses(intact, addrs);
	bytes = read_fixture(name);
	for (size_t i = 0; i < CUTS; i++) {
		write_damaged(bytes.data, bytes.len * i / CUTS);
		resolve_all(addrs, count);
	}
	for (int i = 0; i < FLIPS; i++) {
		struct {
			size_t at;
			unsigned char was;
		} undo[8];
		size_t n = 1 + next_random(&random) % 8;

		for (size_t k = 0; k < n; k++) {
			size_t at = next_random(&random) % bytes.len;

			undo[k].at = at;
			undo[k].was = bytes.data[at];
			bytes.data[at] = (unsigned char)next_random(&random);
		}
		write_damaged(bytes.data, bytes.len);
		resolve_all(addrs, count);
		while (n-- > 0)
			bytes.data[undo[n].at] = undo[n].was;
	}
	free(bytes.data);
}

static void test_dwarf4(void **state)
{
	(void)state;
	damage("chain-dwarf4", "chain-dwarf4");
}

static void test_dwarf5(void **state)
{
	(void)state;
	damage("chain-dwarf5", "chain-dwarf5");
}

static void test_compressed(void **state)
{
	(void)state;
	damage("chain-gz", "chain-gz");
}

static void test_cxx(void **state)
{
	(void)state;
	damage("names-gcc", "names-gcc");
}

static void test_minidebug(void **state)
{
	(void)state;
	damage("mini.so", "full.so");
}

static void test_shared_debug(void **state)
{
	(void)state;
	damage("dwz-one", "dwz-one");
}

/* libdw opens what a split unit names; a FIFO there must not stop us. */
static void test_split_file_is_fifo(void **state)
{
	const char *dwo = fixture_path("chain-split-chain.dwo");
	struct subject subject;
	const struct symbol_frame *frames;
	size_t count;

	(void)state;
	assert_int_equal(unlink(dwo), 0);
	assert_int_equal(mkfifo(dwo, 0600), 0);
	alarm(20);
	subject_open(&subject, "chain-split", NULL, NULL, 0);
	frames = subject_frames(&subject,
				fixture_symbol("chain-split", "mark_inner"),
				&count);
	alarm(0);
	assert_int_equal(count, 1);
	assert_string_equal(frames[0].function, "outer");
	assert_int_equal(frames[0].line, fixture_line("chain.c", "at inner"));
	subject_close(&subject);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_dwarf4),
	    cmocka_unit_test(test_dwarf5),
	    cmocka_unit_test(test_compressed),
	    cmocka_unit_test(test_cxx),
	    cmocka_unit_test(test_minidebug),
	    cmocka_unit_test(test_shared_debug),
	    cmocka_unit_test(test_split_file_is_fifo),
	};

	return cmocka_run_group_tests(tests, setup, fixture_remove);
}
