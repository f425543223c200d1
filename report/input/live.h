/* SPDX-License-Identifier: MIT */
/*
 * PATH.live: the buffers that had not yet become chunks when the process died.
 *
 * Layer: input.
 */
#ifndef REPORT_INPUT_LIVE_H
#define REPORT_INPUT_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/input/lane.h"
#include "report/source/source.h"

struct chunk_payload;
struct diag;
struct findings;
struct trace_live_slot;

/**
 * struct live_file - PATH.live, as it was when live_file_take() looked
 * @is_open:   @source is to be closed by live_file_done()
 * @slots:     those in use, in the file's order
 * @words:     theirs; owned
 * @bytes:     that these take
 * @run_id:    of the file
 * @stride, @seen: of the file, and its @seen_count control pages as they were
 *             before any slot was copied
 * @lost:      events that neither it nor the trace has, as it says
 * @outside:   buffers that it had no room for
 * @is_moving: the program ran on while it was read
 * @slot_count: of the file, when they were copied
 * @moment:    when @is_moving: every event up to this tick is in @slots or in
 *             the trace, as long as the trace's size is asked for after
 *             live_file_take()
 */
struct live_file {
	struct source source;
	bool is_open;
	struct lane_chunks slots;
	struct {
		uint64_t **items;
		size_t count, capacity;
	} words;
	size_t bytes;
	uint64_t run_id;
	uint32_t stride;
	uint64_t lost;
	uint32_t outside;
	struct trace_live_slot *seen;
	size_t seen_count;
	size_t slot_count;
	bool is_moving;
	uint64_t moment;
};

/**
 * live_file_take() - copy the slots in use
 * @live:   with @source open, the rest zero
 * @damage: what is wrong with the file
 *
 * A slot that goes into the trace meanwhile may be left out.
 *
 * Return: 0; -ENOMEM; negative errno from reading, @diag filled.
 */
int live_file_take(struct live_file *live, struct findings *damage,
		   struct diag *diag);

/* Says whether the program ran on, and what moment the copy is of; after the
   trace's size was asked for again.  @has_grown: it is another one now.
   Return: 0; negative errno, @diag filled. */
int live_file_settle(struct live_file *live, bool has_grown, struct diag *diag);

/* Keeps the slots of that piece of that run; none when the file belongs to
   another run. */
void live_file_choose(struct live_file *live, uint64_t run_id, uint32_t piece,
		      struct findings *damage);

void live_file_done(struct live_file *live);

/* Codes a slot's events as EVENTS does.  Return: 0, with *@ret_problem why the
   end of them is missing, NULL if all are there; -ENOMEM. */
int live_load(const struct lane_chunk *slot, struct chunk_payload *payload,
	      const char **ret_problem);

/**
 * live_records() - from records to the coding of EVENTS
 * @words:   @count 64-bit words
 * @from:    those before it only say what stack and time the others build upon
 * @payload: gets the events before the first one that is not right
 * @ret_ticks: from the first tick to the last event; may be NULL
 *
 * Return: 0 with *@ret_problem as live_load(); -ENOMEM.
 */
int live_records(const uint64_t *words, size_t count, size_t from,
		 struct chunk_payload *payload, const char **ret_problem,
		 uint64_t *ret_ticks);

#endif /* REPORT_INPUT_LIVE_H */
