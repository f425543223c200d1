/* SPDX-License-Identifier: MIT */
/*
 * From the records of one buffer to the payload of an EVENTS chunk.
 *
 * The trace is longer than with COLUMNS, but this takes a fiftieth of the
 * memory: for a program that has hardly any address space left.
 *
 * Safety: pure.
 */
#ifndef TRACER_PLAIN_H
#define TRACER_PLAIN_H

#include <stddef.h>
#include <stdint.h>

#include "tracer/columns.h"

enum {
	PLAIN_DEPTH_MAX = 8192, /* frames; the unwinder hands over fewer */
	PLAIN_BYTES_MAX = 11 * (LIVE_BUFFER / 8) + 10 * PLAIN_DEPTH_MAX,
};

/**
 * struct plain - room for the coding
 * @stack: the last event's, outermost first
 * @bytes: the payload
 */
struct plain {
	uint64_t stack[PLAIN_DEPTH_MAX];
	uint8_t bytes[PLAIN_BYTES_MAX];
};

/**
 * struct plain_output - what became of a buffer
 * @first_tick, @last_tick, @event_count: for the chunk's header
 * @len: of the payload
 */
struct plain_output {
	uint64_t first_tick;
	uint64_t last_tick;
	uint32_t event_count;
	size_t len;
};

/* Codes @input into plain->bytes.  Of damaged records the rest is left out. */
void plain_code(struct plain *plain, const struct columns_input *input,
		struct plain_output *ret);

#endif /* TRACER_PLAIN_H */
