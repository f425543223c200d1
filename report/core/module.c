/* SPDX-License-Identifier: MIT */
/*
 * Modules are sorted by start address.  To find those that cover an address,
 * go left from the last one that starts at or below it, as far as the longest
 * module reaches: with a few hundred modules that do not overlap this is one
 * or two steps.
 */
#include "report/core/module.h"

#include <stdlib.h>

enum { PASSES_MAX = 16 };

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

/*
 * The later of two modules that overlap has the higher generation, so that an
 * address and a generation name one module.  Where a chain of overlaps runs
 * against the order of addresses this takes more than one pass; nothing that
 * a dynamic loader does needs many.
 *
 * Return: whether a generation changed.
 */
static bool number_generations(struct module_map *map)
{
	bool changed = false;

	for (size_t i = 0; i < map->count; i++) {
		struct module *a = &map->items[i];

		for (size_t j = i + 1;
		     j < map->count && map->items[j].start < a->end; j++) {
			struct module *b = &map->items[j];
			bool in_order = loaded_before(a, b);
			struct module *later = in_order ? b : a;
			uint32_t least = (in_order ? a : b)->generation + 1;
			uint64_t end = a->end > b->end ? a->end : b->end;

			if (later->generation < least) {
				later->generation = least;
				changed = true;
			}
			if (!map->reused || a->start < map->reused_start)
				map->reused_start = a->start;
			if (end > map->reused_end)
				map->reused_end = end;
			map->reused = true;
		}
	}
	return changed;
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
	for (int pass = 0; pass < PASSES_MAX && number_generations(ret); pass++)
		;
}

uint64_t module_map_key(const struct module_map *map, uint64_t addr,
			uint64_t tick)
{
	const struct module *best = NULL;

	addr = PC_KEY_ADDR(addr);
	if (!map->reused || addr - 1 < map->reused_start ||
	    addr > map->reused_end)
		return addr;
	for (size_t i = upper_bound(map, addr - 1); i-- > 0;) {
		const struct module *module = &map->items[i];

		if (addr - 1 - module->start > map->longest)
			break;
		if (addr - 1 >= module->end)
			continue;
		/* The last one loaded by then; before all, the first. */
		if (!best || (module->load_tick <= tick
				      ? best->load_tick > tick ||
						loaded_before(best, module)
				      : best->load_tick > tick &&
						loaded_before(module, best)))
			best = module;
	}
	if (!best)
		return addr;
	return addr | (uint64_t)(best->generation & 0xffff)
			      << PC_KEY_ADDR_BITS;
}

const struct module *module_map_find(const struct module_map *map, uint64_t key)
{
	uint64_t addr = PC_KEY_ADDR(key);

	if (!addr)
		return NULL;
	for (size_t i = upper_bound(map, addr - 1); i-- > 0;) {
		const struct module *module = &map->items[i];

		if (addr - 1 - module->start > map->longest)
			break;
		if (addr - 1 < module->end &&
		    (module->generation & 0xffff) == PC_KEY_GENERATION(key))
			return module;
	}
	return NULL;
}
