/* SPDX-License-Identifier: MIT */
/*
 * Memory that lives as long as one owner: freed all at once.
 *
 * Layer: core.
 */
#ifndef REPORT_CORE_ARENA_H
#define REPORT_CORE_ARENA_H

#include <stddef.h>

struct arena_block;

/**
 * struct arena - a list of blocks, newest first
 * @used_bytes: handed out so far, padding included
 *
 * Zero-initialised is a valid empty arena.
 */
struct arena {
	struct arena_block *blocks;
	size_t used_bytes;
};

/* Return: @size zeroed bytes aligned to 16, owned by @arena; NULL when out of
   memory.  A size of 0 gives a valid pointer. */
void *arena_alloc(struct arena *arena, size_t size);

/* arena_alloc(@count * @size) with the product checked. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/* Return: NUL-terminated copy of @len bytes owned by @arena, or NULL. */
char *arena_copy(struct arena *arena, const char *text, size_t len);

/* Return: formatted text owned by @arena, or NULL. */
char *arena_printf(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Frees everything; @arena is empty and usable again. */
void arena_done(struct arena *arena);

#endif /* REPORT_CORE_ARENA_H */
