/* SPDX-License-Identifier: MIT */
/* Built without `.eh_frame`, but for debugging. */
#include "truth.h"

void *inner(int n);
void *middle(int n);
void *middle_outer(int n);

TRUTH_NOINLINE void *middle(int n)
{
	char bytes[208];
	void *p;

	__asm__ volatile("" : : "r"(bytes) : "memory");
	p = inner(n);
	__asm__ volatile("" : : "r"(bytes) : "memory", "rbx", "r12");
	return p;
}

TRUTH_NOINLINE void *middle_outer(int n)
{
	void *p = middle(n + 1);

	TRUTH_KEEP(p);
	return p;
}
