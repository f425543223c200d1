/* SPDX-License-Identifier: MIT */
/* report.md: what is escaped, and what an independent reading finds. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <cmark.h>

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/output/markdown/markdown_figure.h"
#include "report/output/markdown/markdown_text.h"
#include "report/output/markdown/markdown_tree.h"
#include "tests/lib/figure_samples.h"
#include "tests/lib/sample_figures.h"

static void page_render(const struct page *page, struct sink *out)
{
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	char message[2048];

	sink_init_memory(out);
	if (page_markdown.render(page, out, &diag) == 0)
		return;
	diag_format(&diag, message, sizeof(message));
	fail_msg("%s", message);
}

static void text_gives(const char *text, const char *expected)
{
	struct sink out;

	sink_init_memory(&out);
	markdown_text(&out, text);
	assert_string_equal(out.data ? out.data : "", expected);
	sink_done(&out);
}

static void code_gives(const char *text, size_t letters, const char *expected)
{
	struct sink out;

	sink_init_memory(&out);
	markdown_code(&out, text, letters);
	assert_string_equal(out.data, expected);
	sink_done(&out);
}

static void test_text(void **state)
{
	(void)state;
	text_gives("plain words, 1.5 MiB", "plain words, 1.5 MiB");
	text_gives("a*b_c [d](e) <f> `g` | ~h~ {i} \\ & $",
		   "a\\*b_c \\[d\\](e) \\<f\\> \\`g\\` \\| \\~h\\~ \\{i\\} "
		   "\\\\ \\& \\$");
	text_gives("_a_ malloc_usable_size", "\\_a\\_ malloc_usable_size");
	text_gives("@me a@b.c #12 # x", "@<!-- -->me a@<!-- -->b.c "
					"\\#<!-- -->12 \\# x");
	text_gives("http://x www.y :smile: a:b", "http:<!-- -->//x "
						 "w<!-- -->ww.y "
						 ":<!-- -->smile: a:b");
	text_gives("- a", "\\- a");
	text_gives("1. a", "1\\. a");
	text_gives("12) a", "12\\) a");
	text_gives("", "");
}

static void test_code(void **state)
{
	(void)state;
	code_gives("f(int)", 9, "`f(int)`");
	code_gives("a`b", 9, "``a`b``");
	code_gives("`a``", 9, "``` `a`` ```");
	code_gives(" a ", 9, "`  a  `");
	code_gives("a|b", 9, "`a\\|b`");
	code_gives("a\\|b", 9, "`a\\\\\\|b`");
	code_gives("abcdef", 3, "`abc\xe2\x80\xa6`");
	code_gives("\xc3\xa4\xc3\xb6\xc3\xbc", 2,
		   "`\xc3\xa4\xc3\xb6\xe2\x80\xa6`");
	code_gives("", 9, "\xe2\x80\x93");
}

static void test_targets(void **state)
{
	struct sink out;

	(void)state;
	sink_init_memory(&out);
	markdown_target(&out, "a b(c).svg");
	assert_string_equal(out.data, "a%20b%28c%29.svg");
	sink_done(&out);
}

/* Pipes that end a cell: those no backslash stands before. */
static unsigned cells_count(const char *line, size_t len)
{
	unsigned count = 0;

	for (size_t i = 0; i < len; i++)
		if (line[i] == '|' && (i == 0 || line[i - 1] != '\\'))
			count++;
	return count;
}

static void check_tables(const char *text)
{
	unsigned columns = 0;
	const char *end;

	for (; *text; text = end + 1) {
		size_t len;

		end = strchr(text, '\n');
		assert_non_null(end);
		len = (size_t)(end - text);
		if (*text != '|') {
			columns = 0;
			continue;
		}
		if (!columns)
			columns = cells_count(text, len);
		if (cells_count(text, len) != columns)
			fail_msg("torn row: %.*s", (int)len, text);
	}
}

