/* SPDX-License-Identifier: MIT */
/*
 * The ways a process ends other than by returning: the trace is completed
 * first.  A vfork() child shares our memory but not our process id, and goes
 * straight through.
 *
 * Safety (all hooks): as the real function; state_end() before it.
 * errno: the real function's.
 */
#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "tracer/compiler.h"
#include "tracer/real.h"
#include "tracer/state.h"
#include "tracer/sys.h"
#include "tracer/text.h"

HOOK _Noreturn void _exit(int status)
{
	state_end(TRACE_END__EXIT, status, NULL);
	for (;;) /* all that the C library's does; whatever a filter says */
		sys_call_raw(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

HOOK _Noreturn void _Exit(int status)
{
	_exit(status);
}

HOOK _Noreturn void quick_exit(int status)
{
	state_set_quick_status(status);
	if (real_ready() && real.quick_exit)
		real.quick_exit(status);
	_exit(status);
}

HOOK _Noreturn void abort(void)
{
	state_end(TRACE_END_ABORT, SIGABRT, NULL);
	if (real_ready() && real.abort)
		real.abort();
	__builtin_trap();
}

/* Safety: as state_end().  Return: whether the trace was ended. */
static bool before_exec(const char *program)
{
	bool owner = state_is_owner();

	if (owner)
		state_end(TRACE_END_EXEC, -1, program);
	return owner;
}

/* Safety: as state_resume(). */
static void after_exec(bool owner)
{
	if (owner)
		state_resume();
}

HOOK int execve(const char *path, char *const argv[], char *const envp[])
{
	bool owner = before_exec(path);
	int ret = -1;

	if (real_ready())
		ret = real.execve(path, argv, envp);

	after_exec(owner);
	return ret;
}

HOOK int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

HOOK int execvpe(const char *file, char *const argv[], char *const envp[])
{
	bool owner = before_exec(file);
	int ret = -1;

	if (real_ready())
		ret = real.execvpe(file, argv, envp);

	after_exec(owner);
	return ret;
}

HOOK int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

HOOK int fexecve(int fd, char *const argv[], char *const envp[])
{
	char buf[32];
	struct text name = text_init(buf, sizeof(buf));
	bool owner;
	int ret;

	text_add(&name, "/proc/self/fd/");
	text_add_int(&name, fd);
	owner = before_exec(buf);
	ret = real_ready() ? real.fexecve(fd, argv, envp) : -1;
	after_exec(owner);
	return ret;
}

HOOK int execveat(int dir_fd, const char *path, char *const argv[],
		  char *const envp[], int flags)
{
	bool owner = before_exec(path);
	int ret = -1;

	if (real_ready())
		ret = real.execveat(dir_fd, path, argv, envp, flags);

	after_exec(owner);
	return ret;
}

/* Safety: pure.  Return: arguments up to and with the NULL. */
static size_t count_arguments(const char *first, va_list args)
{
	size_t n = 2; /* the first, and NULL */
	va_list copy;

	va_copy(copy, args);
	while (first && va_arg(copy, char *))
		n++;
	va_end(copy);
	return n;
}

/* Safety: pure.  Fills @argv with @first, the rest and NULL. */
static void collect_arguments(char **argv, const char *first, va_list args)
{
	union {
		const char *in;
		char *out;
	} arg = { .in = first };

	for (*argv = arg.out; *argv;)
		*++argv = va_arg(args, char *);
}

HOOK int execl(const char *path, const char *arg, ...)
{
	va_list args;
	char **argv;

	va_start(args, arg);
	argv = alloca(count_arguments(arg, args) * sizeof(*argv));
	collect_arguments(argv, arg, args);
	va_end(args);
	return execve(path, argv, environ);
}

HOOK int execlp(const char *file, const char *arg, ...)
{
	va_list args;
	char **argv;

	va_start(args, arg);
	argv = alloca(count_arguments(arg, args) * sizeof(*argv));
	collect_arguments(argv, arg, args);
	va_end(args);
	return execvpe(file, argv, environ);
}

HOOK int execle(const char *path, const char *arg, ...)
{
	char *const *envp;
	va_list args;
	char **argv;

	va_start(args, arg);
	argv = alloca(count_arguments(arg, args) * sizeof(*argv));
	collect_arguments(argv, arg, args);
	envp = va_arg(args, char *const *);
	va_end(args);
	return execve(path, argv, envp);
}
