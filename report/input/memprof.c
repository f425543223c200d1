/* SPDX-License-Identifier: MIT */
/*
 * The memprof trace: docs/trace-format.md.
 *
 * open() walks the chunk headers once, takes the definitions in and notes
 * where each thread's events are: 32 bytes a chunk.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <xxhash.h>

#include "report/core/diag.h"
#include "report/core/text.h"
#include "report/core/vec.h"
#include "report/event/event.h"
#include "report/event/run.h"
#include "report/input/chunk.h"
#include "report/input/input.h"
#include "report/input/lane.h"
#include "report/input/live.h"
#include "report/input/records.h"
#include "report/source/source.h"
#include "tracer/trace_format.h"

#define PREAMBLE_LEN sizeof(struct trace_preamble)

extern const struct input_format input_memprof;

/**
 * struct memprof
 * @chunks: of events; sorted by thread and sequence once open() is done
 * @chunk_count: chunks of all types
 * @ticks_known: @tick_min and @tick_max are those of the headers
 */
struct memprof {
	struct input base;
	struct source *source;
	struct source live;
	bool has_live;
	bool has_trace_id;
	uint64_t trace_id;
	struct run *run;
	struct records records;
	struct interner interner;
	struct lane_reader reader;
	struct live_chunks chunks;
	uint64_t chunk_count;
	bool ticks_known;
	uint64_t tick_min;
	uint64_t tick_max;
	struct lane *lanes;
	size_t lane_count;
};

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

static int out_of_memory(const struct memprof *memprof, struct diag *diag)
{
	return diag_set(diag, -ENOMEM, memprof->source->path, DIAG_NO_OFFSET,
			"out of memory");
}

/* --- open: the preamble -----------------------------------------------------
 */

static int preamble_check(struct memprof *memprof,
			  const struct trace_preamble *preamble,
			  struct diag *diag)
{
	const struct source *source = memprof->source;

	if (preamble->version_major > TRACE_VERSION_MAJOR)
		return diag_set(diag, -ENOTSUP, source->path, 8,
				"is a memprof trace of version %u.%u; this "
				"program reads versions up to %d.x: a newer "
				"memprof-report is needed",
				preamble->version_major,
				preamble->version_minor, TRACE_VERSION_MAJOR);
	memprof->has_trace_id = true;
	memprof->trace_id = preamble->trace_id;
	if (preamble->byte_order != TRACE_BYTE_ORDER)
		findings_add(&memprof->run->damage, source->path, 12,
			     "the preamble has an unknown byte order");
	return 0;
}

/* *@ret_offset is where chunks start. */
static int preamble_read(struct memprof *memprof, uint64_t *ret_offset,
			 struct diag *diag)
{
	const struct source *source = memprof->source;
	struct run *run = memprof->run;
	struct trace_preamble preamble;
	ssize_t n = source_read(source, 0, &preamble, sizeof(preamble), diag);
	int error;

	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(preamble))
		return diag_set(diag, -ENODATA, source->path, (uint64_t)n,
				"the file ends within the preamble of a "
				"memprof trace; nothing can be read");
	*ret_offset = sizeof(preamble);
	if (memcmp(preamble.magic, TRACE_MAGIC, TRACE_MAGIC_LEN) == 0 &&
	    XXH64(&preamble, offsetof(struct trace_preamble, checksum), 0) ==
		preamble.checksum) {
		error = preamble_check(memprof, &preamble, diag);
		run->format = arena_printf(&run->arena, "memprof %u.%u",
					   preamble.version_major,
					   preamble.version_minor);
		return error || run->format ? error
					    : out_of_memory(memprof, diag);
	}
	/* Bytes may be missing too: look for the first chunk everywhere. */
	*ret_offset = 0;
	run->format = "memprof";
	findings_add(&run->damage, source->path, 0, "the preamble is damaged");
	return 0;
}

/* --- open: the walk ---------------------------------------------------------
 */

static void note_ticks(struct memprof *memprof,
		       const struct trace_chunk_header *header)
{
	uint64_t first = header->first_tick, last = header->last_tick;

	if (last < first)
		last = first;
	if (!memprof->ticks_known || first < memprof->tick_min)
		memprof->tick_min = first;
	if (!memprof->ticks_known || last > memprof->tick_max)
		memprof->tick_max = last;
	memprof->ticks_known = true;
}

static int add_events(struct memprof *memprof, const struct chunk *chunk)
{
	struct lane_chunk *item = vec_push(&memprof->chunks);

	if (!item)
		return -ENOMEM;
	item->offset = chunk->offset;
	item->first_tick = chunk->header.first_tick;
	item->thread = chunk->header.thread;
	item->sequence = chunk->header.sequence;
	return 0;
}

