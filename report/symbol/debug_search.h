/* SPDX-License-Identifier: MIT */
/*
 * Where the debug information of a module may lie: the directories the user
 * names, the file itself, the system's directories by build ID, the debug
 * link, and the file that several share (dwz).  Nothing is ever fetched.
 *
 * Layer: symbol.
 */
#ifndef REPORT_SYMBOL_DEBUG_SEARCH_H
#define REPORT_SYMBOL_DEBUG_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

struct elf_file;
struct module;

/**
 * struct debug_search - one search; the caller fills the first four
 * @main:    the module's own file, NULL if it cannot be used; borrowed
 * @found:   with debug information, NULL if none was found; to be taken
 * @symbols: without, but with a symbol table; to be taken
 * @mismatch: a file lay in the right place but is of another build
 */
struct debug_search {
	const struct module *module;
	const struct elf_file *main;
	const char *const *dirs;
	size_t dir_count;
	struct elf_file *found;
	struct elf_file *symbols;
	bool mismatch;
};

/* Looks in the directories that the user named.  Return: whether @found. */
bool debug_search_user(struct debug_search *search);

/* Looks where distributions put debug files.  Return: whether @found. */
bool debug_search_system(struct debug_search *search);

/**
 * debug_search_alt() - the file that @file shares with others
 * @ret_trap: set if what lies at the place is no regular file, so that @file
 *            must not be used: libdw would open it again by itself
 *
 * Return: owned by the caller, with debug information; NULL if there is none.
 */
struct elf_file *debug_search_alt(const struct debug_search *search,
				  struct elf_file *file, bool *ret_trap);

#endif /* REPORT_SYMBOL_DEBUG_SEARCH_H */
