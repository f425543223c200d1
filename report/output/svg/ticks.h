/* SPDX-License-Identifier: MIT */
/*
 * Round numbers along an axis that begins at 0.
 *
 * Layer: output.
 */
#ifndef REPORT_OUTPUT_SVG_TICKS_H
#define REPORT_OUTPUT_SVG_TICKS_H

#include <stddef.h>

#include "report/figure/figure.h"

/**
 * struct ticks - at 0, step, 2 step, … (count - 1) step
 * @step: 1, 2 or 5 times a power of ten; bytes: times a power of 1024;
 *        seconds from a minute on: parts of an hour, then hours
 * @unit: what labels count in
 */
struct ticks {
	double step;
	unsigned count;
	double unit;
	const char *unit_name;
};

/**
 * ticks_compute()
 * @kind:  CELL_BYTES, CELL_COUNT or CELL_SECONDS
 * @end:   last value of the axis
 * @limit: most ticks beside 0, at least 1
 */
void ticks_compute(struct ticks *ret, enum cell_kind kind, double end,
		   unsigned limit);
void ticks_format(const struct ticks *ticks, unsigned index, char *buf,
		  size_t size);

#endif /* REPORT_OUTPUT_SVG_TICKS_H */
