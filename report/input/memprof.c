/* SPDX-License-Identifier: MIT */
/* The memprof trace, docs/trace-format.md: from the index to lanes. */
#include "report/input/memprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/text.h"
#include "report/core/vec.h"
#include "report/event/event.h"
#include "report/event/run.h"
#include "report/input/live_clock.h"
#include "report/input/live_process.h"
#include "tracer/trace_format.h"

extern const struct input_format input_memprof;

static struct memprof *memprof_of(struct input *input)
{
	return (struct memprof *)input;
}

static const struct memprof *memprof_of_const(const struct input *input)
{
	return (const struct memprof *)input;
}

static bool memprof_probe(const uint8_t *head, size_t len)
{
	size_t n = len < TRACE_MAGIC_LEN ? len : TRACE_MAGIC_LEN;

	if (len && memcmp(head, TRACE_MAGIC, n) == 0)
		return true;
	return memmem(head, len, TRACE_CHUNK_MAGIC, TRACE_MAGIC_LEN) != NULL;
}

/* --- open: the lanes ----------------------------------------------------- */

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
static int chunk_is_whole(struct chunk_walk *walk, const struct lane_chunk *item,
			  struct diag *diag)
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

/* Joins the chunks of the trace and the slots of PATH.live.  Return: as
   choose_chunks(). */
static int order_chunks(struct memprof *memprof, struct diag *diag)
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

static int make_lanes(struct memprof *memprof)
{
	const struct lane_chunk *items = memprof->chunks.items;
	size_t count = memprof->chunks.count;
	size_t lanes = 0;

	for (size_t i = 0; i < count; i++)
		lanes += !i || items[i].thread != items[i - 1].thread;
	memprof->lanes = calloc(lanes ? lanes : 1, sizeof(*memprof->lanes));
	if (!memprof->lanes)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct lane *lane;

		if (!i || items[i].thread != items[i - 1].thread) {
			lane = &memprof->lanes[memprof->lane_count++];
			lane->thread = items[i].thread;
			lane->first = i;
		}
		memprof->lanes[memprof->lane_count - 1].count++;
	}
	return 0;
}

static int finish_records(struct memprof *memprof)
{
	uint32_t *threads = calloc(memprof->lane_count + 1, sizeof(*threads));
	struct run *run = memprof->run;
	struct clock_pair pair;
	int error;

	if (!threads)
		return -ENOMEM;
	for (size_t i = 0; i < memprof->lane_count; i++)
		threads[i] = memprof->lanes[i].thread;
	if (!memprof->records.has_start)
		run->first_tick = memprof->tick_min;
	if (run->last_tick < memprof->tick_max)
		run->last_tick = memprof->tick_max;
	if (run->last_tick < run->first_tick)
		run->last_tick = run->first_tick;
	/* Nobody has written yet how fast the clock is. */
	if (memprof->piece->live.stride && !memprof->records.has_end &&
	    live_clock_read(&memprof->records, &pair))
		records_add_pair(&memprof->records, pair);
	error = records_finish(&memprof->records, threads, memprof->lane_count);
	free(threads);
	return error;
}

static void count_live(struct memprof *memprof, const struct event *items,
		       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		/* A realloc is one. */
		bool is_half = items[i].kind == EVENT_FREE &&
			       items[i].call == CALL_REALLOC;

		if (!is_half && items[i].tick <= memprof->reader.moment)
			memprof->run->live_events++;
	}
}

/* Counts the events of a slot.  Return: 0 or negative errno, @diag filled. */
static int measure_slot(struct memprof *memprof, struct event_decoder *decoder,
			const struct lane_chunk *where,
			struct chunk_payload *payload, struct diag *diag)
{
	struct event items[64];
	const char *problem;
	size_t count;
	int result = live_load(where, payload, &problem);

	if (result)
		return memprof_out_of_memory(memprof, diag);
	result = event_decoder_start(decoder, payload->data, payload->len,
				     where->first_tick);
	if (result)
		return memprof_out_of_memory(memprof, diag);
	do {
		result = event_decode(decoder, items,
				      sizeof(items) / sizeof(items[0]), &count);
		count_live(memprof, items, count);
	} while (result == EVENT_DECODE_MORE);
	if (result < 0)
		return memprof_out_of_memory(memprof, diag);
	return 0;
}

