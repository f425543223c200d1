/* SPDX-License-Identifier: MIT */
/*
 * What went wrong, for people.  The second channel of failure: a function
 * returns a small status and fills a caller-owned struct diag where the fact
 * is known.  Only main prints one.
 *
 * Layer: core.
 */
#ifndef REPORT_CORE_DIAG_H
#define REPORT_CORE_DIAG_H

#include <stddef.h>
#include <stdint.h>

#define DIAG_NO_OFFSET UINT64_MAX

/**
 * struct diag - one message
 * @file:   what it is about, empty if no file is concerned
 * @offset: byte offset in @file, DIAG_NO_OFFSET if none
 * @line:   line in @file from 1, 0 if none
 * @text:   one sentence without newline or final stop
 */
struct diag {
	char file[512];
	uint64_t offset;
	uint32_t line;
	char text[2560];
};

/**
 * diag_set() - fill @diag and hand back @status
 * @diag:   may be NULL
 * @status: returned, so that callers can `return diag_set(…)`
 * @file:   borrowed, copied (cut at the array's size); may be NULL
 * @offset: or DIAG_NO_OFFSET
 */
int diag_set(struct diag *diag, int status, const char *file, uint64_t offset,
	     const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The same with a line number instead of an offset. */
int diag_set_line(struct diag *diag, int status, const char *file,
		  uint32_t line, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/**
 * diag_format() - "FILE: offset 123: TEXT", "FILE:12: TEXT" or "TEXT"
 * @buf: result, NUL-terminated, cut at @size
 */
void diag_format(const struct diag *diag, char *buf, size_t size);

/**
 * struct findings - damage that was survived, in the order it was met
 * @items: owned
 *
 * @count goes on past @stored: the first FINDINGS_MAX are kept, the rest
 * only counted.
 */
struct findings {
	struct diag *items;
	size_t stored;
	size_t count;
};

enum { FINDINGS_MAX = 100 };

/* Like diag_set(); out of memory only loses the text, never the count. */
void findings_add(struct findings *findings, const char *file, uint64_t offset,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Adds a copy of @diag. */
void findings_add_diag(struct findings *findings, const struct diag *diag);
void findings_done(struct findings *findings);

#endif /* REPORT_CORE_DIAG_H */
