/* SPDX-License-Identifier: MIT */
#include "report/aggregate/scope.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/vec.h"
#include "report/engine/engine.h"
#include "report/engine/levels.h"
#include "report/event/run.h"
#include "report/event/stacks.h"
#include "report/symbol/symbol.h"

void scope_frame_fill(struct figure_frame *ret,
		      const struct symbol_frame *frame, uint64_t pc_key)
{
	ret->function = frame->function;
	ret->module = frame->module;
	ret->file = frame->file;
	ret->line = frame->line;
	ret->address = PC_KEY_ADDR(pc_key);
	ret->is_inlined = frame->is_inlined;
}

void scope_stacks_init(struct scope_stacks *shown)
{
	memset(shown, 0, sizeof(*shown));
	shown->frames_left = SCOPE_FRAMES_MAX;
}

void scope_stacks_done(struct scope_stacks *shown)
{
	free(shown->of_node);
	memset(shown, 0, sizeof(*shown));
}

/* Return: the ELF virtual address at @pc_key, 0 outside of modules. */
static uint64_t module_offset(const struct run *run, uint64_t pc_key)
{
	const struct module *module = module_map_find(&run->modules, pc_key);

	return module ? PC_KEY_ADDR(pc_key) - module->bias : 0;
}

/* Return: how many frames of @total there is room for. */
static size_t frames_take(struct scope_stacks *shown, size_t total)
{
	if (total > shown->frames_left && total > SCOPE_CUT_FRAMES)
		return SCOPE_CUT_FRAMES;
	shown->frames_left -=
		total < shown->frames_left ? total : shown->frames_left;
	return total;
}

static const struct figure_stack *stack_make(const struct scope *scope,
					     uint32_t stack)
{
	const struct stacks_node *nodes = scope->stacks->nodes;
	struct figure_stack *result = arena_alloc(scope->arena, sizeof(*result));
	struct figure_frame *frames;
	size_t total = 0, at;

	for (uint32_t node = stack; node != STACKS_ROOT;
	     node = nodes[node].parent) {
		size_t count;

		symbols_resolve(scope->symbols, nodes[node].pc_key, &count);
		total += count;
	}
	at = frames_take(scope->shown, total);
	frames = arena_array(scope->arena, at, sizeof(*frames));
	if (!result || !frames)
		return NULL;
	result->id = stack;
	result->frames = frames;
	result->count = at;
	result->truncated = at < total;
	for (uint32_t node = stack; node != STACKS_ROOT && at;
	     node = nodes[node].parent) {
		uint64_t pc_key = nodes[node].pc_key;
		uint64_t offset = module_offset(scope->run, pc_key);
		size_t count;
		const struct symbol_frame *symbol =
			symbols_resolve(scope->symbols, pc_key, &count);

		result->truncated |= pc_key == PC_KEY_TRUNCATED;
		for (size_t i = 0; i < count && at; i++) {
			scope_frame_fill(&frames[--at], &symbol[i], pc_key);
			frames[at].offset = offset;
		}
	}
	return result;
}

const struct figure_stack *scope_stack(const struct scope *scope,
				       uint32_t stack)
{
	struct scope_stacks *shown = scope->shown;

	if (!shown->of_node) {
		shown->node_count = scope->stacks->count;
		shown->of_node =
			calloc(shown->node_count, sizeof(*shown->of_node));
	}
	if (!shown->of_node)
		return NULL;
	assert(stack < shown->node_count);
	if (!shown->of_node[stack])
		shown->of_node[stack] = stack_make(scope, stack);
	return shown->of_node[stack];
}

struct figure_frame *scope_frame(const struct scope *scope,
				 const struct symbol_frame *frame,
				 uint64_t pc_key)
{
	struct figure_frame *result = arena_alloc(scope->arena, sizeof(*result));

	if (result)
		scope_frame_fill(result, frame, pc_key);
	return result;
}

const double *scope_bin_seconds(const struct scope *scope,
				const struct levels *levels)
{
	double *seconds = arena_array(scope->arena, levels->bin_count,
				      sizeof(*seconds));

	for (size_t i = 0; seconds && i < levels->bin_count; i++)
		seconds[i] = run_seconds(scope->run,
					 levels_bin_tick(levels, i + 1));
	return seconds;
}

double scope_ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static struct figure *figure_make(const struct scope *scope,
				  enum figure_kind kind, const char *id,
				  const char *title)
{
	struct figure *figure = arena_alloc(scope->arena, sizeof(*figure));

	if (!figure)
		return NULL;
	figure->kind = kind;
	figure->id = id;
	figure->title = title;
	return figure;
}

const struct figure *scope_scalars(const struct scope *scope, const char *id,
				   const char *title,
				   const struct figure_scalar *items,
				   size_t count)
{
	struct figure *figure = figure_make(scope, FIGURE_SCALARS, id, title);
	struct figure_scalar *copy =
		arena_array(scope->arena, count, sizeof(*copy));

	if (!figure || !copy)
		return NULL;
	memcpy(copy, items, count * sizeof(*copy));
	figure->scalars = copy;
	figure->scalar_count = count;
	return figure;
}

struct figure *scope_group(const struct scope *scope, const char *id,
			   const char *title,
			   const struct figure *const *children, size_t count)
{
	struct figure *figure = figure_make(scope, FIGURE_GROUP, id, title);
	const struct figure **copy =
		arena_array(scope->arena, count, sizeof(*copy));

	if (!figure || !copy)
		return NULL;
	figure->children = copy;
	for (size_t i = 0; i < count; i++)
		if (children[i])
			copy[figure->child_count++] = children[i];
	return figure;
}

const struct figure *scope_note(const struct scope *scope, const char *id,
				enum figure_severity severity,
				const char *text)
{
	struct figure *figure = figure_make(scope, FIGURE_NOTE, id, "");

	if (!figure || !text)
		return NULL;
	figure->note.severity = severity;
	figure->note.text = text;
	return figure;
}

void table_init(struct table_maker *table, const struct figure_column *columns,
		size_t column_count)
{
	memset(table, 0, sizeof(*table));
	table->columns = columns;
	table->column_count = column_count;
}

void table_row(struct table_maker *table)
{
	while (!table->failed && table->cells.count % table->column_count)
		table_add(table, cell_none());
}

void table_add(struct table_maker *table, struct cell cell)
{
	struct cell *slot = vec_push(&table->cells);

	if (slot)
		*slot = cell;
	else
		table->failed = true;
}

struct figure *table_finish(struct table_maker *table,
			    const struct scope *scope, const char *id,
			    const char *title)
{
	struct figure *figure = figure_make(scope, FIGURE_TABLE, id, title);
	struct cell *cells;

	table_row(table);
	cells = arena_array(scope->arena, table->cells.count, sizeof(*cells));
	if (!figure || !cells || table->failed) {
		vec_done(&table->cells);
		return NULL;
	}
	if (table->cells.count)
		memcpy(cells, table->cells.items,
		       table->cells.count * sizeof(*cells));
	figure->table.columns = table->columns;
	figure->table.column_count = table->column_count;
	figure->table.cells = cells;
	figure->table.row_count = table->cells.count / table->column_count;
	figure->rows_key = id;
	vec_done(&table->cells);
	return figure;
}

bool scope_is_culled(const struct scope *scope)
{
	return scope->run->is_culled ||
	       engine_totals(scope->engine)->culled_count;
}
