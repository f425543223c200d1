/* SPDX-License-Identifier: MIT */
#include "tracer/enclosed.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "tracer/elf_symbol.h"
#include "tracer/pool.h"
#include "tracer/sys.h"

enum { PAGE = 4096 };

/* What a relocation asks for, by processor.  Others are not done. */
#if defined(__x86_64__)
enum {
	MACHINE = EM_X86_64,
	MOVED = R_X86_64_RELATIVE,
	ADDRESS = R_X86_64_64,
	DATA = R_X86_64_GLOB_DAT,
	FUNCTION = R_X86_64_JUMP_SLOT,
	MODULE = R_X86_64_DTPMOD64,
};
#else
enum { MACHINE = EM_NONE, MOVED = 1, ADDRESS, DATA, FUNCTION, MODULE };
#endif

/**
 * struct tables - what relocating takes, from the dynamic section
 * @rela, @plt: both kinds of relocations, or NULL
 */
struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Rela) * rela;
	size_t rela_bytes;
	const ElfW(Rela) * plt;
	size_t plt_bytes;
};

/* Safety: pure. */
static struct tables read_tables(const struct enclosed *library)
{
	struct tables tables = {0};

	for (const ElfW(Dyn) *dyn = library->dynamic; dyn->d_tag != DT_NULL;
	     dyn++) {
		const void *p = (const void *)(library->base + dyn->d_un.d_ptr);

		if (dyn->d_tag == DT_SYMTAB)
			tables.symbols = p;
		else if (dyn->d_tag == DT_STRTAB)
			tables.strings = p;
		else if (dyn->d_tag == DT_RELA)
			tables.rela = p;
		else if (dyn->d_tag == DT_RELASZ)
			tables.rela_bytes = dyn->d_un.d_val;
		else if (dyn->d_tag == DT_JMPREL)
			tables.plt = p;
		else if (dyn->d_tag == DT_PLTRELSZ)
			tables.plt_bytes = dyn->d_un.d_val;
	}
	return tables;
}

/* Safety: constructor.  Return: where a symbol is, 0: nowhere. */
static uintptr_t find_symbol(const struct enclosed *library,
			     const struct tables *tables,
			     const ElfW(Sym) * symbol,
			     uintptr_t (*find)(const char *name))
{
	if (symbol->st_shndx == SHN_UNDEF)
		return find(tables->strings + symbol->st_name);
	return library->base + symbol->st_value;
}

/* Safety: constructor.  Return: what is in the way, or NULL. */
static const char *relocate(const struct enclosed *library,
			    const struct tables *tables,
			    const ElfW(Rela) * rela, size_t bytes,
			    uintptr_t (*find)(const char *name))
{
	for (size_t i = 0; rela && i < bytes / sizeof(*rela); i++) {
		uint64_t type = ELF64_R_TYPE(rela[i].r_info);
		const ElfW(Sym) *symbol =
		    &tables->symbols[ELF64_R_SYM(rela[i].r_info)];
		uintptr_t *slot = (void *)(library->base + rela[i].r_offset);
		uintptr_t target = 0;

		if (type == MOVED)
			target = library->base;
		else if (type == ADDRESS || type == DATA || type == FUNCTION)
			target = find_symbol(library, tables, symbol, find);
		else if (type != MODULE)
			return "its relocations";
		if (!target && type != MODULE)
			return "its imports";
		*slot = target + (uintptr_t)rela[i].r_addend;
	}
	return NULL;
}

/* Safety: pure.  Return: bytes of memory from the first segment's address. */
static size_t measure(const ElfW(Phdr) * headers, size_t count)
{
	size_t end = 0;

	for (size_t i = 0; i < count; i++)
		if (headers[i].p_type == PT_LOAD &&
		    headers[i].p_vaddr + headers[i].p_memsz > end)
			end = headers[i].p_vaddr + headers[i].p_memsz;
	return (end + PAGE - 1) & ~(size_t)(PAGE - 1);
}

/* Safety: constructor.  Return: false when there is no memory. */
static bool copy_segments(struct enclosed *library, const uint8_t *file)
{
	const ElfW(Ehdr) *ehdr = (const void *)file;
	const ElfW(Phdr) *headers = (const void *)(file + ehdr->e_phoff);

	library->header_count = ehdr->e_phnum;
	library->bytes = measure(headers, library->header_count);
	library->base = (uintptr_t)pool_map(library->bytes);
	if (!library->base)
		return false;
	library->headers = (const void *)(library->base + ehdr->e_phoff);
	for (size_t i = 0; i < library->header_count; i++) {
		const ElfW(Phdr) *segment = &headers[i];
		void *to = (void *)(library->base + segment->p_vaddr);

		if (segment->p_type == PT_LOAD)
			memcpy(to, file + segment->p_offset, segment->p_filesz);
		else if (segment->p_type == PT_DYNAMIC)
			library->dynamic = to;
	}
	return true;
}

/* Safety: constructor.  Return: false where executable memory is refused. */
static bool protect_segments(const struct enclosed *library)
{
	for (size_t i = 0; i < library->header_count; i++) {
		const ElfW(Phdr) *segment = &library->headers[i];
		uintptr_t begin = library->base + segment->p_vaddr;
		uintptr_t page = begin & ~(uintptr_t)(PAGE - 1);
		long access = PROT_READ;

		if (segment->p_type != PT_LOAD || segment->p_flags & PF_W)
			continue;
		if (segment->p_flags & PF_X)
			access |= PROT_EXEC;
		if (SYS_CALL3(SYS_mprotect, page,
			      begin + segment->p_memsz - page, access) < 0)
			return false;
	}
	return true;
}

const char *enclosed_load(const uint8_t *file,
			  uintptr_t (*find)(const char *name),
			  struct enclosed *ret)
{
	const ElfW(Ehdr) *ehdr = (const void *)file;
	struct enclosed library = {0};
	struct tables tables;
	const char *problem;

	if (MACHINE == EM_NONE || ehdr->e_machine != MACHINE)
		return "the processor";
	if (!copy_segments(&library, file))
		return "memory";
	tables = read_tables(&library);
	problem =
	    relocate(&library, &tables, tables.rela, tables.rela_bytes, find);
	if (!problem)
		problem = relocate(&library, &tables, tables.plt,
				   tables.plt_bytes, find);
	if (!problem && !protect_segments(&library))
		problem = "executable memory";
	if (problem)
		pool_unmap((void *)library.base, library.bytes);
	else
		*ret = library;
	return problem;
}

uintptr_t enclosed_function(const struct enclosed *library, const char *name)
{
	struct link_map map = {
	    .l_addr = library->base,
	    .l_ld = (ElfW(Dyn) *)(uintptr_t)library->dynamic,
	};

	return elf_symbol_find_function(&map, name);
}
