/* SPDX-License-Identifier: MIT */
/*
 * Random valid traces: the same options give the same bytes, and the events
 * that a reader must find in them are handed out as they are written.
 */
#ifndef TESTS_LIB_TRACE_GEN_H
#define TESTS_LIB_TRACE_GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/lib/trace_write.h"

struct event;

/* Called for each event, in the order of its thread; @event->stack is unset:
   its frames are @keys (see report/core/module.h), outermost first. */
typedef void trace_gen_expect(void *context, uint32_t thread,
			      const struct event *event, const uint64_t *keys,
			      size_t depth);

/**
 * struct trace_gen_options
 * @events:      in all threads together
 * @chunk_bytes: a chunk is closed when its payload is longer
 * @wild:        every kind of event, any value in every field; else blocks
 *               that live and die as those of a real program
 * @killed:      no END; with @live the last buffers are in PATH.live
 * @plain:       no compression
 * @columns:     chunks are COLUMNS; if @wild, some of them
 * @time_shift:  of COLUMNS, unless @live
 * @buffers:     chunks of more than one buffer
 * @clock:       enum trace_clock
 * @out:         when set, bytes go there and do not stay in memory
 */
struct trace_gen_options {
	uint64_t seed;
	uint32_t threads;
	uint64_t events;
	uint32_t chunk_bytes;
	uint32_t depth_max;
	bool wild;
	bool killed;
	bool live;
	bool plain;
	bool columns;
	bool buffers;
	uint8_t time_shift;
	uint8_t clock;
	FILE *out;
	trace_gen_expect *expect;
	void *context;
};

/**
 * struct trace_gen - the result
 * @trace, @live: bytes of PATH and PATH.live
 * @coded:   events as coded: a realloc is one; markers count
 * @lost:    sum of LOST events and chunks
 */
struct trace_gen {
	struct bytes trace;
	struct bytes live;
	uint64_t coded;
	uint64_t lost;
	uint64_t live_coded;
	uint64_t first_tick;
	uint64_t last_tick;
	uint64_t chunk_count;
};

/* Options drawn from @seed: small files of every shape. */
struct trace_gen_options trace_gen_random_options(uint64_t seed);

void trace_gen_run(struct trace_gen *gen,
		   const struct trace_gen_options *options);
void trace_gen_done(struct trace_gen *gen);

#endif /* TESTS_LIB_TRACE_GEN_H */
