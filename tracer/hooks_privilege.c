/* SPDX-License-Identifier: MIT */
/*
 * Calls by which a process gives up privileges, or a part of what it can
 * reach.  The helper shares its memory, so whoever takes over the program
 * afterwards would have the helper's as well: it ends before, and the next one
 * is started with what the program has then.
 *
 * Safety (all hooks): as the real function; helper_stop() before it.
 * errno: the real function's.
 */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "tracer/compiler.h"
#include "tracer/helper.h"
#include "tracer/real.h"
#include "tracer/state.h"
#include "tracer/tls.h"

/* Safety: as the hooks.  Return: whether after_change() is to be called. */
static bool before_change(void)
{
	bool owner = state_is_owner();
	uintptr_t guard;

	if (owner) {
		guard = tls_enter_internal();
		helper_stop();
		tls_leave_internal(guard);
	}
	return owner;
}

/* Safety: as the hooks. */
static void after_change(bool owner)
{
	if (owner)
		helper_allow();
}

/* The hook of a function that returns 0 or -1 and errno. */
#define PRIVILEGE_HOOK(name, parameters, arguments) \
	HOOK int name parameters                    \
	{                                           \
		bool owner = before_change();       \
		int ret = -1;                       \
                                                    \
		if (real_ready() && real.name)      \
			ret = real.name arguments;  \
		else                                \
			errno = ENOSYS;             \
		after_change(owner);                \
		return ret;                         \
	}

PRIVILEGE_HOOK(setuid, (uid_t user), (user))
PRIVILEGE_HOOK(setgid, (gid_t group), (group))
PRIVILEGE_HOOK(seteuid, (uid_t user), (user))
PRIVILEGE_HOOK(setegid, (gid_t group), (group))
PRIVILEGE_HOOK(setreuid, (uid_t user, uid_t effective), (user, effective))
PRIVILEGE_HOOK(setregid, (gid_t group, gid_t effective), (group, effective))
PRIVILEGE_HOOK(setresuid, (uid_t user, uid_t effective, uid_t saved),
	       (user, effective, saved))
PRIVILEGE_HOOK(setresgid, (gid_t group, gid_t effective, gid_t saved),
	       (group, effective, saved))
PRIVILEGE_HOOK(setgroups, (size_t count, const gid_t *groups), (count, groups))
PRIVILEGE_HOOK(initgroups, (const char *user, gid_t group), (user, group))
PRIVILEGE_HOOK(chroot, (const char *path), (path))
PRIVILEGE_HOOK(unshare, (int flags), (flags))
PRIVILEGE_HOOK(setns, (int fd, int type), (fd, type))

/* In libc, in no header but libcap's. */
int capset(void *header, const void *data);

PRIVILEGE_HOOK(capset, (void *header, const void *data), (header, data))