static int add_record(struct memprof *memprof, const struct chunk *chunk,
		      struct chunk_payload *payload, struct diag *diag)
{
	struct run *run = memprof->run;
	const char *problem = NULL;
	int result = chunk_load(&memprof->reader.loader, memprof->source, chunk,
				payload, &problem, diag);

	if (result < 0)
		return result;
	if (result == 0)
		return records_add(&memprof->records, chunk, payload->data,
				   payload->len)
			   ? out_of_memory(memprof, diag)
			   : 0;
	findings_add(&run->damage, memprof->source->path, chunk->offset,
		     "%s chunk: %s; it is ignored",
		     chunk_type_name(chunk->header.type), problem);
	run->damaged_bytes += CHUNK_HEADER_LEN + chunk->header.stored_len;
	return 0;
}

/* A chunk whose payload goes beyond the end of the file. */
static void add_incomplete(struct memprof *memprof, const struct chunk *chunk)
{
	const struct source *source = memprof->source;
	const struct trace_chunk_header *header = &chunk->header;
	uint64_t there = source->size - chunk_payload_offset(chunk);
	struct run *run = memprof->run;

	run->damaged_bytes += CHUNK_HEADER_LEN;
	if (header->type != TRACE_CHUNK_EVENTS) {
		findings_add(&run->damage, source->path, chunk->offset,
			     "%s chunk: the file ends after %" PRIu64
			     " of its %" PRIu32 " bytes; it is ignored",
			     chunk_type_name(header->type), there,
			     header->stored_len);
		return;
	}
	findings_add(&run->damage, source->path, chunk->offset,
		     "EVENTS chunk of thread %" PRIu32
		     ": the file ends after %" PRIu64 " of its %" PRIu32
		     " bytes; %" PRIu64 " events are lost",
		     header->thread, there, header->stored_len,
		     chunk_event_count(header));
	run->events_skipped += chunk_event_count(header);
}

static void note_skipped(struct memprof *memprof, const struct chunk_walk *walk,
			 bool at_end)
{
	struct run *run = memprof->run;
	const char *file = memprof->source->path;

	if (!walk->skipped_len)
		return;
	run->damaged_bytes += walk->skipped_len;
	if (at_end && walk->tail == CHUNK_TAIL_HEADER)
		findings_add(&run->damage, file, walk->skipped_at,
			     "the file ends within the header of a chunk, "
			     "after %" PRIu64 " bytes of it",
			     walk->skipped_len);
	else if (at_end)
		findings_add(&run->damage, file, walk->skipped_at,
			     "damaged; no chunk is found in the last %" PRIu64
			     " bytes",
			     walk->skipped_len);
	else if (walk->skipped_at || walk->skipped_len != PREAMBLE_LEN)
		findings_add(&run->damage, file, walk->skipped_at,
			     "damaged; the next chunk is found %" PRIu64
			     " bytes further",
			     walk->skipped_len);
}

/* A type that a newer version may have added: nothing is lost with it, but
   damage is damage. */
static int add_unknown(struct memprof *memprof, struct chunk_walk *walk,
		       const struct chunk *chunk, struct diag *diag)
{
	int whole = walk->incomplete ? 0 : chunk_walk_verify(walk, chunk, diag);

	if (whole < 0)
		return whole;
	if (!whole)
		findings_add(&memprof->run->damage, memprof->source->path,
			     chunk->offset,
			     "chunk of unknown type %u: %s; it is ignored",
			     chunk->header.type,
			     walk->incomplete ? "the file ends in it"
					      : "its checksum differs");
	return 0;
}

static int add_chunk(struct memprof *memprof, struct chunk_walk *walk,
		     const struct chunk *chunk, struct chunk_payload *payload,
		     struct diag *diag)
{
	uint16_t type = chunk->header.type;

	memprof->chunk_count++;
	if (type < TRACE_CHUNK_PROCESS || type > TRACE_CHUNK_END)
		return add_unknown(memprof, walk, chunk, diag);
	note_ticks(memprof, &chunk->header);
	if (walk->incomplete) {
		add_incomplete(memprof, chunk);
		return 0;
	}
	if (type != TRACE_CHUNK_EVENTS)
		return add_record(memprof, chunk, payload, diag);
	return add_events(memprof, chunk) ? out_of_memory(memprof, diag) : 0;
}

static int walk_chunks(struct memprof *memprof, uint64_t offset,
		       struct diag *diag)
{
	struct chunk_walk *walk = malloc(sizeof(*walk));
	struct chunk_payload payload = {0};
	struct chunk chunk;
	int result;

