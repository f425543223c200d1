/* SPDX-License-Identifier: MIT */
/*
 * A sorted array: processes have a few hundred mappings, and where there are
 * tens of thousands, moving a megabyte is still no more than the call cost.
 */
#include "report/aggregate/map_ranges.h"

#include <errno.h>
#include <string.h>

#include "report/core/vec.h"

enum { PAGE_BYTES = 4096 };

void map_ranges_done(struct map_ranges *ranges)
{
	vec_done(ranges);
	vec_done(&ranges->owners);
	vec_done(&ranges->past);
	ranges->past.is_cut = false;
}

/* Where @length bytes from @begin end, in whole pages. */
static uint64_t range_end(uint64_t begin, uint64_t length)
{
	uint64_t room = (UINT64_MAX & ~(uint64_t)(PAGE_BYTES - 1)) - begin;

	if (begin > UINT64_MAX - PAGE_BYTES || length > room)
		return UINT64_MAX;
	return begin + ((length + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1));
}

/* Return: index of the first range that ends after @address. */
static size_t first_after(const struct map_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void release(struct map_ranges *ranges, uint32_t owner, uint64_t tick)
{
	struct map_owner *item = &ranges->owners.items[owner];

	if (--item->ranges)
		return;
	item->end_tick = tick;
	item->end_stack = ranges->stack;
}

/* @range, or the part of it in [begin, end), is there until @tick. */
static int note_past(struct map_ranges *ranges, const struct map_range *range,
		     uint64_t begin, uint64_t end, uint64_t tick)
{
	struct map_piece *piece;

	if (!ranges->keeps_past)
		return 0;
	if (ranges->past.count == MAP_PIECES_MAX) {
		ranges->past.is_cut = true;
		return 0;
	}
	piece = vec_push(&ranges->past);
	if (!piece)
		return -ENOMEM;
	*piece = (struct map_piece){
		.begin = range->begin > begin ? range->begin : begin,
		.end = range->end < end ? range->end : end,
		.from_tick = range->from_tick,
		.to_tick = tick,
		.owner = range->owner,
	};
	return 0;
}

int map_ranges_settle(struct map_ranges *ranges)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < ranges->count; i++)
		status = note_past(ranges, &ranges->items[i], 0, UINT64_MAX,
				   UINT64_MAX);
	return status;
}

/* Puts @count of @added, which are in order, before number @index.  Those that
   are too many are forgotten, but their owners keep them: when these end is not
   known then. */
static int insert(struct map_ranges *ranges, size_t index,
		  const struct map_range *added, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ranges->owners.items[added[i].owner].ranges++;
	if (count > MAP_RANGES_MAX - ranges->count) {
		count = MAP_RANGES_MAX - ranges->count;
		ranges->past.is_cut = true;
	}
	if (!count)
		return 0;
	if (!vec_reserve(ranges, ranges->count + count))
		return -ENOMEM;
	memmove(&ranges->items[index + count], &ranges->items[index],
		(ranges->count - index) * sizeof(*added));
	memcpy(&ranges->items[index], added, count * sizeof(*added));
	ranges->count += count;
	return 0;
}

/* Nothing is in [begin, end) any more. */
static int cut(struct map_ranges *ranges, uint64_t begin, uint64_t end,
	       uint64_t tick)
{
	size_t first = first_after(ranges, begin), last;
	struct map_range *range;

	if (first == ranges->count)
		return 0;
	range = &ranges->items[first];
	for (last = first;
	     last < ranges->count && ranges->items[last].begin < end; last++)
		if (note_past(ranges, &ranges->items[last], begin, end, tick))
			return -ENOMEM;
	if (range->begin < begin) {
		struct map_range rest = { end, range->end, range->from_tick,
					  range->owner };

		range->end = begin;
		first++;
		if (rest.end > end)
			return insert(ranges, first, &rest, 1);
	}
	for (last = first;
	     last < ranges->count && ranges->items[last].end <= end; last++)
		release(ranges, ranges->items[last].owner, tick);
	if (last < ranges->count && ranges->items[last].begin < end)
		ranges->items[last].begin = end;
	if (last > first)
		memmove(&ranges->items[first], &ranges->items[last],
			(ranges->count - last) * sizeof(*ranges->items));
	ranges->count -= last - first;
	return 0;
}

