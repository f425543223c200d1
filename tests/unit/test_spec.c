/* SPDX-License-Identifier: MIT */
/* Spec files and --view: what is read, and the text of every refusal. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/core/diag.h"
#include "report/spec.h"
#include "report/spec_keys.h"

#define ALL_ARTIFACTS                                                          \
	"flamegraph, folded, tree, allocations, allocations.csv, groups, "     \
	"groups.csv, timeline, timeline.json, sizes, sizes.json, lifetimes, "  \
	"lifetimes.json, heaptrack"

static void reads(struct spec *spec, const char *text)
{
	char message[4096];
	struct diag diag;

	if (spec_read(spec, "a.ini", text, strlen(text), &diag) == 0)
		return;
	diag_format(&diag, message, sizeof(message));
	fail_msg("%s", message);
}

static const struct filter_value *value_of(const struct filter_spec *filter,
					   const char *key)
{
	const struct filter_term *term = filter_spec_find(filter, key);

	assert_non_null(term);
	return &term->value;
}

static void refuses_bytes(const char *text, size_t len, const char *expected)
{
	char message[4096];
	struct spec spec;
	struct diag diag;

	assert_int_equal(spec_read(&spec, "a.ini", text, len, &diag), -EINVAL);
	diag_format(&diag, message, sizeof(message));
	assert_string_equal(message, expected);
	assert_int_equal(spec.view_count, 0);
	assert_null(spec.arena.blocks);
	assert_int_equal(spec_read(&spec, "a.ini", text, len, NULL), -EINVAL);
}

static void refuses(const char *text, const char *expected)
{
	refuses_bytes(text, strlen(text), expected);
}

/* --- what is read --- */

static void an_empty_file_asks_for_all_pages(void **state)
{
	struct spec spec;

	(void)state;
	reads(&spec, "");
	assert_string_equal(spec.path, "a.ini");
	assert_null(spec.title);
	assert_null(spec.output);
	assert_int_equal(spec.page_count, 2);
	assert_ptr_equal(spec.pages[0], page_find("html"));
	assert_ptr_equal(spec.pages[1], page_find("markdown"));
	assert_int_equal(spec.theme, THEME_AUTO);
	assert_int_equal(spec.view_count, 0);
	spec_done(&spec);
	assert_null(spec.path);
	spec_done(&spec);
}

static void the_report_section_is_read(void **state)
{
	struct spec spec;

	(void)state;
	reads(&spec, "# a comment\n"
		     "[report] ; another\n"
		     "title = Nightly; build ; a third\n"
		     "output: out/dir\n"
		     "pages = markdown\n"
		     "theme = dark");
	assert_string_equal(spec.title, "Nightly; build");
	assert_string_equal(spec.output, "out/dir");
	assert_int_equal(spec.page_count, 1);
	assert_ptr_equal(spec.pages[0], page_find("markdown"));
	assert_int_equal(spec.theme, THEME_DARK);
	spec_done(&spec);
	reads(&spec, "[report]\npages = none\ntheme = light\n");
	assert_int_equal(spec.page_count, 0);
	assert_int_equal(spec.theme, THEME_LIGHT);
	spec_done(&spec);
	reads(&spec, "[ report ]\npages =markdown ,html\n");
	assert_int_equal(spec.page_count, 2);
	assert_ptr_equal(spec.pages[0], page_find("markdown"));
	spec_done(&spec);
}

static void a_view_has_defaults(void **state)
{
	struct spec spec;
	const struct spec_view *view;

	(void)state;
	reads(&spec, "\n[view all-of.it_1]\n");
	assert_int_equal(spec.view_count, 1);
	view = &spec.views[0];
	assert_string_equal(view->name, "all-of.it_1");
	assert_string_equal(view->title, "all-of.it_1");
	assert_int_equal(view->line, 2);
	assert_int_equal(view->sort_by, SORT_DEFAULT);
	assert_false(view->has_order);
	assert_true(view->count == SORT_NO_COUNT);
	assert_int_equal(view->cost, COST_BYTES);
	assert_int_equal(view->direction, DIRECTION_CALLERS);
	assert_int_equal(view->artifact_count, 2);
	assert_ptr_equal(view->artifacts[0], &artifact_flamegraph);
	assert_ptr_equal(view->artifacts[1], &artifact_tree);
	assert_int_equal(view->filter.count, 0);
	spec_done(&spec);
}

