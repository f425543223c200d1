/* SPDX-License-Identifier: MIT */
/*
 * Does what its arguments say, one after another:
 *   alloc     1000 blocks of 1000 + i bytes
 *   wait      says "ready" and waits for a byte
 *   thread    a second thread that allocates one block and then sleeps
 *   exec      tries to execute what does not exist
 *   sh        becomes a shell that exits with status 6
 *   kill      SIGKILL
 *   limit     no file may grow any more
 *   stderr:F  closes descriptor 2; the file F gets the number
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "truth.h"

static void allocate(void)
{
	for (int i = 0; i < 1000; i++) {
		void *p = malloc(1000 + (size_t)i);

		TRUTH_KEEP(p);
	}
}

static void wait_for_byte(void)
{
	char c;

	if (write(1, "ready\n", 6) != 6 || read(0, &c, 1) != 1)
		_exit(98);
}

static pthread_barrier_t barrier;

static void *sleep_for_ever(void *arg)
{
	void *p = malloc(77777);

	TRUTH_KEEP(p);
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return arg;
}

static void start_thread(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, sleep_for_ever, NULL);
	pthread_barrier_wait(&barrier);
}

static void limit_files(void)
{
	struct rlimit lim = { 0, 0 };

	setrlimit(RLIMIT_FSIZE, &lim);
}

static void step(const char *what)
{
	char *argv[] = { "sh", "-c", "exit 6", NULL };

	if (!strcmp(what, "alloc"))
		allocate();
	else if (!strcmp(what, "wait"))
		wait_for_byte();
	else if (!strcmp(what, "thread"))
		start_thread();
	else if (!strcmp(what, "exec"))
		execv("/nonexistent", argv);
	else if (!strcmp(what, "sh"))
		execv("/bin/sh", argv);
	else if (!strcmp(what, "kill"))
		kill(getpid(), SIGKILL);
	else if (!strcmp(what, "limit"))
		limit_files();
	else if (!strncmp(what, "stderr:", 7)) {
		close(2);
		if (open(what + 7, O_WRONLY | O_CREAT, 0600) != 2)
			_exit(97);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		step(argv[i]);
	return 0;
}
