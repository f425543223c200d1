/* SPDX-License-Identifier: MIT */
/*
 * What resident memory is made of: the part that allocations do not explain.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_RESIDENCY_H
#define REPORT_AGGREGATE_RESIDENCY_H

#include <stddef.h>

struct figure;
struct scope;

/* All: NULL when out of memory. */

/* Return: the chart's bin of the first sample; there must be one,
   run->memory_count. */
size_t residency_first_bin(const struct scope *scope);

/* Puts into @rss, by bin of the engine's levels, what events and samples
   say together: the last of them up to its end, 0 before the first. */
void residency_overlay(const struct scope *scope, double *rss);

/* SERIES "residency": resident bytes over time, a curve for each kind that
   there was any of and that says something; without samples none. */
const struct figure *residency_series(const struct scope *scope);

/* TABLE "resident": the kinds at the highest and the last sample, the heap
   beside what the allocations explain of it. */
const struct figure *residency_table(const struct scope *scope);

/* TABLE "mappings", by path: at most @limit of them, the largest first, and the
   samples beside it. */
const struct figure *residency_mappings(const struct scope *scope,
					size_t limit);

#endif /* REPORT_AGGREGATE_RESIDENCY_H */
