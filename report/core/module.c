/* SPDX-License-Identifier: MIT */
/*
 * Modules are sorted by start address.  To find those that cover an address,
 * go left from the last one that starts at or below it, as far as the longest
 * module reaches: with a few hundred modules that do not overlap this is one
 * or two steps.  Of those that start alike, as those of a program do that loads
 * a thousand plugins one after the other, the one is looked for by its time.
 */
#include "report/core/module.h"

#include <stdlib.h>

static int by_start(const void *a, const void *b)
{
	const struct module *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->load_tick != y->load_tick)
		return x->load_tick < y->load_tick ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Number of modules that start at or below @addr. */
static size_t upper_bound(const struct module_map *map, uint64_t addr)
{
	size_t low = 0, high = map->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->items[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool loaded_before(const struct module *a, const struct module *b)
{
	if (a->load_tick != b->load_tick)
		return a->load_tick < b->load_tick;
	return a->number < b->number;
}

static int by_load(const void *a, const void *b)
{
	return loaded_before(a, b) ? -1 : loaded_before(b, a);
}

/* Return: end of the modules from @first on that are connected by overlaps. */
static size_t connected_end(const struct module_map *map, size_t first,
			    uint64_t *ret_end)
{
	uint64_t end = map->items[first].end;
	size_t next = first + 1;

	for (; next < map->count && map->items[next].start < end; next++)
		if (map->items[next].end > end)
			end = map->items[next].end;
	*ret_end = end;
	return next;
}

/* Sorted by start.  Those that overlap are numbered as they were loaded, so that
   an address and a generation name one module. */
static void number_generations(struct module_map *map)
{
	size_t next;

	for (size_t first = 0; first < map->count; first = next) {
		uint64_t start = map->items[first].start, end;

		next = connected_end(map, first, &end);
		if (next > first + 1) {
			if (!map->reused)
				map->reused_start = start;
			map->reused_end = end;
			map->reused = true;
		}
		qsort(map->items + first, next - first, sizeof(*map->items),
		      by_load);
		for (size_t i = first; i < next; i++)
			map->items[i].generation = (uint32_t)(i - first);
	}
	qsort(map->items, map->count, sizeof(*map->items), by_start);
}

void module_map_build(struct module_map *ret, struct module *items,
		      size_t count)
{
	*ret = (struct module_map){ .items = items, .count = count };
	if (count)
		qsort(items, count, sizeof(*items), by_start);
	for (size_t i = 0; i < count; i++)
		if (items[i].end - items[i].start > ret->longest)
			ret->longest = items[i].end - items[i].start;
	if (count)
		number_generations(ret);
}

/* Return: the first that starts like items[end - 1]. */
static size_t alike_first(const struct module_map *map, size_t end)
{
	uint64_t start = map->items[end - 1].start;

	if (end < 2 || map->items[end - 2].start != start)
		return end - 1;
	return start ? upper_bound(map, start - 1) : 0;
}

/* Return: end of those in [@first, @end), which start alike, that were loaded
   by @tick. */
static size_t loaded_end(const struct module_map *map, size_t first,
			 size_t end, uint64_t tick)
{
	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (map->items[middle].load_tick <= tick)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/* Return: of those in [@first, @end), which start alike and not above @at, the
   last one at @at loaded by @tick; before all, the first; NULL if none is. */
static const struct module *alike_at(const struct module_map *map, size_t first,
				     size_t end, uint64_t at, uint64_t tick)
{
	size_t loaded = loaded_end(map, first, end, tick);

	for (size_t i = loaded; i-- > first;)
		if (at < map->items[i].end)
			return &map->items[i];
	for (size_t i = loaded; i < end; i++)
		if (at < map->items[i].end)
			return &map->items[i];
	return NULL;
}

/* Return: whether at @tick rather @module than @best was there. */
static bool is_better(const struct module *module, const struct module *best,
		      uint64_t tick)
{
	if (!best)
		return true;
	if (module->load_tick <= tick)
		return best->load_tick > tick || loaded_before(best, module);
	return best->load_tick > tick && loaded_before(module, best);
}

uint64_t module_map_key(const struct module_map *map, uint64_t addr,
			uint64_t tick)
{
	const struct module *best = NULL, *module;

	addr = PC_KEY_ADDR(addr);
	if (!map->reused || addr - 1 < map->reused_start ||
	    addr > map->reused_end)
		return addr;
	for (size_t first, end = upper_bound(map, addr - 1); end > 0;
	     end = first) {
		if (addr - 1 - map->items[end - 1].start > map->longest)
			break;
		first = alike_first(map, end);
		module = alike_at(map, first, end, addr - 1, tick);
		if (module && is_better(module, best, tick))
			best = module;
	}
	if (!best)
		return addr;
	return addr | (uint64_t)best->generation << PC_KEY_ADDR_BITS;
}

/* Return: of those in [@first, @end), which start alike, the one of
   @generation; NULL if there is none. */
static const struct module *alike_generation(const struct module_map *map,
					     size_t first, size_t end,
					     uint32_t generation)
{
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		const struct module *module = &map->items[middle];

		if (module->generation == generation)
			return module;
		if (module->generation < generation)
			first = middle + 1;
		else
			end = middle;
	}
	return NULL;
}

const struct module *module_map_find(const struct module_map *map, uint64_t key)
{
	uint64_t addr = PC_KEY_ADDR(key);
	const struct module *module;

	if (!addr)
		return NULL;
	for (size_t first, end = upper_bound(map, addr - 1); end > 0;
	     end = first) {
		if (addr - 1 - map->items[end - 1].start > map->longest)
			break;
		first = alike_first(map, end);
		module = alike_generation(map, first, end,
					  PC_KEY_GENERATION(key));
		if (module && addr - 1 < module->end)
			return module;
	}
	return NULL;
}
