/* SPDX-License-Identifier: MIT */
#include "tracer/context.h"

#include <errno.h>
#include <string.h>

#define ZSTD_STATIC_LINKING_ONLY
#define ZSTD_DISABLE_DEPRECATE_WARNINGS
#include <zstd.h>

#include "tracer/columns.h"
#include "tracer/cull.h"
#include "tracer/cull_stamps.h"
#include "tracer/plain.h"
#include "tracer/pool.h"
#include "tracer/seal.h"
#include "tracer/sys.h"
#include "tracer/tls.h"

enum {
	CONTEXT_COUNT = 5, /* the first is the helper's */
	COMPRESS_MIN = 512, /* shorter payloads are stored as they are */
	COLUMNS_PAYLOAD_MAX = 2 << 20, /* twice what the buffers hold */
	CULLED_PAYLOAD_MAX = 4 << 20,  /* the same and what CULLED may take */
	SMALL_PAYLOAD_MAX = PLAIN_BYTES_MAX,
};

_Static_assert(sizeof(struct trace_chunk_header) == 72, "no padding");
_Static_assert((int)CHUNK_PAYLOAD_MAX <= (int)SMALL_PAYLOAD_MAX &&
		       (int)CHUNK_FILE_MAX <= (int)COLUMNS_PAYLOAD_MAX &&
		       (int)SMALL_PAYLOAD_MAX <= (int)COLUMNS_PAYLOAD_MAX,
	       "one output buffer for all");

_Static_assert(!(CULL_BUFFERS_MAX & (CULL_BUFFERS_MAX - 1)) &&
		       !(COLUMNS_BUFFERS_MAX & (COLUMNS_BUFFERS_MAX - 1)),
	       "powers of two");

/*
 * Level 1 of zstd, but for its table: 16 KiB instead of 64 stay in a core's
 * first cache, and find nearly as many matches.
 */
static const ZSTD_parameters usual_parameters = {
	.cParams = { .windowLog = 19, .chainLog = 10, .hashLog = 12,
		     .searchLog = 1, .minMatch = 7, .strategy = ZSTD_fast },
};

/* With a smaller window: a third of the memory. */
static const ZSTD_parameters small_parameters = {
	.cParams = { .windowLog = 15, .chainLog = 10, .hashLog = 13,
		     .searchLog = 1, .minMatch = 6, .strategy = ZSTD_fast },
};

static struct context contexts[CONTEXT_COUNT];

/* Safety: the context is held.  @bytes: of memory for @ctx->cctx.  Return:
   whether there is a workspace. */
static bool map(struct context *ctx, size_t bytes, size_t payload_max)
{
	size_t out_cap = sizeof(struct trace_chunk_header) +
			 ZSTD_compressBound(payload_max);

	bytes = (bytes + 63) & ~(size_t)63;
	out_cap = (out_cap + 63) & ~(size_t)63;
	ctx->workspace = pool_map(bytes + out_cap + sizeof(*ctx->plain));
	if (!ctx->workspace)
		return false;
	ctx->workspace_bytes = bytes;
	ctx->out = (uint8_t *)ctx->workspace + bytes;
	ctx->out_cap = out_cap;
	ctx->plain = (void *)(ctx->out + out_cap);
	return true;
}

/* Safety: as above. */
static bool map_any(struct context *ctx)
{
	size_t bytes =
		ZSTD_estimateCCtxSize_usingCParams(usual_parameters.cParams);

	if (!pool_is_scarce &&
	    !map(ctx, bytes,
		 cull_stamps ? CULLED_PAYLOAD_MAX : COLUMNS_PAYLOAD_MAX))
		pool_is_scarce = true;
	ctx->is_small = pool_is_scarce;
	if (!ctx->is_small)
		return true;
	bytes = ZSTD_estimateCCtxSize_usingCParams(small_parameters.cParams);
	return map(ctx, bytes, SMALL_PAYLOAD_MAX);
}

/* Safety: the context is held.  Return: whether it can be used. */
static bool prepare(struct context *ctx)
{
	if (ctx->cctx)
		return true;
	if (ctx->workspace || map_any(ctx))
		ctx->cctx = ZSTD_initStaticCCtx(ctx->workspace,
						ctx->workspace_bytes);
	return ctx->cctx != NULL;
}

/* Safety: context held.  Threads that help all at once get less room. */
static void prepare_cull(struct context *ctx)
{
	uint32_t buffers = ctx - contexts < 2 ? (uint32_t)CULL_BUFFERS_MAX
					      : (uint32_t)COLUMNS_BUFFERS_MAX;
	void *memory = pool_map(cull_bytes(buffers));

	if (memory)
		ctx->cull = cull_init(memory, buffers);
}

bool context_has_columns(struct context *ctx)
{
	if (ctx->is_small)
		return false;
	if (!ctx->columns)
		ctx->columns = pool_map(columns_bytes());
	if (cull_stamps && !ctx->cull)
		prepare_cull(ctx);
	return ctx->columns != NULL;
}

/* Safety: signals blocked.  Return: the calling thread's from now on, or NULL;
   @ret_is_busy: another one has some. */
static struct context *try_all(bool *ret_is_busy)
{
	*ret_is_busy = false;
	for (size_t i = 1; i < CONTEXT_COUNT; i++) {
		struct context *ctx = &contexts[i];

		if (!spinlock_try(&ctx->lock)) {
			*ret_is_busy = true;
			continue;
		}
		if (prepare(ctx))
			return ctx;
		spinlock_give(&ctx->lock);
	}
	return NULL;
}

struct context *context_take(void)
{
	struct context *ctx = &contexts[0];
	bool is_busy = true;

	if (tls.is_helper)
		return prepare(ctx) ? ctx : NULL;
	while (!(ctx = try_all(&is_busy)) && is_busy)
		sys_sched_yield();
	return ctx;
}

void context_give(struct context *ctx)
{
	if (ctx)
		spinlock_give(&ctx->lock);
}

void context_wait_all(void)
{
	for (size_t i = 1; i < CONTEXT_COUNT; i++) {
		spinlock_take(&contexts[i].lock);
		spinlock_give(&contexts[i].lock);
	}
}

void context_forget_all(void)
{
	for (size_t i = 0; i < CONTEXT_COUNT; i++) {
		contexts[i].lock = (struct spinlock){0};
		contexts[i].cctx = NULL;
	}
}

/* Safety: context held.  Return: a zstd error or none. */
static size_t begin_frame(struct context *ctx)
{
	return ZSTD_compressBegin_advanced(
		ctx->cctx, NULL, 0,
		ctx->is_small ? small_parameters : usual_parameters,
		ZSTD_CONTENTSIZE_UNKNOWN);
}

/*
 * Each part gets blocks of its own, and with them statistics of its own.
 * Safety: context held.  Return: bytes, or a zstd error.
 */
static size_t compress(struct context *ctx, const struct payload *payload,
		       uint8_t *dst, size_t cap)
{
	size_t done = 0, n = begin_frame(ctx);

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

	if (payload->len >= COMPRESS_MIN) {
		stored = compress(ctx, payload, dst, cap);
		if (!ZSTD_isError(stored) && stored < payload->len) {
			*ret_flags |= TRACE_CHUNK_ZSTD;
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

int context_seal(struct context *ctx, struct trace_chunk_header *head,
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
