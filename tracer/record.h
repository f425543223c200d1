/* SPDX-License-Identifier: MIT */
/* The chunks about the process as a whole: PROCESS, CLOCK, END. */
#ifndef TRACER_RECORD_H
#define TRACER_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/options.h"
#include "tracer/trace_format.h"

/*
 * Writes PROCESS.  Arguments that do not fit into a chunk are left out from
 * the end.  Safety: once, at the start.  Return: 0 or -errno.
 */
int record_process(const struct program_start *start, bool has_live);

/* Writes CLOCK.  Safety: signals blocked or inside the guard. */
void record_clock(void);

/* Writes END; members as in the format.  Safety: as record_clock(). */
void record_end(enum trace_end_how how, int status, const char *program,
		uint64_t event_count, uint64_t lost_count);

/* Return: resident bytes, 0 when unknown.  Safety: any; system calls. */
uint64_t record_resident_bytes(void);

#endif /* TRACER_RECORD_H */
