/* SPDX-License-Identifier: MIT */
#include "report/symbol/symtab.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/vec.h"

/* A crafted table could make every search walk all of it. */
enum { STEPS_MAX = 4096 };

/* Section of a symbol as far as it matters here. */
struct code_range {
	uint64_t start;
	uint64_t end;
	bool is_code;
};

struct code_ranges {
	struct code_range *items;
	size_t count;
	size_t capacity;
};

static int code_ranges_fill(struct code_ranges *ranges, Elf *elf)
{
	Elf_Scn *section = NULL;

	if (!vec_push(ranges)) /* section 0 */
		return -ENOMEM;
	while ((section = elf_nextscn(elf, section))) {
		struct code_range *range = vec_push(ranges);
		GElf_Shdr header;

		if (!range)
			return -ENOMEM;
		if (!gelf_getshdr(section, &header) ||
		    __builtin_add_overflow(header.sh_addr, header.sh_size,
					   &range->end))
			continue;
		range->start = header.sh_addr;
		range->is_code = (header.sh_flags & SHF_ALLOC) &&
				 (header.sh_flags & SHF_EXECINSTR);
	}
	return 0;
}

/* Labels that assemblers leave behind: "$x" on arm, ".L12" everywhere. */
static bool is_mapping_name(const char *name)
{
	if (name[0] == '$')
		return name[1] == 'x' || name[1] == 'd' || name[1] == 'a' ||
		       name[1] == 't';
	return name[0] == '.' && name[1] == 'L';
}

static bool symbol_is_function(const GElf_Sym *symbol, const char *name)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	return name && name[0] && !is_mapping_name(name);
}

/* Typed before untyped, exported before local. */
static uint8_t symbol_rank(const GElf_Sym *symbol)
{
	bool is_local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL;
	bool is_typed = GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE;

	return (uint8_t)(is_local + 2 * !is_typed);
}

static int symtab_add_section(struct symtab *table, Elf *elf, Elf_Scn *section,
			      const struct code_ranges *ranges)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Ehdr file;
	GElf_Shdr header;
	bool is_relative;

	if (!data || !gelf_getshdr(section, &header) ||
	    !gelf_getehdr(elf, &file))
		return 0;
	is_relative = file.e_type == ET_REL;
	for (size_t i = 0; i < data->d_size / sizeof(Elf64_Sym); i++) {
		const struct code_range *range;
		struct symtab_entry *entry;
		const char *name;
		uint64_t start;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol) ||
		    symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_shndx >= ranges->count)
			continue;
		range = &ranges->items[symbol.st_shndx];
		name = elf_strptr(elf, header.sh_link, symbol.st_name);
		start = symbol.st_value + (is_relative ? range->start : 0);
		if (!symbol_is_function(&symbol, name) || !range->is_code ||
		    start < range->start || start >= range->end)
			continue;
		entry = vec_push(table);
		if (!entry)
			return -ENOMEM;
		entry->start = start;
		entry->name = name;
		entry->rank = symbol_rank(&symbol);
		entry->is_sized = symbol.st_size > 0;
		entry->end = range->end;
		if (entry->is_sized &&
		    symbol.st_size < range->end - start)
			entry->end = start + symbol.st_size;
	}
	return 0;
}

int symtab_add(struct symtab *table, Elf *elf, uint32_t type)
{
	struct code_ranges ranges = {0};
	Elf_Scn *section = NULL;
	int status = code_ranges_fill(&ranges, elf);

	while (!status && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == type)
			status =
			    symtab_add_section(table, elf, section, &ranges);
	}
	vec_done(&ranges);
	return status;
}

/* Of two names for one function, people know the one with fewer underscores:
   malloc, not __libc_malloc. */
static int by_familiarity(const char *a, const char *b)
{
	size_t a_len = strspn(a, "_"), b_len = strspn(b, "_");

	if (a_len != b_len)
		return a_len < b_len ? -1 : 1;
	return strcmp(a, b);
}

static int by_start(const void *a, const void *b)
{
	const struct symtab_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->is_sized != y->is_sized)
		return x->is_sized ? -1 : 1;
	/* The best comes last: symtab_find() walks down. */
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return by_familiarity(y->name, x->name);
}

void symtab_ready(struct symtab *table)
{
	uint64_t next = UINT64_MAX;
	uint64_t sized_reach = 0;
	uint64_t reach = 0;

	if (table->count)
		qsort(table->items, table->count, sizeof(*table->items),
		      by_start);
	for (size_t i = table->count; i-- > 0;) {
		struct symtab_entry *entry = &table->items[i];

		if (i + 1 < table->count &&
		    table->items[i + 1].start > entry->start)
			next = table->items[i + 1].start;
		if (!entry->is_sized && entry->end > next)
			entry->end = next;
	}
	for (size_t i = 0; i < table->count; i++) {
		struct symtab_entry *entry = &table->items[i];

		/* A label inside of a function ends where that ends. */
		if (entry->is_sized && entry->end > sized_reach)
			sized_reach = entry->end;
		if (!entry->is_sized && entry->start < sized_reach &&
		    entry->end > sized_reach)
			entry->end = sized_reach;
		if (entry->end > reach)
			reach = entry->end;
		entry->reach = reach;
	}
}

const struct symtab_entry *symtab_find(const struct symtab *table,
				       uint64_t addr)
{
	const struct symtab_entry *guess = NULL;
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->items[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t steps = 0; steps < STEPS_MAX && low-- > 0; steps++) {
		const struct symtab_entry *entry = &table->items[low];

		if (entry->reach <= addr)
			break;
		if (entry->end <= addr)
			continue;
		if (entry->is_sized)
			return entry;
		if (!guess)
			guess = entry;
	}
	return guess;
}

void symtab_done(struct symtab *table)
{
	vec_done(table);
}
