/* SPDX-License-Identifier: MIT */
/* One file of a report: written under a temporary name and renamed, so that a
   reader never sees half of it. */
#ifndef REPORT_FILE_TASK_H
#define REPORT_FILE_TASK_H

#include <stddef.h>
#include <stdint.h>

struct diag;
struct sink;
struct tasks;

typedef int (*file_write_fn)(const void *format, const void *what, struct sink *out,
			     struct diag *diag);

enum file_needs {
	NEEDS_NOTHING,
	NEEDS_ROWS,  /* made while they are written, by the thread that makes
			figures: it writes the file */
	NEEDS_TREES, /* which tasks make */
};

/**
 * struct file_task - one file of the report, to be written by any thread; or by
 * the one that makes figures, where rows are made while they are written
 * @path, @temporary: the latter until it is complete
 * @write, @format, @what: what it holds
 * @needs:  what must be there before
 * @tasks, @after: so many of them must be over before
 * @wall_ns, @cpu_ns: what that took
 */
struct file_task {
	const char *name;
	const char *path;
	const char *temporary;
	file_write_fn write;
	const void *format;
	const void *what;
	enum file_needs needs;
	struct tasks *tasks;
	size_t after;
	uint64_t wall_ns;
	uint64_t cpu_ns;
};

/* A task_fn; @context is a struct file_task. */
int file_task_run(void *context, struct diag *diag);

#endif /* REPORT_FILE_TASK_H */
