/* SPDX-License-Identifier: MIT */
/* Files that were cut or changed: any answer will do, a crash will not. */
#include "tests/symbol/fixture.h"

#include <elf.h>
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

/* @bytes: chain-gz.  Return: number of its sections that are compressed, of
   which the first is *@ret. */
static size_t compressed_sections(const struct bytes *bytes, Elf64_Shdr *ret)
{
	Elf64_Ehdr header;
	size_t count = 0;

	memcpy(&header, bytes->data, sizeof(header));
	for (size_t i = header.e_shnum; i-- > 0;) {
		Elf64_Shdr section;

		memcpy(&section,
		       bytes->data + header.e_shoff + i * sizeof(section),
		       sizeof(section));
		if (!(section.sh_flags & SHF_COMPRESSED))
			continue;
		*ret = section;
		count++;
	}
	return count;
}

/* Appends the section headers of @bytes @times to a copy of the file. */
static void write_repeated(struct bytes *bytes, size_t times)
{
	Elf64_Ehdr header;
	size_t table_bytes;
	unsigned char *copy;

	memcpy(&header, bytes->data, sizeof(header));
	table_bytes = header.e_shnum * sizeof(Elf64_Shdr);
	copy = calloc(1, bytes->len + times * table_bytes + 8);
	assert_non_null(copy);
	memcpy(copy, bytes->data, bytes->len);
	bytes->len += -bytes->len % 8;
	for (size_t i = 0; i < times; i++)
		memcpy(copy + bytes->len + i * table_bytes,
		       bytes->data + header.e_shoff, table_bytes);
	header.e_shoff = bytes->len;
	header.e_shnum = (Elf64_Half)(header.e_shnum * times);
	memcpy(copy, &header, sizeof(header));
	write_damaged(copy, bytes->len + times * table_bytes);
	free(copy);
}

static struct elf_file *open_with_dwarf(const char *name)
{
	const char *note;
	struct elf_file *file =
	    elf_file_open(fixture_path(name), ELF_FILE_LOADED, &note);

	assert_non_null(file);
	assert_non_null(elf_file_dwarf(file));
	return file;
}

/* The same bytes under many headers take memory once. */
static void test_repeated_sections(void **state)
{
	struct bytes bytes;
	struct elf_file *once, *often;

	(void)state;
	bytes = read_fixture("chain-gz");
	write_repeated(&bytes, 100);
	once = open_with_dwarf("chain-gz");
	often = open_with_dwarf("damaged");
	assert_true(once->inflated.count > 0);
	assert_int_equal(often->inflated.count, once->inflated.count);
	elf_file_close(often);
	elf_file_close(once);
	free(bytes.data);
}

/* What claims to be more than debug information can be is not looked into. */
static void test_section_too_large(void **state)
{
	struct bytes bytes;
	Elf64_Shdr section;
	Elf64_Chdr compression;
	struct elf_file *file;
	size_t count;

	(void)state;
	bytes = read_fixture("chain-gz");
	count = compressed_sections(&bytes, &section);
	assert_true(count > 0);
	memcpy(&compression, bytes.data + section.sh_offset,
	       sizeof(compression));
	compression.ch_size = 200 * bytes.len;
	memcpy(bytes.data + section.sh_offset, &compression,
	       sizeof(compression));
	write_damaged(bytes.data, bytes.len);
	file = elf_file_open(fixture_path("damaged"), ELF_FILE_LOADED,
			     &(const char *){ NULL });
	assert_non_null(file);
	elf_file_dwarf(file);
	assert_int_equal(file->inflated.count, count - 1);
	elf_file_close(file);
	free(bytes.data);
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
	    cmocka_unit_test(test_repeated_sections),
	    cmocka_unit_test(test_section_too_large),
	    cmocka_unit_test(test_cxx),
	    cmocka_unit_test(test_minidebug),
	    cmocka_unit_test(test_shared_debug),
	    cmocka_unit_test(test_split_file_is_fifo),
	};

	return cmocka_run_group_tests(tests, setup, fixture_remove);
}
