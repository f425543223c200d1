/* SPDX-License-Identifier: MIT */
/*
 * The chunks of one thread, decoded one after another.
 *
 * Layer: input.
 */
#ifndef REPORT_INPUT_LANE_H
#define REPORT_INPUT_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/input/chunk.h"
#include "report/input/decoder.h"

struct diag;
struct event_batch;
struct run;
struct source;

/**
 * struct lane_chunk - where a chunk of events is
 * @offset:  of its header in the trace; of its slot in PATH.live
 * @sequence: of the first of its @buffer_count buffers
 * @source:  the file that it is in; borrowed
 * @piece:   of the run
 * @words:   copy of the slot's, borrowed; NULL for a chunk of the trace
 * @live_len: bytes committed in the slot; 0 for a chunk of the trace
 * @live_piece: index of the slot's piece, modulo 2^16
 * @live_from: words of these that are part of another chunk
 * @coding:  NULL for a slot
 */
struct lane_chunk {
	uint64_t offset;
	uint64_t first_tick;
	const struct event_coding *coding;
	const struct source *source;
	const uint64_t *words;
	uint32_t piece;
	uint32_t thread;
	uint32_t sequence;
	uint32_t buffer_count;
	uint32_t live_len;
	uint16_t live_from;
	uint16_t live_piece;
};

/* Many of them, to be filled. */
struct lane_chunks {
	struct lane_chunk *items;
	size_t count;
	size_t capacity;
};

/* Decoded events of a lane, and what is needed to go on. */
struct lane_state;

/**
 * struct lane - one thread
 * @first, @count: its chunks in lane_reader.chunks
 * @next:     chunk being decoded or to be decoded next, from 0
 * @reported: chunks before this one have had their damage reported
 * @start:    no event is earlier
 * @floor:    tick of the last event
 * @state:    NULL unless the lane is being read
 */
struct lane {
	size_t first;
	size_t count;
	size_t next;
	size_t reported;
	uint64_t start;
	uint64_t floor;
	struct lane_state *state;
	uint32_t thread;
};

/**
 * struct lane_reader - what all lanes share
 * @moment:    later events are left out; UINT64_MAX for none
 * @chunks:    of all lanes, sorted by thread, piece and sequence; borrowed
 * @spare:     a decoder that no lane uses, NULL if there is none; owned
 * @bytes_read: what is added to as chunks are read; borrowed
 * @payload_bytes: held by lanes that are being read
 * @count_lost: whether LOST events are to be added to run->events_lost
 */
struct lane_reader {
	struct run *run;
	uint64_t moment;
	struct interner *interner;
	struct chunk_loader loader;
	struct event_decoder *spare;
	const struct lane_chunk *chunks;
	uint64_t *bytes_read;
	size_t payload_bytes;
	bool count_lost;
};

/* Frees what the reader itself owns; all lanes are rewound. */
void lane_reader_done(struct lane_reader *reader);

/* As input_format.lane_next(). */
int lane_next(struct lane_reader *reader, struct lane *lane,
	      struct event_batch *ret, struct diag *diag);

/* Back to the start; frees what the lane holds. */
void lane_rewind(struct lane_reader *reader, struct lane *lane);

#endif /* REPORT_INPUT_LANE_H */
