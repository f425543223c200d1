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
#include <string.h>

enum { SINK_BUFFER_BYTES = 4096 };

/**
 * struct sink - one destination
 * @file:  stream, or NULL for memory
 * @data:  memory sink: the bytes so far, NUL-terminated, owned
 * @len:   bytes written so far
 * @error: 0 or negative errno of the first failure
 * @buffer: file sink: @buffered bytes that @file does not have yet.  Most
 *         writes are of a few bytes, for which even fwrite() is a long way
 */
struct sink {
	FILE *file;
	char *data;
	size_t len;
	size_t capacity;
	int error;
	size_t buffered;
	char buffer[SINK_BUFFER_BYTES];
};

/* Memory sink; sink_done() frees it. */
void sink_init_memory(struct sink *sink);
/* @file is borrowed and neither closed nor flushed by sink_done(), which gives it
   the last bytes. */
void sink_init_file(struct sink *sink, FILE *file);
/* sink_write() of what needs more than copying. */
void sink_write_through(struct sink *sink, const void *data, size_t len);

static inline void sink_write(struct sink *sink, const void *data, size_t len)
{
	if (!sink->file || len >= sizeof(sink->buffer) - sink->buffered) {
		sink_write_through(sink, data, len);
		return;
	}
	memcpy(sink->buffer + sink->buffered, data, len);
	sink->buffered += len;
	sink->len += len;
}

static inline void sink_puts(struct sink *sink, const char *text)
{
	sink_write(sink, text, strlen(text));
}

void sink_printf(struct sink *sink, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Return: 0 or negative errno of the first failed write. */
int sink_done(struct sink *sink);

#endif /* REPORT_CORE_SINK_H */
