/* SPDX-License-Identifier: MIT */
/* What memprof-report is doing, for someone who waits. */
#ifndef REPORT_PROGRESS_H
#define REPORT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct cli;

/**
 * struct progress - one line on stderr
 * @line:    rewrite a line in place: stderr is a terminal and not --quiet
 * @verbose: --verbose and no terminal: a line for each phase
 */
struct progress {
	bool line;
	bool verbose;
	const char *trace;
	const char *phase;
	uint64_t shown_ns;
};

void progress_init(struct progress *progress, const struct cli *cli,
		   const char *trace);

/* A new phase, "reading, pass 1 of 2".  @phase is borrowed. */
void progress_phase(struct progress *progress, const char *phase);

/* The phase is @share (0 to 1) done; at most ten updates a second are shown.
   @context is a struct progress. */
void progress_share(void *context, double share);

/* Takes the line away before anything else is printed. */
void progress_clear(const struct progress *progress);

#endif /* REPORT_PROGRESS_H */
