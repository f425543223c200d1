/* SPDX-License-Identifier: MIT */
#include "report/budget.h"

#include <errno.h>
#include <string.h>

#include "report/aggregate/scope.h"
#include "report/aggregate/view.h"
#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/units.h"
#include "report/core/vec.h"
#include "report/engine/engine.h"
#include "report/figure/figure.h"
#include "report/filter/choice.h"
#include "report/pipeline.h"
#include "report/spec.h"

enum { HINT_BYTES = 1024, NAMES_MAX = 32 };

enum budget_kind { BUDGET_COUNT, BUDGET_BYTES, BUDGET_SECONDS };

enum budget_metric {
	RUN_PEAK_BYTES,
	RUN_PEAK_BLOCKS,
	RUN_PEAK_RSS,
	RUN_ALLOCATIONS,
	RUN_ALLOCATED_BYTES,
	RUN_TEMPORARY,
	RUN_LEAKED,
	RUN_LEAKED_BYTES,
	RUN_EVENTS_LOST,
	RUN_TIME,
	VIEW_ALLOCATIONS,
	VIEW_BYTES,
	VIEW_LEAKED,
	VIEW_LEAKED_BYTES,
	VIEW_GROUPS,
	METRIC_COUNT,
};

static const struct {
	enum budget_subject subject;
	enum budget_kind kind;
	const char *name;
} metrics[] = {
	[RUN_PEAK_BYTES] = { BUDGET_OF_RUN, BUDGET_BYTES, "peak_bytes" },
	[RUN_PEAK_BLOCKS] = { BUDGET_OF_RUN, BUDGET_COUNT, "peak_blocks" },
	[RUN_PEAK_RSS] = { BUDGET_OF_RUN, BUDGET_BYTES, "peak_rss" },
	[RUN_ALLOCATIONS] = { BUDGET_OF_RUN, BUDGET_COUNT, "allocations" },
	[RUN_ALLOCATED_BYTES] = { BUDGET_OF_RUN, BUDGET_BYTES,
				  "allocated_bytes" },
	[RUN_TEMPORARY] = { BUDGET_OF_RUN, BUDGET_COUNT, "temporary" },
	[RUN_LEAKED] = { BUDGET_OF_RUN, BUDGET_COUNT, "leaked" },
	[RUN_LEAKED_BYTES] = { BUDGET_OF_RUN, BUDGET_BYTES, "leaked_bytes" },
	[RUN_EVENTS_LOST] = { BUDGET_OF_RUN, BUDGET_COUNT, "events_lost" },
	[RUN_TIME] = { BUDGET_OF_RUN, BUDGET_SECONDS, "run_time" },
	[VIEW_ALLOCATIONS] = { BUDGET_OF_VIEW, BUDGET_COUNT, "allocations" },
	[VIEW_BYTES] = { BUDGET_OF_VIEW, BUDGET_BYTES, "bytes" },
	[VIEW_LEAKED] = { BUDGET_OF_VIEW, BUDGET_COUNT, "leaked" },
	[VIEW_LEAKED_BYTES] = { BUDGET_OF_VIEW, BUDGET_BYTES, "leaked_bytes" },
	[VIEW_GROUPS] = { BUDGET_OF_VIEW, BUDGET_COUNT, "groups" },
};

enum budget_operator {
	OPERATOR_AT_LEAST,
	OPERATOR_AT_MOST,
	OPERATOR_EQUAL,
	OPERATOR_UNEQUAL,
	OPERATOR_MORE,
	OPERATOR_LESS,
	OPERATOR_COUNT,
};

/* Those of two characters before those that they begin with. */
static const char *const operators[OPERATOR_COUNT] = {
	[OPERATOR_AT_LEAST] = ">=", [OPERATOR_AT_MOST] = "<=",
	[OPERATOR_EQUAL] = "==",    [OPERATOR_UNEQUAL] = "!=",
	[OPERATOR_MORE] = ">",	    [OPERATOR_LESS] = "<",
};

/**
 * struct budget - one condition
 * @limit: counts and bytes as they are, exact below 2^53
 * @text:  as written
 */
struct budget {
	enum budget_metric metric;
	enum budget_operator operator;
	double limit;
	const char *text;
};

/* --- reading --- */

static const char blank[] = " \t";

