/* SPDX-License-Identifier: MIT */
/*
 * One call site whose frame is FRAME_BYTES large: two builds of this differ in
 * nothing else, so the same return address has another rule in each.
 */
#include <stdlib.h>

void *plugin_allocate(void (*between)(void));

__attribute__((noinline)) static void *allocate(volatile char *frame,
						void (*between)(void))
{
	void *p = malloc(4001);

	frame[0] = 1;
	between();
	free(p);
	return p;
}

void *plugin_allocate(void (*between)(void))
{
	volatile char frame[FRAME_BYTES];
	void *p;

	frame[FRAME_BYTES - 1] = 0;
	p = allocate(frame, between);
	frame[1] = frame[0];
	return p;
}
