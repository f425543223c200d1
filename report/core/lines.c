/* SPDX-License-Identifier: MIT */
#include "report/core/lines.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Return: bytes of @memory before its first whole line. */
static size_t lead_of(const void *memory)
{
	return -(uintptr_t)memory % LINE_BYTES;
}

int lines_grow(struct lines *lines, size_t used, size_t bytes)
{
	size_t lead = lines->memory ? lead_of(lines->memory) : 0;
	char *memory;

	if (bytes > SIZE_MAX - LINE_BYTES)
		return -ENOMEM;
	memory = realloc(lines->memory, bytes + LINE_BYTES);
	if (!memory)
		return -ENOMEM;
	if (lead_of(memory) != lead)
		memmove(memory + lead_of(memory), memory + lead, used);
	lines->memory = memory;
	lines->items = memory + lead_of(memory);
	return 0;
}

void lines_done(struct lines *lines)
{
	free(lines->memory);
	*lines = (struct lines){ 0 };
}
