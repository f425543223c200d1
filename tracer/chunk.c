/* SPDX-License-Identifier: MIT */
#include "tracer/chunk.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "tracer/buffer.h"
#include "tracer/clock.h"
#include "tracer/columns.h"
#include "tracer/compiler.h"
#include "tracer/cull.h"
#include "tracer/cull_stamps.h"
#include "tracer/encode.h"
#include "tracer/live.h"
#include "tracer/log.h"
#include "tracer/options.h"
#include "tracer/piece.h"
#include "tracer/pool.h"
#include "tracer/seal.h"
#include "tracer/tls.h"
#include "tracer/trace_file.h"

enum {
	CONTEXT_COUNT = 5, /* the first is the helper's */
	COMPRESS_LEVEL = 1,
	COMPRESS_MIN = 512, /* shorter payloads are stored as they are */
	COLUMNS_PAYLOAD_MAX = 2 << 20, /* twice what the buffers hold */
	CULLED_PAYLOAD_MAX = 4 << 20,  /* the same and what CULLED may take */
	LOST_BYTES = 24,    /* payload of a LOST chunk */
	NS_PER_MS = 1000000,
};

_Static_assert(sizeof(struct trace_chunk_header) == 72, "no padding");
_Static_assert(sizeof(struct trace_preamble) == 32, "no padding");
_Static_assert((int)CHUNK_PAYLOAD_MAX <= (int)COLUMNS_PAYLOAD_MAX &&
		       (int)CHUNK_FILE_MAX <= (int)COLUMNS_PAYLOAD_MAX,
	       "one output buffer for all");

/**
 * struct context - what one compressing thread needs
 * @lock:      held by the thread that is compressing
 * @cctx:      lives in @workspace
 * @workspace: from the pool, never given back
 * @out:       header and compressed payload
 * @out_cap:   bytes at @out
 * @columns:   for events
 * @cull:      for those that are left out; NULL where none are
 */
struct context {
	struct spinlock lock;
	ZSTD_CCtx *cctx;
	void *workspace;
	uint8_t *out;
	size_t out_cap;
	struct columns *columns;
	struct cull *cull;
};

static struct context contexts[CONTEXT_COUNT];

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

/* Safety: the context is held.  Return: 0 or -ENOMEM. */
static int context_prepare(struct context *ctx)
{
	size_t bytes = ZSTD_estimateCCtxSize(COMPRESS_LEVEL);
	size_t out_cap =
	    sizeof(struct trace_chunk_header) +
	    ZSTD_compressBound(cull_stamps ? CULLED_PAYLOAD_MAX
					   : COLUMNS_PAYLOAD_MAX);

	out_cap = (out_cap + 63) & ~(size_t)63;
	if (ctx->cctx)
		return 0;
	if (!ctx->workspace)
		ctx->workspace = pool_map(bytes + out_cap);
	if (!ctx->workspace)
		return -ENOMEM;
	ctx->out = (uint8_t *)ctx->workspace + bytes;
	ctx->out_cap = out_cap;
	ctx->cctx = ZSTD_initStaticCCtx(ctx->workspace, bytes);
	return ctx->cctx ? 0 : -ENOMEM;
}

/* Safety: as above.  Return: the same. */
static int context_prepare_columns(struct context *ctx)
{
	if (!ctx->columns)
		ctx->columns = pool_map(columns_bytes());
	if (cull_stamps && !ctx->cull)
		ctx->cull = pool_map(cull_bytes());
	return ctx->columns ? 0 : -ENOMEM;
}

/* Safety: signals blocked.  Return: a context that nobody else has. */
static struct context *context_take(void)
{
	if (tls.is_helper)
		return &contexts[0];
	for (;;) {
		for (size_t i = 1; i < CONTEXT_COUNT; i++)
			if (spinlock_try(&contexts[i].lock))
				return &contexts[i];
		sys_sched_yield();
	}
}

/**
 * struct payload - what a chunk holds, in parts
 */
struct payload {
	const uint8_t *const *parts;
	const size_t *lens;
	size_t count;
	size_t len;
};

/*
 * Each part gets blocks of its own, and with them statistics of its own.
 * Safety: context held.  Return: bytes, or a zstd error.
 */
