/* SPDX-License-Identifier: MIT */
/*
 * malloc and its family.
 *
 * Order: an allocation is recorded after the real call, a release before it.
 * The real call is made outside the guard, so that what another allocator
 * maps or allocates inside it is recorded too; where that was the very block
 * returned (reallocarray calling realloc), the outer call is not.
 *
 * Safety (all hooks): before start-up: yes.  Signal handler: as safe as the
 * real function.  After fork: yes.  Allocates, locks: the real function, and
 * event.h.  errno: the real function's.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "tracer/compiler.h"
#include "tracer/event.h"
#include "tracer/heap.h"
#include "tracer/modules.h"
#include "tracer/real.h"
#include "tracer/state.h"
#include "tracer/tls.h"

#define CALLER() ((uintptr_t)__builtin_return_address(0))

/* Safety: anywhere.  Whether a call inside the real one recorded @p. */
static inline bool is_recorded(const void *p, uint64_t serial)
{
	return tls.serial != serial && tls.last_block == (uintptr_t)p;
}

/* Safety: as the hooks.  Records a new block unless a nested call has. */
static inline void record_block(enum trace_event_kind kind, void *p,
				size_t size, size_t align, uint64_t serial,
				uintptr_t caller)
{
	struct event_block block = {
	    .kind = kind, .addr = (uintptr_t)p, .size = size, .align = align};

	if (!p || !state_on() || is_recorded(p, serial))
		return;
	block.usable = real_usable(p);
	event_alloc(&block, caller);
}

/*
 * Whether the tracer itself caused this call: it asked the C library for
 * something, or its unwinder made the loader allocate thread-local storage.
 * Also while the real functions are not known.
 *
 * Safety: anywhere.
 */
static inline bool is_internal(uintptr_t caller)
{
	if (LIKELY(!tls.guard && real.resolved))
		return false;
	if (tls.guard & GUARD_INTERNAL)
		return true;
	return tls.guard ? modules_is_loader(caller) : !real_resolve();
}

HOOK HOT void *malloc(size_t size)
{
	uint64_t serial = tls.serial;
	void *p;

	if (UNLIKELY(is_internal(CALLER())))
		return heap_alloc(size, 0);
	p = real.malloc(size);
	record_block(TRACE_EVENT_MALLOC, p, size, 0, serial, CALLER());
	return p;
}

/* Safety: as the hooks. */
static COLD void *heap_calloc(size_t count, size_t size)
{
	size_t total;

	if (!__builtin_mul_overflow(count, size, &total))
		return heap_alloc(total, 0);
	errno = ENOMEM;
	return NULL;
}

HOOK HOT void *calloc(size_t count, size_t size)
{
	uint64_t serial = tls.serial;
	void *p;

	if (UNLIKELY(is_internal(CALLER())))
		return heap_calloc(count, size);
	p = real.calloc(count, size);
	record_block(TRACE_EVENT_CALLOC, p, count * size, 0, serial, CALLER());
	return p;
}

HOOK HOT void free(void *p)
{
	if (UNLIKELY(heap_owns(p))) {
		heap_free(p);
		return;
	}
	if (!p || UNLIKELY(!real_ready()))
		return;
	event_free(TRACE_EVENT_FREE, (uintptr_t)p, CALLER());
	real.free(p);
}

/* Safety: as the hooks.  realloc of a block that is the tracer's, or will be.
 */
static COLD void *realloc_internal(void *old, size_t size, bool internal)
{
	size_t old_size = old ? heap_size(old) : 0;
	void *p = internal ? heap_alloc(size, 0) : malloc(size);

	if (p && old) {
		memcpy(p, old, old_size < size ? old_size : size);
		heap_free(old);
	}
	return p;
}

/*
 * What a realloc did, once it is known.  A failed one leaves the block as it
 * was and is not recorded; realloc(p, 0) may return NULL having freed it.
 *
 * Safety: as the hooks.
 */
