/* SPDX-License-Identifier: MIT */
/* Flamegraphs and timelines, read back by libxml2's parser. */
#include "tests/lib/unit.h"

#include <errno.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <math.h>

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/output/svg/flamegraph_layout.h"
#include "report/output/svg/svg.h"
#include "report/output/svg/svg_figures.h"
#include "report/output/svg/ticks.h"
#include "tests/lib/figure_samples.h"
#include "tests/lib/golden.h"

/* What was drawn, and the same parsed. */
struct drawing {
	struct sink out;
	xmlDocPtr document;
};

static void parse(struct drawing *drawing)
{
	drawing->document =
		xmlReadMemory(drawing->out.data, (int)drawing->out.len, "svg",
			      NULL, XML_PARSE_NONET | XML_PARSE_HUGE);
	assert_non_null(drawing->document);
}

static void draw_flame(struct drawing *drawing, const struct figure *figure,
		       const struct flamegraph_options *options)
{
	struct diag diag = { 0 };

	sink_init_memory(&drawing->out);
	assert_int_equal(
		flamegraph_render(figure, options, &drawing->out, &diag), 0);
	parse(drawing);
}

static void draw_timeline(struct drawing *drawing, const struct figure *figure,
			  const struct timeline_options *options)
{
	struct diag diag = { 0 };

	sink_init_memory(&drawing->out);
	assert_int_equal(timeline_render(figure, options, &drawing->out, &diag),
			 0);
	parse(drawing);
}

static void drawing_done(struct drawing *drawing)
{
	xmlFreeDoc(drawing->document);
	assert_int_equal(sink_done(&drawing->out), 0);
}

/* The next element after @node in document order, below @root. */
static xmlNodePtr next_element(xmlNodePtr root, xmlNodePtr node)
{
	do {
		if (node->children) {
			node = node->children;
		} else {
			while (node != root && !node->next)
				node = node->parent;
			if (node == root)
				return NULL;
			node = node->next;
		}
	} while (node->type != XML_ELEMENT_NODE);
	return node;
}

/* How many elements @name with attribute @attribute there are. */
static size_t count_elements(const struct drawing *drawing, const char *name,
			     const char *attribute)
{
	xmlNodePtr root = xmlDocGetRootElement(drawing->document);
	size_t count = 0;

	for (xmlNodePtr node = root; node; node = next_element(root, node))
		if (strcmp((const char *)node->name, name) == 0 &&
		    (!attribute ||
		     xmlHasProp(node, (const xmlChar *)attribute)))
			count++;
	return count;
}

static bool says(const struct drawing *drawing, const char *text)
{
	return strstr(drawing->out.data, text) != NULL;
}

/* --- flamegraphs -------------------------------------------------------- */

static void test_golden(void **state)
{
	struct arena arena = { 0 };
	struct flamegraph_options options = { .inline_in_html = true };
	struct drawing drawing;

	(void)state;
	draw_flame(&drawing, sample_tree_small(&arena), &options);
	golden_check_text(drawing.out.data, "small.flamegraph.svg");
	drawing_done(&drawing);
	arena_done(&arena);
}

static void test_file_is_complete(void **state)
{
	struct arena arena = { 0 };
	struct figure counted = *sample_tree_small(&arena);
	struct drawing drawing;

	(void)state;
	draw_flame(&drawing, sample_tree_small(&arena), NULL);
	assert_memory_equal(drawing.out.data, "<?xml", 5);
	assert_int_equal(count_elements(&drawing, "script", NULL), 1);
	assert_int_equal(count_elements(&drawing, "style", NULL), 1);
	assert_true(says(&drawing, "all — 11.5 MiB"));
	assert_true(says(&drawing, ">Never freed<"));
	assert_true(says(&drawing,
			 "sqlite3_step\nvdbe.c:12\nlibsqlite3.so.0\n"
			 "11.5 MiB (12,064,000 bytes), 2,017 allocations, "
			 "&gt;99.9 %"));
	assert_true(says(&drawing, "page_get (inlined)\npager.c:44"));
	assert_true(says(&drawing, "Hidden: 1 frame under 0.01 %, "
				   "&lt;0.01 % of bytes."));
	drawing_done(&drawing);
	counted.tree.by_count = true;
	counted.tree.cost_label = "temporary allocations";
	draw_flame(&drawing, &counted, NULL);
	assert_true(says(&drawing, ">all — 2,021 temporary allocations<"));
	drawing_done(&drawing);
	arena_done(&arena);
}

