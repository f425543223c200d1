/* SPDX-License-Identifier: MIT */
/*
 * A shared library that is a part of this one, in memory without the dynamic
 * loader: it is in nobody's list, its functions are nobody's but ours, and its
 * imports are what we say.  Its own dependencies are not looked for, its
 * constructors are not run.
 */
#ifndef TRACER_ENCLOSED_H
#define TRACER_ENCLOSED_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct enclosed - one that is loaded
 * @base:    where its address 0 lies
 * @bytes:   of memory from there
 * @headers: of its segments, in its own memory
 * @header_count: of them
 * @dynamic: its dynamic section
 */
struct enclosed {
	uintptr_t base;
	size_t bytes;
	const ElfW(Phdr) * headers;
	size_t header_count;
	const ElfW(Dyn) * dynamic;
};

/**
 * enclosed_load() - bring one into memory
 * @file: all of the library's file: trusted, being our own
 * @find: says where an import is, 0: nowhere
 * @ret:  written on success, for good
 *
 * A thread-local object of the library is found by the __tls_get_addr() that
 * @find has: the module's number that it is given there is 0.
 *
 * Safety: constructor.  Allocates: mmap.  Locks: those of @find.  errno:
 *         untouched.
 *
 * Return: NULL, or what is in the way: the library is for another processor,
 *         wants what is not done here, or executable memory is refused.
 */
const char *enclosed_load(const uint8_t *file,
			  uintptr_t (*find)(const char *name),
			  struct enclosed *ret);

/* Return: the address of its function @name, 0: there is none.
   Safety: pure. */
uintptr_t enclosed_function(const struct enclosed *library, const char *name);

#endif /* TRACER_ENCLOSED_H */
