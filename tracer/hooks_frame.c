/* SPDX-License-Identifier: MIT */
/*
 * __register_frame, __register_frame_table, __deregister_frame: what compilers
 * at run time tell the compiler's run-time library about their code.
 *
 * Exceptions have to find those frames, so the call must arrive where it would
 * have without the tracer.  That need not be in the global scope: a library
 * opened privately brings its own, or depends on libgcc_s.
 *
 * Safety (all hooks): as the real function, which locks and allocates.  errno:
 * preserved.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include "tracer/cfi_registered.h"
#include "tracer/compiler.h"
#include "tracer/libc.h"
#include "tracer/real.h"
#include "tracer/rules.h"
#include "tracer/tls.h"

#define CALLER() ((uintptr_t)__builtin_return_address(0))

enum { TABLE_MAX = 4096 };

typedef void (*frame_function)(void *);

HOOK void __register_frame(void *begin);
HOOK void __register_frame_table(void *begin);
HOOK void __deregister_frame(void *begin);

/* Safety: inside the guard.  In what the module @name loaded, if it is. */
static void *find_behind(const char *module, const char *name)
{
	void *handle = libc_dlopen(module, RTLD_LAZY | RTLD_NOLOAD);
	void *found;

	if (!handle)
		return NULL;
	found = libc_dlsym(handle, name);
	libc_dlclose(handle);
	return found;
}

/*
 * The definition that the caller's module has, where there is none in the
 * global scope.
 *
 * Safety: inside the guard.  Return: NULL when there is none.
 */
static void *find_for(uintptr_t caller, const char *name)
{
	struct link_map *map = NULL;
	Dl_info info;
	void *found = NULL;

	if (dladdr1((const void *)caller, &info, (void **)&map,
		    RTLD_DL_LINKMAP) &&
	    map && map->l_name[0])
		found = find_behind(map->l_name, name);
	return found ? found : find_behind("libgcc_s.so.1", name);
}

/* Safety: as the hooks.  @own is not the real one. */
static void call_real(const char *name, frame_function own, void *begin,
		      uintptr_t caller)
{
	int saved = errno;
	void *found = real_find(name);
	frame_function function = NULL;

	if (!found) {
		uintptr_t guard = tls_enter_internal();

		found = find_for(caller, name);
		tls_leave_internal(guard);
	}
	errno = saved;
	*(void **)(void *)&function = found;
	if (function && function != own)
		function(begin);
}

/* Safety: as the hooks. */
static void forget(struct cfi_range range)
{
	if (range.start < range.end)
		rules_forget(range.start, range.end);
}

HOOK void __register_frame(void *begin)
{
	call_real(__func__, __register_frame, begin, CALLER());
	forget(cfi_register((uintptr_t)begin, (uintptr_t)begin));
}

HOOK void __register_frame_table(void *begin)
{
	uintptr_t table = (uintptr_t)begin, entry;

	call_real(__func__, __register_frame_table, begin, CALLER());
	for (size_t i = 0; i < TABLE_MAX; i++) {
		entry = cfi_table_entry(table, i);
		if (!entry)
			break;
		forget(cfi_register(table, entry));
	}
}

HOOK void __deregister_frame(void *begin)
{
	struct cfi_range range;

	while (cfi_unregister((uintptr_t)begin, &range))
		forget(range);
	call_real(__func__, __deregister_frame, begin, CALLER());
}
