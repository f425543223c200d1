/* SPDX-License-Identifier: MIT */
#include "report/aggregate/maps.h"

#include <errno.h>
#include <malloc.h>
#include <sys/mman.h>

#include "report/aggregate/scope.h"
#include "report/core/vec.h"
#include "report/event/event.h"
#include "report/event/run.h"

void maps_done(struct maps *maps)
{
	vec_done(&maps->maps);
	vec_done(&maps->mallopts);
	vec_done(&maps->samples);
	vec_done(&maps->selected);
	map_ranges_done(&maps->ranges);
}

#define MAPS_PUSH(list, added, from)                                           \
	do {                                                                   \
		struct map_call *slot;                                         \
                                                                               \
		(list)->total++;                                               \
		if ((list)->count == MAPS_ROWS_MAX)                            \
			return 0;                                              \
		slot = vec_push(list);                                         \
		if (!slot)                                                     \
			return -ENOMEM;                                        \
		slot->event = *(added);                                        \
		slot->thread = (from);                                         \
	} while (0)

/* Return: 0 or -ENOMEM. */
static int follow(struct maps *maps, const struct event *event)
{
	const uint64_t from[2] = { event->addr, event->size };
	const uint64_t to[2] = { event->a, event->b };

	maps->ranges.stack = event->stack;
	switch (event->kind) {
	case EVENT_MMAP:
		return map_ranges_map(&maps->ranges, event->addr, event->size,
				      event->tick,
				      maps->maps.count < MAPS_ROWS_MAX);
	case EVENT_MUNMAP:
		return map_ranges_unmap(&maps->ranges, event->addr,
					event->size, event->tick);
	default:
		return map_ranges_move(&maps->ranges, from, to,
				       event->fd & MREMAP_DONTUNMAP,
				       event->tick);
	}
}

int maps_add(void *context, const struct event *event, uint32_t thread)
{
	struct maps *maps = context;

	if (event->kind == EVENT_RSS) {
		MAPS_PUSH(&maps->samples, event, thread);
	} else if (event->kind == EVENT_MALLOPT) {
		MAPS_PUSH(&maps->mallopts, event, thread);
	} else if (event->kind != EVENT_MARKER) {
		if (follow(maps, event))
			return -ENOMEM;
		MAPS_PUSH(&maps->maps, event, thread);
	}
	return 0;
}

static const struct figure_scalar *total_scalar(const struct scope *scope,
						uint64_t total)
{
	struct figure_scalar *scalar =
		arena_alloc(scope->arena, sizeof(*scalar));

	if (scalar)
		*scalar = (struct figure_scalar){ "total_count", "Calls", NULL,
						  cell_count(total) };
	return scalar;
}

static struct figure *finish(struct table_maker *table,
			     const struct scope *scope, const char *id,
			     const char *title, uint64_t total)
{
	struct figure *figure = table_finish(table, scope, id, title);

	if (!figure)
		return NULL;
	figure->schema = id;
	figure->schema_version = 2;
	figure->table.shares_stacks = true;
	figure->scalars = total_scalar(scope, total);
	figure->scalar_count = 1;
	return figure->scalars ? figure : NULL;
}

static const struct figure_column map_columns[] = {
	{ "call", "Call", "mmaps", CELL_TEXT },
	{ "id", "Map", NULL, CELL_ID },
	{ "timestamp", "Time", NULL, CELL_SECONDS },
	{ "thread", "Thread", NULL, CELL_ID },
	{ "address", "Address", NULL, CELL_ADDRESS },
	{ "length", "Length", NULL, CELL_BYTES },
	{ "new_address", "New address", NULL, CELL_ADDRESS },
	{ "new_length", "New length", NULL, CELL_BYTES },
	{ "protection", "Protection", NULL, CELL_TEXT },
	{ "flags", "Flags", NULL, CELL_TEXT },
	{ "fd", "Descriptor", NULL, CELL_SIGNED },
	{ "offset", "Offset", NULL, CELL_COUNT },
	{ "unmapped", "Unmapped", NULL, CELL_SECONDS },
	{ "backtrace", "Backtrace", "backtrace", CELL_STACK },
};

