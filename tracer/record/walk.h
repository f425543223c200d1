/* SPDX-License-Identifier: MIT */
/* Counting the events of a buffer, for the header of its chunk. */
#ifndef TRACER_RECORD_WALK_H
#define TRACER_RECORD_WALK_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct walk_result - what a buffer of events holds
 * @count:     whole events
 * @bytes:     of them
 * @last_tick: time of the last one
 */
struct walk_result {
	uint32_t count;
	size_t bytes;
	uint64_t last_tick;
};

/*
 * Walks the events in @buf of @len bytes, which may be damaged: the walk ends
 * at the first one that is not whole.  Safety: pure.
 */
struct walk_result walk_events(const uint8_t *buf, size_t len,
			       uint64_t first_tick);

#endif /* TRACER_RECORD_WALK_H */
