/* SPDX-License-Identifier: MIT */
/*
 * C++ operators new and delete in all their forms.
 *
 * Most implementations end in malloc and free, which record the event; these
 * hooks add one only where that did not happen (jemalloc and tcmalloc define
 * the operators on their own allocator).  Exceptions pass through: nothing is
 * held across the real call.
 *
 * Safety (all hooks): before start-up: yes.  Signal handler: as the real
 * function.  After fork: yes.  Allocates, locks: the real function, event.h,
 * and the loader's lock to find it.  errno: the real function's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>

#include "tracer/compiler.h"
#include "tracer/event.h"
#include "tracer/heap.h"
#include "tracer/libc.h"
#include "tracer/hooks_new.h"
#include "tracer/modules.h"
#include "tracer/real.h"
#include "tracer/state.h"
#include "tracer/tls.h"

#define CALLER() ((uintptr_t)__builtin_return_address(0))

/*
 * Every form takes at most three arguments, all in registers, so one pointer
 * type serves: what a form does not take, it does not look at.
 */
typedef void *new_function(size_t size, uintptr_t a, uintptr_t b);
typedef void delete_function(void *p, uintptr_t a, uintptr_t b);

/**
 * struct found - an operator found through its caller
 * @start, @end: the calling module
 * @generation:  of the loader when it was found
 * @function:    the operator that the module itself would have got
 */
struct found {
	uintptr_t start;
	uintptr_t end;
	uint32_t generation;
	void *function;
};

/**
 * struct operator - one form
 * @name:   mangled
 * @global: the next definition in the global scope, once looked for
 * @looked: whether it has been
 * @local:  the last one found otherwise
 */
struct operator
{
	const char *name;
	void *_Atomic global;
	atomic_bool looked;
	struct found *_Atomic local;
};

#pragma weak _dl_find_object

#define OPERATORS(OP)                           \
	OP(_Znwm)                               \
	OP(_Znam)                               \
	OP(_ZnwmRKSt9nothrow_t)                 \
	OP(_ZnamRKSt9nothrow_t)                 \
	OP(_ZnwmSt11align_val_t)                \
	OP(_ZnamSt11align_val_t)                \
	OP(_ZnwmSt11align_val_tRKSt9nothrow_t)  \
	OP(_ZnamSt11align_val_tRKSt9nothrow_t)  \
	OP(_ZdlPv)                              \
	OP(_ZdaPv)                              \
	OP(_ZdlPvm)                             \
	OP(_ZdaPvm)                             \
	OP(_ZdlPvRKSt9nothrow_t)                \
	OP(_ZdaPvRKSt9nothrow_t)                \
	OP(_ZdlPvSt11align_val_t)               \
	OP(_ZdaPvSt11align_val_t)               \
	OP(_ZdlPvmSt11align_val_t)              \
	OP(_ZdaPvmSt11align_val_t)              \
	OP(_ZdlPvSt11align_val_tRKSt9nothrow_t) \
	OP(_ZdaPvSt11align_val_tRKSt9nothrow_t)

#define OPERATOR_INDEX(symbol) OP##symbol,
#define OPERATOR_ENTRY(symbol) { .name = #symbol },
enum { OPERATORS(OPERATOR_INDEX) OPERATOR_COUNT };
static struct operator operators[] = {OPERATORS(OPERATOR_ENTRY)};

/* Safety: lock-free.  Whether @pc lies in the tracer. */
static bool is_own_code(uintptr_t pc)
{
	struct dl_find_object own, object;

	return _dl_find_object &&
	       _dl_find_object((void *)(uintptr_t)is_own_code, &own) == 0 &&
	       _dl_find_object((void *)pc, &object) == 0 &&
	       own.dlfo_link_map == object.dlfo_link_map;
}

