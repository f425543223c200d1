/* SPDX-License-Identifier: MIT */
/* What memprof-report says on the terminal about a trace. */
#ifndef REPORT_DIGEST_H
#define REPORT_DIGEST_H

#include <stdio.h>

struct pipeline;
struct spec;

/* Ten lines about the run and the path of its page.  After pipeline_run(). */
void digest_print(const struct pipeline *pipeline, const char *directory,
		  FILE *out);

/* One line about the run of several whose trace is called @name. */
void digest_print_short(const struct pipeline *pipeline, const char *name,
			FILE *out);

/* Which pages there are in @directory. */
void digest_print_pages(const struct spec *spec, const char *directory,
			FILE *out);

/* --list: what the trace holds.  Only pipeline_open() is needed. */
void digest_list(const struct pipeline *pipeline, FILE *out);

/* --check: what was read and what was not.  After pipeline_run(). */
void digest_check(const struct pipeline *pipeline, FILE *out);

/* The damage, one line each, and which pieces are missing, as warnings. */
void digest_warn(const struct pipeline *pipeline, FILE *out);

/* Modules that have no names since they were rebuilt, in one line, as a warning.
   After what was to be written. */
void digest_rebuilt(const struct pipeline *pipeline, FILE *out);

/* How much has no function name, in one line, where it is much.  After the report
   was written. */
void digest_unnamed(const struct pipeline *pipeline, FILE *out);

/* --verbose: modules whose symbols could not be read well, and why. */
void digest_symbols(const struct pipeline *pipeline, FILE *out);

#endif /* REPORT_DIGEST_H */
