/* SPDX-License-Identifier: MIT */
/*
 * Temporary files without a name: however the process ends, they are gone.
 *
 * Layer: core.
 */
#ifndef REPORT_CORE_TEMPORARY_H
#define REPORT_CORE_TEMPORARY_H

#include <stddef.h>
#include <stdint.h>

/* Return: descriptor of a new file in @directory, or negative errno. */
int temporary_open(const char *directory);

/* Writes all of @data at @offset.  Return: 0 or negative errno. */
int temporary_write(int fd, uint64_t offset, const void *data, size_t len);

/* Reads @len bytes at @offset.  Return: 0 or negative errno; -EIO if there are
   fewer. */
int temporary_read(int fd, uint64_t offset, void *data, size_t len);

#endif /* REPORT_CORE_TEMPORARY_H */
