/* SPDX-License-Identifier: MIT */
/*
 * One walk over the chunk headers: definitions are taken in, chunks of events
 * only noted, 40 bytes each.
 */
#include "report/input/memprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <xxhash.h>

#include "report/core/diag.h"
#include "report/core/vec.h"
#include "report/event/run.h"
#include "report/input/chunk.h"
#include "tracer/trace_format.h"

#define PREAMBLE_LEN sizeof(struct trace_preamble)

int memprof_out_of_memory(const struct memprof *memprof, struct diag *diag)
{
	return diag_set(diag, -ENOMEM, memprof->source->path, DIAG_NO_OFFSET,
			"out of memory");
}

/* --- the preamble -------------------------------------------------------- */

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
	memprof->piece->has_trace_id = true;
	memprof->piece->trace_id = preamble->trace_id;
	memprof->records.piece.trace_id = preamble->trace_id;
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
		return error || run->format
			   ? error
			   : memprof_out_of_memory(memprof, diag);
	}
	/* Bytes may be missing too: look for the first chunk everywhere. */
	*ret_offset = 0;
	run->format = "memprof";
	findings_add(&run->damage, source->path, 0, "the preamble is damaged");
	return 0;
}

/* --- the walk ------------------------------------------------------------ */

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

static uint32_t piece_index(const struct memprof *memprof)
{
	return memprof->records.piece.index;
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
	item->buffer_count = chunk_buffer_count(&chunk->header);
	item->coding = event_coding_find(chunk->header.type);
	item->source = memprof->source;
	item->piece = piece_index(memprof);
	if (chunk_end_offset(chunk) <= memprof->piece->known_size &&
	    chunk->header.last_tick > memprof->piece->known_tick)
		memprof->piece->known_tick = chunk->header.last_tick;
	return 0;
}

/* The chunk counts if a BATCH says so, which is not far. */
static int add_batched(struct memprof *memprof, const struct chunk *chunk)
{
	struct memprof_piece *piece = memprof->piece;
	struct chunk *item;

	if (piece->batched.count == 2 * (size_t)TRACE_BATCH_DISTANCE) {
		memcpy(piece->batched.items,
		       piece->batched.items + TRACE_BATCH_DISTANCE,
		       TRACE_BATCH_DISTANCE * sizeof(*item));
		piece->batched.count = TRACE_BATCH_DISTANCE;
	}
	item = vec_push(&piece->batched);
	if (!item)
		return -ENOMEM;
	*item = *chunk;
	return 0;
}

/*
 * Of the chunks of batch number @batch the last @count are complete.  Those
 * before them are of a writer that was killed: what they hold is in other chunks
 * or in PATH.live, and where it is not, buffers are missing.
 */
static int take_batch(struct memprof *memprof, uint16_t batch, uint32_t count)
{
	struct chunk *items = memprof->piece->batched.items;
	size_t have = 0, kept = 0;

	for (size_t i = 0; i < memprof->piece->batched.count; i++)
		have += items[i].header.batch == batch;
	for (size_t i = 0; i < memprof->piece->batched.count; i++) {
		if (items[i].header.batch != batch)
			items[kept++] = items[i];
		else if (have-- <= count && add_events(memprof, &items[i]))
			return -ENOMEM;
	}
	memprof->piece->batched.count = kept;
	return 0;
}

/* Return: 0, -ENOMEM, or another negative errno, @diag filled. */
static int add_batch(struct memprof *memprof, const struct chunk *chunk,
		     struct chunk_payload *payload, struct diag *diag)
{
	const char *problem = NULL;
	uint32_t numbers[TRACE_BATCH_BYTES / sizeof(uint32_t)];
	int result = chunk_load(&memprof->reader.loader, memprof->source, chunk,
				payload, &problem, diag);

	if (result < 0)
		return result;
	if (!result && payload->len < sizeof(numbers))
		problem = "it is too short";
	if (problem) {
		findings_add(&memprof->run->damage, memprof->source->path,
			     chunk->offset,
			     "BATCH chunk: %s; the chunks it is of do not count",
			     problem);
		return 0;
	}
	memcpy(numbers, payload->data, sizeof(numbers));
	return take_batch(memprof, (uint16_t)numbers[0], numbers[1])
		       ? memprof_out_of_memory(memprof, diag)
		       : 0;
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
			   ? memprof_out_of_memory(memprof, diag)
			   : 0;
	findings_add(&run->damage, memprof->source->path, chunk->offset,
		     "%s chunk: %s; it is ignored",
		     chunk_type_name(chunk->header.type), problem);
	run->damaged_bytes += CHUNK_HEADER_LEN + chunk->header.stored_len;
	return 0;
}

