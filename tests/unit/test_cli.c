/* SPDX-License-Identifier: MIT */
/* The command line of memprof-report: options, conflicts, help. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/cli.h"
#include "report/core/diag.h"
#include "report/filter/filter.h"
#include "report/output/page.h"
#include "report/spec_keys.h"

enum { ARGS_MAX = 16 };

#define ALL_ARTIFACTS                                                          \
	"flamegraph, folded, tree, allocations, allocations.csv, groups, "     \
	"groups.csv, timeline, timeline.json, sizes, sizes.json, lifetimes, "  \
	"lifetimes.json, heaptrack, summary, mmaps, mallopts, threads, modules, "\
	"markers, residency, mappings"

/* getopt permutes the array, so each test parses a copy of its own. */
struct args {
	char *items[ARGS_MAX + 1];
	int count;
};

/* Splits @line at blanks; a lone _ stands for an empty argument. */
static void args_split(struct args *args, char *buf, const char *line)
{
	char *word;

	memcpy(buf, line, strlen(line) + 1);
	args->items[0] = buf + strlen(line);
	args->count = 1;
	while ((word = strsep(&buf, " ")))
		args->items[args->count++] = strcmp(word, "_") ? word : word + 1;
	args->items[args->count] = NULL;
}

static void parses(struct cli *cli, struct args *args, char *buf,
		   const char *line)
{
	struct diag diag;

	args_split(args, buf, line);
	if (cli_parse(cli, args->count, args->items, &diag))
		fail_msg("%s: %s", line, diag.text);
}

static void refuses(const char *line, const char *expected)
{
	char message[2048], full[2048];
	struct args args;
	struct diag diag;
	struct cli cli;
	char buf[512];

	args_split(&args, buf, line);
	assert_int_equal(cli_parse(&cli, args.count, args.items, &diag),
			 -EINVAL);
	diag_format(&diag, message, sizeof(message));
	snprintf(full, sizeof(full), "%s (see memprof-report --help)",
		 expected);
	assert_string_equal(message, full);
	cli_done(&cli);
}

static void a_trace_is_enough(void **state)
{
	struct args args;
	struct cli cli;
	char buf[512];

	(void)state;
	parses(&cli, &args, buf, "trace.dat");
	assert_int_equal(cli.mode, CLI_REPORT);
	assert_int_equal(cli.trace_count, 1);
	assert_string_equal(cli.traces[0], "trace.dat");
	assert_null(cli.spec);
	assert_null(cli.output);
	assert_null(cli.view);
	assert_null(cli.as);
	assert_null(cli.template_dir);
	assert_int_equal(cli.debug_dir_count, 0);
	assert_int_equal(cli.jobs, 0);
	assert_false(cli.quiet);
	assert_false(cli.verbose);
	cli_done(&cli);
	cli_done(&cli);
}

static void every_option_is_read(void **state)
{
	struct args args;
	struct cli cli;
	char buf[512];

	(void)state;
	parses(&cli, &args, buf,
	       "--spec s.ini -o out a.dat --templates t --debug-dir d1 "
	       "--debug-dir=d2 --jobs 3 --quiet b.dat");
	assert_int_equal(cli.mode, CLI_REPORT);
	assert_string_equal(cli.spec, "s.ini");
	assert_string_equal(cli.output, "out");
	assert_string_equal(cli.template_dir, "t");
	assert_int_equal(cli.debug_dir_count, 2);
	assert_string_equal(cli.debug_dirs[0], "d1");
	assert_string_equal(cli.debug_dirs[1], "d2");
	assert_int_equal(cli.jobs, 3);
	assert_true(cli.quiet);
	assert_int_equal(cli.trace_count, 2);
	assert_string_equal(cli.traces[0], "a.dat");
	assert_string_equal(cli.traces[1], "b.dat");
	cli_done(&cli);
	parses(&cli, &args, buf, "--verbose --timings --output=x/ -- --list -");
	assert_true(cli.verbose);
	assert_true(cli.timings);
	assert_string_equal(cli.output, "x/");
	assert_int_equal(cli.trace_count, 2);
	assert_string_equal(cli.traces[0], "--list");
	assert_string_equal(cli.traces[1], "-");
	cli_done(&cli);
}

