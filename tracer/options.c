/* SPDX-License-Identifier: MIT */
#include "tracer/options.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "tracer/compiler.h"
#include "tracer/log.h"
#include "tracer/output_name.h"
#include "tracer/text.h"
#include "tracer/values.h"

/* Valgrind ends the program at a clone() like the helper's. */
#define VALGRIND_LIBRARY "vgpreload_"
/* All of its tools have this one; those that replace malloc have another. */
#define VALGRIND_CORE "vgpreload_core"
#define PREFIX "MEMORY_PROFILER_"
#define CHILD_VARIABLE PREFIX "IS_CHILD"
#define LIBRARY "libmemprof.so"

enum option_kind {
	OPTION_NO_EFFECT, /* of memory-profiler and bytehound */
	OPTION_PATH,      /* char[OPTIONS_PATH_MAX] */
	OPTION_BOOL,      /* bool */
	OPTION_NUMBER,    /* uint64_t */
	OPTION_SECONDS,   /* uint64_t, in nanoseconds */
	OPTION_ID,        /* uint32_t, of a user */
	OPTION_LEVEL,     /* enum log_level */
	OPTION_VERIFY,    /* enum verify_unwind */
	OPTION_ROTATE,    /* struct rotate */
};

/**
 * struct option - a variable
 * @name: without the prefix
 * @kind: of the value
 * @at:   its place in struct options
 */
struct option {
	const char *name;
	enum option_kind kind;
	size_t at;
};

