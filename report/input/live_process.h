/* SPDX-License-Identifier: MIT */
/*
 * Whether the program of a trace without an end still runs: it may do nothing
 * that would change its trace.
 *
 * Layer: input.
 */
#ifndef REPORT_INPUT_LIVE_PROCESS_H
#define REPORT_INPUT_LIVE_PROCESS_H

#include <stdbool.h>

struct records;

/* Return: whether a process here has the number and the executable's name that
   the trace gives, was started no later than the trace, and is no zombie.  False
   where that cannot be told. */
bool live_process_runs(const struct records *records);

#endif /* REPORT_INPUT_LIVE_PROCESS_H */
