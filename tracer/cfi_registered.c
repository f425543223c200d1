/* SPDX-License-Identifier: MIT */
#include "tracer/cfi_registered.h"

#include <stdatomic.h>
#include <string.h>

#include "tracer/compiler.h"
#include "tracer/pool.h"
#include "tracer/sys.h"

enum {
	BLOCK_MAX = 65536,
	BLOCK_BYTES_MAX = 16 << 20,
	CLASS_MIN = 7, /* copies have room for 2 to the power of this, or more */
	CLASS_COUNT = 18,
	ARENA_BYTES = 1 << 20,
	ARENA_PART_MAX = 64 << 10, /* larger copies are mapped by themselves */
	BUCKET_BITS = 13,
	PAGE = 4096,
};

/**
 * struct block - one that was registered, or room for one
 * @version: odd while it changes; readers look before and after
 * @size_class: room of @copy
 * @next:    in its bucket, or the next unused of its class; from 1
 * @serial:  grows from one registration to the next
 * @key:     0 when nothing is registered
 * @begin:   where the program has it
 * @range:   from the lowest to the highest address that its FDEs cover
 * @len:     of the copy
 */
struct block {
	_Atomic uint32_t version;
	uint32_t size_class;
	uint32_t next;
	_Atomic uint64_t serial;
	uintptr_t key;
	uintptr_t begin;
	struct cfi_range range;
	uint8_t *copy;
	_Atomic size_t len;
};

/**
 * struct registry - all of them
 * @blocks: BLOCK_MAX; NULL before the first
 * @count:  of blocks ever used
 * @serial: of the newest
 * @buckets: by key, newest first, as numbers from 1
 * @unused: the first unused one of each class, as a number from 1
 * @arena:  what small copies are cut from
 */
static struct {
	struct spinlock lock;
	struct block *_Atomic blocks;
	_Atomic uint32_t count;
	uint64_t serial;
	uint32_t buckets[1 << BUCKET_BITS];
	uint32_t unused[CLASS_COUNT];
	uint8_t *arena;
	size_t arena_left;
} registry;

/* Safety: anywhere.  Return: whether all of it can be read. */
static bool can_read(uintptr_t addr, size_t len)
{
	if (addr + len < addr)
		return false;
	for (uintptr_t page = addr & ~(uintptr_t)(PAGE - 1); page < addr + len;
	     page += PAGE)
		if (!sys_can_read((const void *)page))
			return false;
	return true;
}

/* Safety: as cfi_register().  Reads a number that may not be there. */
static uint32_t read_u32(uintptr_t addr)
{
	uint32_t v = 0;

	if (can_read(addr, sizeof(v)))
		memcpy(&v, (const void *)addr, sizeof(v));
	return v;
}

/*
 * Where a block ends is known from its records only.  Some programs hand over
 * single records of another library's kind, which nothing ends: what follows
 * must look like a record of the same block.
 *
 * Safety: as cfi_register().  Return: its length; 0 when it is empty.
 */
static size_t measure(uintptr_t begin)
{
	uintptr_t at = begin;

	for (;;) {
		uint32_t len = read_u32(at);
		uint32_t id = read_u32(at + 4);

		if (len < 4 || len > BLOCK_BYTES_MAX ||
		    at + 4 + len - begin > BLOCK_BYTES_MAX)
			break;
		if (id && id > at + 4 - begin)
			break;
		if (!can_read(at + 4, len))
			break;
		at += 4 + len;
	}
	return at - begin;
}

/* Safety: lock held.  Allocates: mmap.  Return: room for @len, or NULL. */
static uint8_t *take_room(size_t len)
{
	uint8_t *p = registry.arena;

	if (len > ARENA_PART_MAX)
		return pool_map(len);
	if (len > registry.arena_left) {
		p = pool_map(ARENA_BYTES);
		if (!p)
			return NULL;
		registry.arena_left = ARENA_BYTES;
	}
	registry.arena = p + len;
	registry.arena_left -= len;
	return p;
}

/* Safety: pure.  Return: the class whose room holds @len bytes. */
static uint32_t get_class(size_t len)
{
	uint32_t size_class = 0;

	while (((size_t)1 << (CLASS_MIN + size_class)) < len)
		size_class++;
	return size_class;
}

/* Safety: lock held.  Allocates: mmap.  Return: an unused block, or NULL. */
static struct block *take_block(uint32_t size_class)
{
	struct block *blocks = registry.blocks;
	struct block *block;

	if (!blocks) {
		blocks = pool_map(BLOCK_MAX * sizeof(*blocks));
		if (!blocks)
			return NULL;
		registry.blocks = blocks;
	}
	if (registry.unused[size_class]) {
		block = &blocks[registry.unused[size_class] - 1];
		registry.unused[size_class] = block->next;
		return block;
	}
	if (registry.count == BLOCK_MAX)
		return NULL;
	block = &blocks[registry.count];
	block->copy = take_room((size_t)1 << (CLASS_MIN + size_class));
	if (!block->copy)
		return NULL;
	block->size_class = size_class;
	registry.count++;
	return block;
}

/* Safety: pure.  Return: from the lowest to the highest address covered. */
static struct cfi_range get_range(const struct cfi_section *section)
{
	struct cfi_range all = {0}, one;
	uintptr_t addr = section->start;

