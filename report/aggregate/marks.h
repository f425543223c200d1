/* SPDX-License-Identifier: MIT */
/*
 * What the program said about itself, and how much memory was live then.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_MARKS_H
#define REPORT_AGGREGATE_MARKS_H

#include <stddef.h>

struct figure;
struct figure_series;
struct scope;

/* TABLE "markers": marks, numbers and phases by time, at most @limit of them;
   NULL when out of memory. */
const struct figure *marks_table(const struct scope *scope, size_t limit);

/* Puts the first of them, in order of time, into @series as spans.  Return: 0
   or -ENOMEM. */
int marks_add_spans(const struct scope *scope, struct figure_series *series);

#endif /* REPORT_AGGREGATE_MARKS_H */