/*
 * A buffer has no header: decode those of PATH.live once to know how many
 * events they hold and when the last one was.
 */
static int measure_live(struct memprof *memprof, struct diag *diag)
{
	struct run *run = memprof->run;
	struct chunk_payload payload = {0};
	struct event_decoder *decoder;
	int error = 0;

	if (!memprof->slots.count)
		return 0;
	decoder = event_decoder_new(&events_coding, &memprof->interner);
	if (!decoder)
		return memprof_out_of_memory(memprof, diag);
	decoder->limit = UINT64_MAX;
	for (size_t i = 0; i < memprof->chunks.count && !error; i++)
		if (memprof->chunks.items[i].live_len)
			error = measure_slot(memprof, decoder,
					     &memprof->chunks.items[i],
					     &payload, diag);
	if (run->last_tick < decoder->floor)
		run->last_tick = decoder->floor;
	event_decoder_free(decoder);
	chunk_payload_done(&payload);
	return error;
}

/* --- open ---------------------------------------------------------------- */

static void memprof_close(struct input *input)
{
	struct memprof *memprof = memprof_of(input);

	for (size_t i = 0; i < memprof->lane_count; i++)
		lane_rewind(&memprof->reader, &memprof->lanes[i]);
	free(memprof->lanes);
	vec_done(&memprof->chunks);
	records_done(&memprof->records);
	interner_done(&memprof->interner);
	lane_reader_done(&memprof->reader);
	for (size_t i = 0; i < memprof->piece_count; i++)
		live_file_done(&memprof->pieces[i].live);
	free(memprof->pieces);
	vec_done(&memprof->slots);
	free(memprof);
}

static int open_run(struct memprof *memprof, struct diag *diag)
{
	struct run *run = memprof->run;
	const char *path = memprof->source->path;

	run->trace_path = text_sanitize(&run->arena, path, strlen(path));
	run->has_usable = true;
	return run->trace_path ? 0 : memprof_out_of_memory(memprof, diag);
}

/* A lane starts with its first chunk, within the run. */
static void start_lanes(struct memprof *memprof)
{
	const struct run *run = memprof->run;

	for (size_t i = 0; i < memprof->lane_count; i++) {
		struct lane *lane = &memprof->lanes[i];
		uint64_t tick = memprof->chunks.items[lane->first].first_tick;

		tick = tick < run->last_tick ? tick : run->last_tick;
		tick = tick > run->first_tick ? tick : run->first_tick;
		lane->start = lane->floor = tick;
	}
}

static void drop_later(struct lane_chunks *chunks, uint64_t moment)
{
	size_t kept = 0;

	for (size_t i = 0; i < chunks->count; i++)
		if (chunks->items[i].first_tick <= moment)
			chunks->items[kept++] = chunks->items[i];
	chunks->count = kept;
}

/* Of a program that ran on while its trace was read, the report is of the
   moment when the reading began. */
static void keep_moment(struct memprof *memprof)
{
	uint64_t moment = memprof->piece->live.moment;

	if (!memprof->run->is_running)
		return;
	if (moment < memprof->piece->known_tick)
		moment = memprof->piece->known_tick;
	memprof->reader.moment = moment;
	memprof->tick_max = moment;
	drop_later(&memprof->chunks, moment);
	drop_later(&memprof->slots, moment);
}

/* A program that did nothing while its trace was read has nothing that would have
   to be kept apart, but it runs. */
static int note_running(struct memprof *memprof, struct diag *diag)
{
	const struct live_file *live = &memprof->piece->live;
	struct run *run = memprof->run;

	if (run->end == RUN_END_MISSING && !run->is_running)
		run->is_running = live_process_runs(&memprof->records);
	if (!live->is_open)
		return 0;
	run->live_path = text_sanitize(&run->arena, live->source.path,
				       strlen(live->source.path));
	return run->live_path ? 0 : memprof_out_of_memory(memprof, diag);
}

static int open_lanes(struct memprof *memprof, struct stacks *stacks,
		      struct diag *diag)
{
	struct lane_reader *reader = &memprof->reader;
	int error;

