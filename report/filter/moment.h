/* SPDX-License-Identifier: MIT */
/*
 * Times as written turned into ticks of a trace.
 *
 * Layer: filter.
 */
#ifndef REPORT_FILTER_MOMENT_H
#define REPORT_FILTER_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "report/filter/filter.h"

struct run;
struct run_mark;

/**
 * struct moment - an event's number at the peak, else a tick
 */
struct moment {
	bool is_set;
	bool is_order;
	uint64_t value;
};

/* Return: the mark or phase that @point names, NULL if there is none. */
const struct run_mark *moment_mark(const struct time_point *point,
				   const struct run *run);

enum rounding { ROUND_DOWN, ROUND_UP };

/* The tick of @point, rounded up for lower bounds, down for upper ones. */
struct moment moment_make(const struct time_point *point,
			  const struct filter_context *context,
			  enum rounding rounding);

/* The same widened where it is an edge of the run: events before its start or
   after its end belong to the edges. */
struct moment moment_make_lower(const struct time_point *point,
				const struct filter_context *context);
struct moment moment_make_upper(const struct time_point *point,
				const struct filter_context *context);

/* Nanoseconds of a duration in seconds, not below 0. */
uint64_t moment_duration_ns(const struct time_point *duration);

/* Ticks that a share of the run takes. */
uint64_t moment_share_ticks(const struct time_point *share,
			    const struct run *run, enum rounding rounding);

#endif /* REPORT_FILTER_MOMENT_H */
