/* SPDX-License-Identifier: MIT */
/*
 * A chunk is decompressed as a whole and decoded in small batches: these stay
 * in the cache, and a merge over many threads holds little memory.  Lanes that
 * are not being read hold nothing.
 */
#include "report/input/lane.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/core/diag.h"
#include "report/core/memory.h"
#include "report/event/event.h"
#include "report/event/run.h"
#include "report/input/live.h"
#include "report/source/source.h"

enum { BATCH_COUNT = 512 };

/* Beyond this (or a quarter of --memory), lanes give their payload back between
   two batches and load it again: slow, but nothing that a file can say takes
   more memory. */
#define PAYLOAD_BYTES_MAX ((size_t)1 << 30)

/**
 * struct lane_state
 * @decoder: of the coding of the last chunk, NULL before the first; owned
 * @open:   a chunk is being decoded; @chunk is its header
 * @loaded: @payload holds it
 * @rest:   why @payload does not hold all of a slot, NULL if it does
 */
struct lane_state {
	struct event_decoder *decoder;
	struct chunk_payload payload;
	struct chunk chunk;
	bool open;
	bool loaded;
	const char *rest;
};

static void payload_free(struct lane_reader *reader, struct lane_state *state)
{
	reader->payload_bytes -= state->payload.capacity;
	chunk_payload_done(&state->payload);
	state->loaded = false;
}

/* Threads that live one after another need one decoder. */
static void decoder_give_back(struct lane_reader *reader,
			      struct lane_state *state)
{
	if (state->decoder && !reader->spare)
		reader->spare = state->decoder;
	else
		event_decoder_free(state->decoder);
	state->decoder = NULL;
}

static void state_free(struct lane_reader *reader, struct lane *lane)
{
	struct lane_state *state = lane->state;

	if (!state)
		return;
	payload_free(reader, state);
	decoder_give_back(reader, state);
	free(state);
	lane->state = NULL;
}

static const struct lane_chunk *lane_chunk(const struct lane_reader *reader,
					   const struct lane *lane)
{
	return &reader->chunks[lane->first + lane->next];
}

/* Adds "COLUMNS chunk of thread 3: PROBLEM; …" unless it was said before.
   @at: at which event, "" or "…: ". */
static void chunk_report(struct lane_reader *reader, const struct lane *lane,
			 const struct trace_chunk_header *header,
			 const char *at, const char *problem, uint64_t lost)
{
	const struct lane_chunk *where = lane_chunk(reader, lane);
	struct run *run = reader->run;

	if (lane->next < lane->reported)
		return;
	if (where->live_len)
		findings_add(&run->damage, where->source->path, where->offset,
			     "buffer of thread %" PRIu32 ": %s%s; the events "
			     "from %.6f s on are lost",
			     lane->thread, at, problem,
			     run_seconds(run, where->first_tick));
	else
		findings_add(&run->damage, where->source->path, where->offset,
			     "%s chunk of thread %" PRIu32 ": %s%s; %" PRIu64
			     " events between %.6f s and %.6f s are lost",
			     where->coding->name, lane->thread, at, problem,
			     lost,
			     run_seconds(run, header->first_tick),
			     run_seconds(run, header->last_tick));
	run->events_skipped += lost;
	if (!where->live_len)
		run->damaged_bytes += CHUNK_HEADER_LEN + header->stored_len;
}

/* Return: 0; 1 damaged, *@ret_problem says how; negative errno.  With 0 and
   *@ret_problem, the end of a slot is missing. */
static int chunk_read(struct lane_reader *reader, struct lane *lane,
		      const char **ret_problem, struct diag *diag)
{
	const struct lane_chunk *where = lane_chunk(reader, lane);
	struct lane_state *state = lane->state;
	uint8_t bytes[CHUNK_HEADER_LEN];
	int result;

	state->chunk = (struct chunk){ .offset = where->offset };
	reader->payload_bytes -= state->payload.capacity;
	if (where->live_len) {
		result = live_load(where, &state->payload, ret_problem);
		if (result)
			diag_set(diag, result, where->source->path,
				 where->offset, "out of memory");
	} else {
		ssize_t n = source_read(where->source, where->offset, bytes,
					sizeof(bytes), diag);
		struct trace_chunk_header *header = &state->chunk.header;

		/* It was right when the index was made. */
		result = n < 0 ? (int)n : 1;
		if (n == sizeof(bytes) && chunk_header_parse(bytes, header) &&
		    header->type == where->coding->type &&
		    header->thread == where->thread &&
		    header->sequence == where->sequence)
			result = chunk_load(&reader->loader, where->source,
					    &state->chunk, &state->payload,
					    ret_problem, diag);
		else
			*ret_problem = "the file was changed meanwhile";
	}
	reader->payload_bytes += state->payload.capacity;
	state->loaded = result == 0;
	return result;
}

