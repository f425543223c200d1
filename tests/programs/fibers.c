/* SPDX-License-Identifier: MIT */
/*
 * Coroutines as boost.context makes them: a switch in assembly that saves the
 * registers a callee must, without call frame information, and nothing below
 * the coroutine's function but a label.  Their stacks are mapped, or come from
 * malloc, or lie in the frame of whoever runs them; they are unmapped, freed
 * and used again; some are begun in one thread and ended in another.
 * Arguments: rounds, threads.
 */
#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "truth.h"

enum {
	FIBERS = 12,
	STACK_BYTES = 32 << 10,
	SWITCHES = 40, /* of one coroutine */
};

/* Saves the registers, leaves the stack pointer in *save, takes the other's. */
void fiber_switch(void **save, void *to);
void fiber_start(void);

__asm__(".text\n"
	".globl fiber_switch\n"
	".type fiber_switch, @function\n"
	"fiber_switch:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size fiber_switch, . - fiber_switch\n"
	/* rbx: the function, r12: its argument, rbp: where it returns to. */
	".globl fiber_start\n"
	".type fiber_start, @function\n"
	"fiber_start:\n"
	"	mov %r12, %rdi\n"
	"	push %rbp\n"
	"	jmp *%rbx\n"
	"fiber_finish:\n"
	"	ud2\n"
	".size fiber_start, . - fiber_start\n"
	".globl fiber_finish\n");

extern const char fiber_finish[];

enum kind { MAPPED, ALLOCATED, IN_FRAME, KINDS };

struct fiber {
	void *self;
	void *caller;
	char *stack;
	enum kind kind;
	int depth;
	int switches;
	int finished;
};

static __thread long sum;

static void touch(size_t size)
{
	void *p = malloc(size);

	TRUTH_KEEP(p);
	free(p);
	sum++;
}

TRUTH_NOINLINE static void pause_at(struct fiber *fiber, int depth)
{
	char frame[64 + 8];

	__asm__ volatile("" : : "r"(frame) : "memory");
	touch(200 + (size_t)depth);
	if (depth > 0)
		pause_at(fiber, depth - 1);
	else
		fiber_switch(&fiber->self, fiber->caller);
	touch(300 + (size_t)depth);
}

/* A frame whose size is not known before. */
TRUTH_NOINLINE static void pause_on_alloca(struct fiber *fiber, int bytes)
{
	void *p = alloca((size_t)bytes);

	TRUTH_KEEP(p);
	touch(400);
	fiber_switch(&fiber->self, fiber->caller);
	touch(401);
}

static void fiber_main(struct fiber *fiber)
{
	for (int i = 0; i < fiber->switches; i++) {
		touch(100);
		if (i % 4 == 3)
			pause_on_alloca(fiber, 16 + i * 24);
		else
			pause_at(fiber, (fiber->depth + i) % 17);
	}
	fiber->finished = 1;
	fiber_switch(&fiber->self, fiber->caller);
}

static void prepare(struct fiber *fiber, char *in_frame, int n)
{
	void **top;

	memset(fiber, 0, sizeof(*fiber));
	fiber->kind = (enum kind)(n % KINDS);
	fiber->depth = n;
	fiber->switches = SWITCHES;
	if (fiber->kind == MAPPED)
		fiber->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else if (fiber->kind == ALLOCATED)
		fiber->stack = malloc(STACK_BYTES);
	else
		fiber->stack = in_frame + (size_t)n * STACK_BYTES;
	/* As fiber_switch() leaves them, from r15 on; then aligned, empty. */
	top = (void **)(void *)(fiber->stack + STACK_BYTES) - 9;
	memset(top, 0, 9 * sizeof(*top));
	top[3] = fiber;
	top[4] = (void *)(uintptr_t)fiber_main;
	top[5] = (void *)(uintptr_t)fiber_finish;
	top[6] = (void *)(uintptr_t)fiber_start;
	fiber->self = top;
}

static void release(struct fiber *fiber)
{
	if (fiber->kind == MAPPED)
		munmap(fiber->stack, STACK_BYTES);
	else if (fiber->kind == ALLOCATED)
		free(fiber->stack);
}

/* Runs those that are not finished, @turns times each. */
TRUTH_NOINLINE static int resume_all(struct fiber *fibers, int turns)
{
	int left = 0;

	for (int turn = 0; turn < turns; turn++) {
		left = 0;
		for (int i = 0; i < FIBERS; i++) {
			if (fibers[i].finished)
				continue;
			fiber_switch(&fibers[i].caller, fibers[i].self);
			touch(500);
			left++;
		}
	}
	return left;
}

TRUTH_NOINLINE static void resume_at(struct fiber *fibers, int depth)
{
	if (depth > 0)
		resume_at(fibers, depth - 1);
	else
		resume_all(fibers, 3);
	touch(600);
}

/* Another thread carries on. */
static void *take_over(void *arg)
{
	resume_at(arg, 5);
	return NULL;
}

TRUTH_NOINLINE static void one_round(int round)
{
	char in_frame[FIBERS * STACK_BYTES]
	    __attribute__((aligned(16)));
	struct fiber fibers[FIBERS];
	pthread_t thread;

	for (int i = 0; i < FIBERS; i++)
		prepare(&fibers[i], in_frame, i);
	resume_all(fibers, 4);
	resume_at(fibers, round % 23);
	if (round % 10 == 0 &&
	    pthread_create(&thread, NULL, take_over, fibers) == 0)
		pthread_join(thread, NULL);
	while (resume_all(fibers, 1))
		;
	for (int i = 0; i < FIBERS; i++)
		release(&fibers[i]);
}

static long rounds;

static void *run(void *arg)
{
	for (long i = 0; i < rounds; i++)
		one_round((int)i);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[8];
	int count = argc > 2 ? atoi(argv[2]) : 0;

	rounds = argc > 1 ? atol(argv[1]) : 10;
	for (int i = 0; i < count && i < 8; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	run(NULL);
	for (int i = 0; i < count && i < 8; i++)
		pthread_join(threads[i], NULL);
	truth("done %ld\n", sum);
	return 0;
}
