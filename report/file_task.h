/* SPDX-License-Identifier: MIT */
/*
 * One file of a report.  It is written under a temporary name; once all are, each
 * gets its own.  So a reader never sees half a file, and a run that fails leaves
 * the report that was there, or none.
 */
#ifndef REPORT_FILE_TASK_H
#define REPORT_FILE_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/leftover.h"

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
 * @path, @temporary: the latter until the report is complete
 * @write, @format, @what: what it holds
 * @needs:  what must be there before
 * @tasks, @after: so many of them must be over before
 * @leftover: the temporary file
 * @is_written: the temporary file is there and complete
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
	struct leftover leftover;
	bool is_written;
	uint64_t wall_ns;
	uint64_t cpu_ns;
};

/* A task_fn: writes the temporary file; @context is a struct file_task. */
int file_task_run(void *context, struct diag *diag);

/* After it: gives the file its name.  Return: 0 or negative errno, @diag filled. */
int file_task_publish(struct file_task *task, struct diag *diag);

/* Removes the temporary file if there is one; to be called for each task in the
   end. */
void file_task_withdraw(struct file_task *task);

#endif /* REPORT_FILE_TASK_H */
