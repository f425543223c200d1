/* SPDX-License-Identifier: MIT */
/* The chunks about the process as a whole: PROCESS, CLOCK, END. */
#ifndef TRACER_RECORD_H
#define TRACER_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/options.h"
#include "tracer/trace_format.h"

/*
 * Notes what every piece's PROCESS says.  Arguments that do not fit into a
 * chunk are left out from the end.
 *
 * Safety: once, at the start.  Return: 0 or -errno.
 */
int record_process_init(const struct program_start *start);

/* Writes PROCESS.  Safety: one thread at a time.  Return: 0 or -errno. */
int record_process(uint32_t piece, bool has_live);

/**
 * struct record_piece - what PIECE says, as in the format
 */
struct record_piece {
	uint64_t run_id;
	uint64_t previous_id;
	uint64_t parent_run;
	uint32_t index;
	enum trace_piece_why why;
	bool has_gap;
};

/* Writes PIECE.  Safety: signals blocked.  Return: 0 or -errno. */
int record_piece(const struct record_piece *piece);

/* Writes CLOCK.  Safety: signals blocked or inside the guard. */
void record_clock(void);

/**
 * struct record_end - what END says, as in the format
 * @program: may be NULL
 */
struct record_end {
	enum trace_end_how how;
	int status;
	const char *program;
	uint64_t event_count;
	uint64_t lost_count;
};

/* Writes END.  Safety: as record_clock().  Return: 0 or -errno. */
int record_end(uint32_t piece, const struct record_end *end);

/* Return: resident bytes, 0 when unknown.  Safety: any; system calls. */
uint64_t record_resident_bytes(void);

#endif /* TRACER_RECORD_H */
