/* SPDX-License-Identifier: MIT */
#include "report/core/sink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/vec.h"

void sink_init_memory(struct sink *sink)
{
	sink_init_file(sink, NULL);
}

void sink_init_file(struct sink *sink, FILE *file)
{
	sink->file = file;
	sink->data = NULL;
	sink->len = 0;
	sink->capacity = 0;
	sink->error = 0;
	sink->buffered = 0;
}

static void give_file(struct sink *sink, const void *data, size_t len)
{
	if (!sink->error && fwrite_unlocked(data, 1, len, sink->file) != len)
		sink->error = errno ? -errno : -EIO;
}

static void flush(struct sink *sink)
{
	size_t len = sink->buffered;

	sink->buffered = 0;
	if (len)
		give_file(sink, sink->buffer, len);
}

static void write_memory(struct sink *sink, const void *data, size_t len)
{
	if (sink->len + len + 1 > sink->capacity) {
		char *grown = vec_grow(sink->data, &sink->capacity,
				       sink->len + len + 1, 1);

		if (!grown) {
			sink->error = -ENOMEM;
			return;
		}
		sink->data = grown;
	}
	memcpy(sink->data + sink->len, data, len);
	sink->len += len;
	sink->data[sink->len] = '\0';
}

void sink_write_through(struct sink *sink, const void *data, size_t len)
{
	if (sink->error || !len)
		return;
	if (!sink->file) {
		write_memory(sink, data, len);
		return;
	}
	flush(sink);
	if (len < sizeof(sink->buffer)) {
		memcpy(sink->buffer, data, len);
		sink->buffered = len;
	} else {
		give_file(sink, data, len);
	}
	sink->len += len;
}

void sink_printf(struct sink *sink, const char *format, ...)
{
	char small[512];
	char *large;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(small, sizeof(small), format, args);
	va_end(args);
	if (len < 0) {
		sink->error = sink->error ? sink->error : -EOVERFLOW;
		return;
	}
	if ((size_t)len < sizeof(small)) {
		sink_write(sink, small, (size_t)len);
		return;
	}
	large = malloc((size_t)len + 1);
	if (!large) {
		sink->error = sink->error ? sink->error : -ENOMEM;
		return;
	}
	va_start(args, format);
	vsnprintf(large, (size_t)len + 1, format, args);
	va_end(args);
	sink_write(sink, large, (size_t)len);
	free(large);
}

int sink_done(struct sink *sink)
{
	int error;

	flush(sink);
	error = sink->error;
	free(sink->data);
	sink_init_memory(sink);
	return error;
}
