/* SPDX-License-Identifier: MIT */
#include "report/core/tasks.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "report/core/diag.h"
#include "report/core/vec.h"

struct task {
	task_fn run;
	void *context;
	bool is_over;
	int status;
	struct diag *diag; /* NULL unless it failed */
};

/**
 * struct tasks
 * @lock:    guards what follows; tasks are run without it
 * @changed: there is one more, one is over, or @is_closed
 * @items:   pointers, since the array grows while tasks run
 * @begun:   tasks that somebody has taken
 * @failed:  one has failed
 * @is_closed: no more will come
 */
struct tasks {
	pthread_t *threads;
	unsigned thread_count;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct task **items;
	size_t count;
	size_t capacity;
	size_t begun;
	bool failed;
	bool is_closed;
};

/* Return: the next task, NULL if there is none.  The lock is held. */
static struct task *task_take(struct tasks *tasks)
{
	if (tasks->failed || tasks->begun == tasks->count)
		return NULL;
	return tasks->items[tasks->begun++];
}

static void task_run(struct tasks *tasks, struct task *task)
{
	struct diag diag = { .offset = DIAG_NO_OFFSET };

	task->status = task->run(task->context, &diag);
	if (task->status)
		task->diag = malloc(sizeof(diag));
	if (task->diag)
		*task->diag = diag;
	pthread_mutex_lock(&tasks->lock);
	task->is_over = true;
	tasks->failed |= task->status != 0;
	pthread_cond_broadcast(&tasks->changed);
	pthread_mutex_unlock(&tasks->lock);
}

/* Runs what there is.  @wait: until there can be no more. */
static void work(struct tasks *tasks, bool wait)
{
	pthread_mutex_lock(&tasks->lock);
	for (;;) {
		struct task *task = task_take(tasks);

		if (task) {
			pthread_mutex_unlock(&tasks->lock);
			task_run(tasks, task);
			pthread_mutex_lock(&tasks->lock);
		} else if (wait && !tasks->is_closed) {
			pthread_cond_wait(&tasks->changed, &tasks->lock);
		} else {
			break;
		}
	}
	pthread_mutex_unlock(&tasks->lock);
}

static void *worker(void *context)
{
	work(context, true);
	return NULL;
}

struct tasks *tasks_new(unsigned threads)
{
	struct tasks *tasks = calloc(1, sizeof(*tasks));

	if (!tasks)
		return NULL;
	tasks->threads = calloc(threads, sizeof(*tasks->threads));
	if (!tasks->threads) {
		free(tasks);
		return NULL;
	}
	pthread_mutex_init(&tasks->lock, NULL);
	pthread_cond_init(&tasks->changed, NULL);
	while (tasks->thread_count + 1 < threads &&
	       pthread_create(&tasks->threads[tasks->thread_count], NULL,
			      worker, tasks) == 0)
		tasks->thread_count++;
	return tasks;
}

int tasks_add(struct tasks *tasks, task_fn run, void *context)
{
	struct task *task = calloc(1, sizeof(*task));
	struct task **slot;

	if (!task)
		return -ENOMEM;
	task->run = run;
	task->context = context;
	pthread_mutex_lock(&tasks->lock);
	slot = vec_push(tasks);
	if (slot)
		*slot = task;
	pthread_cond_broadcast(&tasks->changed);
	pthread_mutex_unlock(&tasks->lock);
	if (!slot) {
		free(task);
		return -ENOMEM;
	}
	if (!tasks->thread_count)
		work(tasks, false);
	return 0;
}

size_t tasks_count(const struct tasks *tasks)
{
	return tasks->count;
}

int tasks_wait(struct tasks *tasks, size_t count)
{
	bool failed = false;

	pthread_mutex_lock(&tasks->lock);
	for (size_t i = 0; i < count && !failed; i++) {
		struct task *task = tasks->items[i];

		while (!task->is_over && i < tasks->begun)
			pthread_cond_wait(&tasks->changed, &tasks->lock);
		failed = !task->is_over || task->status;
	}
	pthread_mutex_unlock(&tasks->lock);
	return failed ? -ECANCELED : 0;
}

int tasks_finish(struct tasks *tasks, struct diag *diag)
{
	int status = 0;

	pthread_mutex_lock(&tasks->lock);
	tasks->is_closed = true;
	pthread_cond_broadcast(&tasks->changed);
	pthread_mutex_unlock(&tasks->lock);
	work(tasks, false);
	for (unsigned i = 0; i < tasks->thread_count; i++)
		pthread_join(tasks->threads[i], NULL);
	for (size_t i = 0; i < tasks->count; i++) {
		struct task *task = tasks->items[i];

		if (task->status && !status) {
			status = task->status;
			if (diag && task->diag)
				*diag = *task->diag;
		}
		free(task->diag);
		free(task);
	}
	vec_done(tasks);
	pthread_cond_destroy(&tasks->changed);
	pthread_mutex_destroy(&tasks->lock);
	free(tasks->threads);
	free(tasks);
	return status;
}
