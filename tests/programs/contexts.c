/* SPDX-License-Identifier: MIT */
/*
 * Allocation on coroutine stacks, on an alternate signal stack and in
 * cancelled threads.  Truth: "coroutine N", "handler N", "cancelled N".
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "truth.h"

enum {
	COROUTINES = 8,
	ROUNDS = 200,
	STACK_BYTES = 65536,
};

static ucontext_t home, contexts[COROUTINES];
static char stacks[COROUTINES][STACK_BYTES];
static volatile int handled;

TRUTH_NOINLINE static void in_coroutine(int self)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *p = malloc(7001);

		TRUTH_KEEP(p);
		swapcontext(&contexts[self],
			    &contexts[(self + 1) % COROUTINES]);
		free(p);
	}
	setcontext(self == COROUTINES - 1 ? &home : &contexts[self + 1]);
}

static void on_signal(int sig)
{
	void *p = malloc(7003);

	(void)sig;
	TRUTH_KEEP(p);
	free(p);
	handled++;
}

static void *cancelled(void *arg)
{
	pthread_setname_np(pthread_self(), "cancelled");
	for (;;) {
		void *p = malloc(7005);

		TRUTH_KEEP(p);
		free(p);
		pthread_testcancel();
	}
	return arg;
}

static void alternate_stack(void)
{
	static char memory[65536];
	stack_t stack;
	struct sigaction action;

	memset(&stack, 0, sizeof(stack));
	stack.ss_sp = memory;
	stack.ss_size = sizeof(memory);
	sigaltstack(&stack, NULL);
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 100; i++)
		raise(SIGUSR1);
}

int main(void)
{
	for (int i = 0; i < COROUTINES; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = STACK_BYTES;
		makecontext(&contexts[i], (void (*)(void))in_coroutine, 1, i);
	}
	swapcontext(&home, &contexts[0]);
	truth("coroutine %d\n", COROUTINES * ROUNDS);
	alternate_stack();
	truth("handler %d\n", handled);
	for (int i = 0; i < 20; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, cancelled, NULL);
		usleep(1000);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
	}
	truth("cancelled 20\n");
	return 0;
}
