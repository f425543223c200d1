/* SPDX-License-Identifier: MIT */
/* The command line of memprof-report. */
#ifndef REPORT_CLI_H
#define REPORT_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/output/artifact.h"

struct diag;

#define MEMPROF_VERSION "0.1.0"

/* Exit statuses, docs/man/memprof-report.1. */
enum {
	STATUS_OK = 0,
	STATUS_BUDGET = 1,
	STATUS_USAGE = 2,
	STATUS_UNREADABLE = 3,
	STATUS_DAMAGED = 4,
};

enum cli_mode {
	CLI_REPORT,
	CLI_VIEW,
	CLI_LIST,
	CLI_CHECK,
	CLI_EXTRACT,
	CLI_HELP,
	CLI_VERSION,
};

/**
 * struct cli - all text borrowed from argv
 * @output: -o: directory for CLI_REPORT, file for CLI_VIEW ("-" or NULL:
 *          standard output)
 * @extract: directory for CLI_EXTRACT
 * @view, @as: CLI_VIEW; @view "" when only --as was given
 */
struct cli {
	enum cli_mode mode;
	const char *spec;
	const char *output;
	const char *extract;
	const char *view;
	const struct artifact_format *as;
	const char *template_dir;
	const char **debug_dirs;
	size_t debug_dir_count;
	unsigned jobs; /* 0: as many as processors */
	uint64_t memory; /* bytes, MEMORY_NO_LIMIT for no limit */
	bool timings;
	bool quiet;
	bool verbose;
	char **traces;
	size_t trace_count;
};

/* Return: 0; -EINVAL with @diag filled (and a hint to --help).  No trace is an
   error except with --help and --version. */
int cli_parse(struct cli *cli, int argc, char **argv, struct diag *diag);
void cli_done(struct cli *cli);

void cli_print_help(FILE *out);

#endif /* REPORT_CLI_H */
