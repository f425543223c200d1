/* SPDX-License-Identifier: MIT */
/* Which of the files on the command line are pieces of one run. */
#ifndef REPORT_TRACES_H
#define REPORT_TRACES_H

#include <stdbool.h>
#include <stddef.h>

#include "report/event/run.h"

/* A file, and what it says it is. */
struct trace_file {
	char *path; /* borrowed from argv */
	struct run_piece piece;
};

/* A run: its pieces in their order.  @paths: of the same, in @files's order. */
struct trace_group {
	const struct trace_file *files;
	char *const *paths;
	size_t count;
};

/**
 * struct traces - all files, in groups; zero-initialised is empty
 * @groups: in the order of their first file on the command line
 */
struct traces {
	struct trace_file *files;
	char **paths;
	struct trace_group *groups;
	size_t group_count;
};

/* Looks into the files where there is more than one.  One that cannot be read is
   a group of its own.  Return: 0 or -ENOMEM. */
int traces_group(struct traces *ret, char **paths, size_t count);
void traces_done(struct traces *traces);

/* Return: whether the file @path is @trace, or its PATH.live; of a trace "-",
   standard input. */
bool trace_is_file(const char *trace, const char *path);

#endif /* REPORT_TRACES_H */
