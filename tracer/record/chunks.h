/* SPDX-License-Identifier: MIT */
/* Reading what a trace has, and adding to it. */
#ifndef TRACER_RECORD_CHUNKS_H
#define TRACER_RECORD_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracer/trace_format.h"

/**
 * struct buffer_range - buffers that are part of one chunk
 * @first: thread << 32 | sequence of the first one
 * @count: of them
 * @batch: number of the batch that must be complete for it to count; or 0
 */
struct buffer_range {
	uint64_t first;
	uint32_t count;
	uint16_t batch;
};

/**
 * struct broken_chunk - one whose payload is not what its header says
 * @end: where the next chunk begins
 */
struct broken_chunk {
	struct buffer_range range;
	off_t off;
	off_t end;
};

/**
 * struct summary - what the chunks of a trace say
 * @trace_id:   from the preamble
 * @run_id:     from PIECE, or @trace_id
 * @previous_id: the same, of the same process; 0 where there is none
 * @piece:      index of it
 * @has_piece:  there is a chunk PIECE
 * @clock:      from PROCESS
 * @pid:        the same
 * @end_how:    of the last END, 0 where there is none
 * @resumed:    the program went on after the last END
 * @threads:    largest thread number
 * @ranges:     of all chunks of events, sorted by @first
 * @range_count, @range_cap: of them
 * @broken:     chunks of events
 * @broken_count, @broken_cap: of them
 * @end:        offset after the last whole chunk
 */
struct summary {
	uint64_t trace_id;
	uint64_t run_id;
	uint64_t previous_id;
	uint32_t piece;
	bool has_piece;
	unsigned clock;
	uint32_t pid;
	uint32_t end_how;
	bool resumed;
	uint32_t threads;
	struct buffer_range *ranges;
	size_t range_count;
	size_t range_cap;
	struct broken_chunk *broken;
	size_t broken_count;
	size_t broken_cap;
	off_t end;
};

/*
 * Reads all chunks of @fd, stepping over what is damaged.
 *
 * Safety: allocates; summary_done() frees, also after a failure.
 * Return: 0, or -errno where this is no trace of ours.
 */
int summary_read(struct summary *ret, int fd, off_t size);

void summary_done(struct summary *sum);

/*
 * Reads what comes before all others: the preamble, PROCESS and PIECE.
 *
 * Safety: as summary_read().  Return: the same.
 */
int summary_read_head(struct summary *ret, int fd, off_t size);

/* Return: whether a chunk has the buffer.  Safety: pure. */
bool summary_has(const struct summary *sum, uint32_t thread, uint32_t sequence);

/*
 * Makes chunks of nothing of broken ones that say they have the buffer: it is
 * going to be appended.
 *
 * Safety: writes to @fd, allocates.  Return: 0 or -errno.
 */
int summary_erase_broken(const struct summary *sum, int fd, uint32_t thread,
			 uint32_t sequence);

/* Events of other threads than the last END's writer are told by a chunk of
   @type after it.  Safety: pure. */
bool summary_is_resumed_by(const struct summary *sum, unsigned type);

/* Return: the trace's clock now.  Safety: pure but for the clock. */
uint64_t summary_tick(const struct summary *sum);

/**
 * struct part - a piece of a payload
 */
struct part {
	const void *bytes;
	size_t len;
};

/*
 * Completes @head and appends the chunk, whose payload is @parts one after
 * another.
 *
 * Safety: allocates.  Return: 0 or -errno.
 */
int chunks_append(int fd, struct trace_chunk_header *head,
		  const struct part *parts, size_t part_count);

#endif /* TRACER_RECORD_CHUNKS_H */
