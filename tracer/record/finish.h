/* SPDX-License-Identifier: MIT */
/* Completing the trace of a process that had no time to do so itself. */
#ifndef TRACER_RECORD_FINISH_H
#define TRACER_RECORD_FINISH_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/record/launch.h"

/**
 * struct finish_head - which trace of which process it is
 * @pid:         of the process
 * @trace_id:    of the trace; 0: it is none, or cannot be read
 * @run_id:      of its run
 * @previous_id: of the piece before it, 0 for none
 * @has_piece:   it says so itself: the process had begun to record into it
 */
struct finish_head {
	int pid;
	uint64_t trace_id;
	uint64_t run_id;
	uint64_t previous_id;
	bool has_piece;
};

/* Reads the beginning of the trace at @path.  Safety: single thread;
   allocates.  Return: 0, or -errno; @ret is zero then. */
int finish_read_head(const char *path, struct finish_head *ret);

/**
 * finish_discard() - remove a trace that holds nothing
 * @path:     of the file that a tracer was going to make, or has made
 * @trace_id: which it was going to write there
 *
 * That is a file without anything in it, or without PIECE and any event,
 * whose writer is dead; its PATH.live goes with it.
 *
 * Safety: single thread; allocates.  Waits for the file's lock, at most two
 * seconds.
 *
 * Return: whether there is none now.
 */
bool finish_discard(const char *path, uint64_t trace_id);

/**
 * struct finish_end - how a trace without END ended
 * @launched: how the process ended when it is the launched one; NULL for a
 *            descendant, of which that is not known
 * @next:     path of the piece after it, or NULL
 */
struct finish_end {
	const struct launch_result *launched;
	const char *next;
};

/**
 * struct finish_result - what became of a trace
 * @how:            enum trace_end_how of the last END, 0 when there was none
 * @damaged_bytes:  of events that the program has written over
 * @outside_count:  buffers whose last events are lost, as PATH.live had no
 *                  room for them
 * @has_other_live: PATH.live is not the trace's, and stays
 */
struct finish_result {
	uint32_t how;
	uint64_t damaged_bytes;
	uint32_t outside_count;
	bool has_other_live;
};

/**
 * finish_trace() - make the trace at @path complete
 * @head: as finish_read_head() gives it
 *
 * Where END is missing or PATH.live remains, the live buffers that are not in
 * the trace are appended as COLUMNS, then CLOCK and END, and PATH.live is
 * removed.  A trace whose process is still running is left alone.
 *
 * Safety: single thread; allocates.  Waits for the process that writes what
 * the program had still handed over, as long as it is at that.
 *
 * Return: 0; -EBUSY when the process has ended, and yet another one has the
 *         trace; or another -errno.
 */
int finish_trace(const char *path, const struct finish_head *head,
		 const struct finish_end *end, struct finish_result *ret);

#endif /* TRACER_RECORD_FINISH_H */
