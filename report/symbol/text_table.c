/* SPDX-License-Identifier: MIT */
#include "report/symbol/text_table.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a, for tables that live in memory only. */
static uint64_t text_hash(const char *text, size_t len)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		hash =
		    (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

/* The slot of @key, or the free one where it belongs. */
static struct text_entry *text_table_slot(const struct text_table *table,
					  const char *key, size_t key_len,
					  uint64_t hash)
{
	size_t mask = table->capacity - 1;

	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		struct text_entry *entry = &table->slots[i];

		if (!entry->key)
			return entry;
		if (entry->hash == hash && entry->key_len == key_len &&
		    memcmp(entry->key, key, key_len) == 0)
			return entry;
	}
}

static int text_table_grow(struct text_table *table)
{
	struct text_table grown = {
	    .capacity = table->capacity ? table->capacity * 2 : 256,
	    .count = table->count,
	};

	grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return 0;
	for (size_t i = 0; i < table->capacity; i++) {
		const struct text_entry *entry = &table->slots[i];

		if (entry->key)
			*text_table_slot(&grown, entry->key, entry->key_len,
					 entry->hash) = *entry;
	}
	free(table->slots);
	*table = grown;
	return 1;
}

const char *text_table_find(const struct text_table *table, const char *key,
			    size_t key_len)
{
	if (!table->capacity)
		return NULL;
	return text_table_slot(table, key, key_len, text_hash(key, key_len))
	    ->value;
}

const char *text_table_add(struct text_table *table, const char *key,
			   size_t key_len, const char *value)
{
	uint64_t hash = text_hash(key, key_len);

	if (table->count >= table->capacity / 2 && !text_table_grow(table))
		return NULL;
	*text_table_slot(table, key, key_len, hash) = (struct text_entry){
	    .key = key,
	    .key_len = key_len,
	    .value = value,
	    .hash = hash,
	};
	table->count++;
	return value;
}

void text_table_done(struct text_table *table)
{
	free(table->slots);
	*table = (struct text_table){0};
}
