/* SPDX-License-Identifier: MIT */
/*
 * Values of variables: the tracer reads them, and memprof-record looks at its
 * arguments before it runs a program.
 *
 * Safety (values_parse_…): pure.  Return: whether @value, a string, is such a
 * value; @ret is written then only.
 */
#ifndef TRACER_VALUES_H
#define TRACER_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/options.h"

/* A decimal number up to @max. */
bool values_parse_number(const char *value, uint64_t max, uint64_t *ret);

/* Seconds, with or without a fraction, more than 0 and up to 100,000,000. */
bool values_parse_seconds(const char *value, uint64_t *ret_ns);

/* A size or a time, or both with a comma between: a number more than 0, which
   has a fraction only where it has a unit, and that. */
bool values_parse_rotate(const char *value, struct rotate *ret);

/* "off" to "trace". */
bool values_parse_level(const char *value, enum log_level *ret);

/* Return: what values_parse_level() reads.  Safety: pure. */
const char *values_get_level(enum log_level level);

#endif /* TRACER_VALUES_H */
