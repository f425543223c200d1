/* SPDX-License-Identifier: MIT */
/*
 * A signal handler maps memory wherever the program is, and now and then
 * jumps out; the main program only maps, so nothing of the C library can be
 * left in a bad state.  Truth: "maps N" calls of mmap in all.
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "truth.h"

enum {
	SIGNALS = 3000, /* no jump afterwards, so that there is an end */
};

static sigjmp_buf back;
static volatile sig_atomic_t may_jump;
static volatile long maps, signals;

static void map_and_unmap(void)
{
	void *p =
	    mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	maps++;
	munmap(p, 8192);
}

static void on_alarm(int sig)
{
	(void)sig;
	map_and_unmap();
	if (++signals % 3 == 0 && may_jump && signals < SIGNALS)
		siglongjmp(back, 1);
}

int main(void)
{
	struct itimerval timer = {{0, 200}, {0, 200}};
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_alarm;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (signals < SIGNALS) {
		sigsetjmp(back, 1);
		may_jump = 1;
		for (int i = 0; i < 50; i++)
			map_and_unmap();
		may_jump = 0;
	}
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int i = 0; i < 123; i++) {
		void *p = malloc(9999);

		TRUTH_KEEP(p);
	}
	truth("maps %ld\n", maps);
	return 0;
}
