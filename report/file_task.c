/* SPDX-License-Identifier: MIT */
#include "report/file_task.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/core/diag.h"
#include "report/core/memory.h"
#include "report/core/sink.h"
#include "report/core/stopwatch.h"
#include "report/core/tasks.h"

static int file_fail(struct diag *diag, const char *path, int error)
{
	return diag_set(diag, error, path, DIAG_NO_OFFSET, "cannot write: %s",
			strerror(-error));
}

/* A larger buffer than the library's: a report can have a hundred megabytes. */
enum { FILE_BUFFER_BYTES = 1 << 18 };

static int file_write(struct file_task *task, FILE *file,
		      struct diag *diag)
{
	char *buffer = malloc(FILE_BUFFER_BYTES);
	struct sink sink;
	int status, done;

	if (buffer)
		setvbuf(file, buffer, _IOFBF, FILE_BUFFER_BYTES);
	sink_init_file(&sink, file);
	status = task->write(task->format, task->what, &sink, diag);
	done = sink_done(&sink);
	if (fclose(file) && !done)
		done = -errno;
	free(buffer);
	/* A library that was refused memory may have gone on without. */
	if (status == 0 && memory_refused())
		status = -ENOMEM;
	task->is_written = status == 0 && done == 0;
	if (!task->is_written)
		unlink(task->temporary);
	if (status == 0 && done)
		status = file_fail(diag, task->path, done);
	/* What draws a figure does not know where it goes. */
	if (status && diag->text[0] && !diag->file[0])
		snprintf(diag->file, sizeof(diag->file), "%s", task->path);
	return status;
}

int file_task_run(void *context, struct diag *diag)
{
	struct file_task *task = context;
	int status = tasks_wait(task->tasks, task->after);
	uint64_t wall_ns = stopwatch_ns();
	uint64_t cpu_ns = stopwatch_read(CLOCK_THREAD_CPUTIME_ID);
	FILE *file;

	if (status)
		return status;
	memory_set_purpose(task->name);
	file = leftover_create(&task->leftover, task->temporary);
	status = file ? file_write(task, file, diag)
		      : file_fail(diag, task->path, -errno);
	memory_set_purpose(NULL);
	task->wall_ns = stopwatch_ns() - wall_ns;
	task->cpu_ns = stopwatch_read(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	return status;
}

int file_task_publish(struct file_task *task, struct diag *diag)
{
	if (rename(task->temporary, task->path))
		return file_fail(diag, task->path, -errno);
	task->is_written = false;
	return 0;
}

void file_task_withdraw(struct file_task *task)
{
	if (task->is_written)
		unlink(task->temporary);
	task->is_written = false;
	leftover_settle(&task->leftover);
}