static void chunk_close(struct lane *lane)
{
	lane->state->open = false;
	lane->next++;
	if (lane->reported < lane->next)
		lane->reported = lane->next;
}

/* Starts to decode the payload.  Return: 0 or -ENOMEM. */
static int decoder_prepare(struct lane_reader *reader, struct lane *lane)
{
	const struct lane_chunk *where = lane_chunk(reader, lane);
	const struct event_coding *coding =
	    where->live_len ? &events_coding : where->coding;
	struct lane_state *state = lane->state;

	if (state->decoder && state->decoder->coding != coding)
		decoder_give_back(reader, state);
	if (!state->decoder && reader->spare &&
	    reader->spare->coding == coding) {
		state->decoder = reader->spare;
		reader->spare = NULL;
	}
	if (!state->decoder)
		state->decoder = event_decoder_new(coding, reader->interner);
	if (!state->decoder)
		return -ENOMEM;
	/* What is later than the moment must be known to be. */
	state->decoder->limit = reader->moment == UINT64_MAX
				    ? reader->run->last_tick
				    : UINT64_MAX;
	state->decoder->floor = lane->floor;
	state->open = true;
	return event_decoder_start(state->decoder, state->payload.data,
				   state->payload.len, where->first_tick);
}

/* Makes the next chunk that can be read current.  Return: 1, 0 there is none,
   negative errno. */
static int chunk_open(struct lane_reader *reader, struct lane *lane,
		      struct diag *diag)
{
	struct lane_state *state = lane->state;

	while (lane->next < lane->count) {
		const struct lane_chunk *where = lane_chunk(reader, lane);
		const char *problem = NULL;
		int result = chunk_read(reader, lane, &problem, diag);

		if (result < 0)
			return result;
		__atomic_fetch_add(reader->bytes_read,
				   chunk_end_offset(&state->chunk) -
				       state->chunk.offset,
				   __ATOMIC_RELAXED);
		if (result == 0) {
			state->rest = problem;
			if (decoder_prepare(reader, lane) == 0)
				return 1;
			return diag_set(diag, -ENOMEM, where->source->path,
					where->offset, "out of memory");
		}
		chunk_report(reader, lane, &state->chunk.header, "", problem,
			     chunk_event_count(&state->chunk.header));
		chunk_close(lane);
	}
	return 0;
}

/* The current chunk was decoded as far as it can be. */
static void chunk_finish(struct lane_reader *reader, struct lane *lane)
{
	struct lane_state *state = lane->state;
	const struct event_decoder *decoder = state->decoder;
	const struct trace_chunk_header *header = &state->chunk.header;
	const char *problem = decoder->problem;
	char at[64] = "";
	uint64_t declared = chunk_event_count(header);
	uint64_t decoded = decoder->decoded + decoder->culled;
	uint64_t lost = declared > decoded ? declared - decoded : 0;
	bool live = lane_chunk(reader, lane)->live_len;
	struct run *run = reader->run;

	if (live && (problem || state->rest))
		snprintf(at, sizeof(at), "event %" PRIu64 ": ",
			 decoder->decoded + 1);
	else if (problem && decoder->problem_at != DECODER_NO_PLACE)
		snprintf(at, sizeof(at), "%s %" PRIu64 ": ",
			 decoder->coding->place, decoder->problem_at);
	if (!problem)
		problem = state->rest;
	if (!problem && !live &&
	    (header->event_count != decoder->decoded ||
	     header->culled_count != decoder->culled))
		problem = "its header counts other events than it holds";
	if (problem)
		chunk_report(reader, lane, header, at, problem, lost);
	if (reader->count_lost && lane->next >= lane->reported &&
	    __builtin_add_overflow(run->events_lost, decoder->lost,
				   &run->events_lost))
		run->events_lost = UINT64_MAX;
	chunk_close(lane);
}

