/* SPDX-License-Identifier: MIT */
/* Which part of a buffer of records can be relied on. */
#ifndef TRACER_RECORD_WALK_H
#define TRACER_RECORD_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/columns.h"

/**
 * struct walk_result - what a buffer holds
 * @words:     of valid records, from the front
 * @last_tick: time of the last one
 * @has_from:  a record begins, or the last one ends, where it should
 */
struct walk_result {
	size_t words;
	uint64_t last_tick;
	bool has_from;
};

/*
 * Walks the records of @input, which may be damaged: the walk ends at the
 * first one that is not whole, not possible, or later than @now.
 *
 * Safety: pure.
 */
struct walk_result walk_records(const struct columns_input *input,
				uint64_t now);

#endif /* TRACER_RECORD_WALK_H */
