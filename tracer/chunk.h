/* SPDX-License-Identifier: MIT */
/* Chunks: a payload, compressed, behind a checked header, appended at once. */
#ifndef TRACER_CHUNK_H
#define TRACER_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/trace_format.h"

enum {
	CHUNK_PAYLOAD_MAX = 128 << 10, /* bytes before compression */
	CHUNK_FILE_MAX = 1 << 20,      /* of a FILE chunk */
};

struct batch;
struct chain;

/**
 * struct chunk - one that holds no events
 * @tick: now
 *
 * Members as in docs/trace-format.md; @payload is borrowed for the call.
 */
struct chunk {
	enum trace_chunk_type type;
	uint32_t thread;
	const void *payload;
	size_t len;
	uint64_t tick;
};

/**
 * chunk_write() - compress and append one chunk
 * @chunk: at most CHUNK_PAYLOAD_MAX bytes, CHUNK_FILE_MAX in FILE; borrowed
 *
 * Appends to the trace of every piece there is.
 *
 * Safety: before start-up: yes.  Signal handler: with signals blocked.
 *         After fork: never.  Allocates: mmap.  Locks: one of its contexts.
 *         errno: untouched.
 *
 * Return: 0, or -errno: the chunk is lost.
 */
int chunk_write(const struct chunk *chunk);

/* As chunk_write(), to the trace of @piece.  Safety: the same. */
int chunk_write_in(uint32_t piece, const struct chunk *chunk);

/**
 * chunk_write_chain() - append a chunk of events
 * @chain: buffers of one thread, not changed meanwhile; borrowed
 *
 * Events that cannot be written are counted, reported once on the log and
 * written as a LOST chunk as soon as the file takes one again.
 *
 * Safety: as chunk_write(), and in the helper.
 */
void chunk_write_chain(const struct chain *chain);

/* The same of several chains, whose events are culled together. */
void chunk_write_batch(const struct batch *batch);

/* Obtains what the calling thread, or the helper, needs to write chunks, so
   that it will not lack it later.  Safety: as above.  Return: whether there
   is memory. */
bool chunk_prepare(void);

/* Puts on the log what the helper could not write.  Safety: as above. */
void chunk_report_lost(void);

/* Return: events of the piece's chunks, also those not written.  Safety: any,
   after its preamble. */
uint64_t chunk_event_count(uint32_t piece);

/* Writes the file's first bytes.  Safety: as chunk_write().  Return: same. */
int chunk_write_preamble(uint32_t piece, uint64_t trace_id);

/* There is a piece more, which may be the first one.  Safety: as
   chunk_write(). */
void chunk_add_piece(uint32_t piece);

/* There is a piece less; nobody is writing to it when this returns.  Safety: as
   chunk_write(); its chains are written. */
void chunk_drop_piece(uint32_t piece);

/* All is as at the start.  Safety: a forked child's only thread. */
void chunk_forget_all(void);

/* Writes a LOST chunk of @count events.  Safety: as chunk_write().  Return:
   same. */
int chunk_write_lost(uint64_t count, enum trace_lost_reason reason, int error);

/* Return: those of them that no LOST chunk tells yet.  Safety: any. */
uint64_t chunk_lost_pending(void);

/* There are none: an END tells of them.  Safety: one thread at a time. */
void chunk_forget_pending(void);

/* Return: events lost because the file did not take them.  Safety: any. */
uint64_t chunk_lost_count(void);

#endif /* TRACER_CHUNK_H */
