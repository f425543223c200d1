/* SPDX-License-Identifier: MIT */
/*
 * Allocators that nothing can be preloaded in front of: inside the program
 * (jemalloc, mimalloc, tcmalloc linked statically), or under names of their
 * own (`mi_malloc`, `mallocx`, `_rjem_malloc`), in a library too.
 *
 * Their functions are not exported by this library: programs find out what
 * they run with by looking for such names.  Instead a jump to a hook
 * (hooks_allocator.h) is put at their start, when the program starts.  Those
 * of libraries that are opened later are not looked for.
 */
#ifndef TRACER_ALLOCATORS_H
#define TRACER_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NO = -1,
	ARGUMENTS = 5,
	ALIGN_BITS_X = 63, /* of the flags of mallocx() */
};

/* Which allocators have a function. */
enum {
	STANDARD = 1, /* all */
	JEMALLOC = 2,
	MIMALLOC = 4,
	TCMALLOC = 8,
	OPERATOR = 16, /* without a prefix only */
};

/* What a function does. */
enum deed {
	MAKES,
	CLEARS,           /* a block of zeros */
	ALIGNS,           /* an aligned block */
	STORES,           /* an aligned block, through its first argument */
	MAKES_X,          /* alignment is in flags */
	NEWS,             /* as C++ does */
	COPIES,           /* a string, of which it makes a block */
	FREES,            /* a block */
	DELETES,          /* as C++ does */
	CHANGES,          /* as realloc() does */
	CHANGES_X,        /* alignment is in flags */
	CHANGES_OR_FREES, /* when it fails */
	EXTENDS,          /* a block where it is, or returns NULL */
	EXTENDS_X,        /* a block where it is, returns its size */
	TELLS,            /* the usable size; no hook */
};

/**
 * struct form - one function, allocator_forms.h
 * @name: without the allocator's prefix
 * @where: allocators that have it
 * @deed: enum deed
 * @size, @count, @align, @old: numbers of the arguments, or NO
 */
struct form {
	const char *name;
	uint8_t where;
	uint8_t deed;
	int8_t size;
	int8_t count;
	int8_t align;
	int8_t old;
};

typedef size_t usable_function(void *p);

/**
 * struct family - an allocator's functions in the program, or in a library
 * @prefix:     of their names
 * @where:      which forms it has
 * @in_program: those in the program's file
 * @found:      of malloc, calloc, realloc and free, bits by number
 * @usable:     its malloc_usable_size(), or NULL
 */
struct family {
	const char *prefix;
	uint8_t where;
	bool in_program;
	uint8_t found;
	usable_function *usable;
};

typedef uintptr_t any_function(uintptr_t a, uintptr_t b, uintptr_t c,
			       uintptr_t d, uintptr_t e);

/**
 * struct site - a function that was found
 * @form:     what it is
 * @family:   whose
 * @addr:     of it
 * @len:      of it
 * @original: does what it did, once it is patched
 * @silent:   does the same, and nothing inside is recorded
 */
struct site {
	const struct form *form;
	struct family *family;
	uintptr_t addr;
	size_t len;
	void *original;
	void *silent;
};

/*
 * Finds them and puts the jumps there; says so in the log.
 *
 * Safety: once, constructor, inside the guard; does nothing among threads.
 * Allocates: mmap, heap.h.  Locks: the loader's.  errno: undefined.
 */
void allocators_init(void);

/*
 * Warns when a library that was preloaded before this one has an allocator of
 * its own: its functions are bound in place of the hooks.  Not of one whose
 * functions call the hooks.
 *
 * Safety: as allocators_init(); calls that allocator.
 */
void allocators_check_order(void);

#endif /* TRACER_ALLOCATORS_H */
