/* SPDX-License-Identifier: MIT */
/*
 * `.debug_frame`: what programs built without `.eh_frame` but with debugging
 * information have.  It is in their files only.
 *
 * A module's file is opened when a frame is met in it that the module has no
 * table for, once, and the section copied, so that the file may change.  A
 * file that is not the one that was loaded, or whose section is compressed,
 * counts as one without.
 */
#ifndef TRACER_CFI_DEBUG_H
#define TRACER_CFI_DEBUG_H

#include <stdint.h>

#include "tracer/cfi.h"

/**
 * struct cfi_module - what a loaded file is known by
 * @path:    of the file
 * @bias:    its addresses in memory minus those in the file
 * @headers: its first bytes in memory, the ELF header at least
 * @header_bytes: of them
 */
struct cfi_module {
	const char *path;
	uintptr_t bias;
	const uint8_t *headers;
	size_t header_bytes;
};

/*
 * Looks the instruction at @pc up.
 *
 * Safety: signal handler: yes.  After fork: yes.  Allocates: mmap.  Locks: its
 *         own, for a bounded time.  errno: untouched.
 */
enum cfi_status cfi_find_debug(const struct cfi_module *module, uintptr_t pc,
			       struct cfi_row *ret);

/* Modules were loaded or unloaded.  Safety: anywhere. */
void cfi_debug_forget(void);

#endif /* TRACER_CFI_DEBUG_H */
