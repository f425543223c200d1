/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays that begin where a cache line does, for items that are made of
 * whole lines.
 *
 * Layer: core.
 */
#ifndef REPORT_CORE_LINES_H
#define REPORT_CORE_LINES_H

#include <stddef.h>

enum { LINE_BYTES = 64 };

/**
 * struct lines - zero-initialised is empty
 * @items:  as many bytes as were asked for last
 * @memory: what holds them; owned
 */
struct lines {
	void *items;
	void *memory;
};

/* Makes room for @bytes, of which the first @used stay as they are.  Return: 0;
   -ENOMEM with nothing changed. */
int lines_grow(struct lines *lines, size_t used, size_t bytes);
void lines_done(struct lines *lines);

#endif /* REPORT_CORE_LINES_H */
