/* SPDX-License-Identifier: MIT */
/*
 * Names of threads.  Starts and ends need no hook: a thread is known from its
 * first event on, and ends in the destructor of a key.
 *
 * Safety (all hooks): as the real function; event.h after it.  errno:
 * preserved.
 */
#include <errno.h>
#include <pthread.h>

#include "tracer/compiler.h"
#include "tracer/event.h"
#include "tracer/real.h"

/*
 * Recorded at once, and not only at the thread's end, for the sake of
 * processes that are killed.
 */
HOOK int pthread_setname_np(pthread_t thread, const char *name)
{
	int err;

	if (!real_ready() || !real.pthread_setname)
		return ENOSYS;
	err = real.pthread_setname(thread, name);
	if (err == 0 && pthread_equal(thread, pthread_self()))
		event_thread_name();
	return err;
}