static size_t compress(struct context *ctx, const struct payload *payload,
		       uint8_t *dst, size_t cap)
{
	size_t done = 0, n = ZSTD_compressBegin(ctx->cctx, COMPRESS_LEVEL);

	for (size_t i = 0; i < payload->count && !ZSTD_isError(n); i++) {
		bool is_last = i + 1 == payload->count;

		n = (is_last ? ZSTD_compressEnd : ZSTD_compressContinue)(
		    ctx->cctx, dst + done, cap - done, payload->parts[i],
		    payload->lens[i]);
		done += ZSTD_isError(n) ? 0 : n;
	}
	return ZSTD_isError(n) ? n : done;
}

/* Safety: context held.  Return: bytes stored after the header's place, 0
   when there is no room. */
static size_t store_payload(struct context *ctx, const struct payload *payload,
			    uint16_t *ret_flags)
{
	uint8_t *dst = ctx->out + sizeof(struct trace_chunk_header);
	size_t cap = ctx->out_cap - sizeof(struct trace_chunk_header);
	size_t stored;

	*ret_flags = 0;
	if (payload->len >= COMPRESS_MIN) {
		stored = compress(ctx, payload, dst, cap);
		if (!ZSTD_isError(stored) && stored < payload->len) {
			*ret_flags = TRACE_CHUNK_ZSTD;
			return stored;
		}
	}
	if (payload->len > cap)
		return 0;
	for (size_t i = 0; i < payload->count; i++) {
		memcpy(dst, payload->parts[i], payload->lens[i]);
		dst += payload->lens[i];
	}
	return payload->len;
}

/* Safety: context held.  Completes @head, puts all into ctx->out.  Return: 0 or
   -errno. */
static int seal_with(struct context *ctx, struct trace_chunk_header *head,
		     const struct payload *payload, size_t *ret_len)
{
	size_t stored = store_payload(ctx, payload, &head->flags);

	if (!stored && payload->len)
		return -EMSGSIZE;
	head->raw_len = (uint32_t)payload->len;
	chunk_seal(head, ctx->out + sizeof(*head), stored);
	memcpy(ctx->out, head, sizeof(*head));
	*ret_len = sizeof(*head) + stored;
	return 0;
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
	int err = seal_with(ctx, &head, &payload, &len);

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

/* Safety: signals blocked.  Takes a context that can write; what was lost
   before is told first.  Return: 0 or -errno; give it back either way. */
static int open_context(struct context **ret)
{
	int err;

	*ret = context_take();
	err = context_prepare(*ret);
	if (err == 0 && lost.pending)
		report_pending(*ret);
	return err;
}

/* Safety: by who took it. */
static void close_context(struct context *ctx)
{
	spinlock_give(&ctx->lock);
}

int chunk_write(const struct chunk *chunk)
{
	struct context *ctx;
	int err = open_context(&ctx);

	if (err == 0)
		err = write_record(ctx, chunk, open_pieces.first,
				   open_pieces.end);
	close_context(ctx);
	if (err)
		count_lost(0, err);
	return err;
}

int chunk_write_in(uint32_t piece, const struct chunk *chunk)
{
	struct context *ctx = context_take();
	int err = context_prepare(ctx);

	if (err == 0)
		err = write_record(ctx, chunk, piece, piece + 1);
	close_context(ctx);
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
	err = seal_with(ctx, &head, &payload, &len);
	return err ? err : trace_file_append(slot->piece, ctx->out, len);
}

void chunk_write_chain(const struct chain *chain)
{
	struct columns_output out = {0};
	struct context *ctx;
	uint32_t culled = 0;
	int err = open_context(&ctx);

	if (err == 0)
		err = context_prepare_columns(ctx);
	if (err == 0) {
		culled = code_chain(ctx, chain, &out);
		err = write_columns(ctx, chain, &out, culled);
	} else {
		out.event_count = count_events(chain);
	}
	event_counts[chain_piece(chain) & 1] += out.event_count + culled;
	close_context(ctx);
	if (err)
		count_lost(out.event_count + culled, err);
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
	for (size_t i = 1; i < CONTEXT_COUNT; i++) {
		spinlock_take(&contexts[i].lock);
		spinlock_give(&contexts[i].lock);
	}
}

/* The parent's threads may have been compressing. */
void chunk_forget_all(void)
{
	for (size_t i = 0; i < CONTEXT_COUNT; i++) {
		contexts[i].lock = (struct spinlock){0};
		contexts[i].cctx = NULL;
	}
	open_pieces.first = open_pieces.end = 0;
	lost.total = lost.pending = 0;
}