static void test_inline(void **state)
{
	struct arena arena = { 0 };
	struct flamegraph_options options = { .inline_in_html = true,
					      .id_prefix = "view-1" };
	struct drawing drawing;

	(void)state;
	draw_flame(&drawing, sample_tree_small(&arena), &options);
	assert_memory_equal(drawing.out.data, "<svg", 4);
	assert_int_equal(count_elements(&drawing, "script", NULL), 0);
	assert_int_equal(count_elements(&drawing, "style", NULL), 0);
	assert_true(says(&drawing, " id=\"view-1\""));
	assert_false(says(&drawing, ">Never freed<"));
	drawing_done(&drawing);
	arena_done(&arena);
}

/* Names come back from the parser as they went in, and make no elements. */
static void test_hostile(void **state)
{
	struct arena arena = { 0 };
	struct drawing drawing;
	xmlChar *text;

	(void)state;
	draw_flame(&drawing, sample_tree_hostile(&arena), NULL);
	assert_int_equal(count_elements(&drawing, "script", NULL), 1);
	assert_int_equal(count_elements(&drawing, "svg", "data-v"), 8);
	text = xmlNodeGetContent(xmlDocGetRootElement(drawing.document));
	assert_non_null(strstr((const char *)text,
			       "<script>alert('x')</script>\nq\"uote.c:1\n"
			       "a&b.so\n"));
	assert_non_null(
		strstr((const char *)text, "x]]>y<![CDATA[z\n-->:2\n]]>\n"));
	xmlFree(text);
	drawing_done(&drawing);
	arena_done(&arena);
}

static void test_empty(void **state)
{
	struct arena arena = { 0 };
	struct figure none = *sample_tree_empty(&arena);
	struct drawing drawing;

	(void)state;
	draw_flame(&drawing, &none, NULL);
	assert_true(says(&drawing, "nothing matched"));
	assert_int_equal(count_elements(&drawing, "svg", "data-v"), 0);
	drawing_done(&drawing);
	none.tree.node_count = 0;
	none.tree.nodes = NULL;
	draw_flame(&drawing, &none, NULL);
	assert_true(says(&drawing, "nothing matched"));
	drawing_done(&drawing);
	draw_flame(&drawing, sample_tree_zero(&arena), NULL);
	assert_true(says(&drawing, "Hidden: 1 frame "));
	drawing_done(&drawing);
	arena_done(&arena);
}

/* What is too narrow to be drawn may be in the tree or only be said to be: as much
   is hidden, and its module has as much of the colours. */
static void test_left_out(void **state)
{
	static const struct figure_frame frames[] = {
		{ .function = "wide", .module = "a.so" },
		{ .function = "sliver", .module = "a.so" },
		{ .function = "narrow", .module = "b.so" },
	};
	const uint32_t none = FIGURE_NO_NODE;
	const struct figure_node nodes[] = {
		{ NULL, 9000000, 12, 1, none },
		{ &frames[0], 9000000, 12, 2, none },
		{ &frames[1], 9000, 2, 3, none },
		{ &frames[2], 9, 1, 4, none },
		{ &frames[2], 9, 1, 5, none },
		{ &frames[2], 9, 1, none, none },
	};
	const uint32_t below[] = { 0, 0, 0, 2 };
	const struct figure_module_cost modules[] = { { "b.so", 18 } };
	struct figure_node cut_nodes[4];
	struct figure whole = {
		.kind = FIGURE_TREE,
		.id = "tree",
		.title = "Tree",
		.tree = { .nodes = nodes, .node_count = 6 },
	};
	struct figure cut = whole;

	(void)state;
	memcpy(cut_nodes, nodes, sizeof(cut_nodes));
	cut_nodes[3].first_child = none;
	cut.tree.nodes = cut_nodes;
	cut.tree.node_count = 4;
	cut.tree.left_out = (struct figure_left_out){ below, 2, modules, 1 };
	for (int inline_in_html = 0; inline_in_html < 2; inline_in_html++) {
		const struct flamegraph_options options = {
			.inline_in_html = inline_in_html,
		};
		struct drawing first, second;

		draw_flame(&first, &whole, &options);
		draw_flame(&second, &cut, &options);
		assert_true(says(&first,
				 inline_in_html
					 ? "Hidden: 4 frames below row 2, "
					 : "Hidden: 3 frames under 0.01 %, "));
		assert_true(says(&first, ">b.so<"));
		assert_string_equal(first.out.data, second.out.data);
		drawing_done(&first);
		drawing_done(&second);
	}
}