static void views_are_read(void **state)
{
	struct args args;
	struct cli cli;
	char buf[512];

	(void)state;
	parses(&cli, &args, buf, "t --view lifetime=only_leaked --as tree -o -");
	assert_int_equal(cli.mode, CLI_VIEW);
	assert_string_equal(cli.view, "lifetime=only_leaked");
	assert_ptr_equal(cli.as, &artifact_tree);
	assert_string_equal(cli.output, "-");
	cli_done(&cli);
	parses(&cli, &args, buf, "--as folded -");
	assert_int_equal(cli.mode, CLI_VIEW);
	assert_string_equal(cli.view, "");
	assert_string_equal(cli.traces[0], "-");
	cli_done(&cli);
	parses(&cli, &args, buf, "--view _ --as summary t");
	assert_string_equal(cli.view, "");
	cli_done(&cli);
}

static void modes_are_read(void **state)
{
	static const struct {
		const char *line;
		enum cli_mode mode;
	} rows[] = {
		{ "--list a b", CLI_LIST },
		{ "--check a", CLI_CHECK },
		{ "--check --check a", CLI_CHECK },
		{ "--list --jobs 2 --debug-dir d --verbose a", CLI_LIST },
		{ "--extract d a b", CLI_EXTRACT },
		{ "--extract d --list a", CLI_REPORT },
		{ "-h", CLI_HELP },
		{ "--help", CLI_HELP },
		{ "-V", CLI_VERSION },
		{ "--version a --list", CLI_VERSION },
		{ "--list --check --help", CLI_REPORT },
		{ "--help --version", CLI_HELP },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct args args;
		struct cli cli;
		char buf[512];

		if (rows[i].mode == CLI_REPORT) {
			refuses(rows[i].line,
				"--list, --check and --extract exclude each "
				"other");
			continue;
		}
		parses(&cli, &args, buf, rows[i].line);
		assert_int_equal(cli.mode, rows[i].mode);
		cli_done(&cli);
	}
}

static void bad_options_are_refused(void **state)
{
	(void)state;
	refuses("--verbos3 a", "unknown option --verbos3; did you mean "
			       "--verbose?");
	refuses("--output-dir x a", "unknown option --output-dir; did you "
				    "mean --output?");
	refuses("--zzzzzzzzzz a", "unknown option --zzzzzzzzzz");
	refuses("-x a", "unknown option -x");
	refuses("-ox -hy a", "unknown option -y");
	refuses("--quiet=1 a", "--quiet takes no value");
	refuses("--help=1 a", "--help takes no value");
	refuses("a --spec", "--spec needs a value: --spec FILE");
	refuses("a -o", "--output needs a value: --output PATH");
	refuses("a --spec=", "--spec needs a value: --spec FILE");
	refuses("a --as", "--as needs a value: --as ARTIFACT");
	refuses("--jobs 0 a", "--jobs: \"0\" is not a number of threads; "
			      "allowed: 1 to 1024");
	refuses("--jobs many a", "--jobs: \"many\" is not a number of "
				 "threads; allowed: 1 to 1024");
	refuses("--jobs 1025 a", "--jobs: \"1025\" is not a number of "
				 "threads; allowed: 1 to 1024");
	refuses("--as flamegrap a",
		"--as: \"flamegrap\" is not an artifact; did you mean "
		"\"flamegraph\"? Allowed: " ALL_ARTIFACTS);
}

