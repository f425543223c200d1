/* SPDX-License-Identifier: MIT */
/* `.debug_frame` of files: right ones, others, and damaged ones. */
#include "tests/lib/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/random.h"
#include "tracer/cfi_debug.h"

enum {
	BIAS = 0x10000000,
	FUNCTIONS = 20,
	CHILDREN = 10,
	ROUNDS = 200, /* no more than files are remembered */
};

/**
 * struct sample - a file with nothing but the section
 */
struct sample {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr sections[3];
	char names[32];
	uint8_t frames[20 + FUNCTIONS * 32];
};

static uintptr_t get_address(size_t i)
{
	return 0x1000 + i * 64;
}

/* Last function first: the table has to be sorted. */
static void write_frames(uint8_t *p)
{
	static const uint8_t cie[] = { 16, 0, 0,    0, 0xff, 0xff, 0xff,
				       0xff, 1, 0,  1, 0x78, 16, 0x0c,
				       7, 8, 0x90, 1, 0, 0 };

	memcpy(p, cie, sizeof(cie));
	p += sizeof(cie);
	for (size_t i = FUNCTIONS; i-- > 0; p += 32) {
		const uint64_t range[] = { get_address(i), 64 };
		const uint8_t program[] = { 0x44, 0x0e, (uint8_t)(16 + 4 * i),
					    0 };
		const uint32_t head[] = { 28, 0 };

		memset(p, 0, 32);
		memcpy(p, head, sizeof(head));
		memcpy(p + 8, range, sizeof(range));
		memcpy(p + 24, program, sizeof(program));
	}
}

static void make_sample(struct sample *s)
{
	memset(s, 0, sizeof(*s));
	memcpy(s->ehdr.e_ident, ELFMAG, SELFMAG);
	s->ehdr.e_phoff = offsetof(struct sample, phdr);
	s->ehdr.e_phentsize = sizeof(s->phdr);
	s->ehdr.e_phnum = 1;
	s->ehdr.e_shoff = offsetof(struct sample, sections);
	s->ehdr.e_shentsize = sizeof(s->sections[0]);
	s->ehdr.e_shnum = 3;
	s->ehdr.e_shstrndx = 1;
	memcpy(s->names, "\0.shstrtab\0.debug_frame", 24);
	s->sections[1].sh_name = 1;
	s->sections[1].sh_type = SHT_STRTAB;
	s->sections[1].sh_offset = offsetof(struct sample, names);
	s->sections[1].sh_size = sizeof(s->names);
	s->sections[2].sh_name = 11;
	s->sections[2].sh_type = SHT_PROGBITS;
	s->sections[2].sh_offset = offsetof(struct sample, frames);
	s->sections[2].sh_size = sizeof(s->frames);
	write_frames(s->frames);
}

/* A new file each time, for one that is known is not read again. */
static void write_sample(const char *path, const struct sample *s, size_t len)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, s, len), len);
	close(fd);
}

static enum cfi_status find(const char *path, const struct sample *s,
			    uintptr_t pc, struct cfi_row *row)
{
	struct cfi_module module = {
		.path = path,
		.bias = BIAS,
		.headers = (const uint8_t *)s,
		.header_bytes = offsetof(struct sample, sections),
	};

	return cfi_find_debug(&module, pc, row);
}

static void make_path(char *path)
{
	int fd = mkstemp(strcpy(path, "/tmp/memprof-debug-XXXXXX"));

	assert_true(fd >= 0);
	close(fd);
}

static void test_rows(void **state)
{
	struct sample s;
	struct cfi_row row;
	char path[64];

	(void)state;
	make_path(path);
	make_sample(&s);
	write_sample(path, &s, sizeof(s));
	for (size_t i = 0; i < FUNCTIONS; i++) {
		uintptr_t pc = BIAS + get_address(i);

		assert_int_equal(find(path, &s, pc + 3, &row), CFI_FOUND);
		assert_int_equal(row.cfa_register, CFI_RSP);
		assert_int_equal(row.cfa_offset, 8);
		assert_int_equal(find(path, &s, pc + 63, &row), CFI_FOUND);
		assert_int_equal(row.cfa_offset, 16 + 4 * i);
	}
	assert_int_equal(find(path, &s, BIAS + get_address(0) - 1, &row),
			 CFI_NONE);
	assert_int_equal(find(path, &s, BIAS + get_address(FUNCTIONS), &row),
			 CFI_NONE);
	assert_int_equal(find(path, &s, 0, &row), CFI_NONE);
	/* It was read: the file may go, until modules are loaded. */
	unlink(path);
	assert_int_equal(find(path, &s, BIAS + get_address(5), &row),
			 CFI_FOUND);
	cfi_debug_forget();
	assert_int_equal(find(path, &s, BIAS + get_address(5), &row), CFI_NONE);
}

/* Files that are not what was loaded, or nothing to read. */
static void test_others(void **state)
{
	struct sample s, other;
	struct cfi_row row;
	char path[64];

	(void)state;
	make_path(path);
	make_sample(&s);
	for (int i = 0; i < 6; i++) {
		other = s;
		if (i == 0)
			other.ehdr.e_entry = 1;
		else if (i == 1)
			other.phdr.p_vaddr = 1;
		else if (i == 2)
			other.sections[2].sh_flags = SHF_COMPRESSED;
		else if (i == 3)
			other.sections[2].sh_name = 12;
		else if (i == 4)
			other.sections[2].sh_size = UINT64_MAX;
		else
			other.sections[2].sh_offset = UINT64_MAX - 5;
		write_sample(path, &other, sizeof(other));
		cfi_debug_forget();
		assert_int_equal(find(path, &s, BIAS + get_address(5), &row),
				 CFI_NONE);
	}
	unlink(path);
	cfi_debug_forget();
	assert_int_equal(find("/tmp", &s, BIAS + get_address(5), &row),
			 CFI_NONE);
	cfi_debug_forget();
	assert_int_equal(find("/dev/zero", &s, BIAS + get_address(5), &row),
			 CFI_NONE);
}

static void damage(const char *path, struct random *random)
{
	struct sample s;
	struct cfi_row row;
	uint8_t *bytes = (uint8_t *)&s;

	for (int round = 0; round < ROUNDS; round++) {
		size_t len = sizeof(s);
		int changes = 1 + (int)random_below(random, 8);

		make_sample(&s);
		while (changes-- > 0)
			bytes[random_below(random, sizeof(s))] =
			    (uint8_t)(random_below(random, 2)
					  ? random_u64(random)
					  : random_below(random, 2) * 255);
		if (random_below(random, 4) == 0)
			len = random_below(random, sizeof(s));
		write_sample(path, &s, len);
		cfi_debug_forget();
		for (size_t i = 0; i < FUNCTIONS; i++)
			for (size_t byte = 0; byte < 64; byte += 9)
				find(path, &s, BIAS + get_address(i) + byte,
				     &row);
	}
}

static void test_damage(void **state)
{
	(void)state;
	for (uint64_t child = 0; child < CHILDREN; child++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (pid == 0) {
			struct random random = { .state = child };
			char path[64];

			make_path(path);
			damage(path, &random);
			unlink(path);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
