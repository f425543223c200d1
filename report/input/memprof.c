/* SPDX-License-Identifier: MIT */
/* The memprof trace, docs/trace-format.md: from the index to lanes. */
#include "report/input/memprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/text.h"
#include "report/core/vec.h"
#include "report/event/event.h"
#include "report/event/run.h"
#include "report/input/foreign.h"
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

/* Without its preamble a trace is known by a chunk.  Chunks are also in a trace
   that was packed, which is another file. */
static bool memprof_probe(const uint8_t *head, size_t len)
{
	size_t n = len < TRACE_MAGIC_LEN ? len : TRACE_MAGIC_LEN;

	if (len && memcmp(head, TRACE_MAGIC, n) == 0)
		return true;
	return !foreign_signed(head, len) &&
	       memmem(head, len, TRACE_CHUNK_MAGIC, TRACE_MAGIC_LEN) != NULL;
}

/* --- open: the lanes ----------------------------------------------------- */

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
		memprof_piece_done(&memprof->pieces[i]);
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
	error = memprof_order_chunks(memprof, diag);
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