static const char *protection_text(const struct scope *scope, uint32_t prot)
{
	return arena_printf(scope->arena, "%c%c%c", prot & PROT_READ ? 'r' : '-',
			    prot & PROT_WRITE ? 'w' : '-',
			    prot & PROT_EXEC ? 'x' : '-');
}

static const char *flags_text(const struct scope *scope, uint32_t flags)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = {
		{ MAP_FIXED, "fixed" },	      { MAP_ANONYMOUS, "anonymous" },
		{ MAP_NORESERVE, "noreserve" }, { MAP_STACK, "stack" },
		{ MAP_HUGETLB, "hugetlb" },     { MAP_POPULATE, "populate" },
		{ MAP_LOCKED, "locked" },
	};
	const char *text = (flags & MAP_TYPE) == MAP_PRIVATE ? "private"
							     : "shared";

	for (size_t i = 0; text && i < sizeof(names) / sizeof(names[0]); i++)
		if (flags & names[i].bit)
			text = arena_printf(scope->arena, "%s|%s", text,
					    names[i].name);
	return text;
}

static void add_mmap_details(struct table_maker *table,
			     const struct scope *scope,
			     const struct event *event, uint64_t end_tick)
{
	double end_s = run_seconds(scope->run, end_tick);
	uint32_t prot = (uint32_t)event->a;
	uint32_t flags = (uint32_t)(event->a >> 32);

	table_add(table, cell_none());
	table_add(table, cell_none());
	table_add(table, cell_text(protection_text(scope, prot)));
	table_add(table, cell_text(flags_text(scope, flags)));
	table_add(table, (flags & MAP_ANONYMOUS) ? cell_none()
						 : cell_signed(event->fd));
	table_add(table, (flags & MAP_ANONYMOUS) ? cell_none()
						 : cell_count(event->b));
	table_add(table, cell_or_none(cell_seconds(end_s),
				      end_tick != MAP_RANGES_NOT_ENDED));
}

/* @owner: number of the call among those of mmap. */
static void add_map(struct table_maker *table, const struct scope *scope,
		    const struct map_call *call, size_t owner,
		    uint64_t end_tick)
{
	const struct event *event = &call->event;
	const char *name = event->kind == EVENT_MMAP	 ? "mmap"
			   : event->kind == EVENT_MUNMAP ? "munmap"
							 : "mremap";

	table_row(table);
	table_add(table, cell_text(name));
	table_add(table, cell_or_none(cell_id(owner),
				      event->kind == EVENT_MMAP));
	table_add(table, cell_seconds(run_seconds(scope->run, event->tick)));
	table_add(table, cell_id(call->thread));
	table_add(table, cell_address(event->addr));
	table_add(table, cell_bytes(event->size));
	if (event->kind == EVENT_MMAP) {
		add_mmap_details(table, scope, event, end_tick);
	} else if (event->kind == EVENT_MREMAP) {
		table_add(table, cell_address(event->a));
		table_add(table, cell_bytes(event->b));
	}
	while (table->cells.count % table->column_count !=
	       table->column_count - 1 && !table->failed)
		table_add(table, cell_none());
	table_add(table, cell_stack(scope_stack(scope, event->stack)));
}

static const struct figure *samples_table(const struct maps *maps,
					  const struct scope *scope)
{
	static const struct figure_column columns[] = {
		{ "timestamp", "Time", NULL, CELL_SECONDS },
		{ "rss", "Resident memory", "rss", CELL_BYTES },
	};
	struct table_maker table;

	table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < maps->samples.count; i++) {
		const struct event *event = &maps->samples.items[i].event;

		table_row(&table);
		table_add(&table, cell_seconds(run_seconds(scope->run,
							   event->tick)));
		table_add(&table, cell_bytes(event->size < INT64_MAX
						     ? event->size
						     : INT64_MAX));
	}
	return table_finish(&table, scope, "rss_samples", "Resident memory");
}

