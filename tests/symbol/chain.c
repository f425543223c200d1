/* SPDX-License-Identifier: MIT */
/* Calls inlined into each other; tests find lines by the comments on them. */

int outer(int x);
int plain(int x);

static inline __attribute__((always_inline)) int inner(int x)
{
	__asm__ volatile(".globl mark_inner\nmark_inner: nop"); /* at inner */
	return x + 1;
}

static inline __attribute__((always_inline)) int middle(int x)
{
	return inner(x) * 2; /* call inner */
}

__attribute__((noinline)) int outer(int x)
{
	return middle(x) + 3; /* call middle */
}

static __attribute__((noinline, used)) int local(int x)
{
	__asm__ volatile(".globl mark_local\nmark_local: nop"); /* at local */
	return x;
}

__attribute__((noinline)) int plain(int x)
{
	__asm__ volatile(".globl mark_plain\nmark_plain: nop"); /* at plain */
	return local(x);
}

#ifndef LIBRARY
int main(int argc, char **argv)
{
	return argv ? outer(argc) + plain(argc) : 0;
}
#endif
