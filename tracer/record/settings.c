/* SPDX-License-Identifier: MIT */
#include "tracer/record/settings.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "tracer/record/output.h"
#include "tracer/values.h"
#include "tracer/version.h"

#define PREFIX "MEMORY_PROFILER_"

static const char help[] =
    "Usage: memprof-record [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
    "Run PROGRAM and record its use of memory into a trace file.\n"
    "\n"
    "  -o, --output=FILE    write the trace to FILE; %p is replaced by the\n"
    "                       process id, %t by the time in seconds, %e by\n"
    "                       the program's name, %n by the number of files\n"
    "                       before it, %% by a percent sign\n"
    "                       (default memory-profiling_%e_%t_%p.dat)\n"
    "      --children       trace what PROGRAM starts and forks, too\n"
    "      --disable-at-start\n"
    "                       record nothing until SIGUSR1, SIGUSR2 or\n"
    "                       PROGRAM itself asks for it\n"
    "      --duration=SECONDS\n"
    "                       record that long; PROGRAM goes on\n"
    "      --rotate=AMOUNT  begin a new file whenever one is that long (64M)\n"
    "                       or that old (10m, 1h), or either (1G,1d)\n"
    "      --no-signals     leave SIGUSR1 and SIGUSR2 to PROGRAM alone\n"
    "      --no-free-stacks record no stacks for frees\n"
    "      --binaries       keep PROGRAM and its libraries in the trace\n"
    "      --include=GLOB   keep files of that name in the trace, as they\n"
    "                       are at the start; may be repeated\n"
    "      --cull           keep sums of temporary allocations only: freed\n"
    "                       within ten seconds, by whichever thread\n"
    "      --cull-lifetime=MS\n"
    "                       within so many milliseconds; implies --cull\n"
    "      --cull-pending=COUNT\n"
    "                       and before the thread made more than COUNT other\n"
    "                       allocations; implies --cull\n"
    "      --zero-memory    give PROGRAM memory that is zero\n"
    "      --no-helper      have PROGRAM's threads compress and write\n"
    "      --chown=UID      give the trace to that user\n"
    "      --log=LEVEL      off, error, warn (default), info, debug, trace\n"
    "      --log-file=FILE  write the tracer's messages to FILE\n"
    "  -q, --quiet          do not say where the trace is\n"
    "  -h, --help           print this help and exit\n"
    "  -V, --version        print the version and exit\n"
    "\n"
    "The exit status is PROGRAM's; 125 when memprof-record fails, 126 when\n"
    "PROGRAM cannot be run, 127 when it is not found.\n";

/**
 * struct control - an option that the tracer has a variable for
 * @variable: without the prefix
 * @also:     another one that is set to the same; or NULL
 * @value:    what it is set to; NULL: the option's argument
 * @check:    of the argument; NULL: any will do
 * @takes:    what @check lets through
 */
struct control {
	const char *option;
	const char *variable;
	const char *also;
	const char *value;
	bool (*check)(const char *argument);
	const char *takes;
};

/* Safety: pure.  A letter that is no placeholder would leave the name. */
static bool is_output(const char *argument)
{
	const char *p = argument;

	while ((p = strchr(p, '%'))) {
		if (!p[1] || !strchr("pten%", p[1]))
			return false;
		p += 2;
	}
	return *argument && strcmp(argument, "-") != 0;
}

/* Safety: pure. */
static bool is_user(const char *argument)
{
	uint64_t number;

	return values_parse_number(argument, OPTIONS_NO_OWNER - 1, &number);
}

/* Safety: pure.  A number of the options that imply --cull. */
static bool is_culling(const char *argument)
{
	uint64_t number;

	return values_parse_number(argument, UINT64_MAX, &number);
}

/* Safety: pure. */
static bool is_seconds(const char *argument)
{
	uint64_t ns;

	return values_parse_seconds(argument, &ns);
}

/* Safety: pure. */
static bool is_rotation(const char *argument)
{
	struct rotate rotate;

	return values_parse_rotate(argument, &rotate);
}

/* Safety: pure. */
static bool is_level(const char *argument)
{
	enum log_level level;

	return values_parse_level(argument, &level);
}