static void every_view_key_is_read(void **state)
{
	struct spec spec;
	const struct spec_view *view;

	(void)state;
	reads(&spec, "[view v]\n"
		     "title = A title\n"
		     "artifacts = groups, folded\n"
		     "sort_by = all.leaked_count\n"
		     "order = dsc\n"
		     "count = 20\n"
		     "cost = count\n"
		     "from = 1.5\n"
		     "to = 90%\n"
		     "alive_at = peak\n"
		     "lifetime = only_leaked\n"
		     "size_min = 1KiB\n"
		     "size_max = 0x2000\n"
		     "function_regex = ^std::vector<.*>::push_back\n"
		     "negative_function_regex = a;b=c[ ];d\n");
	view = &spec.views[0];
	assert_string_equal(view->title, "A title");
	assert_int_equal(view->artifact_count, 2);
	assert_ptr_equal(view->artifacts[0], &artifact_groups);
	assert_ptr_equal(view->artifacts[1], &artifact_folded);
	assert_int_equal(view->sort_by, SORT_ALL_LEAKED_COUNT);
	assert_true(view->has_order);
	assert_int_equal(view->order, SORT_DESCENDING);
	assert_int_equal(view->count, 20);
	assert_int_equal(view->cost, COST_COUNT);
	assert_int_equal(value_of(&view->filter, "from")->time.kind, TIME_SECONDS);
	assert_true(value_of(&view->filter, "from")->time.value == 1.5);
	assert_int_equal(value_of(&view->filter, "to")->time.kind, TIME_SHARE);
	assert_true(value_of(&view->filter, "to")->time.value == 0.9);
	assert_int_equal(value_of(&view->filter, "alive_at")->time.kind, TIME_PEAK);
	assert_int_equal(value_of(&view->filter, "lifetime")->number, LIFETIME_ONLY_LEAKED);
	assert_int_equal(value_of(&view->filter, "size_min")->number, 1024);
	assert_int_equal(value_of(&view->filter, "size_max")->number, 8192);
	assert_string_equal(value_of(&view->filter, "function_regex")->text,
			    "^std::vector<.*>::push_back");
	assert_string_equal(value_of(&view->filter, "negative_function_regex")->text,
			    "a;b=c[ ];d");
	spec_done(&spec);
}

static void sort_names_match_their_numbers(void **state)
{
	static const struct {
		const char *name;
		enum sort_by sort_by;
	} rows[] = {
		{ "timestamp", SORT_TIMESTAMP },
		{ "address", SORT_ADDRESS },
		{ "size", SORT_SIZE },
		{ "usable_size", SORT_USABLE_SIZE },
		{ "lifetime", SORT_LIFETIME },
		{ "only_matched.min_timestamp", SORT_MATCHED_MIN_TIMESTAMP },
		{ "only_matched.max_timestamp", SORT_MATCHED_MAX_TIMESTAMP },
		{ "only_matched.interval", SORT_MATCHED_INTERVAL },
		{ "only_matched.allocated_count",
		  SORT_MATCHED_ALLOCATED_COUNT },
		{ "only_matched.leaked_count", SORT_MATCHED_LEAKED_COUNT },
		{ "only_matched.size", SORT_MATCHED_SIZE },
		{ "all.min_timestamp", SORT_ALL_MIN_TIMESTAMP },
		{ "all.max_timestamp", SORT_ALL_MAX_TIMESTAMP },
		{ "all.interval", SORT_ALL_INTERVAL },
		{ "all.allocated_count", SORT_ALL_ALLOCATED_COUNT },
		{ "all.leaked_count", SORT_ALL_LEAKED_COUNT },
		{ "all.size", SORT_ALL_SIZE },
		{ "all.max_total_usage_first_seen_at", SORT_ALL_MAX_USAGE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct spec spec;
		char text[128];

		snprintf(text, sizeof(text),
			 "[view v]\nsort_by = %s\nartifacts = %s\n",
			 rows[i].name,
			 strchr(rows[i].name, '.') ? "groups"
						   : "allocations");
		reads(&spec, text);
		assert_int_equal(spec.views[0].sort_by, rows[i].sort_by);
		spec_done(&spec);
	}
	assert_null(sort_names[sizeof(rows) / sizeof(rows[0])]);
}

/* inih would take the second key for more of the first one's value. */
static void indentation_means_nothing(void **state)
{
	struct spec spec;

	(void)state;
	reads(&spec, "  [view v]\r\n\ttitle = x\r\n    count = 3 ; rows\r\n"
		     "  ; comment\r\n   \r\ncost = bytes\r\n"
		     "artifacts = groups, tree\r\n");
	assert_string_equal(spec.views[0].title, "x");
	assert_int_equal(spec.views[0].count, 3);
	spec_done(&spec);
	reads(&spec, "\xef\xbb\xbf[view v]\ncount = all\n"
		     "artifacts = groups\n");
	assert_int_equal(spec.view_count, 1);
	assert_true(spec.views[0].count == SORT_NO_COUNT);
	spec_done(&spec);
}

static void many_views_keep_their_order(void **state)
{
	enum { VIEWS = 1000 };
	char *text = malloc(VIEWS * 64);
	struct spec spec;
	size_t len = 0;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < VIEWS; i++)
		len += (size_t)snprintf(text + len, 64,
					"[view v%d]\nartifacts = groups\n"
					"count = %d\n",
					i, i + 1);
	reads(&spec, text);
	assert_int_equal(spec.view_count, VIEWS);
	for (int i = 0; i < VIEWS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "v%d", i);
		assert_string_equal(spec.views[i].name, name);
		assert_int_equal(spec.views[i].count, i + 1);
		assert_int_equal(spec.views[i].line, 3 * i + 1);
	}
	spec_done(&spec);
	free(text);
}

/* --- refusals --- */

