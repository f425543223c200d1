/* SPDX-License-Identifier: MIT */
#include "report/aggregate/sites.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/aggregate/scope.h"
#include "report/aggregate/site_frame.h"
#include "report/aggregate/sites_data.h"
#include "report/core/units.h"
#include "report/core/vec.h"
#include "report/engine/engine.h"
#include "report/event/stacks.h"
#include "report/symbol/symbol.h"

enum { SITE_COLUMNS = 10 };

static void site_add(struct site *site, const struct group *group)
{
	site->cost[SITE_PEAK_BYTES] += group->peak_bytes;
	site->cost[SITE_LEAKED_BYTES] +=
		group->allocated_bytes - group->freed_bytes;
	site->cost[SITE_ALLOCATED_BYTES] += group->allocated_bytes;
	site->cost[SITE_ALLOCATIONS] += group->allocated_count;
	site->cost[SITE_TEMPORARY] += group->temporary_count;
	site->groups++;
}

static bool sites_add(struct sites *sites, const struct scope *scope,
		      const struct group *group)
{
	const struct symbol_frame *frame = site_frame(scope, group->stack, NULL);
	struct site *site;

	site_add(&sites->total, group);
	if (!frame) {
		sites->quality_bytes[SYMBOL_ADDRESS] += group->allocated_bytes;
		return true;
	}
	sites->quality_bytes[frame->quality] += group->allocated_bytes;
	while (sites->rows.count <= frame->id)
		if (!vec_push(&sites->rows))
			return false;
	site = &sites->rows.items[frame->id];
	site->frame = frame;
	site_add(site, group);
	return true;
}

struct sites *sites_compute(const struct scope *scope)
{
	const struct groups *groups = engine_groups(scope->engine);
	struct sites *sites = calloc(1, sizeof(*sites));

	for (size_t i = 0; sites && i < groups->count; i++) {
		if (sites_add(sites, scope, &groups->items[i]))
			continue;
		sites_free(sites);
		sites = NULL;
	}
	return sites;
}

void sites_free(struct sites *sites)
{
	if (!sites)
		return;
	vec_done(&sites->rows);
	free(sites);
}

const char *site_cost_name(enum site_cost cost)
{
	static const char *const names[SITE_COST_COUNT] = {
		[SITE_PEAK_BYTES] = "peak",
		[SITE_LEAKED_BYTES] = "leaked",
		[SITE_ALLOCATED_BYTES] = "allocated",
		[SITE_ALLOCATIONS] = "count",
		[SITE_TEMPORARY] = "temporary",
	};

	return names[cost];
}

struct site_order {
	enum site_cost cost;
};

static int compare_sites(const void *a, const void *b, void *context)
{
	const struct site_order *order = context;
	const struct site *x = *(const struct site *const *)a;
	const struct site *y = *(const struct site *const *)b;
	uint64_t cost_x = x->cost[order->cost], cost_y = y->cost[order->cost];
	int result;

	if (cost_x != cost_y)
		return cost_x > cost_y ? -1 : 1;
	result = strcmp(x->frame->function, y->frame->function);
	if (result)
		return result;
	return (x->frame->id > y->frame->id) - (x->frame->id < y->frame->id);
}

/* How a table by each cost is called, and its columns of the cost and of the
   cost's share. */
static const struct site_table {
	const char *title;
	const char *main_key;
	const char *share_label;
	const char *whose; /* of which call sites there are rows */
} site_tables[SITE_COST_COUNT] = {
	[SITE_PEAK_BYTES] = { "Top call sites at the peak", "peak_bytes",
			      "Of the peak",
			      " with bytes alive at the peak" },
	[SITE_LEAKED_BYTES] = { "Top call sites by leaked bytes",
				"leaked_bytes", "Of all leaked",
				" with leaked bytes" },
	[SITE_ALLOCATED_BYTES] = { "Top call sites by allocated bytes",
				   "allocated_bytes", "Of all allocated", "" },
	[SITE_ALLOCATIONS] = { "Top call sites by number of allocations",
			       "allocations", "Of all allocations", "" },
	[SITE_TEMPORARY] = { "Top call sites by temporary allocations",
			     "temporary", "Of all temporary",
			     " with temporary allocations" },
};

/* Return: the columns of a table by @cost, owned by the arena; NULL when out of
   memory. */
