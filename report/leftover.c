/* SPDX-License-Identifier: MIT */
#include "report/leftover.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* Those that others send and that end a process.  Not SIGPIPE: a thread gets it
   by writing, and no other can wait for it. */
static const int signals[] = {
	SIGINT,	 SIGTERM, SIGHUP,    SIGQUIT, SIGXCPU,
	SIGALRM, SIGPROF, SIGVTALRM, SIGUSR1, SIGUSR2,
};

/* A signal knows no caller, so these belong to the process. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct leftover *newest;
static sigset_t watched;
static void (*on_shorter)(void);

void leftovers_hold(void)
{
	pthread_mutex_lock(&lock);
}

void leftovers_release(void)
{
	pthread_mutex_unlock(&lock);
}

/* The newest first: a directory is made before what it holds. */
void leftovers_remove(void)
{
	pthread_mutex_lock(&lock);
	for (const struct leftover *at = newest; at; at = at->next)
		if (unlink(at->path))
			rmdir(at->path);
}

static void *watch(void *context)
{
	int number;

	(void)context;
	if (sigwait(&watched, &number))
		return NULL;
	leftovers_remove();
	signal(number, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &watched, NULL);
	raise(number);
	return NULL;
}

/* Whoever reads a mapped file does not hold the lock. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code == BUS_ADRERR) {
		leftovers_remove();
		on_shorter();
	}
	signal(number, SIG_DFL);
}

static void watch_bus_errors(void)
{
	struct sigaction action = { .sa_sigaction = on_bus_error,
				    .sa_flags = SA_SIGINFO };

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

void leftovers_watch(void (*shorter)(void))
{
	struct sigaction before;
	pthread_t thread;

	on_shorter = shorter;
	watch_bus_errors();
	sigemptyset(&watched);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &before) == 0 &&
		    before.sa_handler != SIG_IGN)
			sigaddset(&watched, signals[i]);
	if (pthread_sigmask(SIG_BLOCK, &watched, NULL))
		return;
	if (pthread_create(&thread, NULL, watch, NULL))
		pthread_sigmask(SIG_UNBLOCK, &watched, NULL);
	else
		pthread_detach(thread);
}

/* The lock is held. */
static void add(struct leftover *leftover, const char *path)
{
	*leftover = (struct leftover){ .path = path, .next = newest };
	if (newest)
		newest->before = leftover;
	newest = leftover;
}

/* What a run that was killed left goes; a link or a pipe of that name is nobody's
   to write to, and would not let this end. */
static FILE *create(const char *path)
{
	FILE *file;
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return NULL;
	file = fdopen(fd, "wb");
	if (!file) {
		close(fd);
		unlink(path);
	}
	return file;
}

FILE *leftover_create(struct leftover *leftover, const char *path)
{
	FILE *file;

	pthread_mutex_lock(&lock);
	file = create(path);
	if (file)
		add(leftover, path);
	pthread_mutex_unlock(&lock);
	return file;
}

void leftover_add(struct leftover *leftover, const char *path)
{
	pthread_mutex_lock(&lock);
	add(leftover, path);
	pthread_mutex_unlock(&lock);
}

void leftover_settle(struct leftover *leftover)
{
	if (!leftover->path)
		return;
	pthread_mutex_lock(&lock);
	if (leftover->next)
		leftover->next->before = leftover->before;
	if (leftover->before)
		leftover->before->next = leftover->next;
	else
		newest = leftover->next;
	leftover->path = NULL;
	pthread_mutex_unlock(&lock);
}
