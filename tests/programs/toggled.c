/* SPDX-License-Identifier: MIT */
/*
 * For each byte that it reads, 100 blocks of as many thousand bytes as the
 * byte's code, one of every eleven of which it frees; then it writes the byte.
 * The argument "child" has a forked child killed by SIGUSR1 first, "caught"
 * installs a handler for SIGUSR1, which writes "!", "waited" waits for that
 * signal after each byte, and "inside" does something else: blocks of 1000 to
 * 1999 bytes, one after another, while a thread sends 16 SIGUSR1.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "truth.h"

static void say(char c)
{
	if (write(1, &c, 1) != 1)
		_exit(98);
}

static void on_signal(int signal)
{
	(void)signal;
	say('!');
}

static void kill_child(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		raise(SIGUSR1);
		_exit(9);
	}
	waitpid(child, &status, 0);
	say(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1 ? '+' : '-');
}

static void allocate(unsigned char byte)
{
	for (int i = 0; i < 100; i++) {
		void *p = malloc(byte * (size_t)1000);

		TRUTH_KEEP(p);
		if (i % 11 == 0)
			free(p);
	}
}

static pthread_t main_thread;
static volatile size_t block_count;
static volatile int is_done;

static void *send_signals(void *arg)
{
	for (int i = 0; i < 16; i++) {
		size_t start = block_count;

		while (block_count < start + 200)
			sched_yield();
		pthread_kill(main_thread, SIGUSR1);
	}
	is_done = 1;
	return arg;
}

static int run_inside(void)
{
	pthread_t sender;

	main_thread = pthread_self();
	pthread_create(&sender, NULL, send_signals, NULL);
	for (size_t i = 0; !is_done; i++) {
		void *p = malloc(1000 + i % 1000);

		TRUTH_KEEP(p);
		free(p);
		block_count = i;
	}
	pthread_join(sender, NULL);
	return 4;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int is_waiting = strcmp(mode, "waited") == 0;
	unsigned char byte;
	sigset_t set;
	int sig;

	if (strcmp(mode, "inside") == 0)
		return run_inside();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (strcmp(mode, "child") == 0)
		kill_child();
	if (strcmp(mode, "caught") == 0)
		signal(SIGUSR1, on_signal);
	if (is_waiting)
		sigprocmask(SIG_BLOCK, &set, NULL);
	while (read(0, &byte, 1) == 1) {
		allocate(byte);
		say((char)byte);
		if (is_waiting && sigwait(&set, &sig) == 0)
			say('.');
	}
	return 4;
}
