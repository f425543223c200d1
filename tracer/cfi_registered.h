/* SPDX-License-Identifier: MIT */
/*
 * Call frame information that the program registers for code it generates.
 *
 * Compilers at run time hand `.eh_frame` blocks to the compiler's run-time
 * library.  A copy is kept of each, so that nothing is read from memory that
 * the program may take back, and copies are never unmapped: a thread may be
 * reading one that is just being forgotten.
 */
#ifndef TRACER_CFI_REGISTERED_H
#define TRACER_CFI_REGISTERED_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/cfi.h"
#include "tracer/cfi_record.h"

/**
 * cfi_register() - copy one block
 * @key:   what it will be forgotten by
 * @begin: its first record; ends with a length of 0.  Tried before it is read
 *
 * Safety: signal handler: yes.  After fork: yes.  Allocates: mmap.  Locks: its
 *         own, for a bounded time.  errno: untouched.
 *
 * Return: the addresses that it covers; none when there is nothing to be had
 *         from it, no memory or no room.
 */
struct cfi_range cfi_register(uintptr_t key, uintptr_t begin);

/*
 * Forgets the newest block of @key.  Safety: as cfi_register().
 * Return: whether there was one, and the addresses that it covered.
 */
bool cfi_unregister(uintptr_t key, struct cfi_range *ret);

/* Looks the instruction at @pc up.  Safety: as cfi_find(). */
enum cfi_status cfi_find_registered(uintptr_t pc, struct cfi_row *ret);

/*
 * Where one entry of an array of blocks leads, as __register_frame_table()
 * takes it.  Safety: as cfi_register().  Return: 0 at the end.
 */
uintptr_t cfi_table_entry(uintptr_t table, size_t i);

#endif /* TRACER_CFI_REGISTERED_H */
