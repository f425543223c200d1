/* SPDX-License-Identifier: MIT */
/*
 * Test programs tell what a profiler should find, one line a fact, on the
 * descriptor that MEMPROF_TRUTH_FD names; without it they are silent there.
 * Nothing here allocates.
 */
#ifndef TESTS_PROGRAMS_TRUTH_H
#define TESTS_PROGRAMS_TRUTH_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __clang__
#define TRUTH_NOINLINE __attribute__((noinline))
#else
#define TRUTH_NOINLINE __attribute__((noinline, noclone))
#endif

/* Keeps the compiler from merging or dropping an allocation. */
#define TRUTH_KEEP(p) __asm__ volatile("" : "+r"(p) : : "memory")

__attribute__((format(printf, 1, 2))) static inline void
truth(const char *format, ...)
{
	const char *fd = getenv("MEMPROF_TRUTH_FD");
	char line[512];
	va_list args;
	int len;

	if (!fd)
		return;
	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (len > 0 && write(atoi(fd), line, (size_t)len) < 0)
		_exit(99);
}

#endif /* TESTS_PROGRAMS_TRUTH_H */
