/* SPDX-License-Identifier: MIT */
/*
 * What glibc's header of a block would say, told without it.
 *
 * malloc_usable_size() of a block in an arena is 8 more than a multiple of 16,
 * and 24 at least; of a block that has a map of its own it is a multiple of 16
 * and ends with a page.  Other allocators' classes of sizes are 8 and multiples
 * of 16.  (Of theirs, an aligned block of whole pages looks as if it had a map
 * of its own.)
 *
 * The main arena takes its memory from brk(), the others take theirs from
 * mmap().  Only where brk() cannot go on the main arena asks mmap(), too: those
 * blocks look like another arena's.
 *
 * Layer: filter.
 */
#ifndef REPORT_FILTER_CHUNK_H
#define REPORT_FILTER_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "report/engine/record.h"

struct run;

enum chunk {
	CHUNK_FOREIGN,  /* of another allocator */
	CHUNK_OF_ARENA,
	CHUNK_MAPPED,   /* has a map of its own */
};

/* @record: with a usable size. */
enum chunk chunk_of(const struct record *record);

/* Addresses that mmap() gives: up to @reach away from @center. */
struct chunk_area {
	uint64_t center;
	uint64_t reach;
};

/* Return: whether the modules of @run tell where mmap() puts maps. */
bool chunk_area_find(const struct run *run, struct chunk_area *ret);

bool chunk_area_has(const struct chunk_area *area, uint64_t addr);

#endif /* REPORT_FILTER_CHUNK_H */