	while (cfi_next(section, &addr, &one)) {
		if (one.start == one.end)
			continue;
		if (all.start == all.end)
			all = one;
		if (one.start < all.start)
			all.start = one.start;
		if (one.end > all.end)
			all.end = one.end;
	}
	return all;
}

/* Safety: pure.  The copy's bytes, counting as being where they were. */
static struct cfi_section get_section(const struct block *block)
{
	uintptr_t start = (uintptr_t)block->copy;

	return (struct cfi_section){.start = start,
				    .end = start + block->len,
				    .shift = block->begin - start};
}

/* Safety: lock held.  Readers see a version that is odd, then a new one. */
static void begin_change(struct block *block)
{
	atomic_fetch_add_explicit(&block->version, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

/* Safety: lock held. */
static void end_change(struct block *block)
{
	atomic_fetch_add_explicit(&block->version, 1, memory_order_release);
}

/* Safety: lock held.  Return: the first of the blocks that @key may be of. */
static uint32_t *get_bucket(uintptr_t key)
{
	uint64_t h = (uint64_t)key * UINT64_C(0x9e3779b97f4a7c15);

	return &registry.buckets[h >> (64 - BUCKET_BITS)];
}

/* Safety: lock held.  Allocates: mmap. */
static struct cfi_range add(uintptr_t key, uintptr_t begin, size_t len)
{
	struct block *block = take_block(get_class(len));
	struct cfi_section section;

	if (!block)
		return (struct cfi_range){0};
	begin_change(block);
	memcpy(block->copy, (const void *)begin, len);
	block->len = len;
	block->begin = begin;
	block->key = key;
	block->serial = ++registry.serial;
	section = get_section(block);
	block->range = get_range(&section);
	end_change(block);
	block->next = *get_bucket(key);
	*get_bucket(key) = (uint32_t)(block - registry.blocks) + 1;
	return block->range;
}

struct cfi_range cfi_register(uintptr_t key, uintptr_t begin)
{
	struct cfi_range range = {0};
	size_t len = measure(begin);
	uint64_t signals;

	if (!len)
		return range;
	sys_signals_block(&signals);
	if (spinlock_take_bounded(&registry.lock)) {
		range = add(key, begin, len);
		spinlock_give(&registry.lock);
	}
	sys_signals_restore(&signals);
	return range;
}

/* Safety: lock held. */
static bool remove_newest(uintptr_t key, struct cfi_range *ret)
{
	struct block *blocks = registry.blocks;
	uint32_t *link = get_bucket(key);
	uint32_t number;
	struct block *block;

	while (*link && blocks[*link - 1].key != key)
		link = &blocks[*link - 1].next;
	number = *link;
	if (!number)
		return false;
	block = &blocks[number - 1];
	*link = block->next;
	*ret = block->range;
	begin_change(block);
	block->key = 0;
	block->range = (struct cfi_range){0};
	end_change(block);
	block->next = registry.unused[block->size_class];
	registry.unused[block->size_class] = number;
	return true;
}

bool cfi_unregister(uintptr_t key, struct cfi_range *ret)
{
	uint64_t signals;
	bool found = false;

	if (!registry.count || !key)
		return false;
	sys_signals_block(&signals);
	if (spinlock_take_bounded(&registry.lock)) {
		found = remove_newest(key, ret);
		spinlock_give(&registry.lock);
	}
	sys_signals_restore(&signals);
	return found;
}

/*
 * The row may be of a block that changes meanwhile; then it counts for
 * nothing.  Its expressions stay readable, if not right: who uses them checks
 * rules.epoch.
 *
 * Safety: as cfi_find().
 */
static enum cfi_status find_in(struct block *block, uintptr_t pc,
			       struct cfi_row *ret)
{
	uint32_t version =
	    atomic_load_explicit(&block->version, memory_order_acquire);
	enum cfi_status status = CFI_NONE;
	struct cfi_section section;
	struct cfi_row row;

	if (version & 1 || pc < block->range.start || pc >= block->range.end)
		return CFI_NONE;
	section = get_section(block);
	if (section.end - section.start >
	    (size_t)1 << (CLASS_MIN + block->size_class))
		return CFI_NONE;
	status = cfi_scan(&section, section.start, pc, &row);
	atomic_thread_fence(memory_order_acquire);
	if (version !=
	    atomic_load_explicit(&block->version, memory_order_relaxed))
		return CFI_NONE;
	if (status == CFI_FOUND)
		*ret = row;
	return status;
}

/* Of blocks that cover the same address the newest counts. */
enum cfi_status cfi_find_registered(uintptr_t pc, struct cfi_row *ret)
{
	uint32_t count =
	    atomic_load_explicit(&registry.count, memory_order_acquire);
	struct block *blocks = registry.blocks;
	enum cfi_status status = CFI_NONE;
	uint64_t newest = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t serial = blocks[i].serial;
		enum cfi_status one;

		if (serial <= newest)
			continue;
		one = find_in(&blocks[i], pc, ret);
		if (one == CFI_NONE)
			continue;
		status = one;
		newest = serial;
	}
	return status;
}

uintptr_t cfi_table_entry(uintptr_t table, size_t i)
{
	uintptr_t at = table + i * sizeof(uintptr_t);
	uintptr_t entry = 0;

	if (can_read(at, sizeof(entry)))
		memcpy(&entry, (const void *)at, sizeof(entry));
	return entry;
}
