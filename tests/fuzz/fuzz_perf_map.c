/* SPDX-License-Identifier: MIT */
/* Maps of generated code: what is found for an address is the last line that
   covers it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "report/symbol/perf_map.h"
#include "tests/fuzz/fuzz.h"

enum { LINES_MAX = 200 }; /* compared with all others */

static const struct perf_map_entry *search(const struct perf_map *map,
					   uint64_t addr)
{
	const struct perf_map_entry *found = NULL;

	for (size_t i = 0; i < map->count; i++)
		if (addr >= map->items[i].start && addr < map->items[i].end)
			found = &map->items[i];
	return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_map map = { 0 };

	if (perf_map_add(&map, (const char *)data, size) ||
	    perf_map_ready(&map))
		abort();
	for (size_t i = 0; i < map.count && map.count <= LINES_MAX; i++) {
		const struct perf_map_entry *entry = &map.items[i];
		const uint64_t at[] = { entry->start - 1, entry->start,
					entry->end - 1, entry->end };

		if (entry->start >= entry->end || !entry->name_len ||
		    (const uint8_t *)entry->name < data ||
		    (const uint8_t *)entry->name + entry->name_len >
			    data + size)
			abort();
		for (int j = 0; j < 4; j++)
			if (perf_map_find(&map, at[j]) != search(&map, at[j]))
				abort();
	}
	perf_map_done(&map);
	return 0;
}