static const struct figure_column *site_columns(const struct scope *scope,
						enum site_cost cost)
{
	const struct figure_column columns[SITE_COLUMNS] = {
		{ "function", "Call site", "call_site", CELL_TEXT },
		{ "location", "Location", NULL, CELL_TEXT },
		{ "module", "Module", NULL, CELL_TEXT },
		{ "peak_bytes", "At the peak", "peak_share", CELL_BYTES },
		{ "leaked_bytes", "Leaked", "leaked", CELL_BYTES },
		{ "allocated_bytes", "Allocated", "allocated_bytes",
		  CELL_BYTES },
		{ "allocations", "Allocations", "allocations", CELL_COUNT },
		{ "temporary", "Temporary", "temporary", CELL_COUNT },
		{ "share", site_tables[cost].share_label, "share",
		  CELL_RATIO },
		{ "backtraces", "Backtraces", "backtrace", CELL_COUNT },
	};
	struct figure_column *copy =
		arena_array(scope->arena, SITE_COLUMNS, sizeof(*copy));

	if (copy)
		memcpy(copy, columns, sizeof(columns));
	return copy;
}

static void add_site(struct table_maker *table, const struct scope *scope,
		     const struct site *site, enum site_cost cost,
		     uint64_t total)
{
	const struct symbol_frame *frame = site->frame;

	table_row(table);
	table_add(table, cell_text(frame->function));
	table_add(table, frame->file
			 ? cell_text(arena_printf(scope->arena, "%s:%u",
						  frame->file, frame->line))
			 : cell_none());
	table_add(table, cell_text(frame->module));
	table_add(table, cell_bytes(site->cost[SITE_PEAK_BYTES]));
	table_add(table, cell_bytes(site->cost[SITE_LEAKED_BYTES]));
	table_add(table, cell_bytes(site->cost[SITE_ALLOCATED_BYTES]));
	table_add(table, cell_count(site->cost[SITE_ALLOCATIONS]));
	table_add(table, cell_count(site->cost[SITE_TEMPORARY]));
	table_add(table, cell_ratio(scope_ratio(site->cost[cost], total)));
	table_add(table, cell_count(site->groups));
}

static void add_sorted(struct table_maker *table, const struct sites *sites,
		       const struct scope *scope, enum site_cost cost,
		       size_t rows, size_t *ret_total)
{
	const struct site **sorted =
		calloc(sites->rows.count + 1, sizeof(const struct site *));
	struct site_order order = { .cost = cost };
	size_t count = 0;

	if (!sorted) {
		table->failed = true;
		return;
	}
	for (size_t i = 0; i < sites->rows.count; i++)
		if (sites->rows.items[i].frame &&
		    sites->rows.items[i].cost[cost])
			sorted[count++] = &sites->rows.items[i];
	qsort_r(sorted, count, sizeof(*sorted), compare_sites, &order);
	for (size_t i = 0; i < count && i < rows; i++)
		add_site(table, scope, sorted[i], cost,
			 sites->total.cost[cost]);
	free(sorted);
	*ret_total = count;
}

const struct figure *sites_top(const struct sites *sites,
			       const struct scope *scope, enum site_cost cost,
			       size_t rows, const char *id)
{
	char shown[UNITS_TEXT_SIZE], all[UNITS_TEXT_SIZE];
	struct table_maker table;
	struct figure *figure;
	const struct figure_column *columns = site_columns(scope, cost);
	size_t total = 0;

	if (!columns)
		return NULL;
	table_init(&table, columns, SITE_COLUMNS);
	add_sorted(&table, sites, scope, cost, rows, &total);
	figure = table_finish(&table, scope, id, site_tables[cost].title);
	if (!figure)
		return NULL;
	figure->table.main_key = site_tables[cost].main_key;
	figure->table.share_key = "share";
	if (figure->table.row_count == total)
		return figure;
	units_format_count(shown, sizeof(shown), figure->table.row_count);
	units_format_count(all, sizeof(all), total);
	figure->caption = arena_printf(scope->arena, "%s of %s call sites%s",
				       shown, all, site_tables[cost].whose);
	return figure;
}

const struct figure *sites_symbol_quality(const struct sites *sites,
					  const struct scope *scope)
{
	uint64_t total = sites->total.cost[SITE_ALLOCATED_BYTES];
	const uint64_t *bytes = sites->quality_bytes;
	const struct figure_scalar items[] = {
		{ "function_and_line", "Function and line", "symbol_quality",
		  cell_ratio(scope_ratio(bytes[SYMBOL_LINE], total)) },
		{ "function_only", "Function only", "symbol_quality",
		  cell_ratio(scope_ratio(bytes[SYMBOL_FUNCTION], total)) },
		{ "module_only", "Module only", "symbol_quality",
		  cell_ratio(scope_ratio(bytes[SYMBOL_MODULE], total)) },
		{ "address_only", "Address only", "symbol_quality",
		  cell_ratio(scope_ratio(bytes[SYMBOL_ADDRESS], total)) },
	};

	return scope_scalars(scope, "symbol_quality", "Symbol quality", items,
			     sizeof(items) / sizeof(items[0]));
}