/* @message and how many keys a view has. */
static const char *with_count(const char *message, bool is_query)
{
	static char text[1024];
	size_t count = 0;

	for (size_t i = 0; i < view_key_count; i++)
		count += !is_query || view_keys[i].in_query;
	for (size_t i = 0; i < filter_key_count; i++)
		if (!is_query || !filter_key_names_sections(&filter_keys[i]))
			count += 1 + (filter_keys[i].negated != NULL);
	snprintf(text, sizeof(text),
		 "%sthere are %zu, see memprof-report --help", message, count);
	return text;
}

static void unknown_keys_name_the_nearest(void **state)
{
	(void)state;
	refuses("[view leaks]\n\nlifetme = only_leaked\n",
		with_count("a.ini:3: unknown key \"lifetme\" in [view]; did "
			   "you mean \"lifetime\"? Near it: lifetime, "
			   "not_lifetime, lifetime_min, lifetime_max, "
			   "chain_lifetime_min, chain_lifetime_max; ",
			   false));
	refuses("[view leaks]\nqqqqqqqqqqqqqqq = 1\n",
		with_count("a.ini:2: unknown key \"qqqqqqqqqqqqqqq\" in "
			   "[view]; ",
			   false));
	refuses("[view leaks]\nsize = 1\n",
		with_count("a.ini:2: unknown key \"size\" in [view]; near "
			   "it: size_min, size_max, usable_size_min, "
			   "usable_size_max, first_size_min, first_size_max; ",
			   false));
	refuses("[report]\ntitel = x\n",
		"a.ini:2: unknown key \"titel\" in [report]; did you mean "
		"\"title\"? Allowed: title, output, pages, views, theme, fail_if");
	refuses("[report]\nlifetime = all\n",
		"a.ini:2: unknown key \"lifetime\" in [report]; allowed: "
		"title, output, pages, views, theme, fail_if");
	refuses("[report]\nTITLE = x\n",
		"a.ini:2: unknown key \"TITLE\" in [report]; allowed: title, output, pages, views, theme, fail_if");
	refuses("[report]\n= x\n",
		"a.ini:2: unknown key \"\" in [report]; allowed: title, output, pages, views, theme, fail_if");
	refuses("title = x\n[report]\n",
		"a.ini:1: \"title\" stands before any section; allowed: "
		"[report], [filter NAME], [view NAME]");
}

static void unknown_sections_name_the_nearest(void **state)
{
	(void)state;
	refuses("[reports]\n", "a.ini:1: unknown section [reports]; did you "
			       "mean [report]? Allowed: [report], [filter NAME], [view NAME]");
	refuses("[veiw leaks]\n",
		"a.ini:1: unknown section [veiw leaks]; did you mean [view]? "
		"Allowed: [report], [filter NAME], [view NAME]");
	refuses("[budget]\nx = 1\n",
		"a.ini:1: unknown section [budget]; allowed: [report], [filter NAME], [view NAME]");
	refuses("[report]\n[]\n", "a.ini:2: unknown section []; allowed: "
				  "[report], [filter NAME], [view NAME]");
	refuses("[report x]\n",
		"a.ini:1: unknown section [report x]; did you mean [report]? "
		"Allowed: [report], [filter NAME], [view NAME]");
}

static void bad_section_lines_are_refused(void **state)
{
	(void)state;
	refuses("\n[view\ncount = 1\n",
		"a.ini:2: \"[view\" is a section without its ]; allowed: [report], [filter NAME], [view NAME]");
	refuses("[view a] count = 1\n",
		"a.ini:1: \"count = 1\" stands after the ] of a section; "
		"allowed: a comment");
	refuses("[view 123456789012345678901234567890123456789012345]\n",
		"a.ini:1: a section's name of 50 bytes; allowed: up to 49");
	refuses("[view]\n", "a.ini:1: a view without a name; allowed: [view "
			    "NAME]");
	refuses("[view .hidden]\n",
		"a.ini:1: \".hidden\" is not a view's name; allowed: letters, "
		"digits, _ . -, not beginning with a dot");
	refuses("[view a/../b]\n",
		"a.ini:1: \"a/../b\" is not a view's name; allowed: letters, "
		"digits, _ . -, not beginning with a dot");
	refuses("[view two words]\n",
		"a.ini:1: \"two words\" is not a view's name; allowed: "
		"letters, digits, _ . -, not beginning with a dot");
}

static void repetition_is_refused(void **state)
{
	(void)state;
	refuses("[view a]\ncount = 1\nartifacts = groups\ncount = 1\n",
		"a.ini:4: count stands twice, first in line 2; allowed: once "
		"in a section");
	refuses("[view a]\nsize_min = 1\nsize_min = 2\n",
		"a.ini:3: size_min stands twice, first in line 2; allowed: "
		"once in a section");
	refuses("[report]\ntitle = a\ntitle = b\n",
		"a.ini:3: title stands twice, first in line 2; allowed: once "
		"in a section");
	refuses("[view a]\n[view b]\n[view a]\n",
		"a.ini:3: [view a] stands twice, first in line 1; allowed: "
		"once");
	refuses("\n[report]\n[view b]\n[report]\n",
		"a.ini:4: [report] stands twice, first in line 2; allowed: "
		"once");
	refuses("[view a]\nartifacts = tree, folded, tree\n",
		"a.ini:2: artifacts: \"tree\" stands twice; allowed: once");
}

