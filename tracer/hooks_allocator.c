/* SPDX-License-Identifier: MIT */
/*
 * One hook serves all functions: it takes five arguments, more than are looked
 * at, and the site that was called.
 *
 * An allocator calls itself by these names as well.  What is called inside
 * one of its functions goes straight through, but for operators: these may be
 * left by an exception.  As with hooks_new.c, an event is added only where none
 * was recorded for the block.
 *
 * Safety (the hook): as the function; event.h.  errno: the function's.
 */
#include "tracer/hooks_allocator.h"

#include <string.h>
#include <sys/auxv.h>

#include "tracer/allocators.h"
#include "tracer/compiler.h"
#include "tracer/event.h"
#include "tracer/real.h"
#include "tracer/state.h"
#include "tracer/tls.h"

#define CALLER() ((uintptr_t)__builtin_return_address(0))

/**
 * struct call - a function being called
 * @site:   which
 * @args:   its arguments
 * @caller: return address
 * @tick:   before
 * @serial: of the thread, before
 * @released: a nested call has recorded the release
 */
struct call {
	const struct site *site;
	uintptr_t args[ARGUMENTS];
	uintptr_t caller;
	uint64_t tick;
	uint64_t serial;
	bool released;
};

/* Safety: pure.  Return: argument @i, or @otherwise where there is none. */
static uintptr_t get_argument(const struct call *call, int i,
			      uintptr_t otherwise)
{
	return i == NO ? otherwise : call->args[i];
}

/* Safety: pure.  Return: bytes that were asked for. */
static size_t get_size(const struct call *call)
{
	const struct form *form = call->site->form;
	size_t size = get_argument(call, form->size, 0), total;

	if (__builtin_mul_overflow(size, get_argument(call, form->count, 1),
				   &total))
		return SIZE_MAX;
	return total;
}

/* Safety: pure. */
static size_t get_align(const struct call *call)
{
	const struct form *form = call->site->form;
	size_t align = get_argument(call, form->align, 0);

	if (form->deed == MAKES_X || form->deed == CHANGES_X)
		align = align & ALIGN_BITS_X ? (size_t)1
						   << (align & ALIGN_BITS_X)
					     : 0;
	return align;
}

/* Safety: pure.  Return: the kind of event that @deed leads to. */
static enum trace_event_kind get_kind(enum deed deed, size_t align)
{
	if (deed == CLEARS)
		return TRACE_EVENT_CALLOC;
	if (deed == NEWS)
		return TRACE_EVENT_NEW;
	if (deed == ALIGNS || deed == STORES || (deed == MAKES_X && align))
		return TRACE_EVENT_MEMALIGN;
	return TRACE_EVENT_MALLOC;
}

/* Safety: as the hook.  Whether a nested call has recorded block @p. */
static bool is_recorded(const struct call *call, uintptr_t p)
{
	return tls.serial != call->serial && tls.last_block == p;
}

/* tcmalloc's makes an object for itself.  Safety: as the hook. */
static size_t ask_usable(usable_function *usable, uintptr_t p)
{
	size_t bytes;

	if (!usable || tls.in_allocator)
		return 0;
	tls.in_allocator = true;
	bytes = usable((void *)p);
	tls.in_allocator = false;
	return bytes;
}

/* Safety: as the hook. */
static struct event_block get_block(const struct call *call, uintptr_t p)
{
	struct event_block block = {
		.addr = p,
		.size = get_size(call),
		.align = get_align(call),
	};

	block.kind = get_kind(call->site->form->deed, block.align);
	if (block.kind == TRACE_EVENT_MEMALIGN && !block.align)
		block.align = getauxval(AT_PAGESZ);
	if (call->site->form->deed == COPIES)
		block.size = strlen((const char *)p) + 1;
	block.usable = ask_usable(call->site->family->usable, p);
	return block;
}

/* Safety: as the hook. */
static void record_alloc(const struct call *call, uintptr_t p)
{
	struct event_block block;

	if (!p || is_recorded(call, p))
		return;
	block = get_block(call, p);
	event_alloc(&block, call->caller);
}

