/* SPDX-License-Identifier: MIT */
#include "report/cli.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/memory.h"
#include "report/core/text.h"
#include "report/core/units.h"
#include "report/filter/choice.h"
#include "report/filter/filter.h"
#include "report/output/page.h"
#include "report/spec_keys.h"
#include "report/traces.h"

enum {
	JOBS_MAX = 1024,
	NAMES_MAX = 64,
	HINT_BYTES = 2048,
	HELP_INDENT = 28,
	HELP_COLUMNS = 79,
};

enum option_group { GROUP_WHAT, GROUP_WHERE, GROUP_OTHER, GROUP_COUNT };

/* Options without a short form are told apart by numbers past all bytes. */
enum option_id {
	OPTION_SPEC = 256,
	OPTION_VIEW,
	OPTION_AS,
	OPTION_LIST,
	OPTION_CHECK,
	OPTION_EXTRACT,
	OPTION_TEMPLATES,
	OPTION_DEBUG_DIR,
	OPTION_JOBS,
	OPTION_MEMORY,
	OPTION_TIMINGS,
	OPTION_VERBOSE,
};

/**
 * struct option_row - one option, for getopt and for --help
 * @id:       short option's letter or enum option_id
 * @argument: what it takes, NULL for nothing
 */
struct option_row {
	enum option_group group;
	int id;
	const char *name;
	const char *argument;
	const char *summary;
};

static const char *const group_titles[GROUP_COUNT] = {
	[GROUP_WHAT] = "What to write",
	[GROUP_WHERE] = "Where to write and to look",
	[GROUP_OTHER] = "Other",
};

static const struct option_row option_rows[] = {
	{ GROUP_WHAT, OPTION_SPEC, "spec", "FILE",
	  "pages, views and artifacts that FILE asks for" },
	{ GROUP_WHAT, OPTION_VIEW, "view", "QUERY",
	  "one view, KEY=VALUE&KEY=VALUE; needs --as" },
	{ GROUP_WHAT, OPTION_AS, "as", "ARTIFACT",
	  "write this artifact of the view, nothing else" },
	{ GROUP_WHAT, OPTION_LIST, "list", NULL,
	  "print what the traces hold" },
	{ GROUP_WHAT, OPTION_CHECK, "check", NULL,
	  "read the traces in full and print what is damaged" },
	{ GROUP_WHAT, OPTION_EXTRACT, "extract", "DIR",
	  "write the files that the traces hold below DIR" },
	{ GROUP_WHERE, 'o', "output", "PATH",
	  "directory of the report; with --as: file, - is stdout" },
	{ GROUP_WHERE, OPTION_TEMPLATES, "templates", "DIR",
	  "templates and default.ini in DIR replace built-in ones" },
	{ GROUP_WHERE, OPTION_DEBUG_DIR, "debug-dir", "DIR",
	  "look here first for debug files; may be repeated" },
	{ GROUP_OTHER, OPTION_JOBS, "jobs", "N",
	  "use no more than N threads; as many as processors if not given" },
	{ GROUP_OTHER, OPTION_MEMORY, "memory", "BYTES",
	  "take no more memory than this; stop where it is not enough" },
	{ GROUP_OTHER, OPTION_TIMINGS, "timings", NULL,
	  "print what each step took, to standard error" },
	{ GROUP_OTHER, 'q', "quiet", NULL,
	  "no summary of the report on standard output, no line of progress; "
	  "warnings and errors stay" },
	{ GROUP_OTHER, OPTION_VERBOSE, "verbose", NULL,
	  "print also what is being done and what was not found" },
	{ GROUP_OTHER, 'h', "help", NULL, "print this" },
	{ GROUP_OTHER, 'V', "version", NULL, "print the version" },
};

enum { OPTION_COUNT = sizeof(option_rows) / sizeof(option_rows[0]) };

