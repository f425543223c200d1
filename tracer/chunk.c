/* SPDX-License-Identifier: MIT */
#include "tracer/chunk.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracer/buffer.h"
#include "tracer/clock.h"
#include "tracer/columns.h"
#include "tracer/compiler.h"
#include "tracer/context.h"
#include "tracer/cull.h"
#include "tracer/cull_stamps.h"
#include "tracer/encode.h"
#include "tracer/live.h"
#include "tracer/log.h"
#include "tracer/options.h"
#include "tracer/piece.h"
#include "tracer/plain.h"
#include "tracer/tls.h"
#include "tracer/trace_file.h"

enum {
	LOST_BYTES = 24, /* payload of a LOST chunk */
	NS_PER_MS = 1000000,
};

_Static_assert(sizeof(struct trace_preamble) == 32, "no padding");

/* Events that could not be written; @pending ones are not in a LOST chunk,
   @silent ones not on the log: the helper has none. */
static struct {
	atomic_uint_fast64_t total;
	atomic_uint_fast64_t pending;
	atomic_int error;
	atomic_bool silent;
	atomic_flag reported;
} lost;

/* By the lowest bit of their piece. */
static atomic_uint_fast64_t event_counts[2];

/* The pieces that chunk_write() appends to. */
static struct {
	atomic_uint first;
	atomic_uint end;
} open_pieces;

uint64_t chunk_lost_count(void)
{
	return lost.total;
}

uint64_t chunk_lost_pending(void)
{
	return lost.pending;
}

void chunk_forget_pending(void)
{
	lost.pending = 0;
	live_set_lost(TRACE_LOST_WRITE, 0);
}

uint64_t chunk_event_count(uint32_t piece)
{
	return event_counts[piece & 1];
}

/* Safety: context held.  Appends to the pieces [@first, @end).  Return: 0 or
   -errno. */
static int write_record(struct context *ctx, const struct chunk *chunk,
			uint32_t first, uint32_t end)
{
	struct trace_chunk_header head = {
	    .type = (uint16_t)chunk->type,
	    .thread = chunk->thread,
	    .first_tick = chunk->tick,
	    .last_tick = chunk->tick,
	};
	const uint8_t *part = chunk->payload;
	struct payload payload = {&part, &chunk->len, 1, chunk->len};
	size_t len;
	int err = context_seal(ctx, &head, &payload, &len);

	if (err)
		return err;
	for (uint32_t piece = first; piece != end; piece++) {
		int failed = trace_file_append(piece, ctx->out, len);

		err = failed ? failed : err;
	}
	return err;
}

/* Safety: signals blocked.  Counts lost events; the log gets one line. */
static void count_lost(uint64_t count, int err)
{
	lost.total += count;
	lost.pending += count;
	live_set_lost(TRACE_LOST_WRITE, lost.pending);
	lost.error = -err;
	lost.silent = true;
	if (!tls.is_helper)
		chunk_report_lost();
}

void chunk_report_lost(void)
{
	if (LIKELY(!lost.silent))
		return;
	lost.silent = false;
	if (!atomic_flag_test_and_set(&lost.reported))
		log_line(LOG_ERROR,
			 "cannot write the trace, events are being lost:",
			 trace_file_path(piece_now), lost.error);
}

/* Safety: pure but for the clock.  Return: a LOST chunk whose payload is put
   into @payload. */
static struct chunk lost_chunk(uint8_t payload[LOST_BYTES], uint64_t count,
			       enum trace_lost_reason reason, int error)
{
	uint64_t tick = clock_now();
	uint8_t *p = payload;

	p = put_u64(p, count);
	p = put_u32(p, (uint32_t)reason);
	p = put_u32(p, (uint32_t)error);
	put_u64(p, tick);
	return (struct chunk){ .type = TRACE_CHUNK_LOST,
			       .payload = payload,
			       .len = LOST_BYTES,
			       .tick = tick };
}

/* Safety: signals blocked.  Says in the trace what an earlier write lost. */
static void report_pending(struct context *ctx)
{
	uint64_t count = atomic_exchange(&lost.pending, 0);
	uint32_t end = open_pieces.end;
	uint8_t payload[LOST_BYTES];
	struct chunk chunk =
		lost_chunk(payload, count, TRACE_LOST_WRITE, lost.error);

	if (write_record(ctx, &chunk, end - 1, end) != 0)
		lost.pending += count;
	live_set_lost(TRACE_LOST_WRITE, lost.pending);
}

