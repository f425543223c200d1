/* SPDX-License-Identifier: MIT */
/*
 * Map from byte strings to texts, and thereby an interner: equal bytes give
 * the same pointer.
 *
 * Layer: symbol.
 */
#ifndef REPORT_SYMBOL_TEXT_TABLE_H
#define REPORT_SYMBOL_TEXT_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct text_entry {
	const char *key;
	size_t key_len;
	const char *value;
	uint64_t hash;
};

/* Zero-initialised is a valid empty table. */
struct text_table {
	struct text_entry *slots; /* open addressing, a power of two */
	size_t capacity;
	size_t count;
};

/* Return: the value of @key, NULL if there is none. */
const char *text_table_find(const struct text_table *table, const char *key,
			    size_t key_len);

/**
 * text_table_add() - @key must not be there yet
 * @key, @value: must live as long as @table
 *
 * Return: the value, NULL when out of memory.
 */
const char *text_table_add(struct text_table *table, const char *key,
			   size_t key_len, const char *value);
void text_table_done(struct text_table *table);

#endif /* REPORT_SYMBOL_TEXT_TABLE_H */