static void test_deep(void **state)
{
	struct arena arena = { 0 };
	struct drawing drawing;

	(void)state;
	draw_flame(&drawing, sample_tree_deep(&arena, 65536), NULL);
	assert_int_equal(count_elements(&drawing, "svg", "data-v"), 2000);
	assert_true(says(&drawing, "Hidden: 63,537 frames below row 2,000, "
				   "100 % of bytes."));
	drawing_done(&drawing);
	arena_done(&arena);
}

static void test_wide(void **state)
{
	struct arena arena = { 0 };
	struct drawing drawing;

	(void)state;
	draw_flame(&drawing, sample_tree_wide(&arena, 100000), NULL);
	assert_int_equal(count_elements(&drawing, "svg", "data-v"), 1);
	assert_true(says(&drawing, "Hidden: 100,000 frames under 0.01 %, "
				   "100 % of bytes."));
	drawing_done(&drawing);
	arena_done(&arena);
}

static void test_size_is_bounded(void **state)
{
	struct arena arena = { 0 };
	struct flamegraph_options options = { .min_ratio = 1e-9 };
	const struct figure *figure = sample_tree_large(&arena, 100000, 1);
	struct drawing drawing;

	(void)state;
	draw_flame(&drawing, figure, NULL);
	assert_true(drawing.out.len < 4000000);
	drawing_done(&drawing);
	draw_flame(&drawing, figure, &options);
	assert_true(drawing.out.len < 4000000);
	assert_true(says(&drawing, "smaller than the largest "));
	drawing_done(&drawing);
	options.max_boxes = 100;
	draw_flame(&drawing, figure, &options);
	assert_int_equal(count_elements(&drawing, "svg", "data-v"), 100);
	drawing_done(&drawing);
	arena_done(&arena);
}

/* --- layout ------------------------------------------------------------- */

/* Boxes lie within their parents and beside their siblings; every node has
   one fate; hidden costs are counted once. */
static void check_layout(const struct figure_tree *tree,
			 const struct flame_limits *limits)
{
	struct flame_layout layout;
	uint64_t nodes = 0;
	double widest = 0; /* of the last row */
	double *edge;

	assert_int_equal(flame_layout_compute(tree, limits, &layout), 0);
	edge = calloc((size_t)layout.rows + 2, sizeof(*edge));
	assert_non_null(edge);
	for (size_t i = 0; i < layout.count; i++) {
		const struct flame_box *box = &layout.boxes[i];

		if (i)
			assert_true(box->depth <=
				    layout.boxes[i - 1].depth + 1);
		assert_true(box->left >= edge[box->depth] - 1e-9);
		assert_true(box->left + box->width <= 1 + 1e-9);
		edge[box->depth] = box->left + box->width;
		if (box->depth + 1 == layout.rows)
			widest = fmax(widest, box->width);
	}
	/* Unless boxes were left out because there were too many. */
	if (!layout.nodes[FLAME_EXCESS])
		assert_true(widest >= limits->row_ratio);
	for (int fate = 0; fate < FLAME_FATE_COUNT; fate++) {
		nodes += layout.nodes[fate];
		assert_true(layout.cost[fate] <= flame_cost(tree, 0));
	}
	assert_int_equal(nodes, tree->node_count);
	assert_int_equal(layout.nodes[FLAME_DRAWN], layout.count);
	assert_true(layout.count <= limits->max_boxes);
	free(edge);
	flame_layout_done(&layout);
}

