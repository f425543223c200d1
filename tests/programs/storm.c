/* SPDX-License-Identifier: MIT */
/*
 * Threads allocate while the main thread forks again and again and in the end
 * leaves with the threads still at work.  However long a fork takes, they
 * have so many blocks meanwhile and no more.  Argument: forks.
 * Truth: "forks N".  Children allocate a little, too, and end in three ways.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>

#include "truth.h"

enum {
	BLOCKS = 3000, /* of a thread, at each fork */
};

static atomic_size_t allowed;

static void *churn(void *arg)
{
	for (size_t i = 0;; i++) {
		while (i >= allowed)
			sched_yield();
		void *p = malloc(16 + i % 300);

		TRUTH_KEEP(p);
		free(p);
	}
	return arg;
}

static void child(long n)
{
	for (int i = 0; i < 50; i++) {
		void *p = malloc(66666);

		TRUTH_KEEP(p);
		free(p);
	}
	if (n % 3 == 0)
		_exit(0);
	if (n % 3 == 1)
		execl("/bin/true", "true", (char *)NULL);
	exit(0);
}

int main(int argc, char **argv)
{
	long forks = argc > 1 ? atol(argv[1]) : 100;
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	for (long n = 0; n < forks; n++) {
		int status;
		pid_t pid;

		allowed += BLOCKS;
		pid = fork();
		if (pid == 0)
			child(n);
		if (waitpid(pid, &status, 0) != pid || status != 0)
			return 3;
	}
	truth("forks %ld\n", forks);
	allowed = SIZE_MAX;
	return 0;
}
