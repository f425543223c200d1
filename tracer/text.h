/* SPDX-License-Identifier: MIT */
/*
 * Text in fixed buffers, without the C library.
 *
 * Safety (all of them): pure; before start-up, in a signal handler and after
 * fork: yes.  Allocates, locks, system calls: none.  errno: untouched.
 */
#ifndef TRACER_TEXT_H
#define TRACER_TEXT_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct text - a growing string in the caller's buffer
 * @buf: always terminated
 * @len: bytes before the terminator; len < cap
 * @cap: size of the buffer; what does not fit is cut off
 */
struct text {
	char *buf;
	size_t len;
	size_t cap;
};

/* Starts an empty text in @buf of @cap > 0 bytes. */
static inline struct text text_init(char *buf, size_t cap)
{
	buf[0] = '\0';
	return (struct text){ .buf = buf, .cap = cap };
}

static inline void text_add_char(struct text *t, char c)
{
	if (t->len + 1 >= t->cap)
		return;
	t->buf[t->len++] = c;
	t->buf[t->len] = '\0';
}

static inline void text_add_bytes(struct text *t, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		text_add_char(t, s[i]);
}

static inline void text_add(struct text *t, const char *s)
{
	while (*s)
		text_add_char(t, *s++);
}

static inline void text_add_uint(struct text *t, uint64_t v)
{
	char digits[20];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (n)
		text_add_char(t, digits[--n]);
}

static inline void text_add_int(struct text *t, int64_t v)
{
	if (v < 0)
		text_add_char(t, '-');
	text_add_uint(t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

static inline void text_add_hex(struct text *t, uint64_t v)
{
	int shift = 60;

	text_add(t, "0x");
	while (shift > 0 && !(v >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		text_add_char(t, "0123456789abcdef"[(v >> shift) & 15]);
}

#endif /* TRACER_TEXT_H */
