/* SPDX-License-Identifier: MIT */
/*
 * The texts of frames: readable, sanitised, each kept once, so that equal
 * texts are equal pointers.
 *
 * Layer: symbol.
 */
#ifndef REPORT_SYMBOL_NAMES_H
#define REPORT_SYMBOL_NAMES_H

#include <stddef.h>

#include "report/core/arena.h"
#include "report/symbol/text_table.h"

/**
 * struct names - zero-initialised is valid and empty
 * @texts:     every text that was given out
 * @functions: linker name to text
 * @paths:     directory and file to text
 */
struct names {
	struct arena arena;
	struct text_table texts;
	struct text_table functions;
	struct text_table paths;
};

/* All return text owned by @names, NULL when out of memory. */

/* @linker_name: as in a symbol table or DW_AT_linkage_name. */
const char *names_function(struct names *names, const char *linker_name);

/* @text is readable already. */
const char *names_text(struct names *names, const char *text, size_t len);

/* @path below @directory (may be NULL) unless absolute or, where @directory is
   relative, written from the same place as it; "." and ".." are resolved by their
   letters: the file need not exist here. */
const char *names_path(struct names *names, const char *directory,
		       const char *path);

void names_done(struct names *names);

#endif /* REPORT_SYMBOL_NAMES_H */