static void bad_values_are_refused(void **state)
{
	(void)state;
	refuses("[view a]\norder = desc\n",
		"a.ini:2: order: \"desc\" is not an order; did you mean "
		"\"dsc\"? Allowed: asc, dsc");
	refuses("[view a]\ncost = blocks\n",
		"a.ini:2: cost: \"blocks\" is not a cost; allowed: bytes, "
		"count, temporary, peak, leaked");
	refuses("[view a]\ndirection = caller\n",
		"a.ini:2: direction: \"caller\" is not a direction; did you "
		"mean \"callers\"? Allowed: callers, callees");
	refuses("[view a]\ncount = 0\n",
		"a.ini:2: count: \"0\" is not a number of rows; allowed: 1 "
		"and more, all");
	refuses("[view a]\ncount = ten\n",
		"a.ini:2: count: \"ten\" is not a number of rows; allowed: 1 "
		"and more, all");
	refuses("[view a]\nartifacts = flamgraph\n",
		"a.ini:2: artifacts: \"flamgraph\" is not an artifact of a "
		"view; did you mean \"flamegraph\"? Allowed: " ALL_ARTIFACTS);
	refuses("[view a]\nartifacts = tree,\n",
		"a.ini:2: artifacts: \"\" is not an artifact of a view; allowed: "
		ALL_ARTIFACTS);
	refuses("[view a]\nartifacts = tree, mmaps\n",
		"a.ini:2: artifacts: \"mmaps\" is not an artifact of a view; "
		"allowed: " ALL_ARTIFACTS);
	refuses("[report]\npages = htm\n",
		"a.ini:2: pages: \"htm\" is not a page; did you mean "
		"\"html\"? Allowed: html, markdown, none");
	refuses("[report]\npages = html, none\n",
		"a.ini:2: pages: \"none\" stands beside a page; allowed: by itself");
	refuses("[report]\ntheme = black\n",
		"a.ini:2: theme: \"black\" is not a theme; allowed: auto, "
		"light, dark");
	refuses("[view a]\nsize_min = 12q\n",
		"a.ini:2: size_min: \"12q\" is not a number of bytes; "
		"allowed: 4096, 64KiB, 10MB, 0x1000");
	refuses("[view a]\nfunction_regex = a(b\n",
		"a.ini:2: function_regex: \"a(b\" is not a regular "
		"expression: missing closing parenthesis, at byte 3 of it; "
		"allowed: what PCRE2 reads");
	refuses("[view a]\nsort_by = all.sise\n",
		"a.ini:2: sort_by: \"all.sise\" is not a sort key; did you "
		"mean \"all.size\"? Allowed: timestamp, address, size, "
		"usable_size, lifetime, "
		"only_matched.min_timestamp, only_matched.max_timestamp, "
		"only_matched.interval, only_matched.allocated_count, "
		"only_matched.leaked_count, only_matched.size, "
		"all.min_timestamp, all.max_timestamp, all.interval, "
		"all.allocated_count, all.leaked_count, all.size, "
		"all.max_total_usage_first_seen_at");
}

static void limits_are_checked(void **state)
{
	struct spec spec;

	(void)state;
	reads(&spec, "[report]\nfail_if = peak_bytes > 200MiB\n[view a]\n"
		     "fail_if = groups>0 , bytes >= 1.5 KiB,leaked!=0x10\n");
	assert_int_equal(spec.budgets.count, 1);
	assert_int_equal(spec.views[0].budgets.count, 3);
	spec_done(&spec);
	refuses("[report]\nfail_if = peak > 1\n",
		"a.ini:2: fail_if: \"peak\" is not a figure of the run; "
		"allowed: peak_bytes, peak_blocks, peak_rss, allocations, "
		"allocated_bytes, temporary, leaked, leaked_bytes, "
		"events_lost, run_time");
	refuses("[view a]\nfail_if = peak_bytes > 1\n",
		"a.ini:2: fail_if: \"peak_bytes\" is not a figure of a view; "
		"did you mean \"leaked_bytes\"? Allowed: allocations, bytes, "
		"leaked, leaked_bytes, groups");
	refuses("[view a]\nfail_if = groups\n",
		"a.ini:2: fail_if: \"groups\" is not a condition; allowed: "
		"FIGURE OPERATOR LIMIT (leaked_bytes > 1MiB) with >, >=, <, "
		"<=, ==, !=");
	refuses("[view a]\nfail_if = groups = 1\n",
		"a.ini:2: fail_if: \"groups = 1\" is not a condition; "
		"allowed: FIGURE OPERATOR LIMIT (leaked_bytes > 1MiB) with >, "
		">=, <, <=, ==, !=");
	refuses("[view a]\nfail_if = groups > 1KiB\n",
		"a.ini:2: fail_if: \"1KiB\" is not a limit of groups; "
		"allowed: a whole number");
	refuses("[report]\nfail_if = run_time > 10B\n",
		"a.ini:2: fail_if: \"10B\" is not a limit of run_time; "
		"allowed: a duration (1.5, 250ms, 1h30m)");
	refuses("[view a]\nfail_if = bytes > 1,\n",
		"a.ini:2: fail_if: \"\" is not a condition; allowed: FIGURE "
		"OPERATOR LIMIT (leaked_bytes > 1MiB) with >, >=, <, <=, ==, "
		"!=");
}