static void test_layout(void **state)
{
	struct arena arena = { 0 };
	struct flame_limits limits = { .min_ratio = 1e-9,
				       .max_boxes = 500,
				       .max_rows = 40,
				       .max_bytes = 1u << 30 };

	(void)state;
	for (uint32_t seed = 1; seed < 40; seed++) {
		const struct figure *figure =
			sample_tree_large(&arena, 2000, seed);

		limits.max_boxes = 1 + seed * 40;
		limits.row_ratio = 0;
		check_layout(&figure->tree, &limits);
		limits.max_boxes = 2000;
		limits.row_ratio = 0.001 * seed;
		check_layout(&figure->tree, &limits);
	}
	arena_done(&arena);
}

/* In a page, rows that have nothing but slivers are told by number; the file of
   its own has them to zoom into. */
static void test_sliver_rows(void **state)
{
	enum { DEPTH = 30 };
	static const struct figure_frame frame = { .function = "f",
						   .module = "m" };
	struct flamegraph_options options = { .inline_in_html = true,
					      .id_prefix = "f" };
	struct arena arena = { 0 };
	struct sample_node nodes[DEPTH + 2] = { { 0 } };
	const struct figure *figure;
	struct drawing drawing;

	(void)state;
	nodes[1] = (struct sample_node){ 0, &frame, 999000, 1 };
	for (uint32_t i = 2; i < DEPTH + 2; i++)
		nodes[i] = (struct sample_node){ i - 1, &frame, 0, 0 };
	nodes[DEPTH + 1].self_bytes = 1000;
	figure = sample_tree(&arena, nodes, DEPTH + 2, false);
	draw_flame(&drawing, figure, &options);
	assert_int_equal(count_elements(&drawing, "svg", "data-v"), 2);
	assert_true(says(&drawing, "Hidden: 30 frames below row 2, 0.10 % of "
				   "bytes."));
	drawing_done(&drawing);
	draw_flame(&drawing, figure, NULL);
	assert_int_equal(count_elements(&drawing, "svg", "data-v"), DEPTH + 2);
	assert_false(says(&drawing, "Hidden: "));
	drawing_done(&drawing);
	arena_done(&arena);
}

/* --- timelines ---------------------------------------------------------- */

static void test_timeline(void **state)
{
	struct arena arena = { 0 };
	struct timeline_options options = { .inline_in_html = true,
					    .id_prefix = "t" };
	struct drawing drawing;

	(void)state;
	draw_timeline(&drawing, sample_series(&arena, 8, 2), &options);
	golden_check_text(drawing.out.data, "eight.timeline.svg");
	drawing_done(&drawing);
	draw_timeline(&drawing, sample_series(&arena, 300, 12.5), NULL);
	assert_int_equal(count_elements(&drawing, "script", NULL), 1);
	assert_int_equal(count_elements(&drawing, "path", "data-label"), 3);
	assert_true(says(&drawing, "peak 10.6 MiB at 10.8 s"));
	drawing_done(&drawing);
	arena_done(&arena);
}

