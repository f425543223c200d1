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
 * struct memprof_piece - one of the files
 * @source: borrowed
 * @live:   its PATH.live
 * @known_size: of the trace, before PATH.live was read
 * @known_tick: the last one of what was in the trace then
 * @cut:    the chunk of events that the end of the file cuts, stored_len 0 if
 *          none
 * @batched: chunks of events of which no BATCH has said yet that they count
 */
struct memprof_piece {
	struct source *source;
	struct live_file live;
	bool has_trace_id;
	uint64_t trace_id;
	uint64_t known_size;
	uint64_t known_tick;
	struct chunk cut;
	struct {
		struct chunk *items;
		size_t count, capacity;
	} batched;
};

/**
 * struct memprof
 * @pieces: files of one run, in the run's order
 * @piece:  the one that is being read; @source and @live are its
 * @slots:  of all PATH.live
 * @chunks: of events; once open() is done sorted by thread and sequence, with
 *          @slots among them
 * @chunk_count: chunks of all types
 * @ticks_known: @tick_min and @tick_max are those of the headers
 */
struct memprof {
	struct input base;
	struct memprof_piece *pieces;
	size_t piece_count;
	struct memprof_piece *piece;
	struct source *source;
	struct run *run;
	struct records records;
	struct interner interner;
	struct lane_reader reader;
	struct lane_chunks chunks;
	struct lane_chunks slots;
	uint64_t chunk_count;
	bool ticks_known;
	uint64_t tick_min;
	uint64_t tick_max;
	struct lane *lanes;
	size_t lane_count;
};

/* Return: -ENOMEM, @diag filled. */
int memprof_out_of_memory(const struct memprof *memprof, struct diag *diag);

/* Frees what the piece owns. */
void memprof_piece_done(struct memprof_piece *piece);

/* Of the piece at hand: reads the preamble, all chunks but those of events, which are noted in
   @memprof->chunks, and the slots of PATH.live.  Return: 0 or negative errno,
   @diag filled. */
int memprof_read_index(struct memprof *memprof, struct diag *diag);

/* Joins the chunks of the trace and the slots of PATH.live: @memprof->chunks are
   sorted by place then, each buffer once.  Return: 0 or negative errno, @diag
   filled. */
int memprof_order_chunks(struct memprof *memprof, struct diag *diag);

struct cursor;
struct run_piece;

/* The payload of PIECE.  @piece is known unless it is too short. */
void memprof_read_piece(struct run_piece *piece, struct cursor *cursor);

/* As input_format.identify(). */
int memprof_identify(const struct source *source, struct run_piece *ret,
		     struct diag *diag);

#endif /* REPORT_INPUT_MEMPROF_H */
