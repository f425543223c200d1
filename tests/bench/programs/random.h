/* SPDX-License-Identifier: MIT */
/* What the benchmark's programs share. */
#ifndef TESTS_BENCH_RANDOM_H
#define TESTS_BENCH_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* A call that the compiler keeps: one function, one frame. */
#define FRAME __attribute__((noinline))
/* Uses a block, so that its allocation is not optimised away. */
#define KEEP(p) __asm__ volatile("" : : "r"(p) : "memory")

/* xorshift64: the same sequence in every run; @state is never 0. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* One of 24 small sizes, or in one case of 64 of five larger ones: a program's
   sizes are those of its types. */
static inline size_t random_size(uint64_t random)
{
	if (random % 64 == 0)
		return (size_t)1024 << (random >> 8) % 5;
	return 16 * (1 + (random >> 8) % 24);
}

#endif /* TESTS_BENCH_RANDOM_H */