	keep_moment(memprof);
	error = order_chunks(memprof, diag);
	if (error)
		return error;
	error = make_lanes(memprof);
	if (!error)
		error = finish_records(memprof);
	if (!error)
		error = interner_init(&memprof->interner, stacks,
				      &memprof->run->modules);
	if (error)
		return memprof_out_of_memory(memprof, diag);
	reader->run = memprof->run;
	reader->interner = &memprof->interner;
	reader->chunks = memprof->chunks.items;
	reader->bytes_read = &memprof->base.bytes_read;
	reader->count_lost = memprof->records.totals_missing;
	error = measure_live(memprof, diag);
	start_lanes(memprof);
	return error ? error : note_running(memprof, diag);
}

/* What a piece without an end lacks, as its PATH.live says. */
static void add_lost(struct memprof *memprof)
{
	const struct live_file *live = &memprof->piece->live;

	records_add_lost(&memprof->records, live->lost);
	if (live->outside)
		findings_add(&memprof->run->damage, live->source.path,
			     TRACE_LIVE_OUTSIDE,
			     "there was no room for %u of the program's "
			     "buffers; what they held is missing",
			     (unsigned)live->outside);
}

/* Reads the index of every piece.  Return: 0 or negative errno. */
static int read_pieces(struct memprof *memprof, struct source *sources,
		       struct diag *diag)
{
	int error = 0;

	for (size_t i = 0; i < memprof->piece_count && !error; i++) {
		memprof->piece = &memprof->pieces[i];
		memprof->piece->source = &sources[i];
		memprof->source = &sources[i];
		records_begin_piece(&memprof->records, &sources[i]);
		error = memprof_read_index(memprof, diag);
		if (!memprof->records.has_end)
			add_lost(memprof);
		if (!error && records_end_piece(&memprof->records))
			error = memprof_out_of_memory(memprof, diag);
	}
	return error;
}

static int memprof_open(struct source *sources, size_t source_count,
			struct stacks *stacks, struct run *run,
			struct input **ret, struct diag *diag)
{
	struct memprof *memprof = calloc(1, sizeof(*memprof));
	int error;

	if (!memprof)
		return diag_set(diag, -ENOMEM, sources->path, DIAG_NO_OFFSET,
				"out of memory");
	memprof->base.format = &input_memprof;
	memprof->source = sources;
	memprof->run = run;
	memprof->reader.run = run;
	memprof->reader.moment = UINT64_MAX;
	records_init(&memprof->records, run);
	memprof->pieces = calloc(source_count, sizeof(*memprof->pieces));
	memprof->piece_count = memprof->pieces ? source_count : 0;
	error = memprof->pieces ? open_run(memprof, diag)
				: memprof_out_of_memory(memprof, diag);
	if (!error)
		error = read_pieces(memprof, sources, diag);
	if (!error && !memprof->chunk_count && !memprof->slots.count)
		error = diag_set(diag, -ENODATA, sources->path, sources->size,
				 "no chunk of this memprof trace can be read: "
				 "it was cut off or damaged");
	if (!error)
		error = open_lanes(memprof, stacks, diag);
	if (error) {
		memprof_close(&memprof->base);
		return error;
	}
	*ret = &memprof->base;
	return 0;
}

/* --- lanes --------------------------------------------------------------- */

static size_t memprof_lane_count(const struct input *input)
{
	return memprof_of_const(input)->lane_count;
}

static uint32_t memprof_lane_thread(const struct input *input, size_t lane)
{
	return memprof_of_const(input)->lanes[lane].thread;
}

static uint64_t memprof_lane_start(const struct input *input, size_t lane)
{
	return memprof_of_const(input)->lanes[lane].start;
}

static int memprof_lane_next(struct input *input, size_t lane,
			     struct event_batch *ret, struct diag *diag)
{
	struct memprof *memprof = memprof_of(input);

	return lane_next(&memprof->reader, &memprof->lanes[lane], ret, diag);
}

static void memprof_rewind(struct input *input)
{
	struct memprof *memprof = memprof_of(input);

	for (size_t i = 0; i < memprof->lane_count; i++)
		lane_rewind(&memprof->reader, &memprof->lanes[i]);
	memprof->base.bytes_read = 0;
}

const struct input_format input_memprof = {
    .name = "memprof",
    .summary = "trace written by libmemprof.so",
    .probe = memprof_probe,
    .open = memprof_open,
    .identify = memprof_identify,
    .lane_count = memprof_lane_count,
    .lane_thread = memprof_lane_thread,
    .lane_start = memprof_lane_start,
    .lane_next = memprof_lane_next,
    .rewind = memprof_rewind,
    .close = memprof_close,
};