static char *trimmed(struct arena *arena, const char *text, size_t len)
{
	size_t skip = strspn(text, blank);

	if (skip > len)
		skip = len;
	text += skip;
	len -= skip;
	while (len && strchr(blank, text[len - 1]))
		len--;
	return arena_copy(arena, text, len);
}

static int find_metric(enum budget_subject subject, const char *name,
		       struct diag *diag)
{
	const char *names[NAMES_MAX] = { NULL };
	int numbers[NAMES_MAX];
	size_t count = 0;
	int found;

	for (int i = 0; i < METRIC_COUNT; i++) {
		if (metrics[i].subject != subject)
			continue;
		numbers[count] = i;
		names[count++] = metrics[i].name;
	}
	found = choice_find(name, names,
			    subject == BUDGET_OF_VIEW ? "a figure of a view"
						      : "a figure of the run",
			    diag);
	return found < 0 ? found : numbers[found];
}

static int parse_limit(struct budget *budget, const char *text,
		       struct diag *diag)
{
	static const char *const allowed[] = {
		[BUDGET_COUNT] = "a whole number",
		[BUDGET_BYTES] = "a number of bytes (4096, 64KiB, 10MB)",
		[BUDGET_SECONDS] = "a duration (1.5, 250ms, 1h30m)",
	};
	enum budget_kind kind = metrics[budget->metric].kind;
	uint64_t number = 0;
	bool good;

	if (kind == BUDGET_SECONDS)
		good = units_parse_seconds(text, &budget->limit);
	else
		good = kind == BUDGET_BYTES ? units_parse_bytes(text, &number)
					    : units_parse_integer(text, &number);
	if (!good)
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"\"%s\" is not a limit of %s; allowed: %s",
				text, metrics[budget->metric].name,
				allowed[kind]);
	if (kind != BUDGET_SECONDS)
		budget->limit = (double)number;
	return 0;
}

/* @text: one condition, trimmed. */
static int parse_budget(struct budget *budget, enum budget_subject subject,
			char *text, struct arena *arena, struct diag *diag)
{
	size_t len = strcspn(text, "<>=!");
	char *name = trimmed(arena, text, len);
	int operator = 0;
	char *limit;
	int metric;

	while (operator < OPERATOR_COUNT &&
	       strncmp(text + len, operators[operator],
		       strlen(operators[operator])) != 0)
		operator++;
	if (operator == OPERATOR_COUNT)
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"\"%s\" is not a condition; allowed: FIGURE "
				"OPERATOR LIMIT (leaked_bytes > 1MiB) with "
				">, >=, <, <=, ==, !=",
				text);
	limit = text + len + strlen(operators[operator]);
	limit += strspn(limit, blank);
	metric = name ? find_metric(subject, name, diag) : -ENOMEM;
	if (metric < 0)
		return metric;
	budget->metric = (enum budget_metric)metric;
	budget->operator = (enum budget_operator)operator;
	budget->text = text;
	return parse_limit(budget, limit, diag);
}

int budgets_parse(struct budgets *ret, enum budget_subject subject,
		  const char *text, struct arena *arena, struct diag *diag)
{
	size_t count = 1, used = 0;
	struct budget *items;
	int status = 0;

	for (const char *c = text; *c; c++)
		count += *c == ',';
	items = arena_array(arena, count, sizeof(*items));
	while (items && status == 0 && text) {
		size_t len = strcspn(text, ",");
		char *one = trimmed(arena, text, len);

		if (!one)
			return -ENOMEM;
		status = parse_budget(&items[used++], subject, one, arena,
				      diag);
		text = text[len] ? text + len + 1 : NULL;
	}
	if (!items || status == -ENOMEM)
		return diag_set(diag, -ENOMEM, NULL, DIAG_NO_OFFSET,
				"out of memory");
	ret->items = items;
	ret->count = used;
	return status;
}

/* --- checking --- */

static bool holds(const struct budget *budget, double value)
{
	switch (budget->operator) {
	case OPERATOR_AT_LEAST:
		return value >= budget->limit;
	case OPERATOR_AT_MOST:
		return value <= budget->limit;
	case OPERATOR_EQUAL:
		return value == budget->limit;
	case OPERATOR_UNEQUAL:
		return value != budget->limit;
	case OPERATOR_MORE:
		return value > budget->limit;
	case OPERATOR_LESS:
		return value < budget->limit;
	case OPERATOR_COUNT:
		break;
	}
	return false;
}

