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
#include "report/event/event.h"
#include "report/event/run.h"
#include "report/input/live.h"
#include "report/source/source.h"

enum { BATCH_COUNT = 512 };

/* Beyond this, lanes give their payload back between two batches and load it
   again: slow, but nothing that a file can say takes more memory. */
#define PAYLOAD_BYTES_MAX ((size_t)1 << 30)

/**
 * struct lane_state
 * @open:   a chunk is being decoded; @chunk is its header
 * @loaded: @payload holds it
 */
struct lane_state {
	struct event_decoder decoder;
	struct chunk_payload payload;
	struct chunk chunk;
	bool open;
	bool loaded;
	struct event *items;
	size_t capacity;
};

static void payload_free(struct lane_reader *reader, struct lane_state *state)
{
	reader->payload_bytes -= state->payload.capacity;
	chunk_payload_done(&state->payload);
	state->loaded = false;
}

static void state_free(struct lane_reader *reader, struct lane *lane)
{
	struct lane_state *state = lane->state;

	if (!state)
		return;
	payload_free(reader, state);
	event_decoder_done(&state->decoder);
	free(state->items);
	free(state);
	lane->state = NULL;
}

static const struct lane_chunk *lane_chunk(const struct lane_reader *reader,
					   const struct lane *lane)
{
	return &reader->chunks[lane->first + lane->next];
}

/* Adds "EVENTS chunk of thread 3: PROBLEM; …" unless it was said before. */
static void chunk_report(struct lane_reader *reader, const struct lane *lane,
			 const struct trace_chunk_header *header,
			 uint64_t position, const char *problem, uint64_t lost)
{
	const struct lane_chunk *where = lane_chunk(reader, lane);
	struct run *run = reader->run;
	char at[64] = "";

	if (lane->next < lane->reported)
		return;
	if (position != DIAG_NO_OFFSET)
		snprintf(at, sizeof(at), "the event at %" PRIu64 ": ",
			 position);
	if (where->live_len)
		findings_add(&run->damage, reader->live->path, where->offset,
			     "buffer of thread %" PRIu32 ": %s%s; the events "
			     "from %.6f s on are lost",
			     lane->thread, at, problem,
			     run_seconds(run, where->first_tick));
	else
		findings_add(&run->damage, reader->source->path, where->offset,
			     "EVENTS chunk of thread %" PRIu32
			     ": %s%s; %" PRIu64
			     " events between %.6f s and %.6f s are lost",
			     lane->thread, at, problem, lost,
			     run_seconds(run, header->first_tick),
			     run_seconds(run, header->last_tick));
	run->events_skipped += lost;
	if (!where->live_len)
		run->damaged_bytes += CHUNK_HEADER_LEN + header->stored_len;
}

