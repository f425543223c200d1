/* SPDX-License-Identifier: MIT */
#include "report/symbol/range_table.h"

#include <errno.h>
#include <stdlib.h>

#include "report/core/vec.h"

/* A crafted table could make every search walk all of it. */
enum { STEPS_MAX = 4096 };

int range_table_add(struct range_table *table, uint64_t start, uint64_t end,
		    uint32_t value)
{
	struct range_entry *entry;

	if (start >= end)
		return 0;
	entry = vec_push(table);
	if (!entry)
		return -ENOMEM;
	entry->start = start;
	entry->end = end;
	entry->value = value;
	return 0;
}

/* The search goes down, so what it should meet first comes last. */
static int by_start(const void *a, const void *b)
{
	const struct range_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return (x->value < y->value) - (x->value > y->value);
}

void range_table_ready(struct range_table *table)
{
	uint64_t reach = 0;

	if (table->count)
		qsort(table->items, table->count, sizeof(*table->items),
		      by_start);
	for (size_t i = 0; i < table->count; i++) {
		if (table->items[i].end > reach)
			reach = table->items[i].end;
		table->items[i].reach = reach;
	}
}

struct range_cursor range_table_seek(const struct range_table *table,
				     uint64_t addr)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->items[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return (struct range_cursor){ .index = low };
}

bool range_table_next(const struct range_table *table, uint64_t addr,
		      struct range_cursor *cursor, uint32_t *ret_value)
{
	while (cursor->index > 0 && cursor->steps++ < STEPS_MAX) {
		const struct range_entry *entry =
		    &table->items[--cursor->index];

		if (entry->reach <= addr)
			break;
		if (entry->end > addr) {
			*ret_value = entry->value;
			return true;
		}
	}
	cursor->index = 0;
	return false;
}

void range_table_done(struct range_table *table)
{
	vec_done(table);
}
