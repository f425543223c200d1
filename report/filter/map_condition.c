/* SPDX-License-Identifier: MIT */
/*
 * Blocks that lie in maps.  The pieces of the maps that are asked for are in the
 * order of their addresses; each knows how far those up to it reach, so the search
 * from the last that begins below a block ends where none can hold it.
 */
#include "report/filter/condition.h"

#include <errno.h>
#include <stdlib.h>

#include "report/engine/map_piece.h"
#include "report/engine/record.h"

static int by_begin(const void *a, const void *b)
{
	const struct condition_map *x = a, *y = b;

	if (x->piece.begin != y->piece.begin)
		return x->piece.begin < y->piece.begin ? -1 : 1;
	return (x->piece.from_tick > y->piece.from_tick) -
	       (x->piece.from_tick < y->piece.from_tick);
}

int condition_select_maps(struct condition *condition,
			  const struct map_pieces *pieces)
{
	uint64_t reach = 0;

	condition->maps = calloc(pieces->count + 1, sizeof(*condition->maps));
	if (!condition->maps)
		return -ENOMEM;
	for (size_t i = 0; i < pieces->count; i++)
		if (condition_list_has(condition, pieces->items[i].owner))
			condition->maps[condition->map_count++].piece =
				pieces->items[i];
	qsort(condition->maps, condition->map_count, sizeof(*condition->maps),
	      by_begin);
	for (size_t i = 0; i < condition->map_count; i++) {
		struct condition_map *map = &condition->maps[i];

		if (map->piece.end > reach)
			reach = map->piece.end;
		map->reach = reach;
	}
	return 0;
}

bool condition_match_maps(const struct condition *condition,
			  const struct record *record)
{
	const struct condition_map *maps = condition->maps;
	size_t low = 0, high = condition->map_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (maps[middle].piece.begin <= record->addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low && maps[low - 1].reach > record->addr; low--) {
		const struct map_piece *piece = &maps[low - 1].piece;

		if (piece->end > record->addr &&
		    piece->from_tick <= record->alloc_tick &&
		    piece->to_tick > record->alloc_tick)
			return true;
	}
	return false;
}