	if (!walk)
		return out_of_memory(memprof, diag);
	chunk_walk_init(walk, memprof->source, offset);
	while ((result = chunk_walk_next(walk, &chunk, diag)) > 0) {
		note_skipped(memprof, walk, false);
		result = add_chunk(memprof, walk, &chunk, &payload, diag);
		if (result < 0)
			break;
	}
	if (result == 0) {
		note_skipped(memprof, walk, true);
		memprof->run->truncated = walk->tail != CHUNK_TAIL_WHOLE;
	}
	chunk_payload_done(&payload);
	free(walk);
	return result;
}

/* --- open: PATH.live --------------------------------------------------------
 */

static int scan_live(struct memprof *memprof, struct diag *diag)
{
	const struct records *records = &memprof->records;
	struct run *run = memprof->run;
	struct diag why;
	int error = source_open_live(&memprof->live, memprof->source, &why);

	memprof->has_live = error == 0;
	if (error == -ENOMEM)
		return out_of_memory(memprof, diag);
	if (error == -ENOENT) {
		if (records->has_live && !records->has_end)
			findings_add(&run->damage, memprof->source->path,
				     memprof->source->size,
				     "the program did not come to its end and "
				     "the file of its last events, %s.live, is "
				     "not there",
				     memprof->source->path);
		return 0;
	}
	if (error) {
		findings_add(&run->damage, why.file, why.offset, "%s",
			     why.text);
		return 0;
	}
	if (!memprof->has_trace_id) {
		findings_add(&run->damage, memprof->live.path, 0,
			     "is ignored: the trace's preamble is damaged, so "
			     "it may belong to another");
		return 0;
	}
	return live_scan(&memprof->live, memprof->trace_id, &memprof->chunks,
			 &run->damage, diag);
}

/* --- open: the lanes --------------------------------------------------------
 */