static bool html_is_known(const char *html)
{
	static const char *const known[] = {
		"<details>\n<summary>", "</details>\n", "<!-- -->",
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strncmp(html, known[i], strlen(known[i])) == 0)
			return true;
	return false;
}

/* No name from the trace is anything but text or code. */
static void check_nodes(const struct sink *out)
{
	cmark_node *root = cmark_parse_document(out->data, out->len,
						CMARK_OPT_DEFAULT);
	cmark_iter *iter = cmark_iter_new(root);
	cmark_event_type event;

	while ((event = cmark_iter_next(iter)) != CMARK_EVENT_DONE) {
		cmark_node *node = cmark_iter_get_node(iter);
		cmark_node_type type = cmark_node_get_type(node);
		const char *literal = cmark_node_get_literal(node);
		const char *url = cmark_node_get_url(node);

		if (type == CMARK_NODE_HTML_BLOCK ||
		    type == CMARK_NODE_HTML_INLINE) {
			if (!html_is_known(literal))
				fail_msg("HTML: %s", literal);
		} else if (type == CMARK_NODE_TEXT) {
			assert_null(strstr(literal, "@octocat"));
			assert_null(strstr(literal, "script"));
			assert_null(strstr(literal, "std::"));
		}
		if (url)
			assert_null(strchr(url, ':'));
	}
	cmark_iter_free(iter);
	cmark_node_free(root);
}

static void test_pages(void **state)
{
	struct arena arena = { 0 };

	(void)state;
	for (int kind = SAMPLE_FULL; kind <= SAMPLE_BARE; kind++) {
		struct sink out;

		page_render(sample_page(&arena, (enum sample_kind)kind), &out);
		assert_true(out.len < 60000);
		check_tables(out.data);
		check_nodes(&out);
		sink_done(&out);
	}
	arena_done(&arena);
}

static void test_pictures_are_links(void **state)
{
	struct arena arena = { 0 };
	struct sink out;

	(void)state;
	page_render(sample_page(&arena, SAMPLE_FULL), &out);
	assert_non_null(strstr(out.data, "](leaks.flamegraph.svg)\n"));
	assert_non_null(strstr(out.data, "> [!NOTE]\n> Complete"));
	assert_non_null(strstr(out.data, "[summary.json](summary.json)"));
	sink_done(&out);
	arena_done(&arena);
}

/* Of a histogram every class that holds something is shown, no other. */
static void test_classes(void **state)
{
	static const struct markdown_limits limits = { 3, 40 };
	struct arena arena = { 0 };
	struct figure figure = *sample_lifetimes(&arena);
	struct figure_table *table = &figure.table;
	size_t cells_count = table->row_count * table->column_count;
	struct cell *cells = arena_array(&arena, cells_count, sizeof(*cells));
	size_t lines = 0;
	struct sink out;

	(void)state;
	memcpy(cells, table->cells, cells_count * sizeof(*cells));
	for (size_t i = 3; i < table->column_count; i++)
		cells[7 * table->column_count + i].count = 0;
	cells[7 * table->column_count + 2].text = "empty";
	table->cells = cells;
	sink_init_memory(&out);
	markdown_figure(&out, &figure, NULL, &limits);
	for (const char *c = out.data; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, 2 + table->row_count - 1);
	assert_null(strstr(out.data, "empty"));
	assert_non_null(strstr(out.data, "\n| `never freed` |"));
	assert_null(strstr(out.data, "The first"));
	sink_done(&out);
	arena_done(&arena);
}

