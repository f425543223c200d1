/* SPDX-License-Identifier: MIT */
/*
 * Which of many, possibly overlapping, address ranges cover an address.
 *
 * Layer: symbol.
 */
#ifndef REPORT_SYMBOL_RANGE_TABLE_H
#define REPORT_SYMBOL_RANGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range_entry {
	uint64_t start;
	uint64_t end;   /* exclusive, > start */
	uint64_t reach; /* largest end of this entry and all before it */
	uint32_t value;
};

/* Zero-initialised is a valid empty table. */
struct range_table {
	struct range_entry *items;
	size_t count;
	size_t capacity;
};

/* Where a search stands. */
struct range_cursor {
	size_t index;
	unsigned int steps;
};

/* Empty ranges are passed over.  Return: 0, -ENOMEM. */
int range_table_add(struct range_table *table, uint64_t start, uint64_t end,
		    uint32_t value);

/* Sorts; to be called between adding and searching. */
void range_table_ready(struct range_table *table);

/**
 * range_table_seek(), range_table_next() - all values that cover @addr
 *
 * Nearest start first, of these the narrowest, of these the smallest value.
 */
struct range_cursor range_table_seek(const struct range_table *table,
				     uint64_t addr);
bool range_table_next(const struct range_table *table, uint64_t addr,
		      struct range_cursor *cursor, uint32_t *ret_value);
void range_table_done(struct range_table *table);

#endif /* REPORT_SYMBOL_RANGE_TABLE_H */