/* Safety: loader's lock.  The module's own choice of @name, or NULL. */
static void *find_through(const struct link_map *map, const char *name)
{
	uintptr_t guard = tls_enter_internal();
	void *library = libc_dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
	void *p = library ? libc_dlsym(library, name) : NULL;

	if (library)
		libc_dlclose(library);
	tls_leave_internal(guard);
	return p;
}

/*
 * A plugin opened with RTLD_LOCAL brings its C++ library with it, where
 * RTLD_NEXT does not see it.  The answer is kept until the loader has been at
 * work, for the library may be closed again.
 *
 * One operator of that library may jump to another, and then seems to be
 * called by the tracer.
 *
 * Safety: loader's lock on a miss.
 */
static COLD void *find_local(struct operator* op, uintptr_t caller)
{
	struct found *local = op->local;
	uint32_t generation = modules_loader.generation;
	struct dl_find_object object;
	struct found *fresh;
	void *p;

	if (is_own_code(caller))
		caller = tls.operator_pc;
	if (local && local->generation == generation && state_on() &&
	    caller >= local->start && caller < local->end)
		return local->function;
	if (!_dl_find_object || _dl_find_object((void *)caller, &object) != 0)
		return NULL;
	p = find_through(object.dlfo_link_map, op->name);
	fresh = p ? heap_alloc(sizeof(*fresh), 0) : NULL;
	if (fresh) {
		*fresh = (struct found){
		    .start = (uintptr_t)object.dlfo_map_start,
		    .end = (uintptr_t)object.dlfo_map_end,
		    .generation = generation,
		    .function = p,
		};
		op->local = fresh; /* the old one may still be read: 64 bytes */
	}
	return p;
}

/* Safety: loader's lock the first time.  Return: the real one, or NULL. */
static inline void *find(struct operator* op, uintptr_t caller)
{
	if (UNLIKELY(!op->looked)) {
		op->global = real_find(op->name);
		op->looked = true;
	}
	if (LIKELY(op->global != NULL))
		return op->global;
	return caller ? find_local(op, caller) : NULL;
}

void hooks_new_init(void)
{
	for (size_t i = 0; i < OPERATOR_COUNT; i++)
		find(&operators[i], 0);
}

/*
 * No C++ library anywhere: what it would do with malloc, short of throwing.
 * Safety: as malloc.
 */
static COLD void *new_without_library(size_t size, size_t align)
{
	void *p = NULL;

	if (!size)
		size = 1;
	if (!align)
		p = malloc(size);
	else if (posix_memalign(&p, align, size) != 0)
		p = NULL;
	return p;
}

/* Safety: as the hooks.  The usable size, where the same library knows it. */
static size_t get_usable(void *p, const void *function)
{
	Dl_info info;
	static const void *_Atomic asked;
	static atomic_bool same;

	if (!real_ready() || !real.usable_size)
		return 0;
	if (asked != function) {
		uintptr_t guard = tls_enter_internal();

		same = dladdr(function, &info) &&
		       info.dli_fbase == real.malloc_base;
		asked = function;
		tls_leave_internal(guard);
	}
	return same ? real_ask_usable(p) : 0;
}

/* Safety: as the hooks. */
static void *call_new(struct operator* op, size_t size, uintptr_t a,
		      uintptr_t b, uintptr_t caller)
{
	uint64_t serial = tls.serial;
	void *function = find(op, caller);
	struct event_block block = { .kind = TRACE_EVENT_NEW, .size = size };
	void *p;

	if (!function)
		return NULL;
	tls.operator_pc = (uintptr_t)function;
	p = ((new_function *)(uintptr_t)function)(size, a, b);
	if (!p || !state_on() || tls.in_allocator ||
	    (tls.serial != serial && tls.last_block == (uintptr_t)p))
		return p;
	block.addr = (uintptr_t)p;
	block.usable = get_usable(p, function);
	event_alloc(&block, caller);
	return p;
}

/*
 * Whether the release ends in free() is known only afterwards; the stamp is
 * from before.  Safety: as the hooks.
 */
