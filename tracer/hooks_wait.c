/* SPDX-License-Identifier: MIT */
/*
 * Waiting for children of every kind, which only __WALL and __WCLONE do: the
 * helper is one, and ends with the program only.  Who waits until there are no
 * children would wait for ever, so it ends for good before; the program's
 * threads compress from then on.
 *
 * Safety (all hooks): as the real function; helper_stop() before it.
 * errno: the real function's.
 */
#include <errno.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "tracer/compiler.h"
#include "tracer/helper.h"
#include "tracer/real.h"
#include "tracer/state.h"
#include "tracer/sys.h"
#include "tracer/tls.h"

/* Safety: as the hooks. */
static COLD void retire_helper(void)
{
	static atomic_int done_by; /* a forked child has a helper of its own */
	int pid = state_pid();
	uintptr_t guard;

	if (!state_is_owner() || atomic_exchange(&done_by, pid) == pid)
		return;
	guard = tls_enter_internal();
	helper_stop();
	tls_leave_internal(guard);
}

/* Safety: pure.  Whether a wait with @options may find the helper. */
static bool finds_helper(unsigned options)
{
	return options & (unsigned)(__WALL | __WCLONE);
}

HOOK pid_t waitpid(pid_t pid, int *status, int options)
{
	if (pid <= 0 && finds_helper((unsigned)options))
		retire_helper();
	if (real_ready() && real.waitpid)
		return real.waitpid(pid, status, options);
	errno = ENOSYS;
	return -1;
}

HOOK pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	if (pid <= 0 && finds_helper((unsigned)options))
		retire_helper();
	if (real_ready() && real.wait4)
		return real.wait4(pid, status, options, usage);
	errno = ENOSYS;
	return -1;
}

HOOK int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	if (type != P_PID && finds_helper((unsigned)options))
		retire_helper();
	if (real_ready() && real.waitid)
		return real.waitid(type, id, info, options);
	errno = ENOSYS;
	return -1;
}
