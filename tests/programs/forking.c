/* SPDX-License-Identifier: MIT */
/*
 * Forks while threads allocate.  The argument says how: "once", "chain" (each
 * child has a child, 5 deep), "storm" (8 children at once, 4 times), "daemon"
 * (twice, and the parents end), "wall" (once; both wait for children of every
 * kind until there are none).  Threads of the first process go on allocating all
 * the time.
 *
 * Every process that goes on has blocks of a size of its own, 10000 + n: n is
 * 0 in the first one, and told to the others.  It allocates 3 of them, before
 * any child is made, and frees what it inherited: the truth has a line
 * "process PID n".
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

enum {
	THREADS = 3,
	BLOCKS = 3,
	DEPTH = 5,
	CHILDREN = 8,
	ROUNDS = 4,
};

static atomic_bool done;
static void *blocks[BLOCKS];

static void *churn(void *arg)
{
	(void)arg;
	while (!done) {
		for (int i = 0; i < 50; i++) {
			void *p = malloc(100);

			TRUTH_KEEP(p);
			free(p);
		}
		usleep(1000);
	}
	return NULL;
}

/* What a process does that goes on, number @n. */
static void live(int n)
{
	truth("process %d %d\n", (int)getpid(), n);
	for (int i = 0; i < BLOCKS; i++) {
		void *inherited = blocks[i];

		blocks[i] = malloc(10000 + (size_t)n);
		TRUTH_KEEP(blocks[i]);
		free(inherited);
	}
}

static void wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		_exit(9);
}

static void chain(int n)
{
	pid_t pid;

	if (n == DEPTH)
		return;
	pid = fork();
	if (pid == 0) {
		live(n + 1);
		chain(n + 1);
		exit(0);
	}
	wait_for(pid);
}

static void storm(void)
{
	pid_t pids[CHILDREN];

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < CHILDREN; i++) {
			pids[i] = fork();
			if (pids[i] == 0) {
				live(1 + round * CHILDREN + i);
				exit(0);
			}
		}
		for (int i = 0; i < CHILDREN; i++)
			wait_for(pids[i]);
	}
}

/* The daemon is not our child: a pipe that nobody has open says it ended. */
static void daemonise(void)
{
	int ends[2];
	pid_t pid;
	char c;

	if (pipe(ends) != 0)
		_exit(8);
	pid = fork();
	if (pid == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		if (chdir("/") != 0)
			_exit(7);
		live(1);
		exit(0);
	}
	close(ends[1]);
	wait_for(pid);
	if (read(ends[0], &c, 1) != 0)
		_exit(6);
}

/* Enough for the tracer to have a process beside this one. */
static void wait_for_all(void)
{
	for (int i = 0; i < 40000; i++) {
		void *p = malloc(100);

		TRUTH_KEEP(p);
		free(p);
	}
	while (waitpid(-1, NULL, __WALL) > 0)
		;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t threads[THREADS];
	pid_t pid = -1;

	live(0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	if (strcmp(how, "once") == 0) {
		pid = fork();
		if (pid == 0) {
			live(1);
			return 0;
		}
		wait_for(pid);
	} else if (strcmp(how, "chain") == 0) {
		chain(0);
	} else if (strcmp(how, "storm") == 0) {
		storm();
	} else if (strcmp(how, "daemon") == 0) {
		daemonise();
	} else if (strcmp(how, "wall") == 0) {
		wait_for_all();
		pid = fork();
		if (pid == 0) {
			live(1);
			wait_for_all();
			exit(0);
		}
		wait_for_all();
	}
	done = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