static void missing_values_are_refused(void **state)
{
	(void)state;
	refuses("[view a]\nlifetime =\n",
		"a.ini:2: lifetime has no value; allowed: lifetime = WORD");
	refuses("[report]\ntitle = ; nothing\n",
		"a.ini:2: title has no value; allowed: title = TEXT");
	refuses("[view a]\nlifetime\n[view b]\n",
		"a.ini:2: \"lifetime\" is neither a key nor a section; "
		"allowed: KEY = VALUE, "
		"[report], [filter NAME], [view NAME], ; COMMENT");
	/* The first of two errors is the one to mend. */
	refuses("[view a]\nlifetime\nfoo = 1\n",
		"a.ini:2: \"lifetime\" is neither a key nor a section; "
		"allowed: KEY = VALUE, "
		"[report], [filter NAME], [view NAME], ; COMMENT");
	refuses("[view a]\ncount = x\nlifetime\n",
		"a.ini:2: count: \"x\" is not a number of rows; allowed: 1 "
		"and more, all");
}

static void contradictions_are_refused(void **state)
{
	(void)state;
	refuses("[view a]\ntitle = x\nskip = 5\nartifacts = tree, timeline\n",
		"a.ini:3: [view a]: skip applies to none of its artifacts; it "
		"does to: allocations, allocations.csv, groups, groups.csv");
	refuses("[view a]\nartifacts = groups\ncost = count\n",
		"a.ini:3: [view a]: cost applies to none of its artifacts; it "
		"does to: flamegraph, folded, tree");
	refuses("[view a]\norder = dsc\n",
		"a.ini:2: [view a]: order applies to none of its artifacts; it "
		"does to: allocations, allocations.csv, groups, groups.csv");
	refuses("\n[view a]\nsize_min = 2\nsize_max = 1\n[view b]\nx = 1\n",
		"a.ini:4: size_min = 2 is greater than size_max = 1: nothing "
		"could pass; allowed: size_min up to 1");
	refuses("[view a]\nfrom = 60%\nto = 50%\n",
		"a.ini:3: from = 60% is later than to = 50%: nothing "
		"could pass; allowed: from up to 50%");
	refuses("[view a]\nsort_by = size\nartifacts = tree, groups\n",
		"a.ini:2: [view a]: sort_by = size is an order of "
		"allocations, not of groups; allowed: only_matched.… and "
		"all.…");
	refuses("[view a]\nartifacts = allocations\nsort_by = all.size\n",
		"a.ini:3: [view a]: sort_by = all.size is an order of groups, "
		"not of allocations; allowed: timestamp, address, size, "
		"usable_size, lifetime");
}

static void hostile_text_is_refused(void **state)
{
	static const char nul[] = "[report]\ntitle = a\0b\n";
	char line[512];
	char text[600];

	(void)state;
	refuses_bytes(nul, sizeof(nul) - 1,
		      "a.ini:2: a NUL byte; allowed: UTF-8 text without any");
	refuses("[report]\ntitle = a\xff\n",
		"a.ini:2: \"a\xef\xbf\xbd\" holds control characters or bytes "
		"that are not UTF-8; allowed: UTF-8 text without control characters");
	refuses("[report]\ntitle = a\tb\n",
		"a.ini:2: \"a\xef\xbf\xbd"
		"b\" holds control characters or bytes that are not UTF-8; allowed: UTF-8 text without control characters");
	refuses("[report]\n\x1b[2J = b\n",
		"a.ini:2: \"\xef\xbf\xbd[2J\" holds control characters or "
		"bytes that are not UTF-8; allowed: UTF-8 text without control characters");
	/* inih would go on in the middle of the line. */
	memset(line, 'x', 198 - strlen("title = "));
	line[198 - strlen("title = ")] = '\0';
	snprintf(text, sizeof(text), "[report]\ntitle = %s\n", line);
	{
		struct spec spec;

		reads(&spec, text);
		assert_string_equal(spec.title, line);
		spec_done(&spec);
	}
	snprintf(text, sizeof(text), "[report]\ntitle = %sx\n", line);
	refuses(text, "a.ini:2: a line of 199 bytes; allowed: up to 198");
}

static void filters_are_named(void **state)
{
	struct spec spec;
	const struct filter_term *term;

	(void)state;
	reads(&spec, "[view v]\nuse = big, late\nsize_max = 9\n"
		     "[filter late]\nfrom = 50%\n"
		     "[filter big]\nsize_min = 4\nuse_any = late\n"
		     "[view w]\nnot_use = late\n");
	assert_int_equal(spec.filter_count, 2);
	assert_int_equal(spec.view_count, 2);
	assert_string_equal(spec.filters[1].name, "big");
	assert_int_equal(spec.filters[1].line, 6);
	term = filter_spec_find(&spec.views[0].filter, "use");
	assert_int_equal(term->line, 2);
	assert_int_equal(term->value.filters.count, 2);
	assert_ptr_equal(term->value.filters.items[0].spec,
			 &spec.filters[1].filter);
	assert_ptr_equal(term->value.filters.items[1].spec,
			 &spec.filters[0].filter);
	assert_ptr_equal(value_of(&spec.views[1].filter, "not_use")
				 ->filters.items[0].spec,
			 &spec.filters[0].filter);
	spec_done(&spec);
	reads(&spec, "[filter unused]\n[filter same]\n[view same]\n");
	assert_int_equal(spec.filter_count, 2);
	spec_done(&spec);
}