/* Safety: signals blocked.  As context_take(); what was lost before is told
   first. */
static struct context *open_context(void)
{
	struct context *ctx = context_take();

	if (ctx && lost.pending)
		report_pending(ctx);
	return ctx;
}

bool chunk_prepare(void)
{
	struct context *ctx = context_take();

	context_give(ctx);
	return ctx != NULL;
}

int chunk_write(const struct chunk *chunk)
{
	struct context *ctx = open_context();
	int err = -ENOMEM;

	if (ctx)
		err = write_record(ctx, chunk, open_pieces.first,
				   open_pieces.end);
	context_give(ctx);
	if (err)
		count_lost(0, err);
	return err;
}

int chunk_write_in(uint32_t piece, const struct chunk *chunk)
{
	struct context *ctx = context_take();
	int err = -ENOMEM;

	if (ctx)
		err = write_record(ctx, chunk, piece, piece + 1);
	context_give(ctx);
	return err;
}

/* Safety: pure. */
static struct columns_input get_input(const struct buffer *buffer)
{
	return (struct columns_input){
		.words = buffer->words,
		.len = buffer->len,
		.from = buffer->from,
		.first_tick = buffer->slot->first_tick,
	};
}

/* Safety: pure.  Return: events in all buffers. */
static uint32_t count_events(const struct chain *chain)
{
	uint32_t count = 0;

	for (const struct buffer *b = chain->first; b; b = b->next) {
		struct columns_input input = get_input(b);

		count += columns_count(&input);
	}
	return count;
}

/* Safety: context held; no memory for culling.  The marks for it are of no use. */
static COLD void clear_marks(const struct chain *chain)
{
	for (const struct buffer *b = chain->first; b; b = b->next)
		cull_clear(b->words, b->len);
}

/* Safety: any. */
static struct cull_limits get_limits(void)
{
	uint64_t ms = options.cull_lifetime_ms;

	return (struct cull_limits){
		.lifetime_ticks = ms < UINT64_MAX / NS_PER_MS
				      ? clock_ticks_of(ms * NS_PER_MS)
				      : UINT64_MAX,
		.pending = options.cull_pending,
	};
}

/* Safety: context held.  Nothing is left out. */
static void code_chain(struct context *ctx, const struct chain *chain,
		       struct columns_output *ret)
{
	if (cull_stamps)
		clear_marks(chain);
	columns_begin(ctx->columns, clock_time_shift());
	for (const struct buffer *b = chain->first; b; b = b->next) {
		struct columns_input input = get_input(b);

		columns_add(ctx->columns, &input);
	}
	columns_end(ctx->columns, ret);
}

/**
 * struct place - whose events a chunk has
 * @batch: its number; 0: it is in none
 */
struct place {
	uint32_t piece;
	uint32_t thread;
	uint32_t sequence;
	uint16_t buffer_count;
	uint16_t batch;
};

/* Safety: context held.  Return: 0 or -errno. */
static int write_columns(struct context *ctx, const struct place *place,
			 const struct columns_output *out, uint32_t culled)
{
	struct payload payload = {out->parts, out->lens, out->part_count, 0};
	struct trace_chunk_header head = {
	    .type = TRACE_CHUNK_COLUMNS,
	    .flags = place->batch ? TRACE_CHUNK_IN_BATCH : 0,
	    .thread = place->thread,
	    .first_tick = out->first_tick,
	    .last_tick = out->last_tick,
	    .event_count = out->event_count,
	    .sequence = place->sequence,
	    .buffer_count = place->buffer_count,
	    .batch = place->batch,
	    .culled_count = culled,
	};

	size_t len;
	int err;

	for (size_t i = 0; i < payload.count; i++)
		payload.len += payload.lens[i];
	err = context_seal(ctx, &head, &payload, &len);
	return err ? err : trace_file_append(place->piece, ctx->out, len);
}

