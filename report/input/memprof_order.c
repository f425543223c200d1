/* SPDX-License-Identifier: MIT */
/*
 * The chunks of all threads in the order in which they are read, with the slots
 * of PATH.live among them: what is there twice is taken once, what is missing is
 * told.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "report/core/diag.h"
#include "report/core/vec.h"
#include "report/event/run.h"
#include "report/input/memprof.h"

static int by_place(const void *a, const void *b)
{
	const struct lane_chunk *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->piece != y->piece)
		return x->piece < y->piece ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	/* What became a chunk is not needed from the buffer. */
	if (!x->live_len != !y->live_len)
		return x->live_len ? 1 : -1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The number of the buffer that follows @chunk. */
static uint64_t chunk_next(const struct lane_chunk *chunk)
{
	return (uint64_t)chunk->sequence + chunk->buffer_count;
}

static void note_gap(struct memprof *memprof, const struct lane_chunk *chunk,
		     uint64_t expected)
{
	uint64_t missing = chunk->sequence - expected;

	findings_add(&memprof->run->damage, chunk->source->path,
		     chunk->offset,
		     "thread %" PRIu32 ": %" PRIu64 " buffer%s of events "
		     "before this one %s missing",
		     chunk->thread, missing, missing == 1 ? "" : "s",
		     missing == 1 ? "is" : "are");
}

/* Where the slots begin, in a sorted array, that hold buffers of @chunk.
   Return: how many there are. */
static size_t chunk_slots(const struct memprof *memprof,
			  const struct lane_chunk *chunk)
{
	const struct lane_chunk *slots = memprof->slots.items;
	size_t low = 0, high = memprof->slots.count, count = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_place(&slots[middle], chunk) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + count < memprof->slots.count &&
	       slots[low + count].thread == chunk->thread &&
	       slots[low + count].piece == chunk->piece &&
	       slots[low + count].sequence < chunk_next(chunk))
		count++;
	return count;
}

/* Return: whether the payload of a chunk of the trace is what its header says;
   negative errno. */
static int chunk_is_whole(struct chunk_walk *walk,
			  const struct lane_chunk *item, struct diag *diag)
{
	struct chunk chunk = { .offset = item->offset };
	uint8_t bytes[CHUNK_HEADER_LEN];
	ssize_t n = source_read(item->source, item->offset, bytes,
				sizeof(bytes), diag);

	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(bytes) ||
	    !chunk_header_parse(bytes, &chunk.header))
		return 1; /* it was there a moment ago */
	walk->source = item->source;
	return chunk_walk_verify(walk, &chunk, diag);
}

/* A chunk that was being written when the program died may be damaged while
   its buffers still are in PATH.live.  Return: 1 if these are to be read in its
   place, 0 if not; negative errno. */
static int chunk_is_replaced(struct memprof *memprof, struct chunk_walk *walk,
			     const struct lane_chunk *item, struct diag *diag)
{
	size_t slots = chunk_slots(memprof, item);
	int whole;

	if (!slots)
		return 0;
	whole = chunk_is_whole(walk, item, diag);
	if (whole)
		return whole < 0 ? whole : 0;
	if (slots < item->buffer_count)
		findings_add(&memprof->run->damage, item->source->path,
			     item->offset,
			     "%s chunk of thread %" PRIu32
			     ": its checksum differs; of its %" PRIu32
			     " buffers, %zu are in %s.live",
			     item->coding->name, item->thread,
			     item->buffer_count, slots, item->source->path);
	return 1;
}

static void note_second(struct memprof *memprof, const struct lane_chunk *chunk)
{
	findings_add(&memprof->run->damage, chunk->source->path,
		     chunk->offset,
		     "thread %" PRIu32 ": a second buffer %" PRIu32
		     " is ignored",
		     chunk->thread, chunk->sequence);
}

/*
 * The process that writes for the program may be killed while it does, or
 * before it has said that it has: the program then writes the same buffers
 * again.  *@ret_kept is taken already; whichever of both is whole counts.
 *
 * Return: 1 if nothing is wrong with that, else 0; negative errno.
 */
static int settle_second(struct chunk_walk *walk, const struct lane_chunk *item,
			 struct lane_chunk *ret_kept, struct diag *diag)
{
	int whole;

	if (item->live_len)
		return !ret_kept->live_len;
	if (ret_kept->live_len || item->sequence != ret_kept->sequence ||
	    item->buffer_count != ret_kept->buffer_count ||
	    item->first_tick != ret_kept->first_tick)
		return 0;
	whole = chunk_is_whole(walk, ret_kept, diag);
	if (whole == 0)
		*ret_kept = *item;
	return whole < 0 ? whole : 1;
}

/* Sorted by place: takes duplicates out and reports gaps.  Return: 0 or
   negative errno, @diag filled. */
static int choose_chunks(struct memprof *memprof, struct chunk_walk *walk,
			 struct diag *diag)
{
	struct lane_chunk *items = memprof->chunks.items;
	size_t kept = 0;

	for (size_t i = 0; i < memprof->chunks.count; i++) {
		struct lane_chunk *last = kept ? &items[kept - 1] : NULL;
		bool same = last && last->thread == items[i].thread &&
			    last->piece == items[i].piece;
		uint64_t expected = same ? chunk_next(last) : 0;
		int replaced = 0;

		if (items[i].sequence < expected) {
			int settled = settle_second(walk, &items[i], last,
						    diag);

			if (settled < 0)
				return settled;
			if (!settled)
				note_second(memprof, &items[i]);
			continue;
		}
		if (!items[i].live_len)
			replaced = chunk_is_replaced(memprof, walk, &items[i],
						     diag);
		if (replaced < 0)
			return replaced;
		if (replaced)
			continue;
		if (!same && !items[i].thread)
			findings_add(&memprof->run->damage,
				     items[i].source->path,
				     items[i].offset,
				     "chunks of events without a thread "
				     "number");
		if (items[i].sequence != expected)
			note_gap(memprof, &items[i], expected);
		items[kept++] = items[i];
	}
	memprof->chunks.count = kept;
	return 0;
}

static void sort_chunks(struct lane_chunks *chunks)
{
	if (chunks->count)
		qsort(chunks->items, chunks->count, sizeof(*chunks->items),
		      by_place);
}

int memprof_order_chunks(struct memprof *memprof, struct diag *diag)
{
	const struct lane_chunks *slots = &memprof->slots;
	struct chunk_walk *walk; /* to verify with */
	int error;

	sort_chunks(&memprof->slots);
	for (size_t i = 0; i < slots->count; i++) {
		struct lane_chunk *item = vec_push(&memprof->chunks);

		if (!item)
			return memprof_out_of_memory(memprof, diag);
		*item = slots->items[i];
	}
	sort_chunks(&memprof->chunks);
	walk = malloc(sizeof(*walk));
	if (!walk)
		return memprof_out_of_memory(memprof, diag);
	chunk_walk_init(walk, memprof->source, 0);
	error = choose_chunks(memprof, walk, diag);
	free(walk);
	return error;
}