static int usage(struct diag *diag, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int usage(struct diag *diag, const char *format, ...)
{
	char text[HINT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
			"%s (see memprof-report --help)", text);
}

/* --- parsing --- */

/* Terminated tables for getopt_long(). @letters: room for all short forms. */
static void getopt_tables(struct option options[OPTION_COUNT + 1],
			  char letters[2 * OPTION_COUNT + 2])
{
	*letters++ = ':';
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const struct option_row *row = &option_rows[i];

		options[i] = (struct option){
			.name = row->name,
			.has_arg = row->argument ? required_argument
						 : no_argument,
			.val = row->id,
		};
		if (row->id > UCHAR_MAX)
			continue;
		*letters++ = (char)row->id;
		if (row->argument)
			*letters++ = ':';
	}
	*letters = '\0';
	memset(&options[OPTION_COUNT], 0, sizeof(options[0]));
}

static const struct option_row *row_find(int id)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (option_rows[i].id == id)
			return &option_rows[i];
	return NULL;
}

static int unknown_option(const char *word, struct diag *diag)
{
	const char *names[OPTION_COUNT + 1] = { NULL };
	const char *nearest;

	if (strncmp(word, "--", 2) != 0)
		return usage(diag, "unknown option %s", word);
	for (size_t i = 0; i < OPTION_COUNT; i++)
		names[i] = option_rows[i].name;
	nearest = text_nearest(word + 2, names);
	if (!nearest)
		return usage(diag, "unknown option %s", word);
	return usage(diag, "unknown option %s; did you mean --%s?", word,
		     nearest);
}

/* getopt_long() said '?': an unknown option (@optopt 0, or its letter), or a
   long one (@optopt its id) that came with =VALUE but takes none. */
static int bad_option(char **argv, struct diag *diag)
{
	const struct option_row *row = optopt ? row_find(optopt) : NULL;
	char letter[] = { '-', (char)optopt, '\0' };

	if (row)
		return usage(diag, "--%s takes no value", row->name);
	return unknown_option(optopt ? letter : argv[optind - 1], diag);
}

static void artifact_names(const char *names[NAMES_MAX])
{
	size_t i;

	for (i = 0; artifact_formats[i]; i++) {
		assert(i < NAMES_MAX - 1);
		names[i] = artifact_formats[i]->name;
	}
	names[i] = NULL;
}

static int as_set(struct cli *cli, const char *name, struct diag *diag)
{
	const char *names[NAMES_MAX];
	struct diag found;
	int index;

	artifact_names(names);
	index = choice_find(name, names, "an artifact", &found);
	if (index < 0)
		return usage(diag, "--as: %s", found.text);
	cli->as = artifact_formats[index];
	return 0;
}

static int jobs_set(struct cli *cli, const char *value, struct diag *diag)
{
	uint64_t jobs;

	if (!units_parse_integer(value, &jobs) || jobs < 1 || jobs > JOBS_MAX)
		return usage(diag,
			     "--jobs: \"%s\" is not a number of threads; "
			     "allowed: 1 to %d",
			     value, JOBS_MAX);
	cli->jobs = (unsigned)jobs;
	return 0;
}

static int memory_set(struct cli *cli, const char *value, struct diag *diag)
{
	if (!units_parse_bytes(value, &cli->memory))
		return usage(diag,
			     "--memory: \"%s\" is not a number of bytes; "
			     "examples: 512MiB, 2GB",
			     value);
	if (cli->memory < MEMORY_LIMIT_MIN)
		return usage(diag,
			     "--memory: %s is not enough for any trace; "
			     "allowed: 16MiB and more",
			     value);
	return 0;
}

/* --help and --version win over what else is asked, the first of the two over
   the second. */
static int mode_set(struct cli *cli, enum cli_mode mode, struct diag *diag)
{
	if (cli->mode == CLI_HELP || cli->mode == CLI_VERSION)
		return 0;
	if (mode != CLI_HELP && mode != CLI_VERSION &&
	    cli->mode != CLI_REPORT && cli->mode != mode)
		return usage(diag, "--list, --check and --extract exclude "
				   "each other");
	cli->mode = mode;
	return 0;
}

