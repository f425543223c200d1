/* SPDX-License-Identifier: MIT */
/*
 * A reading of the clocks for a trace that has none of its end: of a program
 * that still runs, or that was killed without anybody to say when.
 *
 * Layer: input.
 */
#ifndef REPORT_INPUT_LIVE_CLOCK_H
#define REPORT_INPUT_LIVE_CLOCK_H

#include <stdbool.h>

struct clock_pair;
struct records;

/* Return: whether the trace's clock runs here and has not been started anew
   since, and the trace has but one reading of it; then *@ret is one of now. */
bool live_clock_read(const struct records *records, struct clock_pair *ret);

#endif /* REPORT_INPUT_LIVE_CLOCK_H */
