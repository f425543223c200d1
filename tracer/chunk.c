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

/* Safety: context held.  Return: events that are left out. */
static uint32_t code_chain(struct context *ctx, const struct chain *chain,
			   struct columns_output *ret)
{
	struct columns_input inputs[COLUMNS_BUFFERS_MAX];
	unsigned time_shift = clock_time_shift();
	size_t count = 0;

	for (const struct buffer *b = chain->first; b; b = b->next)
		inputs[count++] = get_input(b);
	if (ctx->cull) {
		struct cull_limits limits = get_limits();

		cull_begin(ctx->cull, inputs, count, time_shift, &limits);
	} else if (cull_stamps) {
		clear_marks(chain);
	}
	columns_begin(ctx->columns, time_shift);
	for (size_t i = 0; i < count; i++)
		columns_add(ctx->columns, &inputs[i]);
	if (ctx->cull)
		return cull_end(ctx->cull, ctx->columns, ret);
	columns_end(ctx->columns, ret);
	return 0;
}

/* Safety: context held.  Return: 0 or -errno. */
static int write_columns(struct context *ctx, const struct chain *chain,
			 const struct columns_output *out, uint32_t culled)
{
	const struct trace_live_slot *slot = chain->first->slot;
	struct payload payload = {out->parts, out->lens, out->part_count, 0};
	struct trace_chunk_header head = {
	    .type = TRACE_CHUNK_COLUMNS,
	    .thread = slot->thread,
	    .first_tick = out->first_tick,
	    .last_tick = out->last_tick,
	    .event_count = out->event_count,
	    .sequence = slot->sequence,
	    .buffer_count = chain->count,
	    .culled_count = culled,
	};

	size_t len;
	int err;

	for (size_t i = 0; i < payload.count; i++)
		payload.len += payload.lens[i];
	err = context_seal(ctx, &head, &payload, &len);
	return err ? err : trace_file_append(slot->piece, ctx->out, len);
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
	for (const struct buffer *b = chain->first; b; b = b->next) {
		uint32_t count;
		int err = write_plain(ctx, b, &count);

		event_counts[chain_piece(chain) & 1] += count;
		if (err)
			count_lost(count, err);
	}
}

/* Safety: as chunk_write_chain().  All its events are lost. */
static COLD void lose(const struct chain *chain)
{
	uint32_t count = count_events(chain);

	event_counts[chain_piece(chain) & 1] += count;
	count_lost(count, -ENOMEM);
}

/* Safety: context held, with columns. */
static void write_coded(struct context *ctx, const struct chain *chain)
{
	struct columns_output out = {0};
	uint32_t culled = code_chain(ctx, chain, &out);
	int err = write_columns(ctx, chain, &out, culled);

	event_counts[chain_piece(chain) & 1] += out.event_count + culled;
	if (err)
		count_lost(out.event_count + culled, err);
}

void chunk_write_chain(const struct chain *chain)
{
	struct context *ctx = open_context();

	if (UNLIKELY(!ctx)) {
		lose(chain);
		return;
	}
	if (LIKELY(context_has_columns(ctx)))
		write_coded(ctx, chain);
	else
		write_all_plain(ctx, chain);
	context_give(ctx);
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
