/* SPDX-License-Identifier: MIT */
#include "tracer/options.h"

#include <stdint.h>
#include <string.h>

/* Valgrind ends the program at a clone() like the helper's. */
#define VALGRIND_LIBRARY "vgpreload_"
#define PREFIX "MEMORY_PROFILER_"
#define CHILD_VARIABLE PREFIX "IS_CHILD=1"
#define LIBRARY "libmemprof.so"

struct options options = {
    .output = "memory-profiling_%e_%t_%p.dat",
    .log_level = LOG_WARN,
    .free_stacks = true,
    .own_unwinder = true,
    .helper = true,
};

/* ld.so's note of where the stack began; exported since glibc 2.1. */
extern void *__libc_stack_end;

struct program_start program_start_get(void)
{
	intptr_t *stack = __libc_stack_end;
	struct program_start start = { .argc = (int)stack[0] };

	start.argv = (char **)(stack + 1);
	start.envp = start.argv + start.argc + 1;
	return start;
}

/* Safety: pure.  Return: the value of @name in "@name=value", or NULL. */
static const char *match_variable(const char *entry, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(entry, name, len) != 0 || entry[len] != '=')
		return NULL;
	return entry + len + 1;
}

/* Safety: pure.  A value that is too long is ignored, as the manual says. */
static void set_path(char *path, const char *value)
{
	size_t len = strlen(value);

	if (len < OPTIONS_PATH_MAX)
		memcpy(path, value, len + 1);
}

/* Safety: pure. */
static bool parse_bool(const char *value)
{
	return strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
}

/* Safety: pure. */
static enum log_level parse_level(const char *value)
{
	static const char *const names[] = {"off",  "error", "warn",
					    "info", "debug", "trace"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(value, names[i]) == 0)
			return (enum log_level)i;
	return LOG_OFF;
}

/* Safety: pure. */
static enum verify_unwind parse_verify(const char *value)
{
	if (strcmp(value, "libgcc") == 0)
		return VERIFY_LIBGCC;
	if (parse_bool(value) || strcmp(value, "libunwind") == 0)
		return VERIFY_LIBUNWIND;
	return VERIFY_NONE;
}

void options_read(char **envp)
{
	const char *value;

	for (; *envp; envp++) {
		if ((value = match_variable(*envp, PREFIX "OUTPUT")))
			set_path(options.output, value);
		else if ((value = match_variable(*envp, PREFIX "LOG")))
			options.log_level = parse_level(value);
		else if ((value = match_variable(*envp, PREFIX "LOGFILE")))
			set_path(options.log_file, value);
		else if ((value = match_variable(*envp, PREFIX "NAME_FILE")))
			set_path(options.name_file, value);
		else if ((value = match_variable(*envp, PREFIX
						 "GRAB_BACKTRACES_ON_FREE")))
			options.free_stacks = parse_bool(value);
		else if ((value = match_variable(*envp, PREFIX
						 "TRACK_CHILD_PROCESSES")))
			options.children = parse_bool(value);
		else if ((value =
			      match_variable(*envp, PREFIX "USE_SHADOW_STACK")))
			options.own_unwinder = parse_bool(value);
		else if ((value =
			      match_variable(*envp, PREFIX "VERIFY_UNWIND")))
			options.verify_unwind = parse_verify(value);
		else if ((value = match_variable(*envp, PREFIX "HELPER")))
			options.helper &= parse_bool(value);
		else if ((value = match_variable(*envp, "LD_PRELOAD")))
			options.helper &= !strstr(value, VALGRIND_LIBRARY);
		else if (strcmp(*envp, CHILD_VARIABLE) == 0)
			options.is_child = options.children = true;
	}
}

/* Safety: pure.  Return: whether the path at @s of @len bytes is ours. */
static bool is_own_library(const char *s, size_t len)
{
	size_t name_len = sizeof(LIBRARY) - 1;

	if (len < name_len || memcmp(s + len - name_len, LIBRARY, name_len))
		return false;
	return len == name_len || s[len - name_len - 1] == '/';
}

/* Safety: pure.  Removes our entries from the list @value, in place. */
static void remove_own_library(char *value)
{
	char *out = value;
	char *in = value;

	while (*in) {
		size_t len = strcspn(in, ": ");

		if (len > 0 && !is_own_library(in, len)) {
			if (out != value)
				*out++ = ':';
			memmove(out, in, len);
			out += len;
		}
		in += len;
		in += *in != '\0';
	}
	*out = '\0';
}

/* Safety: single thread.  Shortens the environment by one entry, in place. */
static void drop_entry(char **entry)
{
	for (; *entry; entry++)
		entry[0] = entry[1];
}

/*
 * The block cannot grow.  With children traced, the mark therefore takes the
 * place of TRACK_CHILD_PROCESSES, which it implies.
 */
void options_adjust_environment(char **envp)
{
	static char mark[] = CHILD_VARIABLE;
	char **track = NULL;

	for (char **entry = envp; *entry;) {
		if (match_variable(*entry, "LD_PRELOAD") && !options.children) {
			remove_own_library(*entry + sizeof("LD_PRELOAD"));
			if (!(*entry)[sizeof("LD_PRELOAD")]) {
				drop_entry(entry);
				continue;
			}
		}
		if (match_variable(*entry, PREFIX "NAME_FILE") &&
		    !options.children) {
			drop_entry(entry);
			continue;
		}
		if (match_variable(*entry, PREFIX "TRACK_CHILD_PROCESSES"))
			track = entry;
		entry++;
	}
	if (!options.children || options.is_child || !track)
		return;
	*track = mark;
}