/* Whether what the end of the file cuts is being written now. */
static bool goes_on(const struct memprof *memprof)
{
	return memprof->piece->live.is_moving && !memprof->records.has_end;
}

/* The events of @chunk, cut by the end of the file, are lost. */
static void add_cut(struct memprof *memprof, const struct chunk *chunk)
{
	const struct trace_chunk_header *header = &chunk->header;
	struct run *run = memprof->run;

	run->damaged_bytes += CHUNK_HEADER_LEN;
	findings_add(&run->damage, memprof->source->path, chunk->offset,
		     "%s chunk of thread %" PRIu32
		     ": the file ends after %" PRIu64 " of its %" PRIu32
		     " bytes; %" PRIu64 " events are lost",
		     chunk_type_name(header->type), header->thread,
		     memprof->source->size - chunk_payload_offset(chunk),
		     header->stored_len, chunk_event_count(header));
	run->events_skipped += chunk_event_count(header);
}

/* A chunk whose payload goes beyond the end of the file.  What it held may
   still be in PATH.live. */
static void add_incomplete(struct memprof *memprof, const struct chunk *chunk)
{
	const struct source *source = memprof->source;
	const struct trace_chunk_header *header = &chunk->header;

	if (event_coding_find(header->type)) {
		if (memprof->piece->cut.header.stored_len)
			add_cut(memprof, &memprof->piece->cut);
		memprof->piece->cut = *chunk;
		return;
	}
	/* A file that was just being copied is incomplete; no event is lost. */
	if (goes_on(memprof) || header->type == TRACE_CHUNK_FILE)
		return;
	memprof->run->damaged_bytes += CHUNK_HEADER_LEN;
	findings_add(&memprof->run->damage, source->path, chunk->offset,
		     "%s chunk: the file ends after %" PRIu64 " of its %" PRIu32
		     " bytes; it is ignored",
		     chunk_type_name(header->type),
		     source->size - chunk_payload_offset(chunk),
		     header->stored_len);
}

/* A chunk that was being written when the program died, or now, is no loss when
   its buffers are in PATH.live, or came to be after that was read. */
static void settle_cut(struct memprof *memprof)
{
	const struct trace_chunk_header *header = &memprof->piece->cut.header;
	uint32_t missing = chunk_buffer_count(header);

	if (!header->stored_len)
		return;
	for (size_t i = 0; i < memprof->piece->live.slots.count && missing; i++) {
		const struct lane_chunk *live = &memprof->piece->live.slots.items[i];

		missing -= live->thread == header->thread &&
			   live->sequence >= header->sequence &&
			   live->sequence - header->sequence <
			       chunk_buffer_count(header);
	}
	if (missing && !memprof->run->is_running)
		add_cut(memprof, &memprof->piece->cut);
	else
		memprof->run->truncated = false;
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
	int error;

	memprof->chunk_count++;
	if (type < TRACE_CHUNK_PROCESS || type > TRACE_CHUNK_BATCH)
		return add_unknown(memprof, walk, chunk, diag);
	/* Files may be added after the end of the run. */
	if (type != TRACE_CHUNK_FILE)
		note_ticks(memprof, &chunk->header);
	if (walk->incomplete) {
		add_incomplete(memprof, chunk);
		return 0;
	}
	if (type == TRACE_CHUNK_BATCH)
		return add_batch(memprof, chunk, payload, diag);
	if (!event_coding_find(type))
		return add_record(memprof, chunk, payload, diag);
	records_go_on(&memprof->records, false);
	if (chunk->header.flags & TRACE_CHUNK_IN_BATCH)
		error = add_batched(memprof, chunk);
	else
		error = add_events(memprof, chunk);
	return error ? memprof_out_of_memory(memprof, diag) : 0;
}

static int walk_chunks(struct memprof *memprof, uint64_t offset,
		       struct diag *diag)
{
	struct chunk_walk *walk = malloc(sizeof(*walk));
	struct chunk_payload payload = {0};
	struct chunk chunk;
	int result;

