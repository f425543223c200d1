/* SPDX-License-Identifier: MIT */
/*
 * Events as a program meets them, and the three ways to write them down:
 * EVENTS, COLUMNS and the records of PATH.live.  Written after
 * docs/trace-format.md alone and to be read, not to be fast.
 */
#ifndef TESTS_LIB_TRACE_CODE_H
#define TESTS_LIB_TRACE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/lib/trace_write.h"

struct random;

/**
 * struct coded_event
 * @tag:   kind and flags
 * @ticks: since the event before, or its return
 * @fresh: @push frames are the whole stack, whatever it was before
 * @pop, @push: change of the stack; the frames are coded_events.pcs[first …]
 * @addr, @size, @a, @b, @fd: as in struct event; MARKER: @size bytes
 * @old_addr, @call_ticks: REALLOC
 */
struct coded_event {
	uint8_t tag;
	bool fresh;
	uint32_t pop;
	uint32_t push;
	size_t first;
	uint64_t ticks;
	uint64_t addr;
	uint64_t size;
	uint64_t a;
	uint64_t b;
	uint64_t old_addr;
	uint64_t call_ticks;
	int32_t fd;
};

/* Zero-initialised; vec_done() both. */
struct coded_events {
	struct coded_event *items;
	size_t count, capacity;
	struct {
		uint64_t *items;
		size_t count, capacity;
	} pcs;
};

void coded_events_done(struct coded_events *events);

/* Forgets the events. */
void coded_events_clear(struct coded_events *events);

/* What MMAP, MUNMAP, MREMAP, MALLOPT, RSS and LOST hold in EVENTS and COLUMNS;
   @last is the last address before it. */
void code_rare(struct bytes *out, uint64_t *last,
	       const struct coded_event *event);

/* Each of these writes events @from to @to - 1; the state starts afresh. */
void code_plain(struct bytes *out, const struct coded_events *events,
		size_t from, size_t to);
void code_records(struct bytes *out, const struct coded_events *events,
		  size_t from, size_t to);

/**
 * code_columns() - the same as a COLUMNS payload
 * @random: any coding that is right, so that readers meet all; NULL: the
 *          shortest
 */
void code_columns(struct bytes *out, const struct coded_events *events,
		  size_t from, size_t to, uint64_t first_tick,
		  unsigned time_shift, struct random *random);

#endif /* TESTS_LIB_TRACE_CODE_H */