/* Makes room for events of a payload of @len bytes.  Return: 0 or -ENOMEM. */
static int batch_prepare(struct event_batch *batch, size_t len)
{
	/* An event takes two bytes at least, one that becomes two three. */
	size_t want = len / 3 * 2 + 2;

	return event_batch_reserve(batch,
				   want < BATCH_COUNT ? want : BATCH_COUNT);
}

static bool payloads_full(const struct lane_reader *reader)
{
	return reader->payload_bytes > memory_share(4, PAYLOAD_BYTES_MAX);
}

/* The program ran on while the trace was read: leaves out what is later than
   the moment that is reported, both halves of a realloc if one is.  Return:
   events that are left. */
static size_t cut_batch(struct lane_reader *reader, struct lane *lane,
			const struct event *items, size_t count)
{
	if (!count || items[count - 1].tick <= reader->moment)
		return count;
	while (count && items[count - 1].tick > reader->moment)
		count--;
	if (count && items[count - 1].kind == EVENT_FREE &&
	    items[count - 1].call == CALL_REALLOC)
		count--;
	lane->state->open = false;
	lane->next = lane->count;
	return count;
}

/* Decodes a batch of the current chunk.  Return: 0 or negative errno. */
static int batch_decode(struct lane_reader *reader, struct lane *lane,
			struct event_batch *batch)
{
	struct lane_state *state = lane->state;
	int result;

	if (batch_prepare(batch, state->payload.len))
		return -ENOMEM;
	result = event_decode(state->decoder, batch->items, batch->capacity,
			      &batch->count);
	if (result < 0)
		return result;
	lane->floor = state->decoder->floor;
	if (result == EVENT_DECODE_END)
		chunk_finish(reader, lane);
	batch->count = cut_batch(reader, lane, batch->items, batch->count);
	if (!state->open || payloads_full(reader))
		state->loaded = false;
	if (payloads_full(reader))
		payload_free(reader, state);
	return 0;
}

/* Makes sure that a chunk is open and its payload there.  Return: 1, 0 end of
   the lane, negative errno. */
static int chunk_prepare(struct lane_reader *reader, struct lane *lane,
			 struct diag *diag)
{
	struct lane_state *state = lane->state;
	const char *problem = NULL;
	int result;

	if (!state->open)
		return chunk_open(reader, lane, diag);
	if (state->loaded)
		return 1;
	result = chunk_read(reader, lane, &problem, diag);
	if (result < 0)
		return result;
	if (result == 0 &&
	    event_decoder_move(state->decoder, state->payload.data,
			       state->payload.len))
		return 1;
	if (!problem)
		problem = "the file was changed meanwhile";
	chunk_report(reader, lane, &state->chunk.header, "", problem, 0);
	chunk_close(lane);
	return chunk_open(reader, lane, diag);
}

void lane_reader_done(struct lane_reader *reader)
{
	event_decoder_free(reader->spare);
	reader->spare = NULL;
	chunk_loader_done(&reader->loader);
}

int lane_next(struct lane_reader *reader, struct lane *lane,
	      struct event_batch *ret, struct diag *diag)
{
	ret->count = 0;
	if (!lane->state && lane->next < lane->count) {
		lane->state = calloc(1, sizeof(*lane->state));
		if (!lane->state)
			return diag_set(diag, -ENOMEM,
					lane_chunk(reader, lane)->source->path,
					DIAG_NO_OFFSET, "out of memory");
	}
	while (lane->state && !ret->count) {
		int result = chunk_prepare(reader, lane, diag);

		if (result < 0)
			return result;
		if (result == 0) {
			state_free(reader, lane);
			return 0;
		}
		if (batch_decode(reader, lane, ret) < 0)
			return diag_set(diag, -ENOMEM,
					lane_chunk(reader, lane)->source->path,
					lane_chunk(reader, lane)->offset,
					"out of memory");
	}
	return ret->count > 0;
}

void lane_rewind(struct lane_reader *reader, struct lane *lane)
{
	state_free(reader, lane);
	lane->next = 0;
	lane->floor = lane->start;
}
