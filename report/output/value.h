/* SPDX-License-Identifier: MIT */
/*
 * Cells as people read them.
 *
 * Layer: output.
 */
#ifndef REPORT_OUTPUT_VALUE_H
#define REPORT_OUTPUT_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/core/units.h"
#include "report/figure/figure.h"

enum { VALUE_TEXT_SIZE = 64 };

/* Return: whether @cell is a number; @buf is "12.3 MiB" then, else "". */
bool value_format(char *buf, size_t size, const struct cell *cell);

/* The number in full, "12,897,485 bytes".  Return: whether that says more
   than value_format(). */
bool value_format_exact(char *buf, size_t size, const struct cell *cell);

/* The number as programs read it, "12897485".  Return: as value_format(). */
bool value_format_plain(char *buf, size_t size, const struct cell *cell);

/* Return: whether columns of @kind are read from the right. */
bool value_is_numeric(enum cell_kind kind);

/* Return: whether @text is words and numbers, not a name, path or command. */
bool value_is_prose(const char *text);

/* "function", or "module" where the function is not known. */
const char *value_frame_name(const struct figure_frame *frame);

#endif /* REPORT_OUTPUT_VALUE_H */
