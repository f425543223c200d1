/* SPDX-License-Identifier: MIT */
/* Shell patterns for the names in one directory. */
#ifndef TRACER_GLOB_H
#define TRACER_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether @name matches the pattern @pattern of @len bytes, which has no slash:
 * * ? [set] [!set], and \ before any of these.  A dot at the beginning is
 * matched by a dot only.  Bytes are characters.
 *
 * Safety: pure; before start-up, in a signal handler and after fork: yes.
 *         Cost: the product of both lengths at worst.
 */
bool glob_match(const char *pattern, size_t len, const char *name);

#endif /* TRACER_GLOB_H */
