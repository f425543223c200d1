/* SPDX-License-Identifier: MIT */
/*
 * Names of generated code as runtimes write them to /tmp/perf-PID.map: lines
 * of start, size and name.  Code moves and its place is used again, so lines
 * overlap: the last one counts.
 *
 * Layer: symbol.
 */
#ifndef REPORT_SYMBOL_PERF_MAP_H
#define REPORT_SYMBOL_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct perf_map_entry - one line
 * @name: inside the text, not terminated
 */
struct perf_map_entry {
	uint64_t start;
	uint64_t end; /* exclusive, > start */
	const char *name;
	size_t name_len;
};

/**
 * struct perf_map - zero-initialised is empty
 * @items:  in the order of the text
 * @bounds: @bound_count addresses, rising: where a name begins or ends
 * @owners: of [bounds[i], bounds[i + 1]): index into @items plus one, 0: none
 */
struct perf_map {
	struct perf_map_entry *items;
	size_t count;
	size_t capacity;
	uint64_t *bounds;
	uint32_t *owners;
	size_t bound_count;
};

/**
 * perf_map_add() - take the lines of @text in
 * @text: @len bytes of anything; borrowed as long as @map
 *
 * Lines that are none are passed over, and so is what is beyond four million.
 *
 * Return: 0, -ENOMEM.
 */
int perf_map_add(struct perf_map *map, const char *text, size_t len);

/* To be called between adding and finding.  Return: 0; -ENOMEM: nothing is
   found then. */
int perf_map_ready(struct perf_map *map);

/* Return: the last line that covers @addr, NULL if none does. */
const struct perf_map_entry *perf_map_find(const struct perf_map *map,
					   uint64_t addr);
void perf_map_done(struct perf_map *map);

#endif /* REPORT_SYMBOL_PERF_MAP_H */
