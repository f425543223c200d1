/* SPDX-License-Identifier: MIT */
#include "tracer/elf_symbol.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

enum {
	CHAIN_MAX = 1 << 20, /* longer than any that a linker makes */
	OLD_VERSION = 0x8000,
};

/**
 * struct tables - a module's, as its dynamic section says
 * @gnu_hash, @hash: one of them is enough
 * @versions: by symbol, or NULL
 */
struct tables {
	const ElfW(Sym) *symbols;
	const char *names;
	const uint32_t *gnu_hash;
	const uint32_t *hash;
	const ElfW(Versym) * versions;
};

/* glibc makes most entries addresses, but not where the section cannot be
   written to.  Safety: pure. */
static const void *get_address(uintptr_t bias, const ElfW(Dyn) * entry)
{
	uintptr_t value = entry->d_un.d_ptr;

	return (const void *)(value < bias ? value + bias : value);
}

/* Safety: the module stays mapped.  Return: whether symbols can be looked up. */
static bool find_tables(uintptr_t bias, const ElfW(Dyn) * entry,
			struct tables *ret)
{
	*ret = (struct tables){0};
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_SYMTAB)
			ret->symbols = get_address(bias, entry);
		else if (entry->d_tag == DT_STRTAB)
			ret->names = get_address(bias, entry);
		else if (entry->d_tag == DT_GNU_HASH)
			ret->gnu_hash = get_address(bias, entry);
		else if (entry->d_tag == DT_HASH)
			ret->hash = get_address(bias, entry);
		else if (entry->d_tag == DT_VERSYM)
			ret->versions = get_address(bias, entry);
	}
	return ret->symbols && ret->names && (ret->gnu_hash || ret->hash);
}

/* Versions that are only there for programs linked long ago do not count.
   Safety: as elf_symbol_find(). */
static bool is_named(const struct tables *tables, uint32_t index,
		     const char *name)
{
	const ElfW(Sym) *symbol = &tables->symbols[index];

	return symbol->st_shndx != SHN_UNDEF &&
	       !(tables->versions && tables->versions[index] & OLD_VERSION) &&
	       strcmp(tables->names + symbol->st_name, name) == 0;
}

/* The two hash functions of the ELF world.  Safety: pure. */
static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static uint32_t sysv_hash(const char *name)
{
	uint32_t h = 0;

	for (; *name; name++) {
		h = (h << 4) + (uint8_t)*name;
		h ^= (h & 0xf0000000) >> 24;
		h &= 0x0fffffff;
	}
	return h;
}

/* Safety: as elf_symbol_find().  Return: index of the symbol, 0: none. */
static uint32_t find_gnu(const struct tables *tables, const char *name)
{
	const uint32_t *table = tables->gnu_hash;
	uint32_t bucket_count = table[0], first = table[1];
	const ElfW(Addr) *bloom = (const void *)(table + 4);
	const uint32_t *buckets = (const void *)(bloom + table[2]);
	const uint32_t *chain = buckets + bucket_count;
	uint32_t hash = gnu_hash(name);
	uint32_t index = bucket_count ? buckets[hash % bucket_count] : 0;

	if (index < first)
		return 0;
	for (int i = 0; i < CHAIN_MAX; i++, index++) {
		uint32_t other = chain[index - first];

		if ((other | 1) == (hash | 1) && is_named(tables, index, name))
			return index;
		if (other & 1)
			return 0;
	}
	return 0;
}

/* Safety: as elf_symbol_find().  Return: index of the symbol, 0: none. */
static uint32_t find_sysv(const struct tables *tables, const char *name)
{
	uint32_t bucket_count = tables->hash[0];
	uint32_t symbol_count = tables->hash[1];
	const uint32_t *buckets = tables->hash + 2;
	const uint32_t *chain = buckets + bucket_count;
	uint32_t index =
	    bucket_count ? buckets[sysv_hash(name) % bucket_count] : 0;

	for (int i = 0; index && index < symbol_count && i < CHAIN_MAX; i++) {
		if (is_named(tables, index, name))
			return index;
		index = chain[index];
	}
	return 0;
}

/* Safety: as elf_symbol_find().  Return: what is called @name, or NULL. */
static const ElfW(Sym) * find_symbol(uintptr_t bias, const ElfW(Dyn) * dynamic,
				     const char *name)
{
	struct tables tables;
	uint32_t index;

	if (!find_tables(bias, dynamic, &tables))
		return NULL;
	index = tables.gnu_hash ? find_gnu(&tables, name)
				: find_sysv(&tables, name);
	return index ? &tables.symbols[index] : NULL;
}

uintptr_t elf_symbol_find(const struct dl_phdr_info *info, const char *name,
			  size_t bytes)
{
	const ElfW(Dyn) *dynamic = NULL;
	const ElfW(Sym) * symbol;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(info->dlpi_addr +
						 info->dlpi_phdr[i].p_vaddr);
	symbol = find_symbol(info->dlpi_addr, dynamic, name);
	if (!symbol || ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT ||
	    symbol->st_size < bytes)
		return 0;
	return info->dlpi_addr + symbol->st_value;
}

uintptr_t elf_symbol_find_function(const struct link_map *map,
				   const char *name)
{
	const ElfW(Sym) *symbol = find_symbol(map->l_addr, map->l_ld, name);

	if (!symbol || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
		return 0;
	return map->l_addr + symbol->st_value;
}