/* Forty views of long names still make a page that fits a comment. */
static void test_large_pages_are_cut(void **state)
{
	enum { VIEWS = 40 };
	const struct figure *figures[64 + VIEWS];
	struct arena arena = { 0 };
	struct page page = *sample_page(&arena, SAMPLE_FULL);
	struct figure copies[VIEWS];
	char ids[VIEWS][32];
	struct sink out;

	(void)state;
	memcpy(figures, page.figures, page.figure_count * sizeof(*figures));
	for (size_t i = 0; i < VIEWS; i++) {
		for (size_t j = 0; j < page.figure_count; j++)
			if (strcmp(figures[j]->id, "top.peak") == 0)
				copies[i] = *figures[j];
		snprintf(ids[i], sizeof(ids[i]), "view.v%zu.groups", i);
		copies[i].id = ids[i];
		figures[page.figure_count + i] = &copies[i];
	}
	page.figures = figures;
	page.figure_count += VIEWS;
	page_render(&page, &out);
	assert_in_range(out.len, 30000, 60000);
	assert_non_null(strstr(out.data, " of 12 rows."));
	check_tables(out.data);
	check_nodes(&out);
	sink_done(&out);
	arena_done(&arena);
}

/* A way of @depth nodes of 100 bytes, then @leaves of @leaf_bytes each. */
static char *tree_text(struct sink *out, unsigned depth, unsigned leaves,
		       uint64_t leaf_bytes)
{
	static const struct figure_frame frames[] = {
		{ .function = "f" }, { .function = "main" }, { .function = "g" },
	};
	struct figure_node nodes[64] = { 0 };
	struct figure_tree tree = { .nodes = nodes };

	for (unsigned i = 0; i < depth + leaves; i++)
		nodes[i] = (struct figure_node){
			.frame = i ? &frames[i < 2 ? 0 : i < depth ? 1 : 2]
				   : NULL,
			.total_bytes = i < depth ? 100 : leaf_bytes,
			.first_child = i < depth && i + 1 < depth + leaves
					       ? i + 1
					       : FIGURE_NO_NODE,
			.next_sibling = i >= depth && i + 1 < depth + leaves
						? i + 1
						: FIGURE_NO_NODE,
		};
	tree.node_count = depth + leaves;
	sink_init_memory(out);
	markdown_tree(out, &tree, 80);
	return out->data;
}

static void tree_gives(unsigned depth, unsigned leaves, uint64_t leaf_bytes,
		       const char *expected_end)
{
	struct sink out;
	const char *text = tree_text(&out, depth, leaves, leaf_bytes);

	assert_string_equal(strstr(text, "\n```\n") + strlen("\n```\n"),
			    expected_end);
	sink_done(&out);
}

static void test_trees_say_what_is_left_out(void **state)
{
	(void)state;
	tree_gives(1, 0, 0, "");
	tree_gives(2, 3, 2, "");
	tree_gives(40, 14, 2, "");
	tree_gives(2, 3, 1,
		   "\nLeft out: functions below 2 % of the total.\n");
	tree_gives(1, 16, 2, "\nLeft out: all after 16 lines.\n");
	tree_gives(40, 15, 2, "\nLeft out: all after 16 lines.\n");
}

/* What only calls the next function takes no line of its own. */
static void test_ways_down_are_one_line(void **state)
{
	struct sink out;

	(void)state;
	assert_string_equal(tree_text(&out, 2, 1, 50),
			    "```text\n"
			    "     100 B   100 %  all\n"
			    "     100 B   100 %    f\n"
			    "      50 B  50.0 %      g\n"
			    "```\n");
	sink_done(&out);
	assert_string_equal(tree_text(&out, 3, 1, 97),
			    "```text\n"
			    "     100 B   100 %  all\n"
			    "     100 B   100 %    f > main\n"
			    "      97 B  97.0 %      g\n"
			    "```\n");
	sink_done(&out);
	assert_string_equal(tree_text(&out, 4, 1, 98),
			    "```text\n"
			    "     100 B   100 %  all\n"
			    "     100 B   100 %    f > 2 frames > g\n"
			    "```\n");
	sink_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_pictures_are_links),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_large_pages_are_cut),
		cmocka_unit_test(test_trees_say_what_is_left_out),
		cmocka_unit_test(test_ways_down_are_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
