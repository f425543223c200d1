/* SPDX-License-Identifier: MIT */
/* Symbols of loaded modules, found without the dynamic loader's help. */
#ifndef TRACER_ELF_SYMBOL_H
#define TRACER_ELF_SYMBOL_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

/**
 * elf_symbol_find() - where a module has the object that it exports as @name
 * @bytes: that it has at least
 *
 * dlsym() would tell only of the first module that has one, and allocates.
 *
 * Safety: the module stays mapped.  Allocates, locks, system calls: none.
 *         errno: untouched.
 *
 * Return: its address, 0 if there is none.
 */
uintptr_t elf_symbol_find(const struct dl_phdr_info *info, const char *name,
			  size_t bytes);

/* The same for the function that it exports as @name. */
uintptr_t elf_symbol_find_function(const struct link_map *map,
				   const char *name);

#endif /* TRACER_ELF_SYMBOL_H */