/* "1.00 MiB (1,049,618 bytes)": rounded alone it may read as the limit does. */
static void format_bytes(char *buf, size_t size, uint64_t bytes)
{
	char human[UNITS_TEXT_SIZE], exact[UNITS_TEXT_SIZE];

	units_format_bytes(human, sizeof(human), bytes);
	units_format_count(exact, sizeof(exact), bytes);
	if (bytes < 1024)
		snprintf(buf, size, "%s", human);
	else
		snprintf(buf, size, "%s (%s bytes)", human, exact);
}

/**
 * struct outcome - what became of a condition
 * @view: that it is of, NULL for the run
 * @line: of the spec, 0 for --view
 */
struct outcome {
	const struct spec_view *view;
	uint32_t line;
	const struct budget *budget;
	double value;
};

static bool has_failed(const struct outcome *outcome)
{
	return holds(outcome->budget, outcome->value);
}

/* "231 MiB (242,221,056 bytes)" */
static void format_value(char *buf, size_t size, const struct outcome *outcome)
{
	switch (metrics[outcome->budget->metric].kind) {
	case BUDGET_COUNT:
		units_format_count(buf, size, (uint64_t)outcome->value);
		break;
	case BUDGET_BYTES:
		format_bytes(buf, size, (uint64_t)outcome->value);
		break;
	case BUDGET_SECONDS:
		units_format_seconds(buf, size, outcome->value);
		break;
	}
}

typedef void (*outcome_fn)(void *context, const struct outcome *outcome);

static void visit_some(const struct budgets *budgets,
		       const struct spec_view *view,
		       const double values[METRIC_COUNT], outcome_fn visit,
		       void *context)
{
	for (size_t i = 0; i < budgets->count; i++) {
		const struct budget *budget = &budgets->items[i];
		const struct outcome outcome = {
			.view = view,
			.line = budgets->line,
			.budget = budget,
			.value = values[budget->metric],
		};

		visit(context, &outcome);
	}
}

/* Shows all conditions in the order of the spec to @visit. */
static void visit_all(const struct pipeline *pipeline, outcome_fn visit,
		      void *context)
{
	const struct spec *spec = pipeline->spec;
	const struct engine_totals *totals = engine_totals(pipeline->engine);
	double values[METRIC_COUNT] = {
		[RUN_PEAK_BYTES] = (double)totals->peak_bytes,
		[RUN_PEAK_BLOCKS] = (double)totals->peak_count,
		[RUN_PEAK_RSS] = (double)run_peak_rss(&pipeline->run,
						       totals->peak_rss),
		[RUN_ALLOCATIONS] = (double)totals->allocated_count,
		[RUN_ALLOCATED_BYTES] = (double)totals->allocated_bytes,
		[RUN_TEMPORARY] = (double)totals->temporary_count,
		[RUN_LEAKED] = (double)totals->live_count,
		[RUN_LEAKED_BYTES] = (double)totals->live_bytes,
		[RUN_EVENTS_LOST] = (double)pipeline->run.events_lost,
		[RUN_TIME] = run_duration(&pipeline->run),
	};

	visit_some(&spec->budgets, NULL, values, visit, context);
	for (size_t i = 0; i < spec->view_count; i++) {
		const struct spec_view *view = &spec->views[i];
		struct view_sums sums = view_sums(pipeline->views[i]);

		values[VIEW_ALLOCATIONS] = (double)sums.count;
		values[VIEW_BYTES] = (double)sums.bytes;
		values[VIEW_LEAKED] = (double)sums.leaked_count;
		values[VIEW_LEAKED_BYTES] = (double)sums.leaked_bytes;
		values[VIEW_GROUPS] = (double)sums.groups;
		visit_some(&view->budgets, view, values, visit, context);
	}
}

/* --- telling --- */

struct counts {
	size_t all;
	size_t failed;
};

static void count_outcome(void *context, const struct outcome *outcome)
{
	struct counts *counts = context;

	counts->all++;
	counts->failed += has_failed(outcome);
}

size_t budgets_count(const struct pipeline *pipeline, size_t *ret_failed)
{
	struct counts counts = { 0 };

	visit_all(pipeline, count_outcome, &counts);
	*ret_failed = counts.failed;
	return counts.all;
}

/**
 * struct printing - lines on what failed
 * @trace: that it is about, NULL if there is no other
 */
struct printing {
	const struct spec *spec;
	const char *trace;
	FILE *out;
	size_t count;
};

