/* SPDX-License-Identifier: MIT */
/*
 * All starts and ends cut the addresses into intervals.  From the newest line
 * to the oldest, each takes those of its intervals that nobody has; of a run
 * of taken ones @next knows the end, so that each is visited once.
 */
#include "report/symbol/perf_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/vec.h"

enum {
	ENTRIES_MAX = 1 << 22,
	NAME_MAX_BYTES = 4096,
};

static const uint64_t addr_end = UINT64_C(1) << 48;

/* Reads hexadecimal digits and the space behind them.  Return: what follows,
   NULL if it is something else. */
static const char *read_number(const char *at, const char *end, uint64_t *ret)
{
	uint64_t value = 0;
	size_t digits = 0;

	if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	for (; at < end && digits <= 16; at++, digits++) {
		char c = *at;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			value = value << 4 | (uint64_t)(c - 'A' + 10);
		else
			break;
	}
	if (!digits || digits > 16 || at == end || *at != ' ')
		return NULL;
	*ret = value;
	return at + 1;
}

/* Return: whether the line is one. */
static bool read_line(const char *at, const char *end,
		      struct perf_map_entry *ret)
{
	uint64_t size;

	at = read_number(at, end, &ret->start);
	at = at ? read_number(at, end, &size) : NULL;
	if (!at)
		return false;
	while (end > at && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (at == end || !size || ret->start >= addr_end ||
	    size > addr_end - ret->start)
		return false;
	ret->end = ret->start + size;
	ret->name = at;
	ret->name_len = (size_t)(end - at) < NAME_MAX_BYTES
				? (size_t)(end - at)
				: NAME_MAX_BYTES;
	return true;
}

int perf_map_add(struct perf_map *map, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end && map->count < ENTRIES_MAX) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		struct perf_map_entry line;

		if (!stop)
			stop = end;
		if (read_line(text, stop, &line)) {
			struct perf_map_entry *entry = vec_push(map);

			if (!entry)
				return -ENOMEM;
			*entry = line;
		}
		text = stop + 1;
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void fill_bounds(struct perf_map *map)
{
	size_t kept = 0;

	for (size_t i = 0; i < map->count; i++) {
		map->bounds[2 * i] = map->items[i].start;
		map->bounds[2 * i + 1] = map->items[i].end;
	}
	qsort(map->bounds, 2 * map->count, sizeof(*map->bounds), by_value);
	for (size_t i = 0; i < 2 * map->count; i++)
		if (!kept || map->bounds[kept - 1] != map->bounds[i])
			map->bounds[kept++] = map->bounds[i];
	map->bound_count = kept;
}

/* Return: index of the first bound that is not below @addr. */
static size_t lower_bound(const struct perf_map *map, uint64_t addr)
{
	size_t low = 0, high = map->bound_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->bounds[middle] < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Return: the first interval from @at on that nobody has. */
static uint32_t find_free(uint32_t *next, uint32_t at)
{
	uint32_t found = at;

	while (next[found] != found)
		found = next[found];
	while (next[at] != found) {
		uint32_t after = next[at];

		next[at] = found;
		at = after;
	}
	return found;
}

static void take_intervals(struct perf_map *map, uint32_t *next)
{
	for (uint32_t i = 0; i < map->bound_count; i++)
		next[i] = i;
	for (size_t i = map->count; i-- > 0;) {
		uint32_t at = (uint32_t)lower_bound(map, map->items[i].start);
		uint32_t end = (uint32_t)lower_bound(map, map->items[i].end);

		while ((at = find_free(next, at)) < end) {
			map->owners[at] = (uint32_t)i + 1;
			next[at] = at + 1;
		}
	}
}

int perf_map_ready(struct perf_map *map)
{
	uint32_t *next;

	if (!map->count)
		return 0;
	map->bounds = calloc(2 * map->count, sizeof(*map->bounds));
	map->owners = calloc(2 * map->count, sizeof(*map->owners));
	next = calloc(2 * map->count, sizeof(*next));
	if (!map->bounds || !map->owners || !next) {
		free(next);
		return -ENOMEM;
	}
	fill_bounds(map);
	take_intervals(map, next);
	free(next);
	return 0;
}

const struct perf_map_entry *perf_map_find(const struct perf_map *map,
					   uint64_t addr)
{
	size_t after = lower_bound(map, addr + 1);
	uint32_t owner = after ? map->owners[after - 1] : 0;

	return owner ? &map->items[owner - 1] : NULL;
}

void perf_map_done(struct perf_map *map)
{
	free(map->bounds);
	free(map->owners);
	vec_done(map);
	*map = (struct perf_map){ 0 };
}
