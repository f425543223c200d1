/* SPDX-License-Identifier: MIT */
/* memprof-record: runs a program with the tracer preloaded. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracer/record/diagnose.h"
#include "tracer/record/finish.h"
#include "tracer/record/launch.h"
#include "tracer/trace_format.h"
#include "tracer/version.h"

#define PREFIX "MEMORY_PROFILER_"

enum {
	EXIT_USAGE = 125, /* as env(1): memprof-record itself failed */
	EXIT_CANNOT_RUN = 126,
	EXIT_NOT_FOUND = 127,
	NAMES_BYTES = 1 << 20,
};

static const char help[] =
    "Usage: memprof-record [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
    "Run PROGRAM and record its use of memory into a trace file.\n"
    "\n"
    "  -o, --output=FILE    write the trace to FILE; %p is replaced by the\n"
    "                       process id, %t by the time in seconds, %e by\n"
    "                       the program's name, %% by a percent sign\n"
    "                       (default memory-profiling_%e_%t_%p.dat)\n"
    "      --children       trace programs that PROGRAM starts, too\n"
    "      --no-free-stacks record no stacks for frees\n"
    "      --log=LEVEL      off, error, warn (default), info, debug, trace\n"
    "  -q, --quiet          do not say where the trace is\n"
    "  -h, --help           print this help and exit\n"
    "  -V, --version        print the version and exit\n"
    "\n"
    "The exit status is PROGRAM's; 125 when memprof-record fails, 126 when\n"
    "PROGRAM cannot be run, 127 when it is not found.\n";

/**
 * struct settings - the command line
 * @output: -o, or NULL
 * @log:    --log, or NULL
 */
struct settings {
	const char *output;
	const char *log;
	bool children;
	bool no_free_stacks;
	bool quiet;
};

/* Safety: single thread.  Prints and does not return. */
static _Noreturn void fail(int status, const char *what, int err)
{
	if (err)
		fprintf(stderr, "memprof-record: %s: %s\n", what,
			strerror(err));
	else
		fprintf(stderr, "memprof-record: %s\n", what);
	exit(status);
}

/* Safety: single thread.  Return: index of the program in @argv. */
static int parse_options(int argc, char **argv, struct settings *set)
{
	static const struct option options[] = {
	    {"output", required_argument, NULL, 'o'},
	    {"children", no_argument, NULL, 'c'},
	    {"no-free-stacks", no_argument, NULL, 'f'},
	    {"log", required_argument, NULL, 'l'},
	    {"quiet", no_argument, NULL, 'q'},
	    {"help", no_argument, NULL, 'h'},
	    {"version", no_argument, NULL, 'V'},
	    {NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "+o:qhV", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			set->output = optarg;
			break;
		case 'c':
			set->children = true;
			break;
		case 'f':
			set->no_free_stacks = true;
			break;
		case 'l':
			set->log = optarg;
			break;
		case 'q':
			set->quiet = true;
			break;
		case 'h':
			fputs(help, stdout);
			exit(0);
		case 'V':
			puts("memprof-record " MEMPROF_VERSION);
			exit(0);
		default:
			fputs("Try 'memprof-record --help'.\n", stderr);
			exit(EXIT_USAGE);
		}
	}
	if (optind == argc)
		fail(EXIT_USAGE, "no program given; try --help", 0);
	return optind;
}

/*
 * The library lies beside the program in a build tree and under ../lib where
 * installed.  Safety: single thread.
 */
static void find_library(char ret[PATH_MAX])
{
	static const char *const places[] = {"libmemprof.so",
					     "../lib/memprof/libmemprof.so"};
	char dir[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	char *slash;

	if (len < 0)
		fail(EXIT_USAGE, "/proc/self/exe", errno);
	dir[len] = '\0';
	slash = strrchr(dir, '/');
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char path[PATH_MAX + 64];

		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - dir), dir,
			 places[i]);
		if (realpath(path, ret))
			break;
		ret[0] = '\0';
	}
	if (!ret[0])
		fail(EXIT_USAGE, "libmemprof.so not found", 0);
	if (strpbrk(ret, ": "))
		fail(EXIT_USAGE,
		     "libmemprof.so lies under a path with a space or colon, "
		     "which LD_PRELOAD cannot hold",
		     0);
}

