/* SPDX-License-Identifier: MIT */
/* Seeded random numbers: splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
#ifndef TESTS_LIB_RANDOM_H
#define TESTS_LIB_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state;
};

static inline uint64_t random_u64(struct random *random)
{
	uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

__extension__ typedef unsigned __int128 random_u128;

/* Return: 0 … @limit - 1; @limit > 0. */
static inline uint64_t random_below(struct random *random, uint64_t limit)
{
	return (uint64_t)((random_u128)random_u64(random) * limit >> 64);
}

/* Return: a number of 0 to @bits_max bits, each length as likely. */
static inline uint64_t random_wide(struct random *random, unsigned bits_max)
{
	unsigned bits = (unsigned)random_below(random, bits_max + 1);

	return bits ? random_u64(random) >> (64 - bits) : 0;
}

#endif /* TESTS_LIB_RANDOM_H */
