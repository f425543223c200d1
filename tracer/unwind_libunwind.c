/* SPDX-License-Identifier: MIT */
/*
 * libunwind, opened privately.
 *
 * Not linked: as a dependency of a preloaded library it would put its
 * _Unwind_RaiseException in front of the compiler's for every C++ plugin of a
 * C program.  Its static archive is not position-independent on Debian.
 */
#include "tracer/unwind.h"

#include <dlfcn.h>

#include "tracer/log.h"

int (*unwind_libunwind)(void **buffer, int size);

void unwind_init(void)
{
	void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		log_line(LOG_INFO, "libunwind.so.8 not found, using libgcc",
			 NULL, 0);
		return;
	}
	*(void **)(void *)&unwind_libunwind = dlsym(library, "unw_backtrace");
}
