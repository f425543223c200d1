/* SPDX-License-Identifier: MIT */
#include "tracer/code_patch.h"

#include <string.h>
#include <sys/mman.h>

#include "tracer/code_move.h"
#include "tracer/compiler.h"
#include "tracer/sys.h"

enum {
	PAGE = 4096,
	ISLAND_BYTES = 64 << 10,
	STUB_BYTES = 32,
	SLOT_BYTES = 2 * STUB_BYTES + CODE_MOVED_MAX,
	DISTANCE_STEP = 1 << 20,
	DISTANCE_MAX = 1 << 30,
};

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#if defined(__x86_64__)

/**
 * struct island - where stubs and moved code are, near what was patched last
 * @start: 0: none yet
 * @used:  bytes of it
 */
static struct {
	uintptr_t start;
	size_t used;
} island;

bool code_patch_is_possible(void)
{
	return true;
}

/* Safety: system call.  Return: @bytes at @addr exactly, or 0. */
static uintptr_t map_at(uintptr_t addr, size_t bytes)
{
	void *p = sys_mmap((void *)addr, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			   -1, 0);

	if (sys_mmap_failed(p))
		return 0;
	if ((uintptr_t)p == addr)
		return addr;
	sys_munmap(p, bytes); /* a kernel before 4.17 */
	return 0;
}

/* Safety: pure.  Whether a jump can reach all of the island from @function. */
static bool is_near(uintptr_t function)
{
	uintptr_t low = island.start, high = low + ISLAND_BYTES;

	return low && (function < low ? high - function : function - low) <
			  DISTANCE_MAX + (uintptr_t)DISTANCE_MAX / 2;
}

/*
 * Below the function is free more often: above the executable is its heap,
 * which wants to grow.
 *
 * Safety: system calls.  Return: whether there is room for one more slot.
 */
static bool find_island(uintptr_t function)
{
	uintptr_t base = function & ~(uintptr_t)(PAGE - 1);

	if (is_near(function) && island.used + SLOT_BYTES <= ISLAND_BYTES)
		return true;
	for (uintptr_t d = DISTANCE_STEP; d < DISTANCE_MAX;
	     d += DISTANCE_STEP) {
		uintptr_t start = base > d ? map_at(base - d, ISLAND_BYTES) : 0;

		if (!start && base + d < (uintptr_t)1 << 47)
			start = map_at(base + d, ISLAND_BYTES);
		if (start) {
			island.start = start;
			island.used = 0;
			return true;
		}
	}
	return false;
}

/* Safety: system call.  Changes the pages that hold [@start, @start+@len). */
static bool protect(uintptr_t start, size_t len, int prot)
{
	uintptr_t first = start & ~(uintptr_t)(PAGE - 1);
	uintptr_t end = (start + len + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

	return SYS_CALL3(SYS_mprotect, first, end - first, prot) == 0;
}

/* Safety: the island can be written.  Sets r11 and jumps. */
static void put_stub(uint8_t *p, void *context, void (*target)(void))
{
	static const uint8_t load[] = {0x49, 0xbb};
	static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0};

	memcpy(p, load, sizeof(load));
	memcpy(p + 2, &context, 8);
	memcpy(p + 10, jump, sizeof(jump));
	memcpy(p + 16, &target, 8);
}

/* Safety: system calls; single thread.  Return: whether it was written. */
static bool put_jump(uintptr_t at, uintptr_t target)
{
	int32_t distance = (int32_t)(target - (at + CODE_JUMP_BYTES));
	uint8_t code[CODE_JUMP_BYTES] = {0xe9};

	memcpy(code + 1, &distance, sizeof(distance));
	if (!protect(at, sizeof(code), PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	memcpy((void *)at, code, sizeof(code));
	protect(at, sizeof(code), PROT_READ | PROT_EXEC);
	return true;
}

bool code_patch(const struct code_patch *patch)
{
	const uint8_t *function = (const uint8_t *)patch->function;
	uint8_t *slot;
	int skip;

	if (!find_island(patch->function) ||
	    !protect(island.start, ISLAND_BYTES, PROT_READ | PROT_WRITE))
		return false;
	slot = (uint8_t *)island.start + island.used;
	put_stub(slot, patch->context, patch->target);
	put_stub(slot + STUB_BYTES, patch->context, patch->beside);
	skip = code_move(function, patch->len, slot + 2 * STUB_BYTES);
	if (!protect(island.start, ISLAND_BYTES, PROT_READ | PROT_EXEC) ||
	    skip < 0)
		return false;
	*patch->original = slot + 2 * STUB_BYTES;
	if (!put_jump(patch->function + (size_t)skip, (uintptr_t)slot))
		return false;
	*patch->ret_beside = slot + STUB_BYTES;
	island.used += SLOT_BYTES;
	return true;
}

#else

bool code_patch_is_possible(void)
{
	return false;
}

bool code_patch(const struct code_patch *patch)
{
	(void)patch;
	return false;
}

#endif