/* Safety: single thread.  Ours first, a user's own libraries after it. */
static void set_preload(const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	size_t len = strlen(library) + (old ? strlen(old) : 0) + 2;
	char *value = malloc(len);

	if (!value)
		fail(EXIT_USAGE, "environment", ENOMEM);
	snprintf(value, len, "%s%s%s", library, old && *old ? ":" : "",
		 old ? old : "");
	setenv("LD_PRELOAD", value, 1);
	free(value);
}

/* Safety: single thread.  @names_fd: where tracers tell their file names. */
static void set_environment(const struct settings *set, int names_fd)
{
	char library[PATH_MAX];
	char names[64];

	find_library(library);
	set_preload(library);
	snprintf(names, sizeof(names), "/proc/%d/fd/%d", (int)getpid(),
		 names_fd);
	setenv(PREFIX "NAME_FILE", names, 1);
	unsetenv(PREFIX "IS_CHILD");
	if (set->output)
		setenv(PREFIX "OUTPUT", set->output, 1);
	if (set->log)
		setenv(PREFIX "LOG", set->log, 1);
	if (set->no_free_stacks)
		setenv(PREFIX "GRAB_BACKTRACES_ON_FREE", "0", 1);
	if (set->children)
		setenv(PREFIX "TRACK_CHILD_PROCESSES", "1", 1);
}

/* Safety: single thread.  Finishes each trace and says where the first is. */
static void finish_all(const struct settings *set, char *names, size_t len,
		       const struct launch_result *result)
{
	const char *first = names;
	uint32_t first_how = 0;
	size_t count = 0;

	for (char *name = names; name < names + len; name += strlen(name) + 1) {
		struct finish_result done;
		int err = finish_trace(name, count ? NULL : result, &done);

		if (!count)
			first_how = done.how;
		if (err)
			fprintf(stderr, "memprof-record: %s: %s\n", name,
				strerror(-err));
		if (done.damaged_bytes)
			fprintf(stderr,
				"memprof-record: %s: the program wrote over "
				"%" PRIu64 " bytes of its last events\n",
				name, done.damaged_bytes);
		count++;
	}
	if (set->quiet)
		return;
	if (first_how == TRACE_END_EXEC && count == 1)
		fputs("memprof-record: the program replaced itself by another, "
		      "which was not traced; see --children\n",
		      stderr);
	if (count > 1)
		fprintf(stderr,
			"memprof-record: trace written to %s, and %zu more of "
			"its children\n",
			first, count - 1);
	else
		fprintf(stderr, "memprof-record: trace written to %s\n", first);
}

/* Safety: single thread.  What the tracers wrote into @fd. */
static void report(const struct settings *set, const char *program, int fd,
		   const struct launch_result *result)
{
	char *names = calloc(1, NAMES_BYTES + 1);
	ssize_t len;

	if (!names)
		fail(EXIT_USAGE, "trace names", ENOMEM);
	len = pread(fd, names, NAMES_BYTES, 0);
	if (len > 0)
		finish_all(set, names, (size_t)len, result);
	else
		fprintf(stderr, "memprof-record: %s was not traced: %s\n",
			program, diagnose_untraced(program));
	free(names);
}

int main(int argc, char **argv)
{
	struct settings set = {0};
	int program = parse_options(argc, argv, &set);
	struct launch_result result = {0};
	int names_fd = memfd_create("memprof-record", MFD_CLOEXEC);
	int err;

	if (names_fd < 0)
		fail(EXIT_USAGE, "memfd_create", errno);
	set_environment(&set, names_fd);
	err = launch_run(argv + program, &result);
	if (err)
		fail(err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN,
		     argv[program], err);
	report(&set, argv[program], names_fd, &result);
	launch_exit_like(result.wait_status);
}
