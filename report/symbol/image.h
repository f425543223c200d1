/* SPDX-License-Identifier: MIT */
/*
 * All that could be opened for one file of the run: the file, its debug file,
 * what that shares with others, the symbol tables.
 *
 * Layer: symbol.
 */
#ifndef REPORT_SYMBOL_IMAGE_H
#define REPORT_SYMBOL_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

#include "report/symbol/symtab.h"

struct code_frames;
struct dwarf_index;
struct elf_file;
struct kept_file;
struct module;
struct names;

/**
 * struct image
 * @main:    the file itself, NULL if missing or of another build
 * @debug:   a file of debug information apart from @main, or NULL
 * @symbols: a file with a symbol table apart from both, or NULL
 * @alt:     what @debug or @main shares with others, or NULL
 * @index:   NULL without debug information
 * @debug_path: where @index is from, inside one of the files, or NULL
 * @note:    why it is not better, a static string, "" if all is well
 * @is_rebuilt: it has no names since what is at its place is of another build
 */
struct image {
	struct elf_file *main;
	struct elf_file *debug;
	struct elf_file *symbols;
	struct elf_file *alt;
	Elf *minidebug;
	void *minidebug_bytes;
	struct symtab symtab;
	struct dwarf_index *index;
	const char *debug_path;
	const char *note;
	bool is_rebuilt;
};

/**
 * struct image_places - where files are looked for
 * @dirs: of debug files, @dir_count
 * @kept: in the trace, @kept_count of any kind
 *
 * All borrowed as long as the images.
 */
struct image_places {
	const char *const *dirs;
	size_t dir_count;
	const struct kept_file *kept;
	size_t kept_count;
};

/**
 * image_open() - open what there is for @module
 * @names: owner of the texts of frames
 *
 * All borrowed; @names must outlive the result.  A program that is not here any
 * more, or is of another build, is taken from the trace if it is there.
 *
 * Return: owned by the caller; NULL when out of memory, otherwise never,
 * whatever is missing.
 */
struct image *image_open(const struct module *module,
			 const struct image_places *places,
			 struct names *names);

/* The same with an object of the GDB JIT interface, whose addresses are those
   in memory. */
struct image *image_open_object(const struct kept_file *object,
				struct names *names);
void image_close(struct image *image);

/**
 * image_find() - frames at ELF virtual address @addr, innermost first
 * @ret: emptied first; stays empty if nothing is known.  A frame without
 *       function is possible: the line is known, the function is not.
 *
 * Return: 0, -ENOMEM.
 */
int image_find(struct image *image, struct names *names, uint64_t addr,
	       struct code_frames *ret);

#endif /* REPORT_SYMBOL_IMAGE_H */
