/* SPDX-License-Identifier: MIT */
/*
 * Stacks that end in a word that is no return address: allocations in code
 * without tables whose frame record holds a small number.
 *   no_address ROUNDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__x86_64__)
/* Calls malloc and free below a frame record {0, @number}. */
void allocate_below(uintptr_t number);

__asm__(".text\n"
	".type allocate_below, @function\n"
	"allocate_below:\n"
	"	push	%rbp\n"
	"	mov	%rsp, %rax\n"
	"	push	%rdi\n"
	"	push	$0\n"
	"	mov	%rsp, %rbp\n"
	"	push	%rax\n"
	"	sub	$8, %rsp\n"
	"	mov	$24, %edi\n"
	"	call	malloc@PLT\n"
	"	mov	%rax, %rdi\n"
	"	call	free@PLT\n"
	"	add	$8, %rsp\n"
	"	pop	%rsp\n"
	"	pop	%rbp\n"
	"	ret\n");
#else
static void allocate_below(uintptr_t number)
{
	free(malloc(number + 1));
}
#endif

static void *run(void *arg)
{
	static const uintptr_t numbers[] = {0, 8, 2047, 2048, 0x3fff, 0x4000};
	long rounds = *(const long *)arg;

	for (long i = 0; i < rounds; i++) {
		for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
			allocate_below(numbers[k]);
		free(malloc(5));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1;
	pthread_t thread;

	run(&rounds);
	if (pthread_create(&thread, NULL, run, &rounds) != 0)
		return 1;
	return pthread_join(thread, NULL);
}
