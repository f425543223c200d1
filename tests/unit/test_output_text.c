/* SPDX-License-Identifier: MIT */
/* Folded stacks and text trees. */
#include "tests/lib/unit.h"

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/output/artifact.h"
#include "tests/lib/figure_samples.h"
#include "tests/lib/golden.h"

static char *render(const char *artifact, const struct figure *figure)
{
	struct diag diag = { 0 };
	struct sink out;
	char *text;

	sink_init_memory(&out);
	assert_int_equal(artifact_find(artifact)->render(figure, &out, &diag),
			 0);
	text = strdup(out.data ? out.data : "");
	assert_int_equal(sink_done(&out), 0);
	assert_non_null(text);
	return text;
}

static void test_goldens(void **state)
{
	struct arena arena = { 0 };

	(void)state;
	golden_check_artifact("folded", sample_tree_small(&arena),
			      "small.folded");
	golden_check_artifact("tree", sample_tree_small(&arena),
			      "small.tree.txt");
	golden_check_artifact("folded", sample_tree_hostile(&arena),
			      "hostile.folded");
	golden_check_artifact("tree", sample_tree_hostile(&arena),
			      "hostile.tree.txt");
	golden_check_artifact("tree", sample_tree_empty(&arena),
			      "empty.tree.txt");
	golden_check_artifact("tree", sample_tree_zero(&arena),
			      "zero.tree.txt");
	golden_check_artifact("allocations.csv", sample_allocations(&arena),
			      "one.allocations.csv");
	golden_check_artifact("groups.csv", sample_groups(&arena),
			      "one.groups.csv");
	arena_done(&arena);
}

static const struct figure_frame frame_f = { .function = "f", .module = "m" };
static const struct figure_frame frame_f_other = { .function = "f",
						   .module = "other" };
static const struct figure_frame frame_f_call = { .function = "f(int)",
						  .module = "m" };

/* Lines with the same text are one; they are sorted name by name. */
static void test_folded_merges_and_sorts(void **state)
{
	const struct sample_node nodes[] = {
		{ 0, NULL, 5, 1 },
		{ 0, &frame_f, 10, 1 },
		{ 0, &frame_f_other, 20, 1 },
		{ 0, &frame_f_call, 1, 1 },
		{ 1, &frame_f_call, 2, 1 },
	};
	struct arena arena = { 0 };
	char *text = render("folded", sample_tree(&arena, nodes, 5, false));

	(void)state;
	assert_string_equal(text, "[no stack] 5\nf 30\nf;f(int) 2\nf(int) 1\n");
	free(text);
	text = render("folded", sample_tree(&arena, nodes, 5, true));
	assert_string_equal(text, "[no stack] 1\nf 2\nf;f(int) 1\nf(int) 1\n");
	free(text);
	arena_done(&arena);
}

static void test_folded_empty(void **state)
{
	struct arena arena = { 0 };
	char *text = render("folded", sample_tree_empty(&arena));

	(void)state;
	assert_string_equal(text, "");
	free(text);
	text = render("folded", sample_tree_zero(&arena));
	assert_string_equal(text, "");
	free(text);
	arena_done(&arena);
}

/* What a text of the traced program becomes as a field of its own. */
static void check_csv_text(const char *text, const char *expected)
{
	const struct figure_column column = { "x", "", NULL, CELL_TEXT };
	const struct cell cell = cell_text(text);
	const struct figure figure = {
		.kind = FIGURE_TABLE,
		.id = "t",
		.title = "",
		.table = { .columns = &column,
			   .column_count = 1,
			   .cells = &cell,
			   .row_count = 1 },
	};
	char *found = render("groups.csv", &figure);
	char line[256];

	snprintf(line, sizeof(line), "x\r\n%s\r\n", expected);
	assert_string_equal(found, line);
	free(found);
}

static void test_csv_quotes(void **state)
{
	(void)state;
	check_csv_text("", "");
	check_csv_text("plain text", "plain text");
	check_csv_text("a,b", "\"a,b\"");
	check_csv_text("say \"so\"", "\"say \"\"so\"\"\"");
	check_csv_text("\"", "\"\"\"\"");
	check_csv_text("two\nlines", "\"two\nlines\"");
	check_csv_text("=1+1", "'=1+1");
	check_csv_text("@SUM(A1,B1)", "\"'@SUM(A1,B1)\"");
	check_csv_text("-c", "'-c");
	check_csv_text("+", "'+");
	check_csv_text("a=b", "a=b");
	check_csv_text("\xe2\x82\xac", "\xe2\x82\xac");
}