int map_ranges_map(struct map_ranges *ranges, uint64_t begin, uint64_t length,
		   uint64_t tick, bool is_owner)
{
	struct map_range range = { begin, range_end(begin, length), tick, 0 };
	int status = cut(ranges, begin, range.end, tick);
	struct map_owner *owner;

	if (status || !is_owner)
		return status;
	range.owner = (uint32_t)ranges->owners.count;
	owner = vec_push(&ranges->owners);
	if (!owner)
		return -ENOMEM;
	*owner = (struct map_owner){ .end_tick = MAP_RANGES_NOT_ENDED };
	if (range.begin == range.end)
		return 0;
	return insert(ranges, first_after(ranges, begin), &range, 1);
}

int map_ranges_unmap(struct map_ranges *ranges, uint64_t begin,
		     uint64_t length, uint64_t tick)
{
	return cut(ranges, begin, range_end(begin, length), tick);
}

/* What of [begin, end) has owners, in @ret, cut to it. */
struct pieces {
	struct map_range *items;
	size_t count;
	size_t capacity;
};

static int collect(const struct map_ranges *ranges, uint64_t begin,
		   uint64_t end, struct pieces *ret)
{
	for (size_t i = first_after(ranges, begin);
	     i < ranges->count && ranges->items[i].begin < end; i++) {
		struct map_range *piece = vec_push(ret);

		if (!piece)
			return -ENOMEM;
		*piece = ranges->items[i];
		if (piece->begin < begin)
			piece->begin = begin;
		if (piece->end > end)
			piece->end = end;
	}
	return 0;
}

/* The pieces of [begin, end) are in [to, to_end) now, which is free; the last is
   longer where that is, and what does not fit is gone. */
static int place(struct map_ranges *ranges, const struct pieces *pieces,
		 uint64_t begin, uint64_t end, uint64_t to, uint64_t to_end,
		 uint64_t tick)
{
	uint64_t length = to_end - to;
	struct pieces placed = { 0 };
	int status = 0;

	for (size_t i = 0; status == 0 && i < pieces->count; i++) {
		const struct map_range *piece = &pieces->items[i];
		uint64_t first = piece->begin - begin;
		uint64_t last = piece->end - begin;
		struct map_range *slot;

		if (piece->end == end || last > length)
			last = length;
		if (first >= last)
			break;
		slot = vec_push(&placed);
		if (slot)
			*slot = (struct map_range){ to + first, to + last,
						    tick, piece->owner };
		else
			status = -ENOMEM;
	}
	if (status == 0)
		status = insert(ranges, first_after(ranges, to), placed.items,
				placed.count);
	vec_done(&placed);
	return status;
}

int map_ranges_move(struct map_ranges *ranges, const uint64_t from[2],
		    const uint64_t to[2], bool keeps, uint64_t tick)
{
	uint64_t end = range_end(from[0], from[1] ? from[1] : 1);
	uint64_t to_end = range_end(to[0], to[1]);
	struct pieces pieces = { 0 };
	int status = collect(ranges, from[0], end, &pieces);

	/* Owners do not end on the way. */
	for (size_t i = 0; i < pieces.count; i++)
		ranges->owners.items[pieces.items[i].owner].ranges++;
	if (status == 0 && from[1] && !keeps)
		status = cut(ranges, from[0], end, tick);
	if (status == 0)
		status = cut(ranges, to[0], to_end, tick);
	if (status == 0)
		status = place(ranges, &pieces, from[0], end, to[0], to_end,
			       tick);
	for (size_t i = 0; i < pieces.count; i++)
		release(ranges, pieces.items[i].owner, tick);
	vec_done(&pieces);
	return status;
}

uint64_t map_ranges_end(const struct map_ranges *ranges, size_t owner)
{
	return owner < ranges->owners.count
		       ? ranges->owners.items[owner].end_tick
		       : MAP_RANGES_NOT_ENDED;
}

uint32_t map_ranges_end_stack(const struct map_ranges *ranges, size_t owner)
{
	return owner < ranges->owners.count
		       ? ranges->owners.items[owner].end_stack
		       : 0;
}
