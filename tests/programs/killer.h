/* SPDX-License-Identifier: MIT */
/* What a program tells killer: numbers that it closes as if they were files. */
#ifndef TESTS_PROGRAMS_KILLER_H
#define TESTS_PROGRAMS_KILLER_H

#include <fcntl.h>
#include <unistd.h>

enum {
	KILLER_BEGIN = -7701,      /* count this process's system calls */
	KILLER_NEXT_CHILD = -7702, /* those of its next child, from its birth */
	KILLER_END = -7703,        /* count no more */
};

#endif /* TESTS_PROGRAMS_KILLER_H */