/* Return: 0; 1 damaged, *@ret_problem says how; negative errno. */
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
		result = live_load(reader->live, where, &state->payload,
				   ret_problem, diag);
	} else {
		ssize_t n = source_read(reader->source, where->offset, bytes,
					sizeof(bytes), diag);

		/* It was right when the index was made. */
		*ret_problem = "the file was changed meanwhile";
		if (n < 0)
			result = (int)n;
		else if ((size_t)n < sizeof(bytes) ||
			 !chunk_header_parse(bytes, &state->chunk.header) ||
			 state->chunk.header.thread != where->thread ||
			 state->chunk.header.sequence != where->sequence)
			result = 1;
		else
			result = chunk_load(&reader->loader, reader->source,
					    &state->chunk, &state->payload,
					    ret_problem, diag);
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

/* Makes the next chunk that can be read current.  Return: 1, 0 there is none,
   negative errno. */
static int chunk_open(struct lane_reader *reader, struct lane *lane,
		      struct diag *diag)
{
	struct lane_state *state = lane->state;
	struct event_decoder *decoder = &state->decoder;

	while (lane->next < lane->count) {
		const struct lane_chunk *where = lane_chunk(reader, lane);
		const char *problem = NULL;
		int result = chunk_read(reader, lane, &problem, diag);

		if (result < 0)
			return result;
		if (result == 0) {
			state->open = true;
			decoder->interner = reader->interner;
			decoder->limit = reader->run->last_tick;
			decoder->floor = lane->floor;
			event_decoder_start(decoder, state->payload.data,
					    state->payload.len,
					    where->first_tick);
			return 1;
		}
		chunk_report(reader, lane, &state->chunk.header, DIAG_NO_OFFSET,
			     problem, chunk_event_count(&state->chunk.header));
		chunk_close(lane);
	}
	return 0;
}

/* The current chunk was decoded as far as it can be. */
static void chunk_finish(struct lane_reader *reader, struct lane *lane)
{
	struct lane_state *state = lane->state;
	const struct event_decoder *decoder = &state->decoder;
	const struct trace_chunk_header *header = &state->chunk.header;
	uint64_t declared = chunk_event_count(header);
	uint64_t lost =
	    declared > decoder->decoded ? declared - decoder->decoded : 0;
	bool live = lane_chunk(reader, lane)->live_len;
	struct run *run = reader->run;

	if (decoder->problem)
		chunk_report(reader, lane, header, decoder->problem_at,
			     decoder->problem, lost);
	else if (!live && header->event_count != decoder->decoded)
		chunk_report(reader, lane, header, DIAG_NO_OFFSET,
			     "its header counts other events than it holds",
			     lost);
	if (reader->count_lost && lane->next >= lane->reported &&
	    __builtin_add_overflow(run->events_lost, decoder->lost,
				   &run->events_lost))
		run->events_lost = UINT64_MAX;
	chunk_close(lane);
}

static int items_reserve(struct lane_state *state, size_t len)
{
	/* An event takes three bytes at least and may become two. */
	size_t want = len / 3 * 2 + 2;
	struct event *items;

	if (want > BATCH_COUNT)
		want = BATCH_COUNT;
	if (state->capacity >= want)
		return 0;
	items = malloc(want * sizeof(*items));
	if (!items)
		return -ENOMEM;
	free(state->items);
	state->items = items;
	state->capacity = want;
	return 0;
}

/* Decodes a batch of the current chunk.  Return: events, negative errno. */
static int batch_decode(struct lane_reader *reader, struct lane *lane,
			size_t *ret_count)
{
	struct lane_state *state = lane->state;
	int result;

	if (items_reserve(state, state->payload.len))
		return -ENOMEM;
	result = event_decode(&state->decoder, state->items, state->capacity,
			      ret_count);
	if (result < 0)
		return result;
	lane->floor = state->decoder.floor;
	if (result == EVENT_DECODE_END)
		chunk_finish(reader, lane);
	if (!state->open || reader->payload_bytes > PAYLOAD_BYTES_MAX)
		state->loaded = false;
	if (reader->payload_bytes > PAYLOAD_BYTES_MAX)
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
	    event_decoder_move(&state->decoder, state->payload.data,
			       state->payload.len))
		return 1;
	if (!problem)
		problem = "the file was changed meanwhile";
	chunk_report(reader, lane, &state->chunk.header, DIAG_NO_OFFSET,
		     problem, 0);
	chunk_close(lane);
	return chunk_open(reader, lane, diag);
}

int lane_next(struct lane_reader *reader, struct lane *lane,
	      struct event_batch *ret, struct diag *diag)
{
	size_t count = 0;

	if (!lane->state && lane->next < lane->count) {
		lane->state = calloc(1, sizeof(*lane->state));
		if (!lane->state)
			return diag_set(diag, -ENOMEM, reader->source->path,
					DIAG_NO_OFFSET, "out of memory");
	}
	while (lane->state && !count) {
		int result = chunk_prepare(reader, lane, diag);

		if (result < 0)
			return result;
		if (result == 0) {
			state_free(reader, lane);
			return 0;
		}
		if (batch_decode(reader, lane, &count) < 0)
			return diag_set(diag, -ENOMEM, reader->source->path,
					lane_chunk(reader, lane)->offset,
					"out of memory");
	}
	if (!count)
		return 0;
	ret->items = lane->state->items;
	ret->count = count;
	return 1;
}

void lane_rewind(struct lane_reader *reader, struct lane *lane)
{
	state_free(reader, lane);
	lane->next = 0;
	lane->floor = lane->start;
}
