/* SPDX-License-Identifier: MIT */
/*
 * The one gate for bytes from traces and binaries: names, paths and command
 * lines are hostile.  Everything that is kept passes text_sanitize() once, when
 * it is interned, and outputs rely on it.
 *
 * Layer: core.
 */
#ifndef REPORT_CORE_TEXT_H
#define REPORT_CORE_TEXT_H

#include <stddef.h>

struct arena;

/**
 * text_sanitize() - valid UTF-8 without control characters
 * @text: @len bytes of anything, borrowed
 *
 * Each byte that is not part of valid UTF-8 becomes U+FFFD, each control
 * character (C0, DEL, C1, U+2028, U+2029, bidirectional overrides) too; and so
 * do the code points that XML 1.0 forbids.
 *
 * Return: NUL-terminated text owned by @arena, NULL when out of memory.
 */
char *text_sanitize(struct arena *arena, const char *text, size_t len);

/* Return: the part of @path after its last slash; never empty unless @path
   is. */
const char *text_basename(const char *path);

/* Return: edit distance of @a and @b; SIZE_MAX where one is longer than 64
   bytes. */
size_t text_distance(const char *a, const char *b);

/* Return: of @words (NULL-terminated), the nearest to @word by edit distance,
   or NULL when none is near enough to be a likely misspelling. */
const char *text_nearest(const char *word, const char *const *words);

#endif /* REPORT_CORE_TEXT_H */
