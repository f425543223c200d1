/* SPDX-License-Identifier: MIT */
/* Where the time of a report goes: the table that --timings prints. */
#ifndef REPORT_TIMINGS_H
#define REPORT_TIMINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TIMINGS_MAX = 256, TIMINGS_NAME_SIZE = 40 };

/**
 * struct timings_row
 * @wall_ns, @cpu_ns: time and CPU time of all threads; while the phase lasts,
 *           when it began
 * @events:  that were read in it, 0 for none
 * @is_part: of the last row above that is none
 */
struct timings_row {
	char name[TIMINGS_NAME_SIZE];
	uint64_t wall_ns;
	uint64_t cpu_ns;
	uint64_t events;
	bool is_part;
};

/**
 * struct timings - zero-initialised is off: nothing is measured
 * @phase: index + 1 of the phase that lasts, 0 if there is none
 */
struct timings {
	bool is_on;
	unsigned count;
	unsigned phase;
	struct timings_row rows[TIMINGS_MAX];
};

/* Ends the phase before; nothing that happens between two phases is lost. */
void timings_phase(struct timings *timings, const char *name);

/* So many events were read in the phase that lasts. */
void timings_events(struct timings *timings, uint64_t events);

/* A part of the phase that lasts.  Parts of several threads can take more time
   together than it.  @cpu_ns: 0 where it was not measured. */
void timings_part(struct timings *timings, const char *name, uint64_t wall_ns,
		  uint64_t cpu_ns);

/* Ends the last phase and prints a table. */
void timings_print(struct timings *timings, const char *trace, FILE *out);

#endif /* REPORT_TIMINGS_H */
