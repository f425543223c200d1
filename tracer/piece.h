/* SPDX-License-Identifier: MIT */
/*
 * The pieces of a run: trace files, one after another (docs/trace-format.md,
 * PIECE).
 *
 * Safety (all functions but those inline): signals blocked, inside the guard,
 * by one thread at a time, the process's own.  errno: may change.
 */
#ifndef TRACER_PIECE_H
#define TRACER_PIECE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracer/trace_format.h"

#define PIECE_NONE UINT32_MAX

/* The piece that events go to; PIECE_NONE while nothing is recorded. */
extern atomic_uint piece_now;

/* The process runs without being recorded before its first piece. */
void piece_note_gap(void);

/* Begins the process's first piece, or the first after piece_stop().  @why as
   in the format.  Return: 0 or -errno; nothing has changed then. */
int piece_begin(enum trace_piece_why why);

/*
 * The present piece ends and another begins, with no event lost or in both.
 * Return: 0 or -errno; the present one goes on then.
 */
int piece_cut(enum trace_piece_why why);

/*
 * The present piece ends and nothing follows for the time being.  What other
 * threads are just recording is lost.
 */
void piece_stop(void);

/*
 * In a forked child: forgets the parent's files, buffers and threads.  What
 * piece_begin() then begins is the first piece of another run.
 */
void piece_leave_parent(void);

/* Whether the present file should be followed by another.  Safety: any. */
bool piece_is_due(void);

/* Writes END into the present piece; members as in the format. */
void piece_end(enum trace_end_how how, int status, const char *program);

#endif /* TRACER_PIECE_H */
