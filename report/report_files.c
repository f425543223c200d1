/* SPDX-License-Identifier: MIT */
#include "report/report_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/memory.h"
#include "report/core/tasks.h"
#include "report/core/vec.h"
#include "report/manifest.h"
#include "report/timings.h"

int report_files_make_directory(const char *path, struct diag *diag)
{
	char partial[4096];
	size_t len = strlen(path);

	if (!len || len >= sizeof(partial))
		return diag_set(diag, -ENAMETOOLONG, path, DIAG_NO_OFFSET,
				"not a usable directory name");
	memcpy(partial, path, len + 1);
	for (size_t i = 1; i <= len; i++) {
		if (partial[i] != '/' && partial[i] != '\0')
			continue;
		partial[i] = '\0';
		if (mkdir(partial, 0777) && errno != EEXIST)
			return diag_set(diag, -errno, partial, DIAG_NO_OFFSET,
					"cannot make the directory: %s",
					strerror(errno));
		partial[i] = path[i];
	}
	return 0;
}

int report_files_init(struct report_files *files, const char *directory,
		      struct arena *arena, unsigned threads, struct diag *diag)
{
	int status;

	*files = (struct report_files){
		.directory = directory,
		.arena = arena,
		.is_new = access(directory, F_OK) != 0,
	};
	if (files->is_new)
		leftover_add(&files->leftover, directory);
	status = report_files_make_directory(directory, diag);
	if (status == 0) {
		files->tasks = tasks_new(threads);
		status = files->tasks ? 0 : -ENOMEM;
	}
	if (status)
		leftover_settle(&files->leftover);
	return status;
}

int report_files_add(struct report_files *files, const char *name,
		     file_write_fn write, const void *format, const void *what,
		     enum file_needs needs)
{
	struct file_task *task = arena_alloc(files->arena, sizeof(*task));
	struct file_task **slot = task ? vec_push(files) : NULL;

	if (!slot)
		return -ENOMEM;
	*slot = task;
	*task = (struct file_task){
		.name = name,
		.path = arena_printf(files->arena, "%s/%s", files->directory,
				     name),
		.temporary = arena_printf(files->arena, "%s/.%s.tmp",
					  files->directory, name),
		.write = write,
		.format = format,
		.what = what,
		.needs = needs,
		.tasks = files->tasks,
	};
	if (!task->path || !task->temporary)
		return -ENOMEM;
	return needs == NEEDS_NOTHING
		       ? tasks_add(files->tasks, file_task_run, task)
		       : 0;
}

int report_files_start(struct report_files *files, size_t begin, size_t end,
		       size_t after)
{
	int status = 0;

	for (size_t i = begin; status == 0 && i < end; i++) {
		struct file_task *task = files->items[i];

		if (task->needs != NEEDS_TREES)
			continue;
		task->after = after;
		status = tasks_add(files->tasks, file_task_run, task);
	}
	return status;
}

int report_files_write_rows(struct report_files *files, struct diag *diag)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < files->count; i++)
		if (files->items[i]->needs == NEEDS_ROWS)
			status = file_task_run(files->items[i], diag);
	return status;
}

/* Files get their names if all are there and @status, of what there was to
   write, is 0; else none does.  A signal comes before that or after it.
   @names: of the files, NULL when out of memory.  Return: 0, @status or negative
   errno, @diag filled. */
static int publish(struct report_files *files, int status,
		   const char *const *names, struct diag *diag)
{
	/* A library that was refused memory may have gone on without. */
	if (status == 0 && (memory_refused() || !names))
		status = -ENOMEM;
	leftovers_hold();
	for (size_t i = 0; status == 0 && i < files->count; i++)
		status = file_task_publish(files->items[i], diag);
	if (status == 0)
		status = manifest_update(files->directory, names, files->count,
					 diag);
	leftovers_release();
	for (size_t i = 0; i < files->count; i++)
		file_task_withdraw(files->items[i]);
	return status;
}

int report_files_finish(struct report_files *files, int status,
			struct timings *timings, struct diag *diag)
{
	const char **names = calloc(files->count + 1, sizeof(*names));
	int written = tasks_finish(files->tasks, diag);

	for (size_t i = 0; names && i < files->count; i++) {
		const struct file_task *task = files->items[i];

		names[i] = task->name;
		timings_part(timings, task->name, task->wall_ns, task->cpu_ns);
	}
	/* As @diag: whoever waits for which file, the first task that failed. */
	if (written)
		status = written;
	status = publish(files, status, names, diag);
	if (status && files->is_new)
		rmdir(files->directory);
	leftover_settle(&files->leftover);
	free(names);
	vec_done(files);
	return status;
}
