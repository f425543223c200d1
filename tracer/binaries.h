/* SPDX-License-Identifier: MIT */
/* Programs and libraries that are kept in the trace, where that is asked for. */
#ifndef TRACER_BINARIES_H
#define TRACER_BINARIES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/kept_head.h"

/**
 * struct binary - a file that was loaded
 * @path:       absolute
 * @is_program: then it is opened by what the kernel knows of it
 */
struct binary {
	char path[PATH_MAX];
	uint8_t build_id[KEPT_BUILD_ID_MAX];
	size_t build_id_len;
	bool is_program;
};

/*
 * Writes the file into the trace, unless this trace has it already.
 *
 * Safety: signals blocked, one at a time, once the trace is open.  Not with
 *         the loader's list locked: reads and compresses all of it.
 *         Allocates: mmap.  errno: untouched.
 */
void binaries_keep(const struct binary *binary);

#endif /* TRACER_BINARIES_H */