static char *included; /* all arguments of --include */

/* Safety: single thread.  Each adds to those before. */
static bool is_included(const char *argument)
{
	char *list = NULL;

	if (!*argument)
		return false;
	if (asprintf(&list, "%s%s%s", included ? included : "",
		     included ? ":" : "", argument) < 0)
		fail(EXIT_OWN_FAILURE, "--include", ENOMEM);
	free(included);
	included = list;
	return true;
}

static const struct control controls[] = {
    {"output", "OUTPUT", NULL, NULL, is_output,
     "the name of a file, in which %p, %t, %e, %n and %% are placeholders; "
     "standard output takes no trace"},
    {"children", "TRACK_CHILD_PROCESSES", NULL, "1", NULL, NULL},
    {"disable-at-start", "DISABLE_BY_DEFAULT", NULL, "1", NULL, NULL},
    {"duration", "DURATION", NULL, NULL, is_seconds,
     "seconds, more than 0: 90 or 1.5"},
    {"rotate", "ROTATE", NULL, NULL, is_rotation,
     "a size, a time or both: 64M, 10m or 64M,10m"},
    {"no-signals", "REGISTER_SIGUSR1", "REGISTER_SIGUSR2", "0", NULL, NULL},
    {"no-free-stacks", "GRAB_BACKTRACES_ON_FREE", NULL, "0", NULL, NULL},
    {"binaries", "WRITE_BINARIES_TO_OUTPUT", NULL, "1", NULL, NULL},
    {"include", "INCLUDE_FILE", NULL, NULL, is_included,
     "a pattern of file names"},
    {"cull", "CULL_TEMPORARY_ALLOCATIONS", NULL, "1", NULL, NULL},
    {"cull-lifetime", "TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD", NULL, NULL,
     is_culling, "a number of milliseconds"},
    {"cull-pending", "TEMPORARY_ALLOCATION_PENDING_THRESHOLD", NULL, NULL,
     is_culling, "a number of allocations"},
    {"zero-memory", "ZERO_MEMORY", NULL, "1", NULL, NULL},
    {"no-helper", "HELPER", NULL, "0", NULL, NULL},
    {"chown", "CHOWN_OUTPUT_TO", NULL, NULL, is_user,
     "the number of a user, as id -u prints it"},
    {"log", "LOG", NULL, NULL, is_level,
     "off, error, warn, info, debug or trace"},
    {"log-file", "LOGFILE", NULL, NULL, NULL, NULL},
};

