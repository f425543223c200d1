/* SPDX-License-Identifier: MIT */
/*
 * Why a malloc() and not a counter in every table: half of the memory of some
 * reports is that of libraries (debug information, JSON, XML), and a counter
 * that is forgotten in one place is a guess again.  Why not setrlimit(): it
 * cannot say that it was reached, so a library that goes on without memory
 * (names of functions, say) would make another report and not an error.
 */
#include "report/core/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_OWN_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_OWN_MALLOC 0
#endif
#endif
#ifndef HAS_OWN_MALLOC
#define HAS_OWN_MALLOC 1
#endif

static atomic_uint_least64_t limit = MEMORY_NO_LIMIT;
static atomic_uint_least64_t used;
static atomic_bool refused;
static struct memory_refusal first_refusal; /* written by who sets refused */
static _Atomic(const char *) phase;
static _Thread_local const char *purpose;
static _Thread_local bool insisting;
static void (*on_end)(void);

void memory_set_limit(uint64_t bytes)
{
	/* Large blocks in maps of their own, whatever was freed before: a table
	   that grows is moved, not copied, and leaves no hole behind.  What is
	   in use and what is resident stay close that way. */
	mallopt(M_MMAP_THRESHOLD, 256 * 1024);
	mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
	/* Where resident memory need not be kept small, a thread's small blocks
	   need no page of their own to be asked for again and again. */
	if (bytes == MEMORY_NO_LIMIT)
		mallopt(M_TOP_PAD, 16 * 1024 * 1024);
	limit = bytes;
}

uint64_t memory_limit(void)
{
	return limit;
}

uint64_t memory_used(void)
{
	return used;
}

bool memory_refused(void)
{
	return refused;
}

struct memory_refusal memory_refusal(void)
{
	return first_refusal;
}

void memory_set_phase(const char *what)
{
	phase = what;
}

void memory_set_purpose(const char *what)
{
	purpose = what;
}

void memory_insist(bool insists)
{
	insisting = insists;
}

void memory_set_end(void (*end)(void))
{
	on_end = end;
}

void memory_end(void)
{
	for (;;)
		if (on_end)
			on_end();
}

void memory_forgive(void)
{
	refused = false;
	first_refusal = (struct memory_refusal){ 0 };
}

size_t memory_share(unsigned part, size_t most)
{
	uint64_t share = limit / part;

	return share < most ? (size_t)share : most;
}

bool memory_spares(size_t bytes)
{
	uint64_t most = limit;

	most -= most / 4;
	return bytes <= most && used <= most - bytes;
}

#if HAS_OWN_MALLOC

enum { SMALL_BYTES = 64 * 1024, TABLE_BYTES = 128 * 1024 };

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

/*
 * The C library's, or those of a library preloaded to trace this program.
 */
static struct {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *block, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void (*free)(void *block);
} next = {
	.malloc = __libc_malloc,
	.calloc = __libc_calloc,
	.realloc = __libc_realloc,
	.memalign = __libc_memalign,
	.free = __libc_free,
};

#define NEXT(name)                                              \
	do {                                                    \
		void *found = dlsym(RTLD_NEXT, #name);          \
                                                                \
		if (found)                                      \
			memcpy(&next.name, &found, sizeof(found)); \
	} while (0)

__attribute__((constructor)) static void next_find(void)
{
	NEXT(malloc);
	NEXT(calloc);
	NEXT(realloc);
	NEXT(memalign);
	NEXT(free);
}

/*
 * Some libraries end the process when they get no memory (cmark, libiberty), and
 * messages need a little of it.  So small requests are granted even beyond the
 * limit, and a sixteenth of it is kept for them; the run fails all the same.
 * What grows with a trace comes in large ones.
 */
static bool allow(size_t size)
{
	uint64_t most = limit, now = used;
	bool is_small = size < SMALL_BYTES;

	if (!is_small)
		most -= most / 16;
	if (size <= most && now <= most - size)
		return true;
	if (!atomic_exchange(&refused, true))
		first_refusal = (struct memory_refusal){
			.bytes = size,
			.used = now,
			.purpose = purpose ? purpose : phase,
		};
	if (is_small || insisting)
		return true;
	errno = ENOMEM;
	return false;
}

static void *count(void *block)
{
	if (block)
		atomic_fetch_add_explicit(&used, malloc_usable_size(block),
					  memory_order_relaxed);
	return block;
}

static void uncount(size_t size)
{
	atomic_fetch_sub_explicit(&used, size, memory_order_relaxed);
}

/*
 * A large block of zeroes becomes a hash table, and that is read before it is
 * written.  Page by page, each read would map the page of zeroes and the write
 * after it replace that, which interrupts the other processors: all at once is
 * several times cheaper.
 */
static void *populate(void *block, size_t size)
{
#ifdef MADV_POPULATE_WRITE
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = ((uintptr_t)block + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)block + size) & ~(page - 1);
	int saved = errno;

	if (block && size >= TABLE_BYTES && end > begin)
		madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
	errno = saved;
#endif
	return block;
}

void *malloc(size_t size)
{
	return allow(size) ? count(next.malloc(size)) : NULL;
}

void *calloc(size_t number, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(number, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	if (!allow(total))
		return NULL;
	return count(populate(next.calloc(number, size), total));
}

void *realloc(void *block, size_t size)
{
	size_t before = block ? malloc_usable_size(block) : 0;
	void *result;

	if (size > before && !allow(size - before))
		return NULL;
	result = next.realloc(block, size);
	if (result || !size)
		uncount(before);
	return count(result);
}

void free(void *block)
{
	if (!block)
		return;
	uncount(malloc_usable_size(block));
	next.free(block);
}

void *memalign(size_t alignment, size_t size)
{
	return allow(size) ? count(next.memalign(alignment, size)) : NULL;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	void *block;

	if (alignment % sizeof(void *) || !alignment ||
	    (alignment & (alignment - 1)))
		return EINVAL;
	block = memalign(alignment, size);
	if (!block)
		return ENOMEM;
	*ret = block;
	return 0;
}

#endif
