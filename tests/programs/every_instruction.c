/* SPDX-License-Identifier: MIT */
/*
 * Traps after each instruction, and maps memory in the handler: stacks at every
 * point of prologues and epilogues, of the PLT, of lazy binding and of signal
 * trampolines.  x86-64.  Argument: rounds.  Truth: "mapped N", and a line
 * "calls CALLER FUNCTION…" for each function here.
 */
#include <alloca.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "truth.h"

enum { MAP_BYTES = 3 * 4096 };

static volatile long mapped, sink;
static long (*volatile pointer)(long);

static void on_trap(int sig)
{
	void *p = mmap(NULL, MAP_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	(void)sig;
	munmap(p, MAP_BYTES);
	mapped++;
}

/* Sets the trap flag, or not. */
void set_trap(unsigned long bit);

__asm__(".text\n"
	".globl set_trap\n"
	".type set_trap, @function\n"
	"set_trap:\n"
	"	.cfi_startproc\n"
	"	pushfq\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	andq $~0x100, (%rsp)\n"
	"	orq %rdi, (%rsp)\n"
	"	popfq\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size set_trap, . - set_trap\n");

TRUTH_NOINLINE static long leaf(long n)
{
	return n * 3 + sink;
}

/* Saves all registers that it can. */
TRUTH_NOINLINE static long saves(long n)
{
	long a = leaf(n), b = leaf(a), c = leaf(b), d = leaf(c), e = leaf(d);

	__asm__ volatile("" : : : "rbx", "r12", "r13", "r14", "r15");
	sink += leaf(e);
	return a ^ b ^ c ^ d ^ e;
}

TRUTH_NOINLINE static long on_alloca(long n)
{
	char *p = alloca((size_t)(n & 63) + 16);

	memset(p, (int)n, 16);
	TRUTH_KEEP(p);
	return saves(n) + p[3];
}

TRUTH_NOINLINE static long realigned(long n, ...)
{
	long line[16] __attribute__((aligned(64)));

	line[3] = n;
	__asm__ volatile("" : : "r"(line) : "memory");
	return on_alloca(line[3]) + line[3];
}

/* More than one page, so that the compiler may probe the stack. */
TRUTH_NOINLINE static long large(long n)
{
	char page[20000];

	page[n & 4095] = 1;
	__asm__ volatile("" : : "r"(page) : "memory");
	return realigned(n) + page[n & 4095];
}

TRUTH_NOINLINE static long tailed(long n)
{
	return pointer(n + 1);
}

/* Through the PLT, the first time with lazy binding. */
TRUTH_NOINLINE static long library(long n)
{
	char text[64];
	void *p = NULL;

	snprintf(text, sizeof(text), "%ld", n & 7);
	sink += (long)strnlen(text, sizeof(text));
	TRUTH_KEEP(p);
	return labs(n) + atol(text);
}

TRUTH_NOINLINE static long early(long n)
{
	if (n & 1)
		return saves(n);
	sink += large(n);
	return tailed(n) + 1;
}

TRUTH_NOINLINE static void run(long n)
{
	set_trap(0x100);
	sink += early(n);
	sink += library(n);
	set_trap(0);
}

int main(int argc, char **argv)
{
	struct sigaction action;
	long rounds = argc > 1 ? atol(argv[1]) : 2;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_trap;
	sigaction(SIGTRAP, &action, NULL);
	pointer = large;
	for (long i = 0; i < rounds; i++)
		run(i);
	truth("mapped %ld\n", mapped);
	truth("calls main run\ncalls run early library set_trap\n");
	truth("calls early saves large tailed\ncalls tailed large\n");
	truth("calls large realigned\ncalls realigned on_alloca\n");
	truth("calls on_alloca saves\ncalls saves leaf\n");
	return 0;
}