static int by_place(const void *a, const void *b)
{
	const struct lane_chunk *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	/* What became a chunk is not needed from the buffer. */
	if (!x->live_len != !y->live_len)
		return x->live_len ? 1 : -1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static const char *chunk_file(const struct memprof *memprof,
			      const struct lane_chunk *chunk)
{
	return chunk->live_len ? memprof->live.path : memprof->source->path;
}

static void note_gap(struct memprof *memprof, const struct lane_chunk *chunk,
		     uint32_t expected)
{
	uint32_t missing = chunk->sequence - expected;

	findings_add(&memprof->run->damage, chunk_file(memprof, chunk),
		     chunk->offset,
		     "thread %" PRIu32 ": %" PRIu32 " EVENTS chunk%s before "
		     "this one %s missing",
		     chunk->thread, missing, missing == 1 ? "" : "s",
		     missing == 1 ? "is" : "are");
}

/* Sorts, takes duplicates out and reports gaps. */
static void order_chunks(struct memprof *memprof)
{
	struct lane_chunk *items = memprof->chunks.items;
	size_t kept = 0;

	if (memprof->chunks.count)
		qsort(items, memprof->chunks.count, sizeof(*items), by_place);
	for (size_t i = 0; i < memprof->chunks.count; i++) {
		const struct lane_chunk *last = kept ? &items[kept - 1] : NULL;
		bool same = last && last->thread == items[i].thread;
		uint32_t expected = same ? last->sequence + 1 : 0;

		if (same && last->sequence == items[i].sequence) {
			if (!items[i].live_len || last->live_len)
				findings_add(&memprof->run->damage,
					     chunk_file(memprof, &items[i]),
					     items[i].offset,
					     "thread %" PRIu32
					     ": a second EVENTS chunk %" PRIu32
					     " is ignored",
					     items[i].thread,
					     items[i].sequence);
			continue;
		}
		if (!same && !items[i].thread)
			findings_add(&memprof->run->damage,
				     chunk_file(memprof, &items[i]),
				     items[i].offset,
				     "EVENTS chunks without a thread number");
		if (items[i].sequence != expected)
			note_gap(memprof, &items[i], expected);
		items[kept++] = items[i];
	}
	memprof->chunks.count = kept;
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
	int error;

	if (!threads)
		return -ENOMEM;
	for (size_t i = 0; i < memprof->lane_count; i++)
		threads[i] = memprof->lanes[i].thread;
	if (!memprof->records.has_process)
		run->first_tick = memprof->tick_min;
	if (run->last_tick < memprof->tick_max)
		run->last_tick = memprof->tick_max;
	if (run->last_tick < run->first_tick)
		run->last_tick = run->first_tick;
	error = records_finish(&memprof->records, threads, memprof->lane_count);
	free(threads);
	return error;
}

/*
 * A buffer has no header: decode those of PATH.live once to know how many
 * events they hold and when the last one was.
 */
static int measure_live(struct memprof *memprof, struct diag *diag)
{
	struct run *run = memprof->run;
	struct chunk_payload payload = {0};
	struct event_decoder decoder = {.interner = &memprof->interner,
					.limit = UINT64_MAX};
	struct event items[64];
	int result = 0;

	for (size_t i = 0; i < memprof->chunks.count && result >= 0; i++) {
		const struct lane_chunk *where = &memprof->chunks.items[i];
		const char *problem;
		size_t count;

		if (!where->live_len)
			continue;
		result =
		    live_load(&memprof->live, where, &payload, &problem, diag);
		if (result)
			continue;
		event_decoder_start(&decoder, payload.data, payload.len,
				    where->first_tick);
		do {
			result = event_decode(&decoder, items,
					      sizeof(items) / sizeof(items[0]),
					      &count);
		} while (result == EVENT_DECODE_MORE);
		if (result < 0)
			out_of_memory(memprof, diag);
		run->live_events += decoder.decoded;
	}
	if (run->last_tick < decoder.floor)
		run->last_tick = decoder.floor;
	event_decoder_done(&decoder);
	chunk_payload_done(&payload);
	return result < 0 ? result : 0;
}

/* --- open -------------------------------------------------------------------
 */

static void memprof_close(struct input *input)
{
	struct memprof *memprof = memprof_of(input);

	for (size_t i = 0; i < memprof->lane_count; i++)
		lane_rewind(&memprof->reader, &memprof->lanes[i]);
	free(memprof->lanes);
	vec_done(&memprof->chunks);
	records_done(&memprof->records);
	interner_done(&memprof->interner);
	chunk_loader_done(&memprof->reader.loader);
	if (memprof->has_live)
		source_close(&memprof->live);
	free(memprof);
}

static int open_run(struct memprof *memprof, struct diag *diag)
{
	struct run *run = memprof->run;
	const char *path = memprof->source->path;

	run->trace_bytes = memprof->source->size;
	run->trace_path = text_sanitize(&run->arena, path, strlen(path));
	run->has_usable = true;
	return run->trace_path ? 0 : out_of_memory(memprof, diag);
}

static int open_lanes(struct memprof *memprof, struct stacks *stacks,
		      struct diag *diag)
{
	struct lane_reader *reader = &memprof->reader;
	int error;

	order_chunks(memprof);
	error = make_lanes(memprof);
	if (!error)
		error = finish_records(memprof);
	if (!error)
		error = interner_init(&memprof->interner, stacks,
				      &memprof->run->modules);
	if (error)
		return out_of_memory(memprof, diag);
	reader->source = memprof->source;
	reader->live = memprof->has_live ? &memprof->live : NULL;
	reader->run = memprof->run;
	reader->interner = &memprof->interner;
	reader->chunks = memprof->chunks.items;
	reader->count_lost = !memprof->records.has_totals;
	for (size_t i = 0; i < memprof->lane_count; i++)
		memprof->lanes[i].floor = memprof->run->first_tick;
	return measure_live(memprof, diag);
}

static int memprof_open(struct source *source, struct stacks *stacks,
			struct run *run, struct input **ret, struct diag *diag)
{
	struct memprof *memprof = calloc(1, sizeof(*memprof));
	uint64_t offset;
	int error;

	if (!memprof)
		return diag_set(diag, -ENOMEM, source->path, DIAG_NO_OFFSET,
				"out of memory");
	memprof->base.format = &input_memprof;
	memprof->source = source;
	memprof->run = run;
	memprof->reader.run = run;
	records_init(&memprof->records, run, source->path);
	error = open_run(memprof, diag);
	if (!error)
		error = preamble_read(memprof, &offset, diag);
	if (!error)
		error = walk_chunks(memprof, offset, diag);
	if (!error)
		error = scan_live(memprof, diag);
	if (!error && !memprof->chunk_count && !memprof->chunks.count)
		error = diag_set(diag, -ENODATA, source->path, source->size,
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

/* --- lanes ------------------------------------------------------------------
 */

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
	const struct memprof *memprof = memprof_of_const(input);
	const struct run *run = memprof->run;
	uint64_t tick =
	    memprof->chunks.items[memprof->lanes[lane].first].first_tick;

	if (tick > run->last_tick)
		tick = run->last_tick;
	return tick < run->first_tick ? run->first_tick : tick;
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
}

const struct input_format input_memprof = {
    .name = "memprof",
    .summary = "trace written by libmemprof.so",
    .probe = memprof_probe,
    .open = memprof_open,
    .lane_count = memprof_lane_count,
    .lane_thread = memprof_lane_thread,
    .lane_start = memprof_lane_start,
    .lane_next = memprof_lane_next,
    .rewind = memprof_rewind,
    .close = memprof_close,
};