	if (!walk)
		return memprof_out_of_memory(memprof, diag);
	chunk_walk_init(walk, memprof->source, offset);
	while ((result = chunk_walk_next(walk, &chunk, diag)) > 0) {
		note_skipped(memprof, walk, false);
		result = add_chunk(memprof, walk, &chunk, &payload, diag);
		if (result < 0)
			break;
	}
	if (result == 0 && !goes_on(memprof)) {
		note_skipped(memprof, walk, true);
		memprof->run->truncated = walk->tail != CHUNK_TAIL_WHOLE;
	}
	chunk_payload_done(&payload);
	free(walk);
	return result;
}

void memprof_piece_done(struct memprof_piece *piece)
{
	live_file_done(&piece->live);
	vec_done(&piece->batched);
}

/* --- PATH.live ----------------------------------------------------------- */

/* Copies what is in PATH.live.  *@ret_error: 0, or why it cannot be opened,
   with @why filled.  Return: 0 or negative errno, @diag filled. */
static int take_live(struct memprof *memprof, int *ret_error, struct diag *why,
		     struct diag *diag)
{
	struct live_file *live = &memprof->piece->live;

	memprof->piece->known_size = memprof->source->size;
	*ret_error = source_open_live(&live->source, memprof->source, why);
	if (*ret_error == -ENOMEM)
		return memprof_out_of_memory(memprof, diag);
	live->is_open = *ret_error == 0;
	if (!live->is_open || !memprof->piece->has_trace_id)
		return 0;
	return live_file_take(live, &memprof->run->damage, diag);
}

/*
 * Buffers leave PATH.live once they are in the trace, so it is read first, and
 * of the trace what is there afterwards: nothing falls between the two.
 */
static int take_size(struct memprof *memprof, struct diag *diag)
{
	int error = source_look_again(memprof->source, diag);

	if (error)
		return error;
	memprof->run->trace_bytes += memprof->source->size;
	return live_file_settle(&memprof->piece->live,
				memprof->source->size !=
					memprof->piece->known_size,
				diag);
}

/* What is wrong with PATH.live as a whole; @error and @why of opening it. */
static void judge_live(struct memprof *memprof, int error,
		       const struct diag *why)
{
	const struct records *records = &memprof->records;
	struct run *run = memprof->run;

	if (error == -ENOENT && records->has_live && !records->has_end &&
	    source_is_stdin(memprof->source))
		findings_add(&run->damage, memprof->source->path,
			     memprof->source->size,
			     "the program did not come to its end and the file "
			     "of its last events, TRACE.live, is not found for "
			     "standard input: name the trace instead");
	else if (error == -ENOENT && records->has_live && !records->has_end)
		findings_add(&run->damage, memprof->source->path,
			     memprof->source->size,
			     "the program did not come to its end and the file "
			     "of its last events, %s.live, is not there",
			     memprof->source->path);
	else if (error && error != -ENOENT)
		findings_add(&run->damage, why->file, why->offset, "%s",
			     why->text);
	else if (!error && !memprof->piece->has_trace_id)
		findings_add(&run->damage, memprof->piece->live.source.path, 0,
			     "is ignored: the trace's preamble is damaged, so "
			     "it may belong to another");
}

static uint64_t run_id(const struct memprof *memprof)
{
	const struct run_piece *piece = &memprof->records.piece;

	return piece->is_known ? piece->run_id : memprof->piece->trace_id;
}

static int keep_slots(struct memprof *memprof, struct diag *diag)
{
	const struct lane_chunks *slots = &memprof->piece->live.slots;

	for (size_t i = 0; i < slots->count; i++) {
		struct lane_chunk *item = vec_push(&memprof->slots);

		if (!item)
			return memprof_out_of_memory(memprof, diag);
		*item = slots->items[i];
	}
	return 0;
}

int memprof_read_index(struct memprof *memprof, struct diag *diag)
{
	struct diag why = {0};
	int live_error = 0;
	uint64_t offset;
	int error = preamble_read(memprof, &offset, diag);

	if (!error)
		error = take_live(memprof, &live_error, &why, diag);
	if (!error)
		error = take_size(memprof, diag);
	if (!error)
		error = walk_chunks(memprof, offset, diag);
	if (error)
		return error;
	live_file_choose(&memprof->piece->live, run_id(memprof),
			 piece_index(memprof), &memprof->run->damage);
	memprof->run->is_running = goes_on(memprof);
	judge_live(memprof, live_error, &why);
	settle_cut(memprof);
	return keep_slots(memprof, diag);
}
