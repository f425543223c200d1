/* SPDX-License-Identifier: MIT */
/* The files of templates/, built into the program (tests/tools/embed.sh). */
#ifndef REPORT_TEMPLATE_BUILTIN_H
#define REPORT_TEMPLATE_BUILTIN_H

#include <stddef.h>

/**
 * struct builtin_file - one embedded file
 * @name: base name
 * @data: its bytes; a NUL follows at @end
 * @end:  first byte after them
 */
struct builtin_file {
	const char *name;
	const char *data;
	const char *end;
};

extern const struct builtin_file builtin_files[];
extern const size_t builtin_file_count;

#endif /* REPORT_TEMPLATE_BUILTIN_H */
