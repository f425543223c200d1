/* SPDX-License-Identifier: MIT */
/*
 * Which frame of a stack is its call site: the code that wanted the memory.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_SITE_FRAME_H
#define REPORT_AGGREGATE_SITE_FRAME_H

#include <stddef.h>
#include <stdint.h>

struct scope;
struct symbol_frame;

/**
 * site_frame() - the innermost frame outside of allocators and their wrappers
 * @stack:     a node
 * @ret_inner: how many frames are within it; 0 where all of them are
 *             allocators; may be NULL
 *
 * An unnamed frame is only a candidate: in a stripped library what lies right
 * below a known wrapper (libsqlite3.so.0+0xa7504 below sqlite3Malloc) belongs to
 * it.
 *
 * Return: the frame, the innermost one where all are allocators, NULL for the
 * empty stack.
 */
const struct symbol_frame *site_frame(const struct scope *scope, uint32_t stack,
				      size_t *ret_inner);

#endif /* REPORT_AGGREGATE_SITE_FRAME_H */
