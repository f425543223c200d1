/* SPDX-License-Identifier: MIT */
/*
 * Reading of DWARF's integers within bounds.
 *
 * Past the end everything reads as 0 and @bad stays set, so that callers check
 * once after a group of reads.
 *
 * Safety (all of them): pure.  errno: untouched.
 */
#ifndef TRACER_CFI_CURSOR_H
#define TRACER_CFI_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/**
 * struct cursor - what is left to read
 */
struct cfi_cursor {
	const uint8_t *p;
	const uint8_t *end;
	bool bad;
};

/* Return: bytes left. */
static inline size_t cfi_left(const struct cfi_cursor *c)
{
	return (size_t)(c->end - c->p);
}

/* Return: whether @len bytes can be read; they then may be. */
static inline bool cfi_has(struct cfi_cursor *c, uint64_t len)
{
	if (len <= cfi_left(c))
		return true;
	c->bad = true;
	c->p = c->end;
	return false;
}

static inline void cfi_skip(struct cfi_cursor *c, uint64_t len)
{
	if (cfi_has(c, len))
		c->p += len;
}

/* Return: an integer of @len bytes, at most 8, zero-extended. */
static inline uint64_t cfi_unsigned(struct cfi_cursor *c, size_t len)
{
	uint64_t v = 0;

	if (!cfi_has(c, len))
		return 0;
	memcpy(&v, c->p, len);
	c->p += len;
	return v;
}

/* Return: the same, sign-extended. */
static inline int64_t cfi_signed(struct cfi_cursor *c, size_t len)
{
	unsigned shift = 64 - 8 * (unsigned)len;

	return (int64_t)(cfi_unsigned(c, len) << shift) >> shift;
}

static inline uint8_t cfi_u8(struct cfi_cursor *c)
{
	return (uint8_t)cfi_unsigned(c, 1);
}

/* Return: an unsigned LEB128; what exceeds 64 bits is lost. */
static inline uint64_t cfi_uleb(struct cfi_cursor *c)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t byte;

	if (c->p < c->end && !(*c->p & 0x80)) /* as most often */
		return *c->p++;
	do {
		byte = cfi_u8(c);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return v;
}

/* Return: a signed LEB128; what exceeds 64 bits is lost. */
static inline int64_t cfi_sleb(struct cfi_cursor *c)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cfi_u8(c);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		v |= ~UINT64_C(0) << shift;
	return (int64_t)v;
}

#endif /* TRACER_CFI_CURSOR_H */