static int value_missing(int id, struct diag *diag)
{
	const struct option_row *row = row_find(id);

	return usage(diag, "--%s needs a value: --%s %s", row->name, row->name,
		     row->argument);
}

static int option_apply(struct cli *cli, int id, const char *value,
			struct diag *diag)
{
	if (value && !value[0] && id != OPTION_VIEW)
		return value_missing(id, diag);
	switch (id) {
	case OPTION_SPEC:
		cli->spec = value;
		break;
	case OPTION_VIEW:
		cli->view = value;
		break;
	case OPTION_AS:
		return as_set(cli, value, diag);
	case OPTION_LIST:
		return mode_set(cli, CLI_LIST, diag);
	case OPTION_CHECK:
		return mode_set(cli, CLI_CHECK, diag);
	case OPTION_EXTRACT:
		cli->extract = value;
		return mode_set(cli, CLI_EXTRACT, diag);
	case 'o':
		cli->output = value;
		break;
	case OPTION_TEMPLATES:
		cli->template_dir = value;
		break;
	case OPTION_DEBUG_DIR:
		cli->debug_dirs[cli->debug_dir_count++] = value;
		break;
	case OPTION_JOBS:
		return jobs_set(cli, value, diag);
	case OPTION_MEMORY:
		return memory_set(cli, value, diag);
	case OPTION_TIMINGS:
		cli->timings = true;
		break;
	case 'q':
		cli->quiet = true;
		break;
	case OPTION_VERBOSE:
		cli->verbose = true;
		break;
	case 'h':
		return mode_set(cli, CLI_HELP, diag);
	case 'V':
		return mode_set(cli, CLI_VERSION, diag);
	default:
		assert(!"an option without its case");
	}
	return 0;
}

static int as_missing(struct diag *diag)
{
	const char *names[NAMES_MAX];
	char list[HINT_BYTES / 2];

	artifact_names(names);
	choice_list(names, list, sizeof(list));
	return usage(diag, "--view needs --as ARTIFACT; allowed: %s", list);
}

/* What the options say together; settles CLI_VIEW. */
static int modes_check(struct cli *cli, struct diag *diag)
{
	bool is_view = cli->view || cli->as;
	bool is_text = cli->mode == CLI_LIST || cli->mode == CLI_CHECK ||
		       cli->mode == CLI_EXTRACT;
	const char *text_mode = cli->mode == CLI_LIST	 ? "--list"
				: cli->mode == CLI_CHECK ? "--check"
							 : "--extract";

	if (cli->quiet && cli->verbose)
		return usage(diag, "--quiet and --verbose exclude each other");
	if (is_text && (is_view || cli->spec || cli->output))
		return usage(diag, "%s goes without --%s", text_mode,
			     cli->as ? "as"
			     : cli->view ? "view"
			     : cli->spec ? "spec"
					 : "output");
	if (is_view && cli->spec)
		return usage(diag, "--spec and --%s exclude each other",
			     cli->view ? "view" : "as");
	if (cli->view && !cli->as)
		return as_missing(diag);
	if (is_view)
		cli->mode = CLI_VIEW;
	if (is_view && !cli->view)
		cli->view = "";
	return 0;
}

/* Reports of several traces lie in directories named like the traces. */
static int names_check(const struct cli *cli, struct diag *diag)
{
	bool is_report = cli->mode == CLI_REPORT;

	for (size_t i = 0; i < cli->trace_count; i++) {
		const char *name = text_basename(cli->traces[i]);

		for (size_t j = 0; j < i; j++)
			if (strcmp(text_basename(cli->traces[j]), name) == 0)
				return usage(diag,
					     "the %s of %s and %s would "
					     "overwrite each other; give each "
					     "its own %s",
					     is_report ? "reports" : "files",
					     cli->traces[j], cli->traces[i],
					     is_report ? "-o" : "--extract");
	}
	return 0;
}

