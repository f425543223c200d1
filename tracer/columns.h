/* SPDX-License-Identifier: MIT */
/*
 * From the records of a thread's buffers to the payload of a COLUMNS chunk.
 *
 * Format: docs/trace-format.md, "Records" and "COLUMNS".  What a reader
 * rebuilds while it decodes is here in the same form: shapes, blocks, free
 * blocks; beside it are the tables that find a number by its content, which
 * only the writer needs.
 *
 * Safety (all functions): any thread, one at a time for one struct columns;
 * signal handlers and after fork: yes.  Allocates, locks, system calls: none.
 * errno: untouched.
 */
#ifndef TRACER_COLUMNS_H
#define TRACER_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/live.h"
#include "tracer/trace_format.h"

enum {
	COLUMNS_BUFFERS_MAX = 8, /* buffers in one chunk */
	COLUMNS_WORDS_MAX =
	    COLUMNS_BUFFERS_MAX * (LIVE_BUFFER / (int)sizeof(uint64_t)),
	COLUMNS_EVENTS_MAX = COLUMNS_WORDS_MAX / 2, /* two words at least */
	COLUMNS_HEAD_BYTES = 8 + 4 * TRACE_COLUMN_COUNT,
	COLUMNS_PARTS_MAX = 1 + TRACE_COLUMN_COUNT + 1,
};

/**
 * struct columns_input - one buffer of records
 * @words:      whole records; where they are damaged, the rest counts for
 *              nothing
 * @len:        words
 * @from:       first word that is to be coded; those before it only say what
 *              stack and time it builds upon; not 0 in a chunk's first
 *              buffer only
 * @first_tick: base of the first record's time
 */
struct columns_input {
	const uint64_t *words;
	size_t len;
	size_t from;
	uint64_t first_tick;
};

/**
 * struct columns_output - what became of it
 * @first_tick, @last_tick, @event_count: for the chunk's header
 * @parts, @lens: the payload, @part_count parts: its head, then the columns; in
 *              struct columns, until the next columns_begin()
 */
struct columns_output {
	uint64_t first_tick;
	uint64_t last_tick;
	uint32_t event_count;
	size_t part_count;
	const uint8_t *parts[COLUMNS_PARTS_MAX];
	size_t lens[COLUMNS_PARTS_MAX];
};

struct columns;

/* Return: events that are to be coded. */
uint32_t columns_count(const struct columns_input *input);

/* Return: bytes of zeroed memory that struct columns needs; most of it is
   never touched. */
size_t columns_bytes(void);

/**
 * columns_begin() - start a chunk
 * @columns:    columns_bytes() bytes, at first zero
 * @time_shift: times are in units of 2^@time_shift ticks
 */
void columns_begin(struct columns *columns, unsigned time_shift);

/* Adds a buffer, up to COLUMNS_BUFFERS_MAX of them. */
void columns_add(struct columns *columns, const struct columns_input *input);

/* Ends the chunk. */
void columns_end(struct columns *columns, struct columns_output *ret);

/* The same with a further column, CULLED, which is borrowed; empty: without. */
void columns_end_with(struct columns *columns, const uint8_t *culled,
		      size_t culled_len, struct columns_output *ret);

/* Return: the chunk's, as columns_end() will say it. */
uint64_t columns_first_tick(const struct columns *columns);

/*
 * Spells out a frame in a further column, by its number where it has one.
 *
 * @p:         room for ENCODE_VARINT_MAX bytes and one
 * @last_addr: the last address that was spelled out there
 *
 * Return: the byte after it.
 */
uint8_t *columns_put_frame(struct columns *columns, uint8_t *p, uint64_t addr,
			   uint64_t *last_addr);

/* Event number @event of the chunk, from 0, is a free that did not come right
   after what was before it.  Safety: there is such an event. */
void columns_mark_apart(struct columns *columns, uint32_t event);

#endif /* TRACER_COLUMNS_H */
