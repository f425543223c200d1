/* SPDX-License-Identifier: MIT */
/*
 * Recording stopped and started among threads that allocate.  Thread t, from
 * 0, has aligned blocks of 64 + 8 i + t bytes, i from 0, and frees each at
 * once.
 * Arguments: threads (at most 8); how often to stop and start; "exit" or
 * "kill", how to end; "disabled" when recording is
 * off at first.
 *
 * The truth has a line "on T FIRST LAST" or "off T FIRST LAST" for the blocks
 * that a thread allocated while recording was surely on or off.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "truth.h"

#include "tracer/memprof.h"

enum {
	THREADS_MAX = 8,
	ENOUGH = 100, /* blocks in a phase, before it may end */
	MOST = 400,   /* blocks in a phase */
	PHASE_STEP = 1000,
};

enum phase { ON, STOPPING, OFF, STARTING, PHASES };

static atomic_int phase; /* counts; its kind is that modulo PHASES */
static atomic_int progress[THREADS_MAX]; /* phase and blocks in it */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void tell(int t, int seen, long first, long last)
{
	int kind = seen % PHASES;

	if ((kind != ON && kind != OFF) || last < first)
		return;
	pthread_mutex_lock(&lock);
	truth("%s %d %ld %ld\n", kind == ON ? "on" : "off", t, first, last);
	pthread_mutex_unlock(&lock);
}

static void *run(void *arg)
{
	int t = (int)(intptr_t)arg, seen = -1, now;
	long i = 0, first = 0, last = -1;

	for (int count = 0; (now = phase) >= 0;) {
		if (now != seen) {
			tell(t, seen, first, last);
			seen = now;
			first = i;
			last = i - 1;
			count = 0;
		} else if (count == MOST) {
			sched_yield();
		} else {
			void *p = aligned_alloc(
			    16, 64 + 8 * (size_t)i + (size_t)t);

			TRUTH_KEEP(p);
			free(p);
			if (phase == seen)
				last = i;
			i++;
			progress[t] = seen * PHASE_STEP + ++count;
		}
	}
	tell(t, seen, first, last);
	return NULL;
}

/* Waits for all threads to be in the midst of the phase. */
static void await_threads(int threads)
{
	for (int t = 0; t < threads; t++)
		while (progress[t] < phase * PHASE_STEP + ENOUGH)
			sched_yield();
}

static void next_phase(int threads)
{
	phase++;
	await_threads(threads);
}

int main(int argc, char **argv)
{
	int threads = argc > 3 ? atoi(argv[1]) : 0;
	pthread_t ids[THREADS_MAX];

	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	phase = argc > 4 ? STARTING : ON;
	for (intptr_t t = 0; t < threads; t++)
		pthread_create(&ids[t], NULL, run, (void *)t);
	await_threads(threads);
	if (chdir("/") != 0) /* files still go where the first one did */
		return 3;
	for (int i = atoi(argv[2]); i > 0; i--) {
		if (phase % PHASES == ON) {
			next_phase(threads); /* STOPPING */
			memprof_stop();
			next_phase(threads);
			next_phase(threads); /* STARTING */
		}
		memprof_start();
		next_phase(threads);
	}
	phase = -1;
	for (int t = 0; t < threads; t++)
		pthread_join(ids[t], NULL);
	if (strcmp(argv[3], "kill") == 0)
		kill(getpid(), SIGKILL);
	return 0;
}