/* "SPEC:7: [view NAME]: fail_if: … in TRACE"; --view has neither lines nor sections. */
static void print_failed(void *context, const struct outcome *outcome)
{
	struct printing *printing = context;
	char text[2 * UNITS_TEXT_SIZE + 16];
	FILE *out = printing->out;

	if (!has_failed(outcome))
		return;
	format_value(text, sizeof(text), outcome);
	fprintf(out, "memprof-report: %s:",
		outcome->view ? outcome->view->path : printing->spec->path);
	if (outcome->line)
		fprintf(out, "%u: [%s%s]:", (unsigned)outcome->line,
			outcome->view ? "view " : "report",
			outcome->view ? outcome->view->name : "");
	fprintf(out, " fail_if: %s: it is %s%s%s\n", outcome->budget->text,
		text, printing->trace ? " in " : "",
		printing->trace ? printing->trace : "");
	printing->count++;
}

size_t budgets_check(const struct pipeline *pipeline, FILE *out)
{
	struct printing printing = {
		.spec = pipeline->spec,
		.trace = pipeline->is_only ? NULL : pipeline->run.trace_path,
		.out = out,
	};

	visit_all(pipeline, print_failed, &printing);
	return printing.count;
}

static const struct figure_column columns[] = {
	{ "fail_if", "Fails if", NULL, CELL_TEXT },
	{ "view", "View", NULL, CELL_TEXT },
	{ "value", "It is", NULL, CELL_COUNT },
	{ "failed", "Failed", NULL, CELL_FLAG },
};

/**
 * struct drawing - figures under construction
 * @is_short: memory ran out
 */
struct drawing {
	const struct scope *scope;
	struct table_maker table;
	struct {
		const struct figure **items;
		size_t count;
		size_t capacity;
	} notes;
	bool is_short;
};

static struct cell value_cell(const struct outcome *outcome)
{
	uint64_t number = (uint64_t)outcome->value;

	switch (metrics[outcome->budget->metric].kind) {
	case BUDGET_COUNT:
		return cell_count(number);
	case BUDGET_BYTES:
		return cell_bytes(number);
	case BUDGET_SECONDS:
		break;
	}
	return cell_seconds(outcome->value);
}

static void draw_failed(struct drawing *drawing, const struct outcome *outcome)
{
	const struct spec_view *view = outcome->view;
	struct arena *arena = drawing->scope->arena;
	const struct figure **slot = vec_push(&drawing->notes);
	char text[2 * UNITS_TEXT_SIZE + 16];

	format_value(text, sizeof(text), outcome);
	if (slot)
		*slot = scope_note(
			drawing->scope,
			arena_printf(arena, "failed.%zu",
				     drawing->notes.count - 1),
			FIGURE_ERROR,
			arena_printf(arena, "Failed%s%s: %s: it is %s",
				     view ? " in view " : "",
				     view ? view->name : "",
				     outcome->budget->text, text));
	drawing->is_short |= !slot || !*slot;
}

static void draw_outcome(void *context, const struct outcome *outcome)
{
	struct drawing *drawing = context;

	table_row(&drawing->table);
	table_add(&drawing->table, cell_text(outcome->budget->text));
	table_add(&drawing->table,
		  cell_text(outcome->view ? outcome->view->name : NULL));
	table_add(&drawing->table, value_cell(outcome));
	table_add(&drawing->table, cell_flag(has_failed(outcome)));
	if (has_failed(outcome))
		draw_failed(drawing, outcome);
}

int budgets_figures(const struct pipeline *pipeline,
		    const struct figure **ret_table,
		    const struct figure **ret_failed)
{
	const struct scope *scope = &pipeline->scope;
	struct drawing drawing = { .scope = scope };
	const struct figure *table, *failed = NULL;

	table_init(&drawing.table, columns,
		   sizeof(columns) / sizeof(columns[0]));
	visit_all(pipeline, draw_outcome, &drawing);
	table = table_finish(&drawing.table, scope, "limits", "Limits");
	if (drawing.notes.count && !drawing.is_short)
		failed = scope_group(scope, "failed", "Failed",
				     drawing.notes.items, drawing.notes.count);
	drawing.is_short |= !table || (drawing.notes.count && !failed);
	vec_done(&drawing.notes);
	if (drawing.is_short)
		return -ENOMEM;
	*ret_table = table->table.row_count ? table : NULL;
	*ret_failed = failed;
	return 0;
}
