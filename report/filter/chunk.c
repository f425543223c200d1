/* SPDX-License-Identifier: MIT */
#include "report/filter/chunk.h"

#include <stddef.h>

#include "report/event/event.h"
#include "report/event/run.h"

enum {
	GRAIN = 16,       /* blocks and their chunks are multiples of it */
	HEAD = 16,        /* before a block that has a map of its own */
	IN_ARENA = 8,     /* the next chunk's first word belongs to the block */
	IN_ARENA_MIN = 24,
	PAGE = 4096,      /* the smallest there is */
	MAPPED_MIN = 64 * 1024,
};

/* What the allocator aligned begins anywhere, and stays there when realloc()
   moves its map; what no one aligned is right behind its head. */
static bool begins_in_map(const struct record *record)
{
	uint64_t at = record->addr % PAGE;

	if (at == HEAD || record->call == CALL_MEMALIGN)
		return true;
	return record->call == CALL_REALLOC && at &&
	       record->usable >= MAPPED_MIN;
}

enum chunk chunk_of(const struct record *record)
{
	uint64_t rest = record->usable % GRAIN;

	if (record->addr % GRAIN)
		return CHUNK_FOREIGN;
	if (rest == IN_ARENA)
		return record->usable >= IN_ARENA_MIN ? CHUNK_OF_ARENA
						      : CHUNK_FOREIGN;
	if (rest || !record->usable || (record->addr + record->usable) % PAGE)
		return CHUNK_FOREIGN;
	return begins_in_map(record) ? CHUNK_MAPPED : CHUNK_FOREIGN;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* mmap() placed the tracer, as it did every library; brk() is right above the
   program, far from there.  A program that ld.so was told to run is beside the
   libraries, and brk() far from both. */
bool chunk_area_find(const struct run *run, struct chunk_area *ret)
{
	const uint64_t least = UINT64_C(1) << 36;
	const struct module *program = NULL, *library = NULL;

	for (size_t i = 0; i < run->modules.count; i++) {
		const struct module *module = &run->modules.items[i];

		if (module->is_program)
			program = module;
		else if (module->is_tracer || !library)
			library = module;
	}
	if (!program || !library)
		return false;
	ret->center = library->start;
	ret->reach = distance(program->start, library->start) / 2;
	if (ret->reach < least)
		ret->reach = least;
	return true;
}

bool chunk_area_has(const struct chunk_area *area, uint64_t addr)
{
	return distance(addr, area->center) <= area->reach;
}