static void call_delete(struct operator* op, void *p, uintptr_t a, uintptr_t b,
			uintptr_t caller)
{
	void *function = find(op, caller);
	uint64_t tick = event_get_tick(caller);
	uintptr_t outer = tls.releasing;
	bool recorded;

	if (!function) {
		free(p);
		return;
	}
	tls.operator_pc = (uintptr_t)function;
	tls.releasing = (uintptr_t)p;
	((delete_function *)(uintptr_t)function)(p, a, b);
	recorded = tls.releasing != (uintptr_t)p;
	if (!recorded || outer != (uintptr_t)p)
		tls.releasing = outer;
	if (p && state_on() && !recorded)
		event_free_at(TRACE_EVENT_DELETE, (uintptr_t)p, tick, caller);
}

/* The throwing forms: without any C++ library there is nobody to catch. */
#define DEFINE_NEW(symbol, params, align, a, b, throws)        \
	HOOK void *symbol params;                              \
	HOOK void *symbol params                               \
	{                                                      \
		struct operator* op = & operators[OP##symbol]; \
		void *p = call_new(op, size, a, b, CALLER());  \
                                                               \
		if (UNLIKELY(!p) && !find(op, CALLER())) {     \
			p = new_without_library(size, align);  \
			if (!p && (throws))                    \
				abort();                       \
		}                                              \
		return p;                                      \
	}

#define DEFINE_DELETE(symbol, params, a, b)                             \
	HOOK void symbol params;                                        \
	HOOK void symbol params                                         \
	{                                                               \
		call_delete(&operators[OP##symbol], p, a, b, CALLER()); \
	}

#define SIZE (size_t size)
#define SIZE_TAG (size_t size, uintptr_t tag)
#define SIZE_ALIGN (size_t size, uintptr_t align)
#define SIZE_ALIGN_TAG (size_t size, uintptr_t align, uintptr_t tag)

DEFINE_NEW(_Znwm, SIZE, 0, 0, 0, true)
DEFINE_NEW(_Znam, SIZE, 0, 0, 0, true)
DEFINE_NEW(_ZnwmRKSt9nothrow_t, SIZE_TAG, 0, tag, 0, false)
DEFINE_NEW(_ZnamRKSt9nothrow_t, SIZE_TAG, 0, tag, 0, false)
DEFINE_NEW(_ZnwmSt11align_val_t, SIZE_ALIGN, align, align, 0, true)
DEFINE_NEW(_ZnamSt11align_val_t, SIZE_ALIGN, align, align, 0, true)
DEFINE_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, SIZE_ALIGN_TAG, align, align,
	   tag, false)
DEFINE_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, SIZE_ALIGN_TAG, align, align,
	   tag, false)

#define PTR (void *p)
#define PTR_ONE (void *p, uintptr_t a)
#define PTR_TWO (void *p, uintptr_t a, uintptr_t b)

DEFINE_DELETE(_ZdlPv, PTR, 0, 0)
DEFINE_DELETE(_ZdaPv, PTR, 0, 0)
DEFINE_DELETE(_ZdlPvm, PTR_ONE, a, 0)
DEFINE_DELETE(_ZdaPvm, PTR_ONE, a, 0)
DEFINE_DELETE(_ZdlPvRKSt9nothrow_t, PTR_ONE, a, 0)
DEFINE_DELETE(_ZdaPvRKSt9nothrow_t, PTR_ONE, a, 0)
DEFINE_DELETE(_ZdlPvSt11align_val_t, PTR_ONE, a, 0)
DEFINE_DELETE(_ZdaPvSt11align_val_t, PTR_ONE, a, 0)
DEFINE_DELETE(_ZdlPvmSt11align_val_t, PTR_TWO, a, b)
DEFINE_DELETE(_ZdaPvmSt11align_val_t, PTR_TWO, a, b)
DEFINE_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, PTR_TWO, a, b)
DEFINE_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, PTR_TWO, a, b)
