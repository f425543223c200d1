/* SPDX-License-Identifier: MIT */
/*
 * One ELF file, opened with distrust: anything may lie at the path of a
 * module or in a directory of debug files.
 *
 * Layer: symbol.  Knows libelf and libdw.
 */
#ifndef REPORT_SYMBOL_ELF_FILE_H
#define REPORT_SYMBOL_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>
#include <libelf.h>

#include "report/symbol/inflated.h"

struct kept_file;
struct module;

/**
 * struct elf_file - owned by whoever opened it
 * @path:     as given; owned
 * @fd:       -1 once settled, or if it is in memory
 * @bytes:    of a file that was kept in the trace; owned
 * @dwarf:    NULL before elf_file_dwarf() or without debug information
 * @inflated: sections of @elf
 * @build_id: inside @elf, NULL if there is none
 */
struct elf_file {
	char *path;
	int fd;
	uint8_t *bytes;
	Elf *elf;
	Dwarf *dwarf;
	struct inflated inflated;
	const void *build_id;
	size_t build_id_len;
	uint16_t machine;
	bool dwarf_tried;
};

enum elf_file_kind {
	ELF_FILE_LOADED,    /* executable, library, or a file split off one */
	ELF_FILE_AUXILIARY, /* anything that may hold debug information */
};

/**
 * elf_file_open() - open one ELF file
 * @ret_note: why not, a static string; written on failure only
 *
 * Accepts regular files that are 64-bit little-endian ELF of type EXEC or
 * DYN (ELF_FILE_LOADED) for a processor the tracer runs on.
 *
 * Return: owned by the caller, NULL on failure.
 */
struct elf_file *elf_file_open(const char *path, enum elf_file_kind kind,
			       const char **ret_note);

/* The same with a file that was kept in the trace. */
struct elf_file *elf_file_open_kept(const struct kept_file *kept,
				    enum elf_file_kind kind,
				    const char **ret_note);
void elf_file_close(struct elf_file *file);

/* Reads what is still to be read and closes the descriptor: a trace may name
   more modules than a process may have open files. */
void elf_file_settle(struct elf_file *file);

/* Return: debug information of @file itself, NULL if there is none; owned by
   @file. */
Dwarf *elf_file_dwarf(struct elf_file *file);

/* Return: section called @name, NULL if there is none or it has no bytes in
   the file. */
Elf_Scn *elf_file_section(Elf *elf, const char *name);

/* Return: decompressed bytes of the section called @name, or NULL; owned by
   @elf.  Never empty. */
Elf_Data *elf_file_data(Elf *elf, const char *name);

/* Whether a symbol table of type @type (SHT_SYMTAB, SHT_DYNSYM) has bytes. */
bool elf_file_has_symbols(Elf *elf, uint32_t type);

/**
 * elf_file_fits() - whether @file is what ran as @module
 *
 * By build ID where the trace has one, otherwise by the loaded segments.
 */
bool elf_file_fits(const struct elf_file *file, const struct module *module);

#endif /* REPORT_SYMBOL_ELF_FILE_H */
