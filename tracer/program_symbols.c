/* SPDX-License-Identifier: MIT */
#include "tracer/program_symbols.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/libc.h"
#include "tracer/sys.h"

/**
 * struct image - the program, in memory and in its file
 * @bias:    addresses in memory minus those in the file
 * @headers: its program headers
 * @header_count: of them
 * @file:    all of the file
 * @bytes:   of it
 */
struct image {
	uintptr_t bias;
	const ElfW(Phdr) * headers;
	size_t header_count;
	const uint8_t *file;
	size_t bytes;
};

/* Safety: pure.  The first one is the program. */
static int take_first(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct image *image = arg;

	(void)size;
	image->bias = info->dlpi_addr;
	image->headers = info->dlpi_phdr;
	image->header_count = info->dlpi_phnum;
	return 1;
}

/* Safety: system calls.  Return: whether the program's file is mapped. */
static bool map_file(struct image *image)
{
	int fd = sys_open("/proc/self/exe", O_RDONLY | O_CLOEXEC, 0);
	struct stat st;
	void *p = NULL;

	if (fd < 0)
		return false;
	if (sys_fstat(fd, &st) == 0 &&
	    (size_t)st.st_size > sizeof(ElfW(Ehdr))) {
		image->bytes = (size_t)st.st_size;
		p = sys_mmap(NULL, image->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	sys_close(fd);
	if (!p || sys_mmap_failed(p))
		return false;
	image->file = p;
	return true;
}

/* Safety: pure.  Return: @count objects of @bytes at @off of the file, NULL. */
static const void *get_part(const struct image *image, uint64_t off,
			    uint64_t count, size_t bytes)
{
	if (off > image->bytes || count > (image->bytes - off) / bytes)
		return NULL;
	return image->file + off;
}

/*
 * Where the loader was started with the program as its argument the file is
 * the loader's.
 *
 * Safety: pure.  Return: whether the file is what is loaded.
 */
static bool is_loaded(const struct image *image, const ElfW(Ehdr) * header)
{
	size_t bytes = image->header_count * sizeof(ElfW(Phdr));
	const void *headers = get_part(image, header->e_phoff, 1, bytes);

	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && headers &&
	       header->e_phnum == image->header_count &&
	       memcmp(headers, image->headers, bytes) == 0;
}

/* Safety: pure.  Return: the table of symbols, or NULL. */
static const ElfW(Shdr) * find_table(const ElfW(Shdr) * sections, size_t count)
{
	const ElfW(Shdr) *exported = NULL;

	for (size_t i = 0; i < count; i++) {
		if (sections[i].sh_type == SHT_SYMTAB)
			return &sections[i];
		if (sections[i].sh_type == SHT_DYNSYM)
			exported = &sections[i];
	}
	return exported;
}

/* Safety: pure.  Whether [@addr, @addr + @len) is code of the program. */
static bool is_code(const struct image *image, uintptr_t addr, size_t len)
{
	for (size_t i = 0; i < image->header_count; i++) {
		const ElfW(Phdr) *segment = &image->headers[i];
		uintptr_t off = addr - segment->p_vaddr;

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) &&
		    off < segment->p_filesz && len <= segment->p_filesz - off)
			return true;
	}
	return false;
}

/* Safety: as @visit. */
static void visit_table(const struct image *image, const ElfW(Shdr) * sections,
			const ElfW(Shdr) * table,
			void (*visit)(const struct program_symbol *))
{
	const ElfW(Shdr) *strings = &sections[table->sh_link];
	size_t count = table->sh_size / sizeof(ElfW(Sym));
	const ElfW(Sym) *symbols =
	    get_part(image, table->sh_offset, count, sizeof(*symbols));
	const char *names =
	    get_part(image, strings->sh_offset, strings->sh_size, 1);

	if (!symbols || !names || !strings->sh_size ||
	    names[strings->sh_size - 1])
		return;
	for (size_t i = 0; i < count; i++) {
		const ElfW(Sym) *symbol = &symbols[i];
		struct program_symbol found = {
			.addr = symbol->st_value + image->bias,
			.len = symbol->st_size,
		};

		if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
		    symbol->st_shndx == SHN_UNDEF || !found.len ||
		    symbol->st_name >= strings->sh_size ||
		    !is_code(image, symbol->st_value, found.len))
			continue;
		found.name = names + symbol->st_name;
		visit(&found);
	}
}

void program_symbols_visit(void (*visit)(const struct program_symbol *))
{
	struct image image = {0};
	const ElfW(Ehdr) * header;
	const ElfW(Shdr) *sections, *table;

	libc_dl_iterate_phdr(take_first, &image);
	if (!image.headers || !map_file(&image))
		return;
	header = (const void *)image.file;
	sections = get_part(&image, header->e_shoff, header->e_shnum,
			    sizeof(*sections));
	if (is_loaded(&image, header) && sections) {
		table = find_table(sections, header->e_shnum);
		if (table && table->sh_link < header->e_shnum)
			visit_table(&image, sections, table, visit);
	}
	sys_munmap((void *)(uintptr_t)image.file, image.bytes);
}