#define OPTION(name, kind, member) \
	{ name, OPTION_##kind, offsetof(struct options, member) }
#define NO_EFFECT(name) { name, OPTION_NO_EFFECT, 0 }

static const struct option table[] = {
	OPTION("OUTPUT", PATH, output),
	OPTION("LOG", LEVEL, log_level),
	OPTION("LOGFILE", PATH, log_file),
	OPTION("LOGFILE_ROTATE_WHEN_BIGGER_THAN", NUMBER, log_bytes_max),
	OPTION("GRAB_BACKTRACES_ON_FREE", BOOL, free_stacks),
	OPTION("GATHER_MAPS", BOOL, gather_maps),
	OPTION("DURATION", SECONDS, duration_ns),
	OPTION("REGISTER_SIGUSR1", BOOL, sigusr1),
	OPTION("REGISTER_SIGUSR2", BOOL, sigusr2),
	OPTION("ZERO_MEMORY", BOOL, zero_memory),
	OPTION("CHOWN_OUTPUT_TO", ID, owner),
	OPTION("WRITE_BINARIES_TO_OUTPUT", BOOL, binaries),
	OPTION("INCLUDE_FILE", PATH, include),
	OPTION("DISABLE_BY_DEFAULT", BOOL, disabled),
	OPTION("ROTATE", ROTATE, rotate),
	OPTION("TRACK_CHILD_PROCESSES", BOOL, children),
	OPTION("HELPER", BOOL, helper),
	OPTION("PATCH_ALLOCATORS", BOOL, patch_allocators),
	OPTION("USE_SHADOW_STACK", BOOL, own_unwinder),
	OPTION("VERIFY_UNWIND", VERIFY, verify_unwind),
	OPTION("NAME_FILE", PATH, name_file),
	OPTION("CULL_TEMPORARY_ALLOCATIONS", BOOL, cull),
	OPTION("TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD", NUMBER,
	       cull_lifetime_ms),
	OPTION("TEMPORARY_ALLOCATION_PENDING_THRESHOLD", NUMBER, cull_pending),
	NO_EFFECT("BACKTRACE_CACHE_SIZE_LEVEL_1"),
	NO_EFFECT("BACKTRACE_CACHE_SIZE_LEVEL_2"),
	NO_EFFECT("BASE_SERVER_PORT"),
	NO_EFFECT("DISABLE_PR_SET_VMA_ANON_NAME"),
	NO_EFFECT("EMIT_PARTIAL_BACKTRACES"),
	NO_EFFECT("ENABLE_BROADCAST"),
	NO_EFFECT("ENABLE_SERVER"),
	NO_EFFECT("GATHER_MMAP_CALLS"),
	NO_EFFECT("PRECISE_TIMESTAMPS"),
	NO_EFFECT("USE_PERF_EVENT_OPEN"),
};

#define NS_PER_SECOND UINT64_C(1000000000)

enum {
	TABLE_COUNT = sizeof(table) / sizeof(table[0]),
};

static const char *const verify_names[] = {"0", "libunwind", "libgcc"};

HOT_DATA struct options options = {
    .output = OPTIONS_OUTPUT_DEFAULT,
    .log_level = LOG_WARN,
    .free_stacks = true,
    .gather_maps = true,
    .own_unwinder = true,
    .helper = true,
    .patch_allocators = true,
    .sigusr1 = true,
    .sigusr2 = true,
    .cull_lifetime_ms = 10000,
    .owner = OPTIONS_NO_OWNER,
};

/* What the environment said, where that was something. */
static const char *given[TABLE_COUNT];
static bool is_wrong[TABLE_COUNT];

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

/* Safety: pure.  Return: whether @value fits; if not @path stays. */
static bool parse_path(const char *value, char *path)
{
	size_t len = strlen(value);

	if (len >= OPTIONS_PATH_MAX)
		return false;
	memcpy(path, value, len + 1);
	return true;
}

/* Safety: pure. */
static bool parse_bool(const char *value)
{
	return strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
}

/* Safety: pure. */
static enum log_level parse_level(const char *value)
{
	enum log_level level = LOG_OFF;

	values_parse_level(value, &level);
	return level;
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

/* Safety: pure. */
static void *get_place(const struct option *option)
{
	return (char *)&options + option->at;
}

/* Safety: pure.  Return: false when @value is none; the option stays. */
static bool set(const struct option *option, const char *value)
{
	void *place = get_place(option);
	uint64_t number;

	switch (option->kind) {
	case OPTION_PATH:
		return parse_path(value, place);
	case OPTION_BOOL:
		*(bool *)place = parse_bool(value);
		return true;
	case OPTION_NUMBER:
		return values_parse_number(value, UINT64_MAX, place);
	case OPTION_SECONDS:
		return values_parse_seconds(value, place);
	case OPTION_ID:
		if (!values_parse_number(value, OPTIONS_NO_OWNER - 1,
					 &number))
			return false;
		*(uint32_t *)place = (uint32_t)number;
		return true;
	case OPTION_LEVEL:
		*(enum log_level *)place = parse_level(value);
		return true;
	case OPTION_VERIFY:
		*(enum verify_unwind *)place = parse_verify(value);
		return true;
	case OPTION_ROTATE:
		return values_parse_rotate(value, place);
	case OPTION_NO_EFFECT:
		break;
	}
	return true;
}

/* Safety: pure.  @entry is "NAME=value", without the prefix. */
static void read_variable(const char *entry)
{
	for (size_t i = 0; i < TABLE_COUNT; i++) {
		const char *value = match_variable(entry, table[i].name);

		if (!value)
			continue;
		given[i] = value;
		is_wrong[i] = !set(&table[i], value);
	}
}

/* Safety: pure.  Looks for valgrind's libraries in @preload. */
static void read_preload(const char *preload)
{
	const char *found = preload;

	while ((found = strstr(found, VALGRIND_LIBRARY))) {
		options.helper = false;
		if (strncmp(found, VALGRIND_CORE, sizeof(VALGRIND_CORE) - 1))
			options.under_valgrind = true;
		found++;
	}
}

/* Safety: pure.  The traced process above says where it began. */
static void read_mark(const char *value)
{
	if (value[0] != '/' && !parse_bool(value))
		return;
	options.is_child = options.children = true;
	if (value[0] == '/')
		options.base = value;
}

void options_read(char **envp)
{
	const char *value, *preload = NULL;

	for (; *envp; envp++) {
		if (strncmp(*envp, PREFIX, sizeof(PREFIX) - 1) == 0)
			read_variable(*envp + sizeof(PREFIX) - 1);
		else if ((value = match_variable(*envp, "LD_PRELOAD")))
			preload = value;
		if ((value = match_variable(*envp, CHILD_VARIABLE)))
			read_mark(value);
	}
	if (preload)
		read_preload(preload);
}

/* Safety: pure. */
static void add_rotate(struct text *out, const struct rotate *rotate)
{
	text_add_uint(out, rotate->bytes);
	text_add(out, ",");
	text_add_uint(out, rotate->ns / 1000000000);
	text_add_char(out, 's');
}

/* Safety: pure. */
static void add_seconds(struct text *out, uint64_t ns)
{
	uint64_t fraction = ns % NS_PER_SECOND;

	if (!ns)
		return;
	text_add_uint(out, ns / NS_PER_SECOND);
	for (uint64_t unit = NS_PER_SECOND; fraction; fraction %= unit) {
		if (unit == NS_PER_SECOND)
			text_add_char(out, '.');
		unit /= 10;
		text_add_uint(out, fraction / unit);
	}
}

/* Safety: pure.  Appends the option's present value. */
static void add_value(struct text *out, const struct option *option)
{
	const void *place = get_place(option);

	switch (option->kind) {
	case OPTION_PATH:
		text_add(out, place);
		break;
	case OPTION_BOOL:
		text_add_uint(out, *(const bool *)place);
		break;
	case OPTION_NUMBER:
		text_add_uint(out, *(const uint64_t *)place);
		break;
	case OPTION_SECONDS:
		add_seconds(out, *(const uint64_t *)place);
		break;
	case OPTION_ID:
		if (*(const uint32_t *)place != OPTIONS_NO_OWNER)
			text_add_uint(out, *(const uint32_t *)place);
		break;
	case OPTION_ROTATE:
		add_rotate(out, place);
		break;
	case OPTION_LEVEL:
		text_add(out, values_get_level(
				      *(const enum log_level *)place));
		break;
	case OPTION_VERIFY:
		text_add(out, verify_names[*(const enum verify_unwind *)place]);
		break;
	case OPTION_NO_EFFECT:
		break;
	}
}

/* Safety: pure. */
static bool has_effect(const struct option *option)
{
	return option->kind != OPTION_NO_EFFECT;
}

void options_log(void)
{
	static char line[OPTIONS_PATH_MAX + 64]; /* not on the program's stack */

	for (size_t i = 0; i < TABLE_COUNT; i++) {
		const struct option *option = &table[i];
		struct text out = text_init(line, sizeof(line));

		if (!has_effect(option) && !given[i])
			continue;
		text_add(&out, PREFIX);
		text_add(&out, option->name);
		if (is_wrong[i])
			log_line(LOG_WARN, line,
				 "has a value that it cannot have; ignored", 0);
		text_add_char(&out, '=');
		if (has_effect(option))
			add_value(&out, option);
		else
			text_add(&out, given[i]);
		log_line(LOG_INFO, line,
			 has_effect(option) ? NULL : "(has no effect)", 0);
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
	static char mark[sizeof(CHILD_VARIABLE) + PATH_MAX + 2];
	struct text text = text_init(mark, sizeof(mark));
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
	text_add(&text, CHILD_VARIABLE "=");
	text_add(&text, output_name_directory());
	if (mark[text.len - 1] == '=')
		text_add_char(&text, '1');
	*track = mark;
}
