/* SPDX-License-Identifier: MIT */
/* What the environment asks for; read once, at the first hooked call. */
#ifndef TRACER_OPTIONS_H
#define TRACER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OPTIONS_PATH_MAX = 1024, /* longest file name pattern */
};

#define OPTIONS_OUTPUT_DEFAULT "memory-profiling_%e_%t_%p.dat"

#define OPTIONS_NO_OWNER UINT32_MAX

enum log_level {
	LOG_OFF,
	LOG_ERROR,
	LOG_WARN,
	LOG_INFO,
	LOG_DEBUG,
	LOG_TRACE,
};

enum verify_unwind {
	VERIFY_NONE,
	VERIFY_LIBUNWIND,
	VERIFY_LIBGCC,
};

/**
 * struct rotate - when a file is followed by another
 * @bytes: when it is that long; 0: never
 * @ns:    when it is that old; 0: never
 */
struct rotate {
	uint64_t bytes;
	uint64_t ns;
};

/**
 * struct options - all settings
 * @output:      pattern of the trace's name; empty: no file, do not trace
 * @log_file:    pattern of the log's name; empty: standard error
 * @name_file:   where to append the trace's name for memprof-record; or empty
 * @include:     patterns of files to be kept in the trace, with colons
 * @binaries:    so are the program and its libraries
 * @log_level:   messages below it are dropped
 * @free_stacks: frees carry stacks
 * @gather_maps: calls of mmap and the like, and samples of smaps, are recorded
 * @children:    LD_PRELOAD stays, so that executed children are traced
 * @is_child:    some ancestor is traced too; never overwrite a file
 * @base:        directory of relative names, with a slash at the end; NULL: the
 *               working directory
 * @own_unwinder: stacks are taken by rules.h, not by libunwind
 * @verify_unwind: and by this one too, to compare
 * @helper:      a helper process may compress and write
 * @patch_allocators: the code of allocators.h may be changed
 * @duration_ns: recording ends so long after its start; 0: it does not
 * @sigusr1, @sigusr2: the signal switches recording on and off
 * @zero_memory: what the program allocates is zero
 * @owner:       user that the trace is given to, or OPTIONS_NO_OWNER
 * @disabled:    nothing is recorded until it is asked for
 * @rotate:      when a file is followed by another
 * @cull:        temporary allocations are summed up
 * @cull_lifetime_ms: those that live for less
 * @cull_pending: during whose life the thread makes no more allocations than
 *               this; 0: any number
 * @log_bytes_max: the log is put aside when it is longer; 0: never
 */
struct options {
	char output[OPTIONS_PATH_MAX];
	char log_file[OPTIONS_PATH_MAX];
	char name_file[OPTIONS_PATH_MAX];
	char include[OPTIONS_PATH_MAX];
	bool binaries;
	enum log_level log_level;
	bool free_stacks;
	bool gather_maps;
	bool children;
	bool is_child;
	const char *base;
	bool own_unwinder;
	enum verify_unwind verify_unwind;
	bool helper;
	bool under_valgrind; /* by one of its tools that replace malloc */
	bool patch_allocators;
	uint64_t duration_ns;
	bool sigusr1;
	bool sigusr2;
	bool zero_memory;
	uint32_t owner;
	bool disabled;
	struct rotate rotate;
	bool cull;
	uint64_t cull_lifetime_ms;
	uint64_t cull_pending;
	uint64_t log_bytes_max;
};

extern struct options options;

/**
 * struct program_start - the process's initial stack
 * @argc: number of arguments
 * @argv: the arguments, then NULL
 * @envp: the environment, then NULL
 *
 * Found without the C library: hooks run before its constructors.
 */
struct program_start {
	int argc;
	char **argv;
	char **envp;
};

/* Safety: any time.  Allocates, locks: none.  errno: untouched. */
struct program_start program_start_get(void);

/*
 * Fills @options from @envp.
 *
 * Safety: once, before anything else of the tracer.  errno: untouched.
 */
void options_read(char **envp);

/*
 * Says on the log what the options are, and which variables have values that
 * they cannot have.
 *
 * Safety: once, after log_init().  errno: untouched.
 */
void options_log(void);

/*
 * Takes this library out of LD_PRELOAD, so that programs started by this one
 * are not traced, but leaves a user's other libraries there.  With
 * @options.children marks the environment as a traced process's instead.
 *
 * Safety: once, before main().  Allocates: mmap.  errno: untouched.
 */
void options_adjust_environment(char **envp);

#endif /* TRACER_OPTIONS_H */
