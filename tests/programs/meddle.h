/* SPDX-License-Identifier: MIT */
/* What a program tells meddle: numbers that it closes as if they were files. */
#ifndef TESTS_PROGRAMS_MEDDLE_H
#define TESTS_PROGRAMS_MEDDLE_H

#include <fcntl.h>
#include <unistd.h>

enum {
	MEDDLE_BEGIN = -7701,      /* count this process's system calls */
	MEDDLE_NEXT_CHILD = -7702, /* those of its next child, from its birth */
	MEDDLE_END = -7703,        /* count no more */
};

#endif /* TESTS_PROGRAMS_MEDDLE_H */
