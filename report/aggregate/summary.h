/* SPDX-License-Identifier: MIT */
/*
 * The head of a report: what ran, how it ended, how much memory it took.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_SUMMARY_H
#define REPORT_AGGREGATE_SUMMARY_H

struct figure;
struct scope;

/* All return NULL when out of memory. */

/* SCALARS "head". */
const struct figure *summary_head(const struct scope *scope);

/* TABLE "threads". */
const struct figure *summary_threads(const struct scope *scope);

/* TABLE of all modules of the trace, in the order of their addresses: where they
   were, when they came and went.  As a document "modules". */
const struct figure *summary_loaded_modules(const struct scope *scope);

/* TABLE "modules" that an address was looked up in, with symbol quality. */
const struct figure *summary_modules(const struct scope *scope);

/* Return: "exit status 0", "killed by signal 9 (SIGKILL)", …; owned by
   @scope->arena. */
const char *summary_end_text(const struct scope *scope);

#endif /* REPORT_AGGREGATE_SUMMARY_H */
