/* SPDX-License-Identifier: MIT */
/*
 * Functions by address from the symbol tables of an ELF file.
 *
 * Layer: symbol.  Knows libelf and liblzma.
 */
#ifndef REPORT_SYMBOL_SYMTAB_H
#define REPORT_SYMBOL_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

/**
 * struct symtab_entry - one symbol
 * @end:   exclusive, > @start
 * @reach: largest @end of this entry and all before it
 * @name:  inside the Elf it came from
 * @rank:  smaller is better, among entries of the same @start
 * @is_sized: false if @end was guessed from what follows
 */
struct symtab_entry {
	uint64_t start;
	uint64_t end;
	uint64_t reach;
	const char *name;
	uint8_t rank;
	bool is_sized;
};

/* Zero-initialised is a valid empty table. */
struct symtab {
	struct symtab_entry *items; /* sorted by @start once ready */
	size_t count;
	size_t capacity;
};

/**
 * symtab_add() - take the functions of one table of @elf
 * @elf:  borrowed as long as @table
 * @type: SHT_SYMTAB or SHT_DYNSYM
 *
 * Return: 0, -ENOMEM.  Damaged entries are passed over.
 */
int symtab_add(struct symtab *table, Elf *elf, uint32_t type);

/* Sorts what was added; to be called before symtab_find(). */
void symtab_ready(struct symtab *table);

/* Return: the symbol that covers @addr, NULL if none does. */
const struct symtab_entry *symtab_find(const struct symtab *table,
				       uint64_t addr);
void symtab_done(struct symtab *table);

/**
 * symtab_minidebug() - the ELF file inside .gnu_debugdata
 * @ret_image: the bytes of it, to be freed after *@ret; written on success
 *
 * Return: owned by the caller (elf_end()), NULL if there is none.
 */
Elf *symtab_minidebug(Elf *elf, void **ret_image);

#endif /* REPORT_SYMBOL_SYMTAB_H */
