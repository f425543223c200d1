/* SPDX-License-Identifier: MIT */
/*
 * How much memory the program has, and how much it may have (--memory).
 *
 * The program's malloc() and its siblings are those of memory.c: they count
 * what libraries take as well, refuse what goes beyond the limit, and leave the
 * rest to the C library.  So the limit needs nobody's cooperation: where memory
 * is refused there is an -ENOMEM, as where the system has no more of it.
 * Requests below 64 KiB are granted even then, but not forgotten: see
 * memory_refused().
 *
 * Counted is what malloc() gives out.  The program's own code and data and the
 * libraries' (about 20 MiB, most of it shared), and files that are mapped to be
 * read, which the kernel drops when it needs the room, are not.
 *
 * Layer: core.
 */
#ifndef REPORT_CORE_MEMORY_H
#define REPORT_CORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_NO_LIMIT UINT64_MAX

/* Less than this is not enough to begin with. */
#define MEMORY_LIMIT_MIN ((uint64_t)16 << 20)

/* Sets the limit, for the whole program; MEMORY_NO_LIMIT at the start.  Under a
   sanitizer, which has a malloc() of its own, nothing is refused. */
void memory_set_limit(uint64_t bytes);

/* Return: the limit. */
uint64_t memory_limit(void);

/* Return: bytes given out by malloc() and not yet freed; 0 where they are not
   counted. */
uint64_t memory_used(void);

/* Return: whether a request went beyond the limit.  What was computed since then
   is not to be trusted. */
bool memory_refused(void);

/**
 * struct memory_refusal - the first request that went beyond the limit
 * @bytes:   that were asked for
 * @used:    memory_used() at that time
 * @purpose: what they were for, NULL if nobody said so
 */
struct memory_refusal {
	uint64_t bytes;
	uint64_t used;
	const char *purpose;
};

/* Return: what was refused, all zeroes if nothing was.  Other threads are not to
   ask for memory meanwhile. */
struct memory_refusal memory_refusal(void);

/* What memory is for from now on: of all threads that say nothing themselves, and
   of this thread, NULL for what all say.  @purpose is borrowed until
   memory_refusal() has been asked. */
void memory_set_phase(const char *purpose);
void memory_set_purpose(const char *purpose);

/* While @insists, this thread is granted what it asks for even beyond the limit,
   and memory_refused() says that it was: for calls of libraries that end the
   process when they get no memory.  Nothing large should be begun once memory was
   refused. */
void memory_insist(bool insists);

/* What memory_end() calls, which must not return; settled by the program before
   anything else. */
void memory_set_end(void (*end)(void));

/* There is no memory, and a library can neither do without nor return an error.
   Safety: any thread, while others are at work. */
__attribute__((noreturn)) void memory_end(void);

/* Forgets the refusal. */
void memory_forgive(void);

/* Return: a @part-th of the limit, at most @most: for buffers and caches, which
   may be large but need not. */
size_t memory_share(unsigned part, size_t most);

/* Return: whether @bytes more would leave a quarter of the limit free: for what
   can be done without, since no refusal is forgotten. */
bool memory_spares(size_t bytes);

#endif /* REPORT_CORE_MEMORY_H */
