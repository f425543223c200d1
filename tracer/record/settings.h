/* SPDX-License-Identifier: MIT */
/* The command line of memprof-record, and what becomes of it. */
#ifndef TRACER_RECORD_SETTINGS_H
#define TRACER_RECORD_SETTINGS_H

#include <stdbool.h>

enum {
	EXIT_OWN_FAILURE = 125, /* as env(1): memprof-record itself failed */
	EXIT_CANNOT_RUN = 126,
	EXIT_NOT_FOUND = 127,
};

/**
 * struct settings - what concerns memprof-record itself
 * @program: index of the program in argv
 * @quiet:   do not say where the trace is
 * @is_disabled: recording need not begin
 */
struct settings {
	int program;
	bool quiet;
	bool is_disabled;
};

/* Prints "memprof-record: @what[: name of @err]" and ends with @status.
   Safety: single thread. */
_Noreturn void fail(int status, const char *what, int err);

/*
 * Reads the command line.  What is for the tracer goes into the environment,
 * which the program is to have.
 *
 * Safety: single thread.  Ends the process for --help and for mistakes.
 */
void settings_parse(int argc, char **argv, struct settings *ret);

/*
 * Has the program traced: LD_PRELOAD, and @names_path, where tracers announce
 * their traces.
 *
 * Safety: single thread.  Ends the process where that cannot be.
 */
void settings_set_environment(const char *names_path);

#endif /* TRACER_RECORD_SETTINGS_H */
