/* SPDX-License-Identifier: MIT */
/* Files that are kept in the trace: FILE chunks. */
#ifndef TRACER_KEPT_H
#define TRACER_KEPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tracer/kept_head.h"

/**
 * kept_write() - write what @fd has from @off on into the trace
 * @most: bytes; what is beyond is left out, and a warning logged
 *
 * Nothing is written when the first bytes cannot be read.
 *
 * Safety: signals blocked or inside the guard, once the trace is open.  Not on
 *         the event path: reads and compresses all of it.  Allocates: mmap.
 *         Locks: a chunk's.  errno: untouched.
 *
 * Return: 0 or -errno.
 */
int kept_write(const struct kept *what, int fd, uint64_t off, uint64_t most);

/*
 * Opens what may be kept: a regular file, at the path itself unless @follow.
 *
 * Safety: any; system calls.  Return: descriptor, @ret filled; or -errno.
 */
int kept_open(const char *path, bool follow, struct stat *ret);

/* Keeps the file of @what->path.  Safety, return: as kept_write(). */
int kept_write_path(const struct kept *what, uint64_t most);

#endif /* TRACER_KEPT_H */
