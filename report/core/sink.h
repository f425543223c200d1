/* SPDX-License-Identifier: MIT */
/*
 * Where artifacts are written: a file or memory.  The first error sticks, so
 * writers check once, at the end.
 *
 * Layer: core.
 */
#ifndef REPORT_CORE_SINK_H
#define REPORT_CORE_SINK_H

#include <stddef.h>
#include <stdio.h>

/**
 * struct sink - one destination
 * @file:  stream, or NULL for memory
 * @data:  memory sink: the bytes so far, NUL-terminated, owned
 * @len:   bytes written so far
 * @error: 0 or negative errno of the first failure
 */
struct sink {
	FILE *file;
	char *data;
	size_t len;
	size_t capacity;
	int error;
};

/* Memory sink; sink_done() frees it. */
void sink_init_memory(struct sink *sink);
/* @file is borrowed and neither closed nor flushed by sink_done(). */
void sink_init_file(struct sink *sink, FILE *file);
void sink_write(struct sink *sink, const void *data, size_t len);
void sink_puts(struct sink *sink, const char *text);
void sink_printf(struct sink *sink, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Return: 0 or negative errno of the first failed write. */
int sink_done(struct sink *sink);

#endif /* REPORT_CORE_SINK_H */
