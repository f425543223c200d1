/* SPDX-License-Identifier: MIT */
/*
 * The bounds-checked readers: every byte of a trace passes one of these two.
 *
 * struct cursor is for records: each read compares with what remains, and the
 * first failure sticks, so that a record is read to its end and checked once.
 *
 * varint_read() is for events.  Its caller keeps CURSOR_SLACK zero bytes after
 * the end of the payload, lets one event run into them and compares with the
 * end once an event: zero ends a varint, so an event cannot run far.
 *
 * Layer: input.
 */
#ifndef REPORT_INPUT_CURSOR_H
#define REPORT_INPUT_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "integers are copied from the file as they are");

/**
 * struct cursor - a position in borrowed bytes
 * @failed: a read went beyond the end; all later reads give zero
 */
struct cursor {
	const uint8_t *at;
	size_t left;
	bool failed;
};

static inline struct cursor cursor_make(const uint8_t *data, size_t len)
{
	return (struct cursor){ .at = data, .left = len };
}

/* Return: the next @len bytes, skipped; NULL beyond the end. */
static inline const uint8_t *cursor_bytes(struct cursor *cursor, size_t len)
{
	const uint8_t *bytes = cursor->at;

	if (cursor->failed || len > cursor->left) {
		cursor->failed = true;
		return NULL;
	}
	cursor->at += len;
	cursor->left -= len;
	return bytes;
}

static inline uint8_t cursor_u8(struct cursor *cursor)
{
	const uint8_t *bytes = cursor_bytes(cursor, 1);

	return bytes ? *bytes : 0;
}

static inline uint32_t cursor_u32(struct cursor *cursor)
{
	const uint8_t *bytes = cursor_bytes(cursor, 4);
	uint32_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return value;
}

static inline uint64_t cursor_u64(struct cursor *cursor)
{
	const uint8_t *bytes = cursor_bytes(cursor, 8);
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return value;
}

struct cursor_text {
	const char *data; /* borrowed, not terminated, never NULL */
	size_t len;
};

/* A u32 length, at most @len_max, and that many bytes. */
static inline struct cursor_text cursor_string(struct cursor *cursor,
					       uint32_t len_max)
{
	struct cursor_text text = {"", 0};
	uint32_t len = cursor_u32(cursor);
	const uint8_t *bytes;

	if (len > len_max)
		cursor->failed = true;
	bytes = cursor_bytes(cursor, len);
	if (bytes) {
		text.data = (const char *)bytes;
		text.len = len;
	}
	return text;
}

/*
 * An event without its frames is at most a tag, twelve varints of ten bytes
 * (MMAP has nine) and what one word load reads too much.
 */
enum { CURSOR_SLACK = 160 };

/* The rare lengths, nine and ten bytes; an overlong one puts *@at beyond
   @end, where reading may go on in the slack. */
static __attribute__((noinline, unused)) uint64_t
varint_read_long(const uint8_t **at, const uint8_t *end)
{
	const uint8_t *p = *at;
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = *p++;

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*at = p;
			return value;
		}
	}
	*at = end + 1;
	return 0;
}

/* Unsigned LEB128 at *@at, which moves behind it. */
static inline uint64_t varint_read(const uint8_t **at, const uint8_t *end)
{
	const uint8_t *p = *at;
	uint64_t word, stop;
	unsigned bits;

	if (__builtin_expect(p[0] < 0x80, 1)) {
		*at = p + 1;
		return p[0];
	}
	if (__builtin_expect(p[1] < 0x80, 1)) {
		*at = p + 2;
		return (p[0] & 0x7fu) | (uint64_t)p[1] << 7;
	}
	if (__builtin_expect(p[2] < 0x80, 1)) {
		*at = p + 3;
		return (p[0] & 0x7fu) | (p[1] & 0x7fu) << 7 |
		       (uint64_t)p[2] << 14;
	}
	memcpy(&word, p, sizeof(word));
	stop = ~word & UINT64_C(0x8080808080808080);
	if (__builtin_expect(!stop, 0))
		return varint_read_long(at, end);
	/* Keep the bytes up to the one that ends it, then close the gaps
	   between groups of seven bits: 7 to 14, 28, 56. */
	bits = (unsigned)__builtin_ctzll(stop) + 1;
	word &= UINT64_MAX >> (64 - bits);
	*at = p + bits / 8;
	word = (word & UINT64_C(0x007f007f007f007f)) |
	       (word & UINT64_C(0x7f007f007f007f00)) >> 1;
	word = (word & UINT64_C(0x00003fff00003fff)) |
	       (word & UINT64_C(0x3fff00003fff0000)) >> 2;
	return (word & UINT64_C(0x000000000fffffff)) |
	       (word & UINT64_C(0x0fffffff00000000)) >> 4;
}

/* The zigzag mapping undone. */
static inline uint64_t svarint_read(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = varint_read(at, end);

	return value >> 1 ^ (0 - (value & 1));
}

#endif /* REPORT_INPUT_CURSOR_H */