static void record_realloc(void *old, void *p, size_t size, uint64_t tick,
			   uint64_t serial, uintptr_t caller)
{
	struct event_block block = {
	    .kind = TRACE_EVENT_MALLOC, .addr = (uintptr_t)p, .size = size};

	if (!state_on())
		return;
	if (p) {
		if (is_recorded(p, serial))
			return;
		block.usable = real_usable(p);
		if (old)
			event_realloc((uintptr_t)old, &block, tick, caller);
		else
			event_alloc(&block, caller);
	} else if (old && size == 0) {
		event_free_at(TRACE_EVENT_FREE, (uintptr_t)old, tick, caller);
	}
}

HOOK void *realloc(void *old, size_t size)
{
	uint64_t serial = tls.serial;
	uint64_t tick;
	void *p;

	if (UNLIKELY(heap_owns(old)))
		return realloc_internal(old, size, is_internal(CALLER()));
	if (UNLIKELY(!old && is_internal(CALLER())))
		return heap_alloc(size, 0);
	tick = event_get_tick(CALLER());
	p = real.realloc(old, size);
	record_realloc(old, p, size, tick, serial, CALLER());
	return p;
}

HOOK void *reallocarray(void *old, size_t count, size_t size)
{
	uint64_t serial = tls.serial;
	uint64_t tick;
	size_t total;
	void *p;

	if (UNLIKELY(heap_owns(old) || is_internal(CALLER()))) {
		if (!__builtin_mul_overflow(count, size, &total))
			return realloc(old, total);
		errno = ENOMEM;
		return NULL;
	}
	tick = event_get_tick(CALLER());
	p = real.reallocarray(old, count, size);
	if (tls.serial == serial)
		record_realloc(old, p, count * size, tick, serial, CALLER());
	return p;
}

HOOK int posix_memalign(void **ret, size_t align, size_t size)
{
	uint64_t serial = tls.serial;
	int err;

	if (UNLIKELY(is_internal(CALLER()))) {
		*ret = heap_alloc(size, align);
		return *ret ? 0 : ENOMEM;
	}
	err = real.posix_memalign(ret, align, size);
	if (err == 0)
		record_block(TRACE_EVENT_MEMALIGN, *ret, size, align, serial,
			     CALLER());
	return err;
}

HOOK void *aligned_alloc(size_t align, size_t size)
{
	uint64_t serial = tls.serial;
	void *p;

	if (UNLIKELY(is_internal(CALLER())))
		return heap_alloc(size, align);
	p = real.aligned_alloc(align, size);
	record_block(TRACE_EVENT_MEMALIGN, p, size, align, serial, CALLER());
	return p;
}

HOOK void *memalign(size_t align, size_t size)
{
	uint64_t serial = tls.serial;
	void *p;

	if (UNLIKELY(is_internal(CALLER())))
		return heap_alloc(size, align);
	p = real.memalign(align, size);
	record_block(TRACE_EVENT_MEMALIGN, p, size, align, serial, CALLER());
	return p;
}

/* Safety: pure.  Return: the page size. */
static size_t get_page_bytes(void)
{
	return getauxval(AT_PAGESZ);
}

HOOK void *valloc(size_t size)
{
	uint64_t serial = tls.serial;
	void *p;

	if (UNLIKELY(is_internal(CALLER())))
		return heap_alloc(size, get_page_bytes());
	p = real.valloc(size);
	record_block(TRACE_EVENT_MEMALIGN, p, size, get_page_bytes(), serial,
		     CALLER());
	return p;
}

HOOK void *pvalloc(size_t size)
{
	uint64_t serial = tls.serial;
	void *p;

	if (UNLIKELY(is_internal(CALLER())))
		return heap_alloc(size, get_page_bytes());
	p = real.pvalloc(size);
	record_block(TRACE_EVENT_MEMALIGN, p, size, get_page_bytes(), serial,
		     CALLER());
	return p;
}

HOOK int mallopt(int param, int value)
{
	int result;

	if (UNLIKELY(!real_ready()))
		return 0;
	result = real.mallopt(param, value);
	event_mallopt(param, value, result, CALLER());
	return result;
}