static void conflicts_are_refused(void **state)
{
	(void)state;
	refuses("--view count=1 a",
		"--view needs --as ARTIFACT; allowed: " ALL_ARTIFACTS);
	refuses("--view x=1 --as tree --spec s a",
		"--spec and --view exclude each other");
	refuses("--as tree --spec s a", "--spec and --as exclude each other");
	refuses("--list --as tree a", "--list goes without --as");
	refuses("--check --view x a", "--check goes without --view");
	refuses("--check --spec x a", "--check goes without --spec");
	refuses("--list -o x a", "--list goes without --output");
	refuses("--extract d -o x a", "--extract goes without --output");
	refuses("--extract d --as tree a", "--extract goes without --as");
	refuses("--quiet --verbose a",
		"--quiet and --verbose exclude each other");
}

static void traces_are_checked(void **state)
{
	static const char none[] =
		"no trace; give a file, or - for standard input";

	(void)state;
	refuses("--list", none);
	refuses("--", none);
	refuses("-- _", "a trace's name is empty");
	refuses("- a -", "- stands twice; standard input holds one trace");
	refuses("a/t b/t", "the reports of a/t and b/t would overwrite each "
			   "other; give each its own -o");
	refuses("--extract d a/t b/t",
		"the files of a/t and b/t would overwrite each other; give "
		"each its own --extract");
}

static void no_arguments_are_refused(void **state)
{
	char name[] = "memprof-report";
	char *argv[] = { name, NULL };
	struct diag diag;
	struct cli cli;

	(void)state;
	assert_int_equal(cli_parse(&cli, 1, argv, &diag), -EINVAL);
	assert_string_equal(diag.text,
			    "no trace; give a file, or - for standard input "
			    "(see memprof-report --help)");
	cli_done(&cli);
}

static char *help_text(void)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	cli_print_help(out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void help_names(const char *text, const char *name)
{
	char needle[80];

	snprintf(needle, sizeof(needle), "\n  %s", name);
	if (!strstr(text, needle))
		fail_msg("--help lacks %s", name);
}

static void help_lists_the_tables(void **state)
{
	char *text = help_text();

	(void)state;
	for (size_t i = 0; i < filter_key_count; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s%s ",
			 filter_keys[i].negated ? "[not_]" : "",
			 filter_keys[i].name);
		help_names(text, name);
	}
	for (size_t i = 0; i < view_key_count; i++)
		if (view_keys[i].in_query)
			help_names(text, view_keys[i].name);
	for (size_t i = 0; artifact_formats[i]; i++)
		help_names(text, artifact_formats[i]->name);
	for (size_t i = 0; page_formats[i]; i++)
		help_names(text, page_formats[i]->name);
	/* What --view does not take stands behind what it does. */
	assert_true(strstr(text, "\n  use LIST") >
		    strstr(text, "\nSpecs have "));
	assert_true(strstr(text, "\n  direction WORD") <
		    strstr(text, "\nSpecs have "));
	help_names(text, "-h, --help");
	help_names(text, "    --debug-dir DIR");
	free(text);
}

/* Columns, not bytes: continuation bytes of UTF-8 take none. */
static void help_fits_a_terminal(void **state)
{
	char *text = help_text();
	size_t columns = 0;

	(void)state;
	for (const char *c = text; *c; c++) {
		if (*c == '\n')
			columns = 0;
		else if ((*c & 0xc0) != 0x80)
			columns++;
		if (columns > 80)
			fail_msg("more than 80 columns: %.90s", c - 80);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_is_enough),
		cmocka_unit_test(every_option_is_read),
		cmocka_unit_test(views_are_read),
		cmocka_unit_test(modes_are_read),
		cmocka_unit_test(bad_options_are_refused),
		cmocka_unit_test(conflicts_are_refused),
		cmocka_unit_test(traces_are_checked),
		cmocka_unit_test(no_arguments_are_refused),
		cmocka_unit_test(help_lists_the_tables),
		cmocka_unit_test(help_fits_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
