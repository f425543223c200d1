/* SPDX-License-Identifier: MIT */
#include "tracer/heap.h"

#include <errno.h>
#include <string.h>

#include "tracer/compiler.h"
#include "tracer/pool.h"

enum {
	CLASS_MIN_SHIFT = 6,
	CLASS_MAX_SHIFT = 22,
	ALIGN_MIN = 16,
	ALIGN_MAX = 4096,
};

/**
 * struct block - the 16 bytes before what the caller gets
 * @size:  as asked for
 * @back:  bytes from the start of the whole block to what the caller gets
 * @shift: log2 of the whole block's size
 *
 * A free block holds the next one of its list at its start.
 */
struct block {
	uint64_t size;
	uint32_t back;
	uint32_t shift;
};

_Static_assert(sizeof(struct block) == ALIGN_MIN, "keeps the alignment");

HOT_DATA struct heap_region heap_regions[2] = {
	{ .bytes = 1 << 20 },
	{ .bytes = 32 << 20 },
};

/* @free lists are by size class. */
static struct {
	struct spinlock lock;
	void *free[CLASS_MAX_SHIFT + 1];
} heap;

/* Safety: pure.  Return: class of a block of @bytes in all. */
static unsigned get_shift(size_t bytes)
{
	unsigned shift = CLASS_MIN_SHIFT;

	while (((size_t)1 << shift) < bytes)
		shift++;
	return shift;
}

/* Safety: lock held.  Return: start of @bytes of @region, or 0. */
static uintptr_t cut(struct heap_region *region, size_t bytes)
{
	if (region->bytes - region->used < bytes)
		return 0;
	if (!region->base)
		region->base = (uintptr_t)pool_map(region->bytes);
	if (!region->base)
		return 0;
	region->used += bytes;
	return region->base + region->used - bytes;
}

/* Safety: lock held.  Return: start of a whole block, or 0. */
static uintptr_t take_extent(unsigned shift)
{
	size_t bytes = (size_t)1 << shift;
	uintptr_t extent = (uintptr_t)heap.free[shift];

	if (extent) {
		heap.free[shift] = *(void **)extent;
		return extent;
	}
	extent = cut(&heap_regions[0], bytes);
	return extent ? extent : cut(&heap_regions[1], bytes);
}

/* Safety: pure.  The bookkeeping of a block. */
static struct block *get_block(const void *p)
{
	return (struct block *)((uintptr_t)p - sizeof(struct block));
}

void *heap_alloc(size_t size, size_t align)
{
	uintptr_t extent = 0, p;
	uint64_t signals;
	unsigned shift;

	if (align < ALIGN_MIN)
		align = ALIGN_MIN;
	if (align <= ALIGN_MAX && size < (1 << CLASS_MAX_SHIFT) / 2) {
		shift = get_shift(size + align + sizeof(struct block));
		sys_signals_block(&signals);
		spinlock_take(&heap.lock);
		extent = take_extent(shift);
		spinlock_give(&heap.lock);
		sys_signals_restore(&signals);
	}
	if (!extent) {
		errno = ENOMEM;
		return NULL;
	}
	p = (extent + sizeof(struct block) + align - 1) & ~(align - 1);
	memset((void *)p, 0, size);
	*get_block((void *)p) =
	    (struct block){ .size = size,
			    .back = (uint32_t)(p - extent),
			    .shift = shift };
	return (void *)p;
}

void heap_free(void *p)
{
	struct block block = *get_block(p);
	uintptr_t extent = (uintptr_t)p - block.back;
	uint64_t signals;

	sys_signals_block(&signals);
	spinlock_take(&heap.lock);
	*(void **)extent = heap.free[block.shift];
	heap.free[block.shift] = (void *)extent;
	spinlock_give(&heap.lock);
	sys_signals_restore(&signals);
}

size_t heap_size(const void *p)
{
	return get_block(p)->size;
}

void heap_forget_lock(void)
{
	heap.lock = (struct spinlock){0};
}
