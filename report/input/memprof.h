/* SPDX-License-Identifier: MIT */
/*
 * A memprof trace while it is opened and read.
 *
 * Layer: input.
 */
#ifndef REPORT_INPUT_MEMPROF_H
#define REPORT_INPUT_MEMPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/input/frames.h"
#include "report/input/input.h"
#include "report/input/lane.h"
#include "report/input/live.h"
#include "report/input/records.h"
#include "report/source/source.h"

struct diag;
struct run;

/**
 * struct memprof
 * @live:   PATH.live
 * @chunks: of events; once open() is done sorted by thread and sequence, with
 *          the slots of @live among them
 * @chunk_count: chunks of all types
 * @known_size: of the trace, before PATH.live was read
 * @known_tick: the last one of what was in the trace then
 * @cut:    the chunk of events that the end of the file cuts, stored_len 0 if
 *          none
 * @ticks_known: @tick_min and @tick_max are those of the headers
 */
struct memprof {
	struct input base;
	struct source *source;
	struct live_file live;
	bool has_trace_id;
	uint64_t trace_id;
	struct run *run;
	struct records records;
	struct interner interner;
	struct lane_reader reader;
	struct lane_chunks chunks;
	uint64_t chunk_count;
	uint64_t known_size;
	uint64_t known_tick;
	struct chunk cut;
	bool ticks_known;
	uint64_t tick_min;
	uint64_t tick_max;
	struct lane *lanes;
	size_t lane_count;
};

/* Return: -ENOMEM, @diag filled. */
int memprof_out_of_memory(const struct memprof *memprof, struct diag *diag);

/* Reads the preamble, all chunks but those of events, which are noted in
   @memprof->chunks, and the slots of PATH.live.  Return: 0 or negative errno,
   @diag filled. */
int memprof_read_index(struct memprof *memprof, struct diag *diag);

#endif /* REPORT_INPUT_MEMPROF_H */