/* Between two frames, and only there, stands " < ". */
static void test_csv_backtrace(void **state)
{
	static const struct figure_frame frames[] = {
		{ .function = "main", .module = "m" },
		{ .function = "f<(1 < 2)>, \"q\"",
		  .module = "m",
		  .file = "/src/a b.c",
		  .line = 7 },
		{ .function = "=cmd()", .module = "m", .file = "x.c" },
	};
	const struct figure_stack stack = { .frames = frames,
					    .count = 3,
					    .id = 12,
					    .truncated = true };
	const struct figure_column column = { "backtrace", "", NULL,
					      CELL_STACK };
	const struct cell cells[] = { cell_stack(&stack), cell_none() };
	const struct figure figure = {
		.kind = FIGURE_TABLE,
		.id = "t",
		.title = "",
		.table = { .columns = &column,
			   .column_count = 1,
			   .cells = cells,
			   .row_count = 2 },
	};
	char *found = render("allocations.csv", &figure);

	(void)state;
	assert_string_equal(found,
			    "backtrace_id,backtrace\r\n"
			    "12,\"'=cmd() [x.c] < f<(1<2)>, \"\"q\"\" "
			    "[a b.c:7] < main < …\"\r\n"
			    ",\r\n");
	free(found);
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void test_deep(void **state)
{
	enum { DEPTH = 65536 };
	struct arena arena = { 0 };
	const struct figure *figure = sample_tree_deep(&arena, DEPTH);
	char *text = render("folded", figure);

	(void)state;
	assert_int_equal(count_lines(text), 1);
	assert_int_equal(strlen(text),
			 DEPTH * strlen("recurse;") + strlen("1048576\n"));
	free(text);
	text = render("tree", figure);
	/* Title, order, what is summed, blank, columns, root. */
	assert_int_equal(count_lines(text), DEPTH + 6);
	assert_null(strstr(text, "│"));
	free(text);
	arena_done(&arena);
}

/* Branching at each of many levels: lines must not grow without bound. */
static void test_tree_bars_are_bounded(void **state)
{
	enum { LEVELS = 3000 };
	struct arena arena = { 0 };
	struct sample_node *nodes =
		arena_array(&arena, 2 * LEVELS + 1, sizeof(*nodes));
	char *text;

	(void)state;
	for (uint32_t i = 0; i < LEVELS; i++) {
		uint32_t above = i ? 2 * i - 1 : 0;

		nodes[2 * i + 1] =
			(struct sample_node){ above, &frame_f, 100, 1 };
		nodes[2 * i + 2] =
			(struct sample_node){ above, &frame_f_call, 1, 1 };
	}
	text = render("tree",
		      sample_tree(&arena, nodes, 2 * LEVELS + 1, false));
	assert_non_null(strstr(text, "+2900 f\n"));
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");

		assert_true(len < 400);
		line += len + 1;
	}
	free(text);
	arena_done(&arena);
}

/* In a large tree small siblings are taken together, and nothing is lost. */
static void test_tree_takes_small_together(void **state)
{
	enum { WIDTH = 3000 };
	struct arena arena = { 0 };
	struct sample_node *nodes =
		arena_array(&arena, WIDTH + 4, sizeof(*nodes));
	char *text;

	(void)state;
	nodes[1] = (struct sample_node){ 0, &frame_f, 0, 0 };
	nodes[2] = (struct sample_node){ 1, &frame_f_call, 1 << 20, 1 };
	for (uint32_t i = 3; i < WIDTH + 3; i++)
		nodes[i] = (struct sample_node){ 1, &frame_f_other, 100, 2 };
	nodes[WIDTH + 3] = (struct sample_node){ 2, &frame_f, 10, 1 };
	text = render("tree", sample_tree(&arena, nodes, WIDTH + 4, false));
	assert_non_null(strstr(text, "  ├ f(int)\n"));
	assert_non_null(strstr(text, "     10 B  <0.01 %      1  │ (1 function "
				     "below 0.05 %)\n"));
	assert_non_null(strstr(text, "  293 KiB   22.2 %  6,000  └ (3000 "
				     "functions below 0.05 %)\n"));
	assert_int_equal(count_lines(text), 5 + 1 + 4);
	free(text);
	arena_done(&arena);
}

static void test_wide(void **state)
{
	enum { WIDTH = 100000 };
	struct arena arena = { 0 };
	const struct figure *figure = sample_tree_wide(&arena, WIDTH);
	char *text = render("folded", figure);

	(void)state;
	assert_int_equal(count_lines(text), WIDTH);
	free(text);
	text = render("tree", figure);
	assert_non_null(strstr(text, "(100000 functions below 0.05 %)"));
	free(text);
	arena_done(&arena);
}

static void test_wrong_figure(void **state)
{
	struct arena arena = { 0 };
	const struct figure *series = sample_series(&arena, 3, 1);
	static const char *const names[] = { "folded", "tree", "flamegraph" };
	struct diag diag;
	struct sink out;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		sink_init_memory(&out);
		memset(&diag, 0, sizeof(diag));
		assert_true(artifact_find(names[i])->render(series, &out,
							    &diag) < 0);
		assert_true(diag.text[0]);
		sink_done(&out);
	}
	assert_null(artifact_find("nonsense"));
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goldens),
		cmocka_unit_test(test_folded_merges_and_sorts),
		cmocka_unit_test(test_folded_empty),
		cmocka_unit_test(test_csv_quotes),
		cmocka_unit_test(test_csv_backtrace),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_tree_bars_are_bounded),
		cmocka_unit_test(test_tree_takes_small_together),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_wrong_figure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