/* Safety: context held.  Events of the piece that are written, or lost. */
static void count_events_of(uint32_t piece, uint32_t count, int err)
{
	event_counts[piece & 1] += count;
	if (err)
		count_lost(count, err);
}

/* Safety: context held, with columns.  Nothing is left out. */
static void write_whole(struct context *ctx, const struct chain *chain)
{
	const struct trace_live_slot *slot = chain->first->slot;
	const struct place place = {
		.piece = slot->piece,
		.thread = slot->thread,
		.sequence = slot->sequence,
		.buffer_count = (uint16_t)chain->count,
	};
	struct columns_output out;
	int err;

	code_chain(ctx, chain, &out);
	err = write_columns(ctx, &place, &out, 0);
	count_events_of(place.piece, out.event_count, err);
}

/* Safety: context held.  Gives as many chains of the batch, from number @first
   on, to ctx->cull as it has room for.  Return: the number after them. */
static uint32_t add_chains(struct context *ctx, const struct batch *batch,
			   uint32_t first)
{
	uint32_t room = cull_capacity(ctx->cull), i = first;

	for (; i < batch->count && batch->chains[i].count <= room; i++) {
		room -= batch->chains[i].count;
		for (const struct buffer *b = batch->chains[i].first; b;
		     b = b->next)
			cull_add(ctx->cull, &(struct cull_buffer){
						    .thread = b->slot->thread,
						    .sequence = b->slot->sequence,
						    .input = get_input(b) });
	}
	return i;
}

/* Safety: anywhere.  Return: a number that no batch under way has. */
static uint16_t get_batch_number(void)
{
	static atomic_uint last;

	return (uint16_t)(1 + last++ % UINT16_MAX);
}

/* Safety: context held.  Says that the batch is complete, all of whose @count
   chunks are written.  Return: 0 or -errno. */
static int end_batch(struct context *ctx, const struct place *place,
		     uint32_t count, uint64_t tick)
{
	uint8_t payload[TRACE_BATCH_BYTES];
	struct chunk chunk = {
		.type = TRACE_CHUNK_BATCH,
		.payload = payload,
		.len = sizeof(payload),
		.tick = tick,
	};

	put_u32(put_u32(payload, place->batch), count);
	return write_record(ctx, &chunk, place->piece, place->piece + 1);
}

/*
 * Safety: context held.  Writes what cull_decide() made @count parts of.  Those
 * of a batch count together or not at all: then it is not written to its end.
 *
 * Return: 0, or -errno in a batch; elsewhere a part that is not written is lost.
 */
static int write_parts(struct context *ctx, struct place *place, size_t count)
{
	uint64_t events = 0, last_tick = 0;

	for (size_t i = 0; i < count; i++) {
		struct cull_part part = cull_get_part(ctx->cull, i);
		struct columns_output out;
		uint32_t culled = cull_code(ctx->cull, i, ctx->columns, &out);
		int err;

		place->thread = part.buffers->thread;
		place->sequence = part.buffers->sequence;
		place->buffer_count = (uint16_t)part.count;
		err = write_columns(ctx, place, &out, culled);
		if (err && place->batch)
			return err;
		if (out.last_tick > last_tick)
			last_tick = out.last_tick;
		events += out.event_count + culled;
		if (!place->batch)
			count_events_of(place->piece, out.event_count + culled,
					err);
	}
	if (place->batch) {
		int err = end_batch(ctx, place, (uint32_t)count, last_tick);

		if (err)
			return err;
		event_counts[place->piece & 1] += events;
	}
	return 0;
}

/* Safety: context held.  The one buffer.  Return: 0 or -errno. */
static int write_plain(struct context *ctx, const struct buffer *buffer,
		       uint32_t *ret_count)
{
	const struct trace_live_slot *slot = buffer->slot;
	struct columns_input input = get_input(buffer);
	const uint8_t *part = ctx->plain->bytes;
	struct plain_output out;
	struct trace_chunk_header head;
	size_t len;
	int err;

	plain_code(ctx->plain, &input, &out);
	*ret_count = out.event_count;
	head = (struct trace_chunk_header){
	    .type = TRACE_CHUNK_EVENTS,
	    .thread = slot->thread,
	    .first_tick = out.first_tick,
	    .last_tick = out.last_tick,
	    .event_count = out.event_count,
	    .sequence = slot->sequence,
	};
	err = context_seal(ctx, &head,
			&(struct payload){&part, &out.len, 1, out.len}, &len);
	return err ? err : trace_file_append(slot->piece, ctx->out, len);
}