/* A run cannot be made again. */
static int output_check(const struct cli *cli, struct diag *diag)
{
	for (size_t i = 0; i < cli->trace_count; i++)
		if (trace_is_file(cli->traces[i], cli->output))
			return usage(diag,
				     "-o %s would overwrite the trace %s; give "
				     "another file",
				     cli->output, cli->traces[i]);
	return 0;
}

static int traces_check(const struct cli *cli, struct diag *diag)
{
	bool has_stdin = false;

	if (cli->trace_count == 0)
		return usage(diag, "no trace; give a file, or - for standard "
				   "input");
	for (size_t i = 0; i < cli->trace_count; i++) {
		bool is_stdin = strcmp(cli->traces[i], "-") == 0;

		if (!cli->traces[i][0])
			return usage(diag, "a trace's name is empty");
		if (is_stdin && has_stdin)
			return usage(diag, "- stands twice; standard input "
					   "holds one trace");
		has_stdin |= is_stdin;
	}
	if (cli->mode == CLI_VIEW && cli->output &&
	    strcmp(cli->output, "-") != 0)
		return output_check(cli, diag);
	return cli->mode == CLI_REPORT || cli->mode == CLI_EXTRACT
		       ? names_check(cli, diag)
		       : 0;
}

int cli_parse(struct cli *cli, int argc, char **argv, struct diag *diag)
{
	struct option options[OPTION_COUNT + 1];
	char letters[2 * OPTION_COUNT + 2];
	int status = 0;
	int id;

	memset(cli, 0, sizeof(*cli));
	cli->memory = MEMORY_NO_LIMIT;
	cli->debug_dirs = calloc((size_t)argc + 1, sizeof(*cli->debug_dirs));
	if (!cli->debug_dirs)
		return diag_set(diag, -ENOMEM, NULL, DIAG_NO_OFFSET,
				"out of memory");
	getopt_tables(options, letters);
	optind = 0; /* glibc: start anew */
	opterr = 0;
	while (status == 0 &&
	       (id = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		if (id == '?')
			status = bad_option(argv, diag);
		else if (id == ':')
			status = value_missing(optopt, diag);
		else
			status = option_apply(cli, id, optarg, diag);
	}
	if (status || cli->mode == CLI_HELP || cli->mode == CLI_VERSION)
		return status;
	cli->traces = argv + optind;
	cli->trace_count = (size_t)(argc - optind);
	status = modes_check(cli, diag);
	return status ? status : traces_check(cli, diag);
}

void cli_done(struct cli *cli)
{
	free(cli->debug_dirs);
	memset(cli, 0, sizeof(*cli));
}

/* --- help --- */

/* Columns of ASCII or UTF-8 text: its bytes that begin a character. */
static size_t columns(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += (text[i] & 0xc0) != 0x80;
	return count;
}

/* Prints @text from column HELP_INDENT on, wrapped at HELP_COLUMNS. */
static void print_wrapped(FILE *out, const char *text)
{
	size_t used = HELP_INDENT;

	while (*text) {
		size_t len = strcspn(text, " ");
		size_t need = columns(text, len);

		if (used > HELP_INDENT && used + 1 + need > HELP_COLUMNS) {
			fprintf(out, "\n%*s", HELP_INDENT, "");
			used = HELP_INDENT;
		} else if (used > HELP_INDENT) {
			putc(' ', out);
			used++;
		}
		fprintf(out, "%.*s", (int)len, text);
		used += need;
		text += len;
		text += strspn(text, " ");
	}
	putc('\n', out);
}

static void print_row(FILE *out, const char *name, const char *value,
		      const char *summary)
{
	char left[HINT_BYTES];
	int len = snprintf(left, sizeof(left), "  %s%s%s", name,
			   value[0] ? " " : "", value);

	if (len + 2 > HELP_INDENT)
		fprintf(out, "%s\n%*s", left, HELP_INDENT, "");
	else
		fprintf(out, "%-*s", HELP_INDENT, left);
	print_wrapped(out, summary);
}

static void print_options(FILE *out)
{
	for (int group = 0; group < GROUP_COUNT; group++) {
		fprintf(out, "\n%s:\n", group_titles[group]);
		for (size_t i = 0; i < OPTION_COUNT; i++) {
			const struct option_row *row = &option_rows[i];
			char name[NAMES_MAX];
			bool is_short = row->id <= UCHAR_MAX;

			if ((int)row->group != group)
				continue;
			snprintf(name, sizeof(name), "%c%c%c --%s",
				 is_short ? '-' : ' ',
				 is_short ? row->id : ' ', is_short ? ',' : ' ',
				 row->name);
			print_row(out, name, row->argument ? row->argument : "",
				  row->summary);
		}
	}
}

static void print_filter_key(FILE *out, const struct filter_key *key)
{
	char name[HINT_BYTES];

	assert(!key->negated || strncmp(key->negated, "not_", 4) == 0);
	snprintf(name, sizeof(name), "%s%s", key->negated ? "[not_]" : "",
		 key->name);
	print_row(out, name, key->value, key->summary);
}

static void print_keys(FILE *out)
{
	fputs("\nKeys of --view, which select allocations (all must hold); "
	      "[not_]KEY: with not_\nin front it passes what KEY rejects:\n",
	      out);
	for (size_t i = 0; i < filter_key_count; i++)
		if (!filter_key_names_sections(&filter_keys[i]))
			print_filter_key(out, &filter_keys[i]);
	fputs("and which shape the answer, where the artifact has such rows or "
	      "is a tree:\n",
	      out);
	for (size_t i = 0; i < view_key_count; i++)
		if (view_keys[i].in_query)
			print_row(out, view_keys[i].name, view_keys[i].value,
				  view_keys[i].summary);
	fputs("TIME: seconds from the start (1.5, 250ms, 1h30m), a share of "
	      "the run (12.5%),\n"
	      "peak, mark:NAME or phase:NAME.  BYTES: 4096, 64KiB, 10MB, "
	      "0x1000.\n"
	      "Specs have all of these but those of mmaps, and keys that "
	      "name filters:\n",
	      out);
	for (size_t i = 0; i < filter_key_count; i++)
		if (filter_key_names_sections(&filter_keys[i]))
			print_filter_key(out, &filter_keys[i]);
}

static void print_formats(FILE *out)
{
	fputs("\nArtifacts:\n", out);
	for (size_t i = 0; artifact_formats[i]; i++)
		print_row(out, artifact_formats[i]->name, "",
			  artifact_formats[i]->summary);
	fputs("\nPages:\n", out);
	for (size_t i = 0; page_formats[i]; i++)
		print_row(out, page_formats[i]->name, "",
			  page_formats[i]->summary);
}

void cli_print_help(FILE *out)
{
	fputs("Usage: memprof-report [OPTION]... TRACE...\n"
	      "       memprof-report [--view QUERY] --as ARTIFACT TRACE\n"
	      "\n"
	      "Write a report about a trace that memprof-record made.  TRACE "
	      "is a file, or -\nfor standard input.\n",
	      out);
	print_options(out);
	print_keys(out);
	print_formats(out);
	fputs("\nExit status:\n"
	      "  0  done\n"
	      "  1  a limit of fail_if is exceeded; the report was written\n"
	      "  2  usage or spec error, or the report could not be written\n"
	      "  3  a trace could not be read at all, or too little memory\n"
	      "  4  a report was written from a damaged trace\n"
	      "\nExamples:\n"
	      "  memprof-report -o report trace.dat\n"
	      "  memprof-report --view 'lifetime=only_leaked&size_min=1KiB' "
	      "--as tree trace.dat\n",
	      out);
}
