/* SPDX-License-Identifier: MIT */
#include "report/core/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BLOCK_BYTES = 64 * 1024, ARENA_ALIGN = 16 };

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t size;
	alignas(ARENA_ALIGN) unsigned char data[];
};

static struct arena_block *arena_block_add(struct arena *arena, size_t size)
{
	size_t want = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
	struct arena_block *block;

	if (want > SIZE_MAX - sizeof(*block))
		return NULL;
	block = calloc(1, sizeof(*block) + want);
	if (!block)
		return NULL;
	block->size = want;
	block->next = arena->blocks;
	arena->blocks = block;
	return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_block *block = arena->blocks;
	void *result;

	if (size > SIZE_MAX - ARENA_ALIGN)
		return NULL;
	size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (!block || block->size - block->used < size)
		block = arena_block_add(arena, size);
	if (!block)
		return NULL;
	result = block->data + block->used;
	block->used += size;
	arena->used_bytes += size;
	return result;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		return NULL;
	return arena_alloc(arena, total);
}

char *arena_copy(struct arena *arena, const char *text, size_t len)
{
	char *copy = len == SIZE_MAX ? NULL : arena_alloc(arena, len + 1);

	if (copy && len)
		memcpy(copy, text, len);
	return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args;
	char *text = NULL;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len >= 0)
		text = arena_alloc(arena, (size_t)len + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)len + 1, format, args);
	va_end(args);
	return text;
}

void arena_done(struct arena *arena)
{
	struct arena_block *block = arena->blocks;

	while (block) {
		struct arena_block *next = block->next;

		free(block);
		block = next;
	}
	memset(arena, 0, sizeof(*arena));
}