/* Safety: context held.  Chunks of one buffer each, for want of memory. */
static COLD void write_all_plain(struct context *ctx, const struct chain *chain)
{
	if (cull_stamps)
		clear_marks(chain);
	for (const struct buffer *b = chain->first; b; b = b->next) {
		uint32_t count;
		int err = write_plain(ctx, b, &count);

		count_events_of(chain_piece(chain), count, err);
	}
}

/* Safety: as chunk_write_chain().  All its events are lost. */
static COLD void lose(const struct chain *chain)
{
	uint32_t count = count_events(chain);

	count_events_of(chain_piece(chain), count, -ENOMEM);
}

/* Safety: context held, with columns.  Writes some chains from number @first on,
   those of one batch together.  Return: the number after them. */
static uint32_t write_some(struct context *ctx, const struct batch *batch,
			   uint32_t first)
{
	struct place place = { .piece = chain_piece(batch->chains) };
	struct cull_limits limits = get_limits();
	bool is_linked;
	uint32_t end;
	size_t count;

	cull_begin(ctx->cull, clock_time_shift(), &limits);
	end = add_chains(ctx, batch, first);
	count = cull_decide(ctx->cull, &is_linked);
	place.batch = is_linked ? get_batch_number() : 0;
	if (write_parts(ctx, &place, count) != 0)
		for (uint32_t i = first; i < end; i++)
			write_whole(ctx, &batch->chains[i]);
	return end;
}

/* Safety: context held, with columns. */
static void write_coded(struct context *ctx, const struct batch *batch)
{
	uint32_t i = 0;

	while (ctx->cull && i < batch->count &&
	       batch->chains[i].count <= cull_capacity(ctx->cull))
		i = write_some(ctx, batch, i);
	for (; i < batch->count; i++)
		write_whole(ctx, &batch->chains[i]);
}

void chunk_write_batch(const struct batch *batch)
{
	struct context *ctx = open_context();

	if (LIKELY(ctx && context_has_columns(ctx))) {
		write_coded(ctx, batch);
	} else {
		for (uint32_t i = 0; i < batch->count; i++) {
			if (ctx)
				write_all_plain(ctx, &batch->chains[i]);
			else
				lose(&batch->chains[i]);
		}
	}
	context_give(ctx);
}

void chunk_write_chain(const struct chain *chain)
{
	struct batch batch;

	batch.count = 1;
	batch.chains[0] = *chain;
	chunk_write_batch(&batch);
}

int chunk_write_preamble(uint32_t piece, uint64_t trace_id)
{
	struct trace_preamble pre = {
	    .version_major = TRACE_VERSION_MAJOR,
	    .version_minor = cull_stamps ? TRACE_VERSION_MINOR_CULLED
					 : TRACE_VERSION_MINOR,
	    .byte_order = TRACE_BYTE_ORDER,
	    .trace_id = trace_id,
	};

	memcpy(pre.magic, TRACE_MAGIC, TRACE_MAGIC_LEN);
	pre.checksum = XXH64(&pre, sizeof(pre) - 8, 0);
	event_counts[piece & 1] = 0;
	return trace_file_append(piece, &pre, sizeof(pre));
}

int chunk_write_lost(uint64_t count, enum trace_lost_reason reason, int error)
{
	uint8_t payload[LOST_BYTES];
	struct chunk chunk = lost_chunk(payload, count, reason, error);

	return chunk_write(&chunk);
}

void chunk_add_piece(uint32_t piece)
{
	if (open_pieces.first == open_pieces.end)
		open_pieces.first = piece;
	open_pieces.end = piece + 1;
}

void chunk_drop_piece(uint32_t piece)
{
	open_pieces.first = piece + 1;
	context_wait_all();
}

/* The parent's threads may have been compressing. */
void chunk_forget_all(void)
{
	context_forget_all();
	open_pieces.first = open_pieces.end = 0;
	lost.total = lost.pending = 0;
}
