/* SPDX-License-Identifier: MIT */
/*
 * From linker names to the names people wrote: C++, Rust, clones, versions.
 *
 * Layer: symbol.  Knows libiberty.
 */
#ifndef REPORT_SYMBOL_DEMANGLE_H
#define REPORT_SYMBOL_DEMANGLE_H

#include <stddef.h>

/**
 * demangle_name() - readable form of @name
 * @name: @len bytes of anything
 *
 * The version ("@@GLIBC_2.2.5") and the marks of compiler-made copies
 * (".cold", ".constprop.0", ".llvm.123", …) go: copies count as the function
 * they were made from.  C++ names lose the return type, and the standard
 * strings and streams are spelled as in the source.  Rust names lose the hash.
 *
 * Not sanitised.  Return: NUL-terminated, to be freed by the caller; what is
 * not mangled or would grow beyond all reason comes back as it was; NULL when
 * out of memory.
 */
char *demangle_name(const char *name, size_t len);

#endif /* REPORT_SYMBOL_DEMANGLE_H */