static void bad_filters_are_refused(void **state)
{
	char text[1024] = "";
	size_t len = 0;

	(void)state;
	refuses("[view v]\n\nuse = leeks\n[filter leaks]\n",
		"a.ini:3: use: \"leeks\" is not a filter; did you mean "
		"\"leaks\"? Allowed: leaks");
	refuses("[view v]\nnot_use = x\n",
		"a.ini:2: not_use: \"x\" is not a filter; allowed: none, as "
		"there is no [filter NAME]");
	refuses("[filter a]\nuse = a\n",
		"a.ini:2: use: \"a\" uses itself; allowed: filters that do "
		"not");
	refuses("[filter a]\nuse = b\n[filter b]\nuse_any = c\n"
		"[filter c]\nsize_min = 1\nnot_use = a\n",
		"a.ini:7: not_use: \"a\" uses itself; allowed: filters that do "
		"not");
	refuses("[filter a]\n[filter a]\n",
		"a.ini:2: [filter a] stands twice, first in line 1; allowed: "
		"once");
	refuses("[filter]\n", "a.ini:1: a filter without a name; allowed: "
			      "[filter NAME]");
	refuses("[filter .a]\n",
		"a.ini:1: \".a\" is not a filter's name; allowed: letters, "
		"digits, _ . -, not beginning with a dot");
	refuses("[filter a]\nsize_min = 2\nsize_max = 1\n",
		"a.ini:3: size_min = 2 is greater than size_max = 1: nothing "
		"could pass; allowed: size_min up to 1");
	refuses("[view v]\nuse = a, a\n[filter a]\n",
		"a.ini:2: use: \"a\" stands twice; allowed: once");
	refuses("[view v]\nuse = a,\n[filter a]\n",
		"a.ini:2: use: \"\" is not a filter; allowed: names of "
		"[filter NAME] sections with commas between them");
	/* Each uses the next one twice: 2^n in all. */
	for (char c = 'a'; c < 'm'; c++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"[filter %c]\nuse = %c\nuse_any = %c\n",
					c, c + 1, c + 1);
	snprintf(text + len, sizeof(text) - len, "[filter m]\n");
	refuses(text, "a.ini:12: use_any: \"e\" is one of more than 1000 "
		      "filters that use one another here");
}

static void keys_of_filters_are_filter_keys(void **state)
{
	struct spec spec;

	(void)state;
	refuses("[view a]\nthread = 1\nnot_thread = 2\nthread = 1, 1\n",
		"a.ini:4: thread: 1 stands twice; allowed: once");
	refuses("[view a]\nthread = 1, x\n",
		"a.ini:2: thread: \"x\" is not a number; allowed: whole "
		"numbers with commas between them (3, 17)");
	refuses("[view a]\ngroup_leaked_allocations_min = half\n",
		"a.ini:2: group_leaked_allocations_min: \"half\" is not a "
		"number or a share; allowed: a whole number (10), a percentage "
		"of the call site's allocations (12.5%)");
	refuses("[view a]\ngroup_interval_min = peak\n",
		"a.ini:2: group_interval_min: \"peak\" is not a duration; "
		"allowed: 1.5, 250ms, 10us, 1h30m, a share of the run "
		"(12.5%)");
	refuses("[view a]\nlifetime_min = 5%\n",
		"a.ini:2: lifetime_min: \"5%\" is not a duration; allowed: "
		"1.5, 250ms, 10us, 1h30m");
	refuses("[view a]\naddress_min = 1KiB\n",
		"a.ini:2: address_min: \"1KiB\" is not a whole number; "
		"allowed: decimal (4096) or hexadecimal (0x1000)");
	refuses("[view a]\ntemporary = yes\n",
		"a.ini:2: temporary: \"yes\" is not a meaning of temporary; "
		"allowed: heaptrack, freed");
	refuses("[view a]\nnot_lifetime = all\n",
		"a.ini:2: not_lifetime = all: nothing could "
		"pass; allowed: the other lifetimes");
	refuses("[view a]\ngroup_leaked_allocations_min = 50.5%\n"
		"group_leaked_allocations_max = 50.49%\n",
		"a.ini:3: group_leaked_allocations_min = 50.5% is greater "
		"than group_leaked_allocations_max = 50.49%: nothing "
		"could pass; allowed: group_leaked_allocations_min up to "
		"50.49%");
	refuses("[view a]\nmmaped = true\n",
		"a.ini:2: mmaped: \"true\" is not an answer; allowed: yes, "
		"no");
	refuses("[filter a]\njemalloc = yes\n",
		"a.ini:2: there is no key jemalloc: a trace does not tell "
		"allocators other than glibc's from one another; arena = other "
		"is all of them");
	refuses("[view a]\npeak_rss_min = 1MiB\n",
		"a.ini:2: there is no key peak_rss_min: a trace has resident "
		"memory by kind and path, not by map: mappings lists it");
	refuses("[filter a]\nreadable = yes\n",
		"a.ini:2: readable is about maps, not allocations; allowed: in "
		"--view with --as mmaps");
	refuses("[view a]\nexecutable = no\n",
		"a.ini:2: executable is about maps, not allocations; allowed: "
		"in --view with --as mmaps");
	refuses("[filter a]\nfrom_map = a\n",
		"a.ini:2: from_map: \"a\" is not a number; allowed: whole "
		"numbers with commas between them (3, 17)");
	reads(&spec, "[view a]\ngroup_leaked_allocations_min = 0.1%\n"
		     "thread = 1\nthread = 0x2, 3\n"
		     "function_regex = a\nfunction_regex = a\n");
	assert_int_equal(spec.views[0].filter.count, 5);
	spec_done(&spec);
}

