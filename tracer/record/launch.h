/* SPDX-License-Identifier: MIT */
/* Running the program to be traced, and standing aside while it runs. */
#ifndef TRACER_RECORD_LAUNCH_H
#define TRACER_RECORD_LAUNCH_H

#include <stdint.h>
#include <sys/types.h>

/**
 * struct launch_result - how it went
 * @pid:            of the program
 * @wait_status:    as waitpid() gives it
 * @peak_rss_bytes: the kernel's high-water mark
 */
struct launch_result {
	pid_t pid;
	int wait_status;
	uint64_t peak_rss_bytes;
};

/**
 * launch_run() - run @argv with the present environment and wait for its end
 *
 * INT, TERM, HUP, QUIT, USR1, USR2 and WINCH sent to this process are passed
 * on; those of the terminal reach the program anyway.
 *
 * Safety: single thread; changes the signal mask of this process.
 *
 * Return: 0; or the positive errno for which the program could not be
 *         executed.
 */
int launch_run(char *const argv[], struct launch_result *ret);

/*
 * Ends this process the way the program ended.
 * Safety: single thread.  Does not return.
 */
_Noreturn void launch_exit_like(int wait_status);

#endif /* TRACER_RECORD_LAUNCH_H */