/* Safety: as the hook. */
static void record_free(const struct call *call, uintptr_t p)
{
	bool deletes = call->site->form->deed == DELETES;

	if (!p || call->released)
		return;
	event_free_at(deletes ? TRACE_EVENT_DELETE : TRACE_EVENT_FREE, p,
		      call->tick, call->caller);
}

/* Safety: as the hook. */
static void record_change(const struct call *call, uintptr_t p)
{
	uintptr_t old = get_argument(call, call->site->form->old, 0);
	struct event_block block;

	if (!old) {
		record_alloc(call, p);
	} else if (p && !is_recorded(call, p)) {
		block = get_block(call, p);
		event_realloc(old, &block, call->tick, call->caller);
	} else if (!p && (call->site->form->deed == CHANGES_OR_FREES ||
			  get_size(call) == 0)) {
		record_free(call, old);
	}
}

/* Safety: as the hook.  Records what the call has done, by its result. */
static void record(const struct call *call, uintptr_t ret)
{
	const struct form *form = call->site->form;
	uintptr_t old = get_argument(call, form->old, 0);

	switch ((enum deed)form->deed) {
	case STORES:
		if ((int)ret == 0)
			record_alloc(call, *(uintptr_t *)call->args[0]);
		break;
	case FREES:
	case DELETES:
		record_free(call, old);
		break;
	case CHANGES:
	case CHANGES_X:
	case CHANGES_OR_FREES:
	case EXTENDS:
		record_change(call, ret);
		break;
	case EXTENDS_X:
		if (ret >= get_size(call))
			record_change(call, old);
		break;
	case MAKES:
	case CLEARS:
	case ALIGNS:
	case MAKES_X:
	case NEWS:
	case COPIES:
		record_alloc(call, ret);
		break;
	case TELLS:
		break;
	}
}

/* Where this library begins, by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

/*
 * Its variables come after its code.
 *
 * Safety: anywhere.  Whether a hook of the tracer's has called, which records
 * what is to be recorded.
 */
static bool is_own_call(uintptr_t caller)
{
	return caller >= (uintptr_t)__ehdr_start && caller < (uintptr_t)&real;
}

/*
 * What hooks_malloc.c calls behind the standard names.
 */
__attribute__((used)) static uintptr_t
hooks_allocator_silent(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d,
		       uintptr_t e, const struct site *site)
{
	any_function *original = (any_function *)(uintptr_t)site->original;
	bool inside = tls.in_allocator;
	uintptr_t ret;

	tls.in_allocator = true;
	ret = original(a, b, c, d, e);
	tls.in_allocator = inside;
	return ret;
}

__attribute__((used)) static uintptr_t
hooks_allocator_call(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d,
		     uintptr_t e, const struct site *site)
{
	any_function *original = (any_function *)(uintptr_t)site->original;
	struct call call = {
		.site = site,
		.args = {a, b, c, d, e},
		.caller = CALLER(),
		.serial = tls.serial,
	};
	bool is_operator =
	    site->form->deed == NEWS || site->form->deed == DELETES;
	uintptr_t old = get_argument(&call, site->form->old, 0);
	uintptr_t outer = tls.releasing;
	uintptr_t ret;

	if (tls.in_allocator || !state_on())
		return original(a, b, c, d, e);
	call.tick = event_get_tick(call.caller);
	tls.in_allocator = !is_operator;
	tls.releasing = old;
	ret = original(a, b, c, d, e);
	call.released = tls.releasing != old;
	if (!call.released || outer != old)
		tls.releasing = outer;
	tls.in_allocator = false;
	if (!is_own_call(call.caller))
		record(&call, ret);
	return ret;
}

#if defined(__x86_64__)
/* The sixth argument is the site, which the stub has put into r11. */
__attribute__((naked)) void hooks_allocator_enter(void)
{
	__asm__ volatile("mov %r11, %r9\n\t"
			 "jmp hooks_allocator_call");
}

__attribute__((naked)) void hooks_allocator_enter_silent(void)
{
	__asm__ volatile("mov %r11, %r9\n\t"
			 "jmp hooks_allocator_silent");
}
#else
void hooks_allocator_enter(void)
{
}

void hooks_allocator_enter_silent(void)
{
}
#endif