/* --- files --- */

static void files_are_loaded(void **state)
{
	char path[] = "/tmp/memprof-test-spec-XXXXXX";
	char expected[512], message[4096];
	int fd = mkstemp(path);
	struct diag diag;
	struct spec spec;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "[view a]\n", 9), 9);
	assert_int_equal(spec_load(&spec, path, NULL, &diag), 0);
	assert_string_equal(spec.path, path);
	assert_int_equal(spec.view_count, 1);
	spec_done(&spec);
	assert_int_equal(ftruncate(fd, 2 * 1024 * 1024), 0);
	assert_int_equal(spec_load(&spec, path, NULL, &diag), -EINVAL);
	snprintf(expected, sizeof(expected),
		 "%s: larger than a spec file may be; allowed: up to 1048576 "
		 "bytes",
		 path);
	diag_format(&diag, message, sizeof(message));
	assert_string_equal(message, expected);
	close(fd);
	unlink(path);
	assert_int_equal(spec_load(&spec, path, NULL, &diag), -ENOENT);
	snprintf(expected, sizeof(expected), "%s: No such file or directory",
		 path);
	diag_format(&diag, message, sizeof(message));
	assert_string_equal(message, expected);
	assert_int_equal(spec_load(&spec, "/", NULL, &diag), -EISDIR);
	diag_format(&diag, message, sizeof(message));
	assert_string_equal(message, "/: Is a directory");
	spec_done(&spec);
}

/* --- --view --- */

static void queries(struct spec *spec, const char *query)
{
	struct diag diag;
	char message[4096];

	if (spec_view_parse(spec, query, &artifact_allocations, NULL, &diag) == 0)
		return;
	diag_format(&diag, message, sizeof(message));
	fail_msg("%s", message);
}

static void refuses_query(const char *query, const char *expected)
{
	struct diag diag;
	struct spec spec;
	char message[4096];

	assert_int_equal(
		spec_view_parse(&spec, query, &artifact_allocations, NULL, &diag),
		-EINVAL);
	diag_format(&diag, message, sizeof(message));
	assert_string_equal(message, expected);
	assert_null(spec.arena.blocks);
}

static void queries_are_read(void **state)
{
	struct spec spec;
	const struct spec_view *view;

	(void)state;
	queries(&spec, "lifetime=only_leaked&size_min=1KiB&sort_by=size&"
		       "order=dsc&count=3");
	view = &spec.views[0];
	assert_int_equal(spec.view_count, 1);
	assert_string_equal(spec.path, "--view");
	assert_string_equal(view->name, "view");
	assert_int_equal(view->line, 0);
	assert_int_equal(view->artifact_count, 1);
	assert_ptr_equal(view->artifacts[0], &artifact_allocations);
	assert_int_equal(value_of(&view->filter, "lifetime")->number, LIFETIME_ONLY_LEAKED);
	assert_int_equal(value_of(&view->filter, "size_min")->number, 1024);
	assert_int_equal(view->sort_by, SORT_SIZE);
	assert_int_equal(view->count, 3);
	spec_done(&spec);
	queries(&spec, "");
	assert_int_equal(spec.views[0].filter.count, 0);
	assert_true(spec.views[0].count == SORT_NO_COUNT);
	assert_string_equal(spec.views[0].title, "All allocations");
	spec_done(&spec);
}

static void queries_are_titled_by_their_conditions(void **state)
{
	struct spec spec;

	(void)state;
	queries(&spec, "not_thread=1&size_min=1KiB&count=3");
	assert_string_equal(spec.views[0].title,
			    "Allocations with not_thread = 1, size_min = 1KiB");
	assert_false(spec.views[0].has_title);
	spec_done(&spec);
	queries(&spec, "size_min=1KiB&title=Big");
	assert_string_equal(spec.views[0].title, "Big");
	assert_true(spec.views[0].has_title);
	spec_done(&spec);
	queries(&spec, "thread=1&thread=2&thread=3&thread=4&thread=5&"
		       "thread=6&thread=7&thread=8&thread=9&thread=10");
	assert_non_null(strstr(spec.views[0].title, "thread = 8, and 2 more"));
	spec_done(&spec);
}