/* Names are cut between letters, however long they are, and told in full. */
static void test_timeline_spans(void **state)
{
	static const char name[] =
		"\xc3\xa4\xc3\xb6\xc3\xbc \xc3\xa4\xc3\xb6\xc3\xbc "
		"\xc3\xa4\xc3\xb6\xc3\xbc \xc3\xa4\xc3\xb6\xc3\xbc "
		"\xc3\xa4\xc3\xb6\xc3\xbc \xc3\xa4\xc3\xb6\xc3\xbc "
		"\xc3\xa4\xc3\xb6\xc3\xbc \xc3\xa4\xc3\xb6\xc3\xbc "
		"<end>";
	static const struct figure_span spans[] = {
		{ 0.5, 1, "load", false },
		{ 1, 1.5, name, false },
		{ 1.25, 1.25, "now", true },
		{ 1.5, 1.75, "load", false },
	};
	struct arena arena = { 0 };
	struct figure figure = *sample_series(&arena, 8, 2);
	struct drawing drawing;

	(void)state;
	figure.series.spans = spans;
	figure.series.span_count = 4;
	draw_timeline(&drawing, &figure, NULL);
	assert_int_equal(count_elements(&drawing, "g", NULL), 4);
	assert_true(says(&drawing, "load, 500 ms to 1.00 s<"));
	assert_true(says(&drawing, "now, 1.25 s<"));
	assert_true(says(&drawing, "&lt;end&gt;, 1.00 s to 1.50 s<"));
	assert_true(says(&drawing, "\xe2\x80\xa6</text>"));
	assert_false(says(&drawing, "&lt;end&gt;</text>"));
	drawing_done(&drawing);
	arena_done(&arena);
}

static void test_timeline_edges(void **state)
{
	struct arena arena = { 0 };
	struct figure odd = *sample_series(&arena, 1, 1);
	static const double bad[] = { NAN };
	const struct figure_curve curve = { "x", "<&\"]]>", NULL, CELL_BYTES,
					    bad, 0, false };
	struct drawing drawing;

	(void)state;
	draw_timeline(&drawing, sample_series(&arena, 0, 0), NULL);
	assert_true(says(&drawing, "nothing to show"));
	drawing_done(&drawing);
	draw_timeline(&drawing, sample_series(&arena, 1, 0), NULL);
	drawing_done(&drawing);
	odd.series.curves = &curve;
	odd.series.curve_count = 1;
	draw_timeline(&drawing, &odd, NULL);
	assert_false(says(&drawing, "nan"));
	drawing_done(&drawing);
	arena_done(&arena);
}

/* --- histograms --------------------------------------------------------- */

static void draw_histogram(struct drawing *drawing, const struct figure *figure,
			   const struct timeline_options *options)
{
	struct diag diag = { 0 };

	sink_init_memory(&drawing->out);
	assert_int_equal(histogram_render(figure, options, &drawing->out,
					  &diag),
			 0);
	parse(drawing);
}

static void test_histogram(void **state)
{
	struct arena arena = { 0 };
	struct timeline_options options = { .inline_in_html = true,
					    .id_prefix = "s" };
	struct figure none = *sample_sizes(&arena);
	struct drawing drawing;
	struct diag diag = { 0 };
	struct sink out;

	(void)state;
	draw_histogram(&drawing, &none, &options);
	golden_check_text(drawing.out.data, "five.sizes.svg");
	drawing_done(&drawing);
	/* A title each class and panel; no script is needed. */
	draw_histogram(&drawing, &none, NULL);
	assert_int_equal(count_elements(&drawing, "title", NULL), 10);
	assert_int_equal(count_elements(&drawing, "script", NULL), 0);
	assert_int_equal(count_elements(&drawing, "style", NULL), 1);
	assert_true(says(&drawing, "64 B to below 128 B\nAllocations: 9,000\n"
				   "Allocated bytes: 563 KiB (576,000 bytes)\n"
				   "Blocks at the peak: 700\n"));
	assert_true(says(&drawing, ">By size or &lt;lifetime&gt;<"));
	drawing_done(&drawing);
	draw_histogram(&drawing, sample_lifetimes(&arena), NULL);
	assert_true(says(&drawing, ">never freed</text>"));
	assert_true(says(&drawing, ">10 ms</text>"));
	drawing_done(&drawing);
	none.table.row_count = 0;
	draw_histogram(&drawing, &none, NULL);
	assert_true(says(&drawing, "nothing matched"));
	drawing_done(&drawing);
	none.table.is_histogram = false;
	sink_init_memory(&out);
	assert_int_equal(histogram_render(&none, NULL, &out, &diag), -EINVAL);
	sink_done(&out);
	arena_done(&arena);
}

