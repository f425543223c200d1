/* SPDX-License-Identifier: MIT */
/*
 * Independent pieces of work for a few threads.
 *
 * Which thread does what and when is left to chance; what comes out is not:
 * tasks share nothing that they change, unless one waits for the other, none is
 * begun after one has failed, and they are begun in the order they were added,
 * so the first one of those that failed would have been the first without
 * threads too.
 *
 * Layer: core.
 */
#ifndef REPORT_CORE_TASKS_H
#define REPORT_CORE_TASKS_H

#include <stddef.h>

struct diag;
struct tasks;

/* Return: 0 or negative errno, @diag filled. */
typedef int (*task_fn)(void *context, struct diag *diag);

/* @threads: that may be at work at once, the caller's among them.  Where
   threads cannot be made there are fewer.  Return: NULL when out of memory. */
struct tasks *tasks_new(unsigned threads);

/* @context is borrowed until tasks_finish().  With one thread it is done at
   once.  Return: 0 or -ENOMEM; how the task went tells tasks_finish(). */
int tasks_add(struct tasks *tasks, task_fn run, void *context);

/* Return: how many were added so far; by the thread that adds them. */
size_t tasks_count(const struct tasks *tasks);

/* By a task: waits until the first @count tasks, all added before it, are over.
   Return: 0; -ECANCELED if one failed, which is what tasks_finish() will say. */
int tasks_wait(struct tasks *tasks, size_t count);

/* Helps until all is done, and frees @tasks.  Return: 0, or what the first task
   returned that failed, with its @diag. */
int tasks_finish(struct tasks *tasks, struct diag *diag);

#endif /* REPORT_CORE_TASKS_H */
