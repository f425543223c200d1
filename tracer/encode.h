/* SPDX-License-Identifier: MIT */
/*
 * Integer coding of the trace file.
 *
 * Safety (all of them): pure; before start-up, in a signal handler and after
 * fork: yes.  Allocates, locks, system calls: none.  errno: untouched.
 */
#ifndef TRACER_ENCODE_H
#define TRACER_ENCODE_H

#include <stdint.h>
#include <string.h>

enum {
	ENCODE_VARINT_MAX = 10, /* bytes of the longest varint */
};

/* Return: first byte after the unsigned LEB128 coding of @v at @p. */
static inline uint8_t *put_varint(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Zigzag first: small differences of either sign stay short. */
static inline uint8_t *put_svarint(uint8_t *p, int64_t v)
{
	return put_varint(p, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

/* The machines we run on are little-endian, as the file is. */
static inline uint8_t *put_u32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static inline uint8_t *put_u64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static inline uint8_t *put_string(uint8_t *p, const char *s, size_t len)
{
	p = put_u32(p, (uint32_t)len);
	memcpy(p, s, len);
	return p + len;
}

#endif /* TRACER_ENCODE_H */