static void check_ticks(enum cell_kind kind, double end, unsigned limit,
			const char *expected)
{
	struct ticks ticks;
	char text[1024] = "";

	ticks_compute(&ticks, kind, end, limit);
	for (unsigned i = 0; i < ticks.count; i++) {
		char label[64];

		ticks_format(&ticks, i, label, sizeof(label));
		if (i)
			strcat(text, ", ");
		strcat(text, label);
	}
	assert_string_equal(text, expected);
}

static void test_ticks(void **state)
{
	(void)state;
	check_ticks(CELL_BYTES, 0, 5, "0 B");
	check_ticks(CELL_BYTES, 3, 5, "0 B, 1 B, 2 B, 3 B");
	check_ticks(CELL_BYTES, 12.9e6, 5, "0 MiB, 5 MiB, 10 MiB");
	check_ticks(CELL_BYTES, 2e6, 5, "0 MiB, 0.5 MiB, 1 MiB, 1.5 MiB");
	check_ticks(CELL_COUNT, 4, 3, "0, 2, 4");
	check_ticks(CELL_COUNT, 123456, 3, "0, 50,000, 100,000");
	check_ticks(CELL_SECONDS, 1.3, 6, "0 s, 0.5 s, 1 s");
	check_ticks(CELL_SECONDS, 0.0042, 5, "0 ms, 1 ms, 2 ms, 3 ms, 4 ms");
	check_ticks(CELL_SECONDS, 150, 5, "0 s, 50 s, 100 s, 150 s");
	check_ticks(CELL_SECONDS, 700, 7,
		    "0 min, 2 min, 4 min, 6 min, 8 min, 10 min");
	check_ticks(CELL_SECONDS, 20000, 5, "0 h, 2 h, 4 h");
	check_ticks(CELL_SECONDS, 1e7, 5, "0 h, 1,200 h, 2,400 h");
}

/* --- parts -------------------------------------------------------------- */

static void test_fit_text(void **state)
{
	char text[64];

	(void)state;
	assert_true(svg_fit_text(text, sizeof(text), "main", 100, 12));
	assert_string_equal(text, "main");
	assert_true(
		svg_fit_text(text, sizeof(text), "long_function_name", 60, 12));
	assert_non_null(strstr(text, "…"));
	assert_true(svg_text_width(text, 12) <= 60);
	assert_false(svg_fit_text(text, sizeof(text), "long_name", 12, 12));
	assert_string_equal(text, "");
	/* Cut between characters, never inside one. */
	assert_true(svg_fit_text(text, sizeof(text), "世界世界世界", 50, 12));
	assert_string_equal(text, "世界世…");
}

static void test_format_number(void **state)
{
	char text[48];

	(void)state;
	svg_format_number(text, sizeof(text), 12.5, 6);
	assert_string_equal(text, "12.5");
	svg_format_number(text, sizeof(text), 100, 6);
	assert_string_equal(text, "100");
	svg_format_number(text, sizeof(text), -0.25, 1);
	assert_string_equal(text, "-0.3");
	svg_format_number(text, sizeof(text), 1.0 / 3, 6);
	assert_string_equal(text, "0.333333");
	svg_format_number(text, sizeof(text), NAN, 6);
	assert_string_equal(text, "0");
}

/* They stand in <script>, <style> and CDATA as they are. */
static void test_scripts_embed(void **state)
{
	const char *const texts[] = { svg_figures_style(), flamegraph_script(),
				      timeline_script() };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_true(strlen(texts[i]) > 1000);
		assert_null(strstr(texts[i], "</"));
		assert_null(strstr(texts[i], "]]>"));
		assert_null(strstr(texts[i], "eval("));
		assert_null(strstr(texts[i], "innerHTML"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_file_is_complete),
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_size_is_bounded),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_sliver_rows),
		cmocka_unit_test(test_timeline),
		cmocka_unit_test(test_timeline_spans),
		cmocka_unit_test(test_timeline_edges),
		cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_fit_text),
		cmocka_unit_test(test_format_number),
		cmocka_unit_test(test_scripts_embed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