static const struct option own_options[] = {
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

enum {
	CONTROL_COUNT = sizeof(controls) / sizeof(controls[0]),
	OWN_COUNT = sizeof(own_options) / sizeof(own_options[0]),
	FIRST_CONTROL = 256, /* what getopt returns for controls[0] */
};

_Noreturn void fail(int status, const char *what, int err)
{
	if (err)
		fprintf(stderr, "memprof-record: %s: %s\n", what,
			strerror(err));
	else
		fprintf(stderr, "memprof-record: %s\n", what);
	exit(status);
}

/* Safety: single thread. */
static void set_variable(const char *name, const char *value)
{
	char variable[64];

	snprintf(variable, sizeof(variable), PREFIX "%s", name);
	if (setenv(variable, value, 1) != 0)
		fail(EXIT_OWN_FAILURE, variable, errno);
}

/* Safety: single thread. */
static void apply(const struct control *control, const char *argument)
{
	if (control->check && !control->check(argument)) {
		fprintf(stderr,
			"memprof-record: --%s takes %s, not '%s'\n",
			control->option, control->takes, argument);
		exit(EXIT_OWN_FAILURE);
	}
	if (control->value)
		argument = control->value;
	else if (control->check == is_included)
		argument = included;
	else if (control->check == is_culling)
		set_variable("CULL_TEMPORARY_ALLOCATIONS", "1");
	set_variable(control->variable, argument);
	if (control->also)
		set_variable(control->also, argument);
}

/* Safety: single thread.  Writes @text to standard output, and ends. */
static _Noreturn void print(const char *text)
{
	if (fputs(text, stdout) < 0 || fflush(stdout) != 0)
		fail(EXIT_OWN_FAILURE, "standard output", errno);
	exit(0);
}

/* Safety: pure.  @ret has room for all options. */
static void fill_options(struct option *ret)
{
	for (int i = 0; i < CONTROL_COUNT; i++)
		ret[i] = (struct option){
		    .name = controls[i].option,
		    .has_arg = controls[i].value ? no_argument
						 : required_argument,
		    .val = FIRST_CONTROL + i,
		};
	memcpy(ret + CONTROL_COUNT, own_options, sizeof(own_options));
}

void settings_parse(int argc, char **argv, struct settings *ret)
{
	struct option known[CONTROL_COUNT + OWN_COUNT];
	const char *value;
	int c;

	*ret = (struct settings){0};
	fill_options(known);
	while ((c = getopt_long(argc, argv, "+o:qhV", known, NULL)) != -1) {
		switch (c) {
		case 'o':
			apply(&controls[0], optarg);
			break;
		case 'q':
			ret->quiet = true;
			break;
		case 'h':
			print(help);
		case 'V':
			print("memprof-record " MEMPROF_VERSION "\n");
		case '?':
			fputs("Try 'memprof-record --help'.\n", stderr);
			exit(EXIT_OWN_FAILURE);
		default:
			apply(&controls[c - FIRST_CONTROL], optarg);
		}
	}
	if (optind == argc)
		fail(EXIT_OWN_FAILURE, "no program given; try --help", 0);
	ret->program = optind;
	value = getenv(PREFIX "DISABLE_BY_DEFAULT");
	ret->is_disabled =
	    value && (strcmp(value, "1") == 0 || strcmp(value, "true") == 0);
}

/* Safety: single thread.  This program's path, also without /proc. */
static void find_self(char ret[PATH_MAX])
{
	union {
		unsigned long value;
		const char *path;
	} started_as = {getauxval(AT_EXECFN)};
	ssize_t len = readlink("/proc/self/exe", ret, PATH_MAX - 1);

	if (len >= 0)
		ret[len] = '\0';
	else if (!started_as.value || !realpath(started_as.path, ret))
		fail(EXIT_OWN_FAILURE,
		     "cannot tell where it lies itself, and so libmemprof.so",
		     errno);
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
	char *slash;

	find_self(dir);
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
		fail(EXIT_OWN_FAILURE, "libmemprof.so not found", 0);
	if (strpbrk(ret, ": "))
		fail(EXIT_OWN_FAILURE,
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
		fail(EXIT_OWN_FAILURE, "environment", ENOMEM);
	snprintf(value, len, "%s%s%s", library, old && *old ? ":" : "",
		 old ? old : "");
	setenv("LD_PRELOAD", value, 1);
	free(value);
}

/*
 * What is traced may be started in another directory, by a program that is not
 * traced.
 *
 * Safety: single thread.  @pattern: a file's name; or NULL.
 */
static void set_absolute(const char *variable, const char *pattern)
{
	char *absolute;

	if (!pattern || !*pattern)
		return;
	absolute = output_make_absolute(pattern);
	if (!absolute)
		fail(EXIT_OWN_FAILURE, pattern, errno);
	if (strlen(absolute) >= OPTIONS_PATH_MAX)
		fail(EXIT_OWN_FAILURE, absolute, ENAMETOOLONG);
	set_variable(variable, absolute);
	free(absolute);
}

void settings_set_environment(const char *names_path)
{
	const char *output = getenv(PREFIX "OUTPUT");
	char library[PATH_MAX];
	int err = output_check(output);

	if (err) {
		fprintf(stderr, "memprof-record: cannot make %s: %s\n",
			output ? output : "a trace here",
			err == EEXIST ? "It is no regular file, or standard output"
				      : strerror(err));
		exit(EXIT_OWN_FAILURE);
	}
	set_absolute("OUTPUT", output ? output : OPTIONS_OUTPUT_DEFAULT);
	set_absolute("LOGFILE", getenv(PREFIX "LOGFILE"));
	find_library(library);
	set_preload(library);
	set_variable("NAME_FILE", names_path);
	unsetenv(PREFIX "IS_CHILD");
}
