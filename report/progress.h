/* SPDX-License-Identifier: MIT */
/* What memprof-report is doing, for someone who waits. */
#ifndef REPORT_PROGRESS_H
#define REPORT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli;

/**
 * struct progress - one line on stderr
 * @line:    rewrite a line in place: stderr is a terminal and not --quiet
 * @verbose: --verbose and no terminal: a line for each phase
 * @total_bytes: of the trace
 * @start_ns, @shown_ns: when the phase began, when the line was last written
 */
struct progress {
	bool line;
	bool verbose;
	const char *trace;
	const char *phase;
	uint64_t total_bytes;
	uint64_t start_ns;
	uint64_t shown_ns;
};

void progress_init(struct progress *progress, const struct cli *cli,
		   const char *trace);

/* A new phase, "reading, pass 1 of 2".  @phase is borrowed. */
void progress_phase(struct progress *progress, const char *phase);

/* The phase has read @events and @bytes of total_bytes so far; at most ten
   updates a second are shown.  @context is a struct progress. */
void progress_read(void *context, uint64_t events, uint64_t bytes);

/* Takes the line away before anything else is printed. */
void progress_clear(const struct progress *progress);

/* "1.21 GiB of 1.51 GiB, 14.2 M events/s, 4.2 s left" after @seconds. */
void progress_text(char *buf, size_t size, uint64_t events, uint64_t bytes,
		   uint64_t total_bytes, double seconds);

#endif /* REPORT_PROGRESS_H */
