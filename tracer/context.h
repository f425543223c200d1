/* SPDX-License-Identifier: MIT */
/*
 * What a thread needs to code and compress a chunk: memory, which is kept and
 * handed from one thread to the next.
 *
 * Where address space is scarce (pool.h) it is little; events are then coded by
 * plain.h.
 */
#ifndef TRACER_CONTEXT_H
#define TRACER_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/chunk.h"
#include "tracer/compiler.h"
#include "tracer/trace_format.h"

struct columns;
struct cull;
struct plain;

/**
 * struct context - what one compressing thread needs
 * @lock:      held by the thread that is compressing
 * @cctx:      lives in @workspace
 * @workspace: from the pool, never given back
 * @workspace_bytes: of it, for @cctx
 * @is_small:  it compresses with small_parameters
 * @plain:     for events where there is no room for @columns
 * @out:       header and compressed payload
 * @out_cap:   bytes at @out
 * @columns:   for events
 * @cull:      for those that are left out; NULL where none are
 */
struct context {
	struct spinlock lock;
	struct ZSTD_CCtx_s *cctx;
	void *workspace;
	size_t workspace_bytes;
	bool is_small;
	struct plain *plain;
	uint8_t *out;
	size_t out_cap;
	struct columns *columns;
	struct cull *cull;
};

/**
 * struct payload - what a chunk holds, in parts
 */
struct payload {
	const uint8_t *const *parts;
	const size_t *lens;
	size_t count;
	size_t len;
};

/**
 * context_take() - obtain a context that nobody else has
 *
 * Waits while others have those that there are.
 *
 * Safety: signals blocked; also the helper, which has one of its own.
 *         Allocates: mmap.  errno: untouched.
 *
 * Return: for context_give(); NULL where there is no memory for any.
 */
struct context *context_take(void);

/* Gives it back; NULL does nothing.  Safety: by who took it. */
void context_give(struct context *ctx);

/* Return: whether @ctx->columns can be used; if not, @ctx->plain can.  Safety:
   by who took it. */
bool context_has_columns(struct context *ctx);

/**
 * context_seal() - compress a payload and put it behind a header
 * @head:    completed
 * @ret_len: bytes of both in @ctx->out
 *
 * Safety: by who took it.  Return: 0; -EMSGSIZE.
 */
int context_seal(struct context *ctx, struct trace_chunk_header *head,
		 const struct payload *payload, size_t *ret_len);

/* Everybody who has one now gives it back first.  Safety: signals blocked; who
   calls has none. */
void context_wait_all(void);

/* Nobody has any.  Safety: a forked child's only thread. */
void context_forget_all(void);

#endif /* TRACER_CONTEXT_H */
