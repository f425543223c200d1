/* SPDX-License-Identifier: MIT */
/*
 * Safety (all functions): as the real ones, whose errno they leave.
 *
 * The bytes of a block behind those asked for are zero, too: then a realloc
 * that needs no other block has nothing to do.
 */
#include "tracer/zero.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "tracer/real.h"

static struct real plain;
static bool installed;

/* Whether the kernel has just made the pages of @p, all zero: a block of
   glibc's that is a mapping by itself. */
static bool is_mapping(const void *p)
{
	return real.has_glibc_chunks &&
	       ((const size_t *)p)[-1] & GLIBC_MMAPPED;
}

/* Return: bytes of @p, @otherwise where the allocator does not say. */
static size_t get_usable(void *p, size_t otherwise)
{
	return plain.usable_size ? plain.usable_size(p) : otherwise;
}

/* Return: @p, a new block or NULL, zeroed. */
static void *clear(void *p, size_t size)
{
	if (p && !is_mapping(p))
		memset(p, 0, get_usable(p, size));
	return p;
}

static void *zero_malloc(size_t size)
{
	return plain.calloc(1, size);
}

static void *zero_realloc(void *old, size_t size)
{
	size_t old_usable, usable, from;
	char *p;

	if (!old)
		return zero_malloc(size);
	old_usable = get_usable(old, size);
	p = plain.realloc(old, size);
	if (!p)
		return NULL;
	usable = get_usable(p, size);
	from = size < old_usable ? size : old_usable;
	if (size > old_usable && is_mapping(p))
		return p;
	if (usable > from)
		memset(p + from, 0, usable - from);
	return p;
}

static void *zero_reallocarray(void *old, size_t count, size_t size)
{
	size_t total;

	if (!__builtin_mul_overflow(count, size, &total))
		return zero_realloc(old, total);
	errno = ENOMEM;
	return NULL;
}

static int zero_posix_memalign(void **ret, size_t align, size_t size)
{
	int err = plain.posix_memalign(ret, align, size);

	if (err == 0)
		clear(*ret, size);
	return err;
}

static void *zero_aligned_alloc(size_t align, size_t size)
{
	return clear(plain.aligned_alloc(align, size), size);
}

static void *zero_memalign(size_t align, size_t size)
{
	return clear(plain.memalign(align, size), size);
}

static void *zero_valloc(size_t size)
{
	return clear(plain.valloc(size), size);
}

static void *zero_pvalloc(size_t size)
{
	return clear(plain.pvalloc(size), size);
}

void zero_install(void)
{
	plain = real;
	installed = true;
	real.malloc = zero_malloc;
	real.realloc = zero_realloc;
	real.reallocarray = zero_reallocarray;
	real.posix_memalign = zero_posix_memalign;
	real.aligned_alloc = zero_aligned_alloc;
	real.memalign = zero_memalign;
	real.valloc = zero_valloc;
	real.pvalloc = zero_pvalloc;
}

void zero_replace_real(size_t offset, void *function)
{
	void **now = (void **)(void *)((char *)&real + offset);
	void **behind = (void **)(void *)((char *)&plain + offset);

	if (!installed || *now == *behind)
		*now = function;
	*behind = function;
}
