/* SPDX-License-Identifier: MIT */
#include "tracer/chunk.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "tracer/clock.h"
#include "tracer/compiler.h"
#include "tracer/encode.h"
#include "tracer/log.h"
#include "tracer/pool.h"
#include "tracer/trace_file.h"

enum {
	CONTEXT_COUNT = 8,
	COMPRESS_LEVEL = 1,
	COMPRESS_MIN = 512, /* shorter payloads are stored as they are */
	LOST_BYTES = 24,    /* payload of a LOST chunk */
};

_Static_assert(sizeof(struct trace_chunk_header) == 72, "no padding");
_Static_assert(sizeof(struct trace_preamble) == 32, "no padding");

/**
 * struct context - what one compressing thread needs
 * @lock:      held by the thread that is compressing
 * @cctx:      lives in @workspace
 * @workspace: from the pool, never given back
 * @out:       header and compressed payload
 * @out_cap:   bytes at @out
 */
struct context {
	struct spinlock lock;
	ZSTD_CCtx *cctx;
	void *workspace;
	uint8_t *out;
	size_t out_cap;
};

static struct context contexts[CONTEXT_COUNT];

/* Events that could not be written; @pending ones are not in a LOST chunk. */
static struct {
	atomic_uint_fast64_t total;
	atomic_uint_fast64_t pending;
	atomic_int error;
	atomic_flag reported;
} lost;

uint64_t chunk_lost_count(void)
{
	return lost.total;
}

/* Safety: the context is held.  Return: 0 or -ENOMEM. */
static int context_prepare(struct context *ctx)
{
	size_t bytes = ZSTD_estimateCCtxSize(COMPRESS_LEVEL);
	size_t out_cap = sizeof(struct trace_chunk_header) +
			 ZSTD_compressBound(CHUNK_PAYLOAD_MAX);

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

/* Safety: signals blocked.  Return: a held context. */
static struct context *context_take(void)
{
	for (;;) {
		for (size_t i = 0; i < CONTEXT_COUNT; i++)
			if (spinlock_try(&contexts[i].lock))
				return &contexts[i];
		sys_sched_yield();
	}
}

/* Safety: context held.  Return: bytes stored after the header's place. */
static size_t store_payload(struct context *ctx, const struct chunk *chunk,
			    uint16_t *ret_flags)
{
	uint8_t *dst = ctx->out + sizeof(struct trace_chunk_header);
	size_t cap = ctx->out_cap - sizeof(struct trace_chunk_header);
	size_t stored;

	*ret_flags = 0;
	if (chunk->len >= COMPRESS_MIN) {
		stored = ZSTD_compressCCtx(ctx->cctx, dst, cap, chunk->payload,
					   chunk->len, COMPRESS_LEVEL);
		if (!ZSTD_isError(stored) && stored < chunk->len) {
			*ret_flags = TRACE_CHUNK_ZSTD;
			return stored;
		}
	}
	memcpy(dst, chunk->payload, chunk->len);
	return chunk->len;
}

/* Safety: context held. */
static int write_with(struct context *ctx, const struct chunk *chunk)
{
	struct trace_chunk_header head = {
	    .type = (uint16_t)chunk->type,
	    .thread = chunk->thread,
	    .raw_len = (uint32_t)chunk->len,
	    .first_tick = chunk->first_tick,
	    .last_tick = chunk->last_tick,
	    .event_count = chunk->event_count,
	    .sequence = chunk->sequence,
	};
	size_t stored = store_payload(ctx, chunk, &head.flags);

	memcpy(head.magic, TRACE_CHUNK_MAGIC, TRACE_MAGIC_LEN);
	head.stored_len = (uint32_t)stored;
	head.payload_checksum = XXH64(ctx->out + sizeof(head), stored, 0);
	head.header_checksum = XXH64(&head, sizeof(head) - 8, 0);
	memcpy(ctx->out, &head, sizeof(head));
	return trace_file_append(ctx->out, sizeof(head) + stored);
}

/* Safety: signals blocked.  Counts a lost chunk; the log gets one line. */
static void count_lost(const struct chunk *chunk, int err)
{
	lost.total += chunk->event_count;
	lost.pending += chunk->event_count;
	lost.error = -err;
	if (!atomic_flag_test_and_set(&lost.reported))
		log_line(LOG_ERROR,
			 "cannot write the trace, events are being lost:",
			 trace_file_path(), -err);
}

/* Safety: pure but for the clock.  Return: a LOST chunk whose payload is put
   into @payload. */
static struct chunk lost_chunk(uint8_t payload[LOST_BYTES], uint64_t count,
			       enum trace_lost_reason reason, int error)
{
	uint64_t tick = clock_before();
	uint8_t *p = payload;

	p = put_u64(p, count);
	p = put_u32(p, (uint32_t)reason);
	p = put_u32(p, (uint32_t)error);
	put_u64(p, tick);
	return (struct chunk){ .type = TRACE_CHUNK_LOST,
			       .payload = payload,
			       .len = LOST_BYTES,
			       .first_tick = tick,
			       .last_tick = tick };
}

/* Safety: signals blocked.  Says in the trace what an earlier write lost. */
static void report_pending(struct context *ctx)
{
	uint64_t count = atomic_exchange(&lost.pending, 0);
	uint8_t payload[LOST_BYTES];
	struct chunk chunk =
		lost_chunk(payload, count, TRACE_LOST_WRITE, lost.error);

	if (write_with(ctx, &chunk) != 0)
		lost.pending += count;
}

int chunk_write(const struct chunk *chunk)
{
	struct context *ctx = context_take();
	int err = context_prepare(ctx);

	if (err == 0 && lost.pending)
		report_pending(ctx);
	if (err == 0)
		err = write_with(ctx, chunk);
	spinlock_give(&ctx->lock);
	if (err)
		count_lost(chunk, err);
	return err;
}

int chunk_write_preamble(uint64_t trace_id)
{
	struct trace_preamble pre = {
	    .version_major = TRACE_VERSION_MAJOR,
	    .version_minor = TRACE_VERSION_MINOR,
	    .byte_order = TRACE_BYTE_ORDER,
	    .trace_id = trace_id,
	};

	memcpy(pre.magic, TRACE_MAGIC, TRACE_MAGIC_LEN);
	pre.checksum = XXH64(&pre, sizeof(pre) - 8, 0);
	return trace_file_append(&pre, sizeof(pre));
}

void chunk_write_lost(uint64_t count, enum trace_lost_reason reason, int error)
{
	uint8_t payload[LOST_BYTES];
	struct chunk chunk = lost_chunk(payload, count, reason, error);

	chunk_write(&chunk);
}
