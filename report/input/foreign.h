/* SPDX-License-Identifier: MIT */
/*
 * Files that are no trace of ours: what they look like.
 *
 * Layer: input.
 */
#ifndef REPORT_INPUT_FOREIGN_H
#define REPORT_INPUT_FOREIGN_H

#include <stddef.h>
#include <stdint.h>

/* Return: what a file is that starts with the fixed bytes of its kind, to follow
   "it looks like"; NULL for others; static storage. */
const char *foreign_signed(const uint8_t *head, size_t len);

/* Return: what a file with these first bytes (@len > 0) looks like, to follow
   "it looks like"; static storage. */
const char *foreign_describe(const uint8_t *head, size_t len);

#endif /* REPORT_INPUT_FOREIGN_H */