static void percents_are_decoded(void **state)
{
	struct spec spec;
	const struct filter_spec *filter;

	(void)state;
	queries(&spec, "from=10%&to=20%25&function_regex=a%26b%3dc+d=%zz%4&"
		       "&si%7Ae_min=0x10&");
	filter = &spec.views[0].filter;
	assert_int_equal(value_of(filter, "from")->time.kind, TIME_SHARE);
	assert_true(value_of(filter, "from")->time.value == 0.1);
	assert_int_equal(value_of(filter, "to")->time.kind, TIME_SHARE);
	assert_true(value_of(filter, "to")->time.value == 0.2);
	assert_string_equal(value_of(filter, "function_regex")->text, "a&b=c+d=%zz%4");
	assert_int_equal(value_of(filter, "size_min")->number, 16);
	spec_done(&spec);
}

static void keys_do_not_apply_to_the_whole_trace(void **state)
{
	struct diag diag;
	struct spec spec;

	(void)state;
	assert_int_equal(spec_view_parse(&spec, "", &artifact_summary, NULL, &diag),
			 0);
	assert_ptr_equal(spec.views[0].artifacts[0], &artifact_summary);
	spec_done(&spec);
	assert_int_equal(spec_view_parse(&spec, "size_min=1",
					 &artifact_summary, NULL, &diag),
			 -EINVAL);
	assert_string_equal(diag.text, "summary is about the whole trace: no "
				       "key applies to it");
}

static void bad_queries_are_refused(void **state)
{
	(void)state;
	refuses_query("lifetme=all",
		      with_count("--view: unknown key \"lifetme\"; did you "
				 "mean \"lifetime\"? Near it: lifetime, "
				 "not_lifetime, lifetime_min, lifetime_max, "
				 "chain_lifetime_min, chain_lifetime_max; ",
				 true));
	refuses_query("artifacts=tree",
		      with_count("--view: unknown key \"artifacts\"; ", true));
	refuses_query("use_any=a", "--view: use_any names [filter NAME] "
				   "sections, which only a spec has (--spec)");
	refuses_query("cost=count", "--view: cost does not apply to "
				    "allocations; it does to: flamegraph, "
				    "folded, tree");
	refuses_query("arena=heap",
		      "--view: arena: \"heap\" is not an arena; allowed: "
		      "main, non_main, other");
	refuses_query("custom_filter=1",
		      "--view: there is no key custom_filter: there are no "
		      "scripts here; filters are combined with use, use_any, "
		      "not_use");
	refuses_query("lifetime", "--view: \"lifetime\" has no value; "
				  "allowed: KEY=VALUE&KEY=VALUE");
	refuses_query("count=", "--view: count has no value; allowed: count = "
				"NUMBER");
	refuses_query("count=1&count=2", "--view: count stands twice; "
						"allowed: once");
	refuses_query("count=-1", "--view: count: \"-1\" is not a number of "
				  "rows; allowed: 1 and more, all");
	refuses_query("title=a%00b", "--view: %00 in \"title=a%00b\"; "
				     "allowed: text without NUL");
	refuses_query("title=a%0Ab",
		      "--view: \"a\xef\xbf\xbd"
		      "b\" holds control characters or bytes that are not "
		      "UTF-8; allowed: UTF-8 text without control "
		      "characters");
	refuses_query("size_min=2&size_max=1",
		      "--view: size_min = 2 is greater than size_max = 1: nothing "
		      "could pass; "
		      "allowed: size_min up to 1");
	refuses_query("sort_by=all.size",
		      "--view: sort_by = all.size is an order of groups, not "
		      "of allocations; allowed: timestamp, address, size, "
		      "usable_size, lifetime");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_file_asks_for_all_pages),
		cmocka_unit_test(the_report_section_is_read),
		cmocka_unit_test(a_view_has_defaults),
		cmocka_unit_test(every_view_key_is_read),
		cmocka_unit_test(sort_names_match_their_numbers),
		cmocka_unit_test(indentation_means_nothing),
		cmocka_unit_test(many_views_keep_their_order),
		cmocka_unit_test(unknown_keys_name_the_nearest),
		cmocka_unit_test(unknown_sections_name_the_nearest),
		cmocka_unit_test(bad_section_lines_are_refused),
		cmocka_unit_test(repetition_is_refused),
		cmocka_unit_test(bad_values_are_refused),
		cmocka_unit_test(limits_are_checked),
		cmocka_unit_test(missing_values_are_refused),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(hostile_text_is_refused),
		cmocka_unit_test(filters_are_named),
		cmocka_unit_test(bad_filters_are_refused),
		cmocka_unit_test(keys_of_filters_are_filter_keys),
		cmocka_unit_test(files_are_loaded),
		cmocka_unit_test(queries_are_read),
		cmocka_unit_test(percents_are_decoded),
		cmocka_unit_test(queries_are_titled_by_their_conditions),
		cmocka_unit_test(keys_do_not_apply_to_the_whole_trace),
		cmocka_unit_test(bad_queries_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
