/* SPDX-License-Identifier: MIT */
/*
 * Which addresses the calls of mmap still hold, and when the last byte that one
 * of them mapped was unmapped: by munmap, or by another mapping in its place.
 * What mremap moves or makes longer still belongs to the call of mmap.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_MAP_RANGES_H
#define REPORT_AGGREGATE_MAP_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/engine/map_piece.h"

/* There are no more ranges than this; Linux allows 65530 mappings by default. */
enum { MAP_RANGES_MAX = 1 << 16, MAP_PIECES_MAX = 1 << 20 };

#define MAP_RANGES_NOT_ENDED UINT64_MAX

/* Bytes [begin, end) that call number @owner mapped, there since @from_tick. */
struct map_range {
	uint64_t begin;
	uint64_t end;
	uint64_t from_tick;
	uint32_t owner;
};

/**
 * struct map_owner - one call of mmap
 * @ranges:    that it holds
 * @end_stack: of the call that took the last of them, 0 before
 * @end_tick:  when it held none any more, MAP_RANGES_NOT_ENDED before
 */
struct map_owner {
	uint32_t ranges;
	uint32_t end_stack;
	uint64_t end_tick;
};

/**
 * struct map_ranges - zero-initialised is empty
 * @items:  by address, without overlaps
 * @owners: in the order in which they came
 * @stack:  of the call that is told next
 * @past:   what is unmapped again, if @keeps_past; at most MAP_PIECES_MAX
 */
struct map_ranges {
	struct map_range *items;
	size_t count;
	size_t capacity;
	struct {
		struct map_owner *items;
		size_t count;
		size_t capacity;
	} owners;
	uint32_t stack;
	bool keeps_past;
	struct map_pieces past;
};

void map_ranges_done(struct map_ranges *ranges);

/* mmap returned @begin at @tick; what was there is replaced.  @is_owner: it is the
   next owner.  Return: 0 or -ENOMEM. */
int map_ranges_map(struct map_ranges *ranges, uint64_t begin, uint64_t length,
		   uint64_t tick, bool is_owner);

/* Return: as above. */
int map_ranges_unmap(struct map_ranges *ranges, uint64_t begin,
		     uint64_t length, uint64_t tick);

/**
 * map_ranges_move() - mremap
 * @from, @to: what was and what is mapped, its address and length; a length 0
 *             of @from stands for a second mapping of the same memory
 * @keeps:     MREMAP_DONTUNMAP: the former stays mapped
 *
 * Return: as above.
 */
int map_ranges_move(struct map_ranges *ranges, const uint64_t from[2],
		    const uint64_t to[2], bool keeps, uint64_t tick);

/* After the last call, where @keeps_past: what is mapped still is added to @past.
   Return: 0 or -ENOMEM. */
int map_ranges_settle(struct map_ranges *ranges);

/* Return: when call number @owner held nothing any more, or
   MAP_RANGES_NOT_ENDED: also if it is not known, since there were more than
   MAP_RANGES_MAX ranges. */
uint64_t map_ranges_end(const struct map_ranges *ranges, size_t owner);

/* Return: the stack of the call that map_ranges_end() is the time of, 0 if
   there was none. */
uint32_t map_ranges_end_stack(const struct map_ranges *ranges, size_t owner);

#endif /* REPORT_AGGREGATE_MAP_RANGES_H */
