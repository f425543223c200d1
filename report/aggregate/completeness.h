/* SPDX-License-Identifier: MIT */
/*
 * Whether the trace tells everything: what was lost, damaged, not recorded or
 * kept as sums only, and what that does to the figures; and whether the files
 * that name its functions are still those that ran.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_COMPLETENESS_H
#define REPORT_AGGREGATE_COMPLETENESS_H

struct figure;
struct scope;

/* Both return NULL when out of memory. */

/* GROUP "completeness" of NOTEs: damage, what is missing, what was lost, what
   was culled, what was rebuilt; one INFO note if nothing is missing. */
const struct figure *completeness_notes(const struct scope *scope);

/* Return: "complete", "incomplete: piece 2 missing", …; owned by @scope->arena. */
const char *completeness_text(const struct scope *scope);

/* Return: "app was rebuilt or replaced since it was traced: …", of the modules
   whose addresses were looked up so far; owned by @scope->arena.  NULL if there
   are none, or when out of memory. */
const char *completeness_rebuilt_text(const struct scope *scope);

#endif /* REPORT_AGGREGATE_COMPLETENESS_H */