static void add_calls(struct table_maker *table, const struct scope *scope,
		      const struct maps *maps)
{
	size_t owner = 0;

	for (size_t i = 0; i < maps->maps.count; i++) {
		const struct map_call *call = &maps->maps.items[i];

		add_map(table, scope, call, owner,
			map_ranges_end(&maps->ranges, owner));
		owner += call->event.kind == EVENT_MMAP;
	}
}

static void add_selected(struct table_maker *table, const struct scope *scope,
			 const struct maps *maps)
{
	for (size_t i = maps->first; i < maps->last; i++) {
		const struct map_row *row = &maps->selected.items[i];

		add_map(table, scope, &maps->maps.items[row->call], row->owner,
			map_ranges_end(&maps->ranges, row->owner));
	}
}

const struct figure *maps_mmaps(const struct maps *maps,
				const struct scope *scope)
{
	struct table_maker table;
	struct figure *figure;

	table_init(&table, map_columns,
		   sizeof(map_columns) / sizeof(map_columns[0]));
	if (maps->is_selected)
		add_selected(&table, scope, maps);
	else
		add_calls(&table, scope, maps);
	figure = finish(&table, scope, "mmaps", "Maps",
			maps->is_selected ? maps->selected.count
					  : maps->maps.total);
	if (!figure || !maps->samples.count)
		return figure;
	figure->more = samples_table(maps, scope);
	return figure->more ? figure : NULL;
}

static const struct figure_column mallopt_columns[] = {
	{ "timestamp", "Time", NULL, CELL_SECONDS },
	{ "thread", "Thread", NULL, CELL_ID },
	{ "raw_param", "Parameter number", "mallopts", CELL_SIGNED },
	{ "param", "Parameter", "mallopts", CELL_TEXT },
	{ "value", "Value", NULL, CELL_SIGNED },
	{ "result", "Result", NULL, CELL_SIGNED },
	{ "backtrace", "Backtrace", "backtrace", CELL_STACK },
};

/* Values of malloc.h; NULL for others. */
static const char *mallopt_name(int64_t param)
{
	switch (param) {
	case M_MXFAST:
		return "M_MXFAST";
	case M_TRIM_THRESHOLD:
		return "M_TRIM_THRESHOLD";
	case M_TOP_PAD:
		return "M_TOP_PAD";
	case M_MMAP_THRESHOLD:
		return "M_MMAP_THRESHOLD";
	case M_MMAP_MAX:
		return "M_MMAP_MAX";
	case M_CHECK_ACTION:
		return "M_CHECK_ACTION";
	case M_PERTURB:
		return "M_PERTURB";
	case M_ARENA_TEST:
		return "M_ARENA_TEST";
	case M_ARENA_MAX:
		return "M_ARENA_MAX";
	default:
		return NULL;
	}
}

const struct figure *maps_mallopts(const struct maps *maps,
				   const struct scope *scope)
{
	struct table_maker table;

	table_init(&table, mallopt_columns,
		   sizeof(mallopt_columns) / sizeof(mallopt_columns[0]));
	for (size_t i = 0; i < maps->mallopts.count; i++) {
		const struct map_call *call = &maps->mallopts.items[i];
		const struct event *event = &call->event;

		table_row(&table);
		table_add(&table, cell_seconds(run_seconds(scope->run,
							   event->tick)));
		table_add(&table, cell_id(call->thread));
		table_add(&table, cell_signed((int64_t)event->addr));
		table_add(&table,
			  cell_text(mallopt_name((int64_t)event->addr)));
		table_add(&table, cell_signed((int64_t)event->size));
		table_add(&table, cell_signed((int64_t)event->a));
		table_add(&table,
			  cell_stack(scope_stack(scope, event->stack)));
	}
	return finish(&table, scope, "mallopts", "mallopt calls",
		      maps->mallopts.total);
}
