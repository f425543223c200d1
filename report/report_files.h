/* SPDX-License-Identifier: MIT */
/*
 * The files of one report, written side by side and named when all are complete.
 */
#ifndef REPORT_REPORT_FILES_H
#define REPORT_REPORT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "report/file_task.h"

struct arena;
struct diag;
struct tasks;
struct timings;

/**
 * struct report_files
 * @arena:      has their names, borrowed
 * @items:      in the order they were added
 * @tasks:      write them; others may be added, too
 * @is_new:     there was no such directory
 * @leftover:   it, if it is new
 */
struct report_files {
	const char *directory;
	struct arena *arena;
	struct file_task **items;
	size_t count;
	size_t capacity;
	struct tasks *tasks;
	bool is_new;
	struct leftover leftover;
};

/* Makes @directory, which is borrowed, if it is missing.  @threads: as of
   tasks_new().  Return: 0, then to be ended by report_files_finish(); or
   negative errno with @diag filled. */
int report_files_init(struct report_files *files, const char *directory,
		      struct arena *arena, unsigned threads, struct diag *diag);

/* The file @name is to be written under a temporary name: by a task, begun by
   report_files_start() if it NEEDS_TREES; or by report_files_write_rows() if it
   NEEDS_ROWS.  All is borrowed until report_files_finish(), which tells how it
   went.  Return: 0 or -ENOMEM. */
int report_files_add(struct report_files *files, const char *name,
		     file_write_fn write, const void *format, const void *what,
		     enum file_needs needs);

/* Begins what NEEDS_TREES of the files from number @begin to @end - 1, each once
   @after tasks are over.  Return: 0 or -ENOMEM. */
int report_files_start(struct report_files *files, size_t begin, size_t end,
		       size_t after);

/* Writes the files that are left to this thread, one after another; the others
   are being written meanwhile.  Return: 0 or negative errno, @diag filled. */
int report_files_write_rows(struct report_files *files, struct diag *diag);

/* Waits for the files that were begun; names them, and to the manifest, unless
   @status, of what there is to write, says that something is missing.  What is
   not complete is removed.  Return: 0, @status or negative errno, @diag
   filled. */
int report_files_finish(struct report_files *files, int status,
			struct timings *timings, struct diag *diag);

/* Makes the directory @path and those above it, where they are not there yet.
   Return: 0, or negative errno with @diag filled. */
int report_files_make_directory(const char *path, struct diag *diag);

#endif /* REPORT_REPORT_FILES_H */
