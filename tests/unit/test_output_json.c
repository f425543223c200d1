/* SPDX-License-Identifier: MIT */
/* JSON documents; their schemas are checked by tests/output/check_outputs.py.
 */
#include "tests/lib/unit.h"

#include <errno.h>
#include <locale.h>
#include <math.h>

#include <jansson.h>

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/output/artifact.h"
#include "tests/lib/figure_samples.h"
#include "tests/lib/golden.h"

static void test_goldens(void **state)
{
	struct arena arena = { 0 };

	(void)state;
	golden_check_artifact("allocations", sample_allocations(&arena),
			      "one.allocations.json");
	golden_check_artifact("groups", sample_groups(&arena),
			      "one.groups.json");
	golden_check_artifact("summary", sample_summary(&arena),
			      "one.summary.json");
	golden_check_artifact("sizes.json", sample_sizes(&arena),
			      "five.sizes.json");
	golden_check_artifact("timeline.json", sample_series(&arena, 4, 2),
			      "four.timeline.json");
	golden_check_artifact("mmaps", sample_mmaps(&arena), "one.mmaps.json");
	golden_check_artifact("mallopts", sample_mallopts(&arena),
			      "one.mallopts.json");
	arena_done(&arena);
}

/* A document of one row with one cell.  Return: status of the rendering. */
static int render_cell(struct cell cell, json_t **ret, struct diag *diag)
{
	const struct figure_column column = { "x", "", NULL, cell.kind };
	struct figure figure = {
		.kind = FIGURE_TABLE,
		.id = "t",
		.schema = "t",
		.title = "",
		.rows_key = "rows",
	};
	struct sink out;
	int status;

	figure.table = (struct figure_table){ .columns = &column,
						.column_count = 1,
						.cells = &cell,
						.row_count = 1 };
	sink_init_memory(&out);
	memset(diag, 0, sizeof(*diag));
	status = artifact_find("allocations")->render(&figure, &out, diag);
	*ret = status ? NULL : json_loads(out.data, 0, NULL);
	sink_done(&out);
	return status;
}

static json_t *first_cell(json_t *document)
{
	return json_object_get(
		json_array_get(json_object_get(document, "rows"), 0), "x");
}

static void test_integers(void **state)
{
	struct diag diag;
	json_t *document;

	(void)state;
	assert_int_equal(render_cell(cell_bytes(INT64_MAX), &document, &diag),
			 0);
	assert_true(json_integer_value(first_cell(document)) == INT64_MAX);
	json_decref(document);
	assert_int_equal(render_cell(cell_signed(INT64_MIN), &document, &diag),
			 0);
	assert_true(json_integer_value(first_cell(document)) == INT64_MIN);
	json_decref(document);
	assert_int_equal(render_cell(cell_count((uint64_t)INT64_MAX + 1),
				     &document, &diag),
			 -EOVERFLOW);
	assert_non_null(strstr(diag.text, "x: "));
	assert_int_equal(
		render_cell(cell_address(UINT64_MAX), &document, &diag), 0);
	assert_string_equal(json_string_value(first_cell(document)),
			    "0xffffffffffffffff");
	json_decref(document);
}

static void test_reals(void **state)
{
	struct diag diag;
	json_t *document;

	(void)state;
	assert_int_equal(render_cell(cell_seconds(NAN), &document, &diag),
			 -EDOM);
	assert_int_equal(render_cell(cell_ratio(INFINITY), &document, &diag),
			 -EDOM);
	assert_true(diag.text[0]);
	assert_int_equal(render_cell(cell_seconds(1e-12), &document, &diag), 0);
	assert_true(json_real_value(first_cell(document)) == 0);
	json_decref(document);
	assert_int_equal(render_cell(cell_ratio(2.0 / 3), &document, &diag), 0);
	assert_true(json_real_value(first_cell(document)) == 0.666667);
	json_decref(document);
}

static void test_absent(void **state)
{
	struct diag diag;
	json_t *document;

	(void)state;
	assert_int_equal(render_cell(cell_none(), &document, &diag), 0);
	assert_null(first_cell(document));
	json_decref(document);
}

static void test_strings(void **state)
{
	static const char hostile[] =
		"<script>\"\\\xef\xbf\xbd \xe2\x82\xac]]>";
	struct diag diag;
	json_t *document;

	(void)state;
	assert_int_equal(render_cell(cell_text(hostile), &document, &diag), 0);
	assert_string_equal(json_string_value(first_cell(document)), hostile);
	json_decref(document);
	/* What text_sanitize() would not let through is refused, not lost. */
	assert_true(render_cell(cell_text("\xff"), &document, &diag) < 0);
}

/* A tree has no form in JSON. */
static void test_wrong_figure(void **state)
{
	struct arena arena = { 0 };
	struct diag diag = { 0 };
	struct sink out;

	(void)state;
	sink_init_memory(&out);
	assert_int_equal(artifact_find("summary")->render(
				 sample_tree_small(&arena), &out, &diag),
			 -EINVAL);
	assert_true(diag.text[0]);
	sink_done(&out);
	arena_done(&arena);
}

static void test_many_rows(void **state)
{
	enum { ROWS = 20000 };
	static const struct figure_column columns[] = {
		{ "a", "", NULL, CELL_COUNT },
		{ "b", "", NULL, CELL_SECONDS },
	};
	struct figure figure = {
		.kind = FIGURE_TABLE, .id = "t", .schema = "t", .title = ""
	};
	struct cell *cells = calloc(2 * ROWS, sizeof(*cells));
	struct diag diag = { 0 };
	struct sink out;
	json_t *document;

	(void)state;
	assert_non_null(cells);
	for (size_t i = 0; i < ROWS; i++) {
		cells[2 * i] = cell_count(i);
		cells[2 * i + 1] = cell_seconds((double)i / 8);
	}
	figure.table = (struct figure_table){ .columns = columns,
						.column_count = 2,
						.cells = cells,
						.row_count = ROWS };
	sink_init_memory(&out);
	assert_int_equal(artifact_find("mmaps")->render(&figure, &out, &diag),
			 0);
	document = json_loads(out.data, 0, NULL);
	assert_int_equal(json_array_size(json_object_get(document, "rows")),
			 ROWS);
	json_decref(document);
	sink_done(&out);
	free(cells);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goldens),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_reals),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_wrong_figure),
		cmocka_unit_test(test_many_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
