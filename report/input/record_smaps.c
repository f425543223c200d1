/* SPDX-License-Identifier: MIT */
/*
 * Samples of what memory is made of.  The sums of all are kept, thinned out
 * when there are many; the mappings only of the highest and of the last.
 */
#include "report/input/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/vec.h"
#include "report/event/run.h"
#include "report/input/chunk.h"
#include "report/input/cursor.h"
#include "tracer/trace_format.h"

enum {
	SAMPLES_MAX = 1024,
	ROW_MIN = 4 + 4 + 8 * TRACE_SMAPS_VALUES + 4,
	VALUE_SIZE = 0, /* in the order of the format */
	VALUE_RESIDENT = 1,
	VALUE_SWAPPED = 7,
};

struct smaps_row {
	uint32_t kind;
	uint32_t mappings;
	uint64_t values[TRACE_SMAPS_VALUES];
	struct cursor_text name;
};

/* Kinds that a newer version may add are the rest. */
static enum run_memory_kind kind_of(uint32_t kind)
{
	static const enum run_memory_kind kinds[] = {
		[TRACE_SMAPS_FILE] = RUN_MEMORY_FILE,
		[TRACE_SMAPS_HEAP] = RUN_MEMORY_HEAP,
		[TRACE_SMAPS_STACK] = RUN_MEMORY_STACK,
		[TRACE_SMAPS_ANONYMOUS] = RUN_MEMORY_ANONYMOUS,
		[TRACE_SMAPS_TRACER] = RUN_MEMORY_TRACER,
		[TRACE_SMAPS_CODE] = RUN_MEMORY_CODE,
		[TRACE_SMAPS_SHARED] = RUN_MEMORY_SHARED,
		[TRACE_SMAPS_SPECIAL] = RUN_MEMORY_SPECIAL,
		[TRACE_SMAPS_REST] = RUN_MEMORY_REST,
	};

	return kind && kind < sizeof(kinds) / sizeof(kinds[0])
		       ? kinds[kind]
		       : RUN_MEMORY_REST;
}

/* Return: whether there was a row that can be. */
static bool row_read(struct cursor *cursor, struct smaps_row *ret)
{
	ret->kind = cursor_u32(cursor);
	ret->mappings = cursor_u32(cursor);
	for (size_t i = 0; i < TRACE_SMAPS_VALUES; i++) {
		ret->values[i] = cursor_u64(cursor);
		if (ret->values[i] >= TRACE_SIZE_LIMIT)
			cursor->failed = true;
	}
	ret->name = cursor_string(cursor, TRACE_STRING_LEN_MAX);
	return !cursor->failed;
}

/* Return: its rows; *@ret_sums are of them. */
static uint32_t sum_rows(struct cursor *cursor, struct run_memory *ret_sums)
{
	uint32_t count;

	memset(ret_sums, 0, sizeof(*ret_sums));
	ret_sums->tick = cursor_u64(cursor);
	count = cursor_u32(cursor);
	cursor_u32(cursor);
	if (count > cursor->left / ROW_MIN)
		cursor->failed = true;
	for (uint32_t i = 0; i < count && !cursor->failed; i++) {
		struct smaps_row row;

		if (!row_read(cursor, &row))
			break;
		ret_sums->resident[kind_of(row.kind)] +=
			row.values[VALUE_RESIDENT];
		ret_sums->resident_all += row.values[VALUE_RESIDENT];
		ret_sums->swapped += row.values[VALUE_SWAPPED];
		ret_sums->size += row.values[VALUE_SIZE];
	}
	return count;
}

/* Of two neighbours the higher one stays. */
static void thin_out(struct records *records)
{
	struct run_memory *items = records->smaps.items;
	size_t count = 0;

	for (size_t i = 0; i < records->smaps.count; i += 2) {
		size_t next = i + 1 < records->smaps.count ? i + 1 : i;

		items[count++] = items[items[next].resident_all >
						       items[i].resident_all
					       ? next
					       : i];
	}
	records->smaps.count = count;
}

/* Keeps a copy of the payload.  Return: 0 or -ENOMEM. */
static int keep(struct smaps_record *record, const struct run_memory *sums,
		const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, len);
	free(record->data);
	record->data = copy;
	record->len = len;
	record->sums = *sums;
	return 0;
}

int records_add_smaps(struct records *records, const struct chunk *chunk,
		      const uint8_t *data, size_t len)
{
	struct cursor cursor = cursor_make(data, len);
	struct smaps_record *highest = &records->smaps_highest;
	struct smaps_record *last = &records->smaps_last;
	struct run_memory sums;
	struct run_memory *item;
	int error = 0;

	if (!sum_rows(&cursor, &sums) || cursor.failed) {
		findings_add(&records->run->damage, records->file,
			     chunk->offset,
			     "an SMAPS chunk is damaged and is ignored");
		return 0;
	}
	if (records->smaps.count == SAMPLES_MAX)
		thin_out(records);
	item = vec_push(&records->smaps);
	if (!item)
		return -ENOMEM;
	*item = sums;
	if (!highest->data || sums.resident_all > highest->sums.resident_all)
		error = keep(highest, &sums, data, len);
	if (!error && (!last->data || sums.tick >= last->sums.tick))
		error = keep(last, &sums, data, len);
	return error;
}

/* Makes the rows of a kept sample.  Return: 0 or -ENOMEM. */
static int make_mappings(struct records *records,
			 const struct smaps_record *record,
			 struct run_mappings *ret)
{
	struct cursor cursor = cursor_make(record->data, record->len);
	struct smaps_row row;
	uint32_t count;

	cursor_u64(&cursor);
	count = cursor_u32(&cursor);
	cursor_u32(&cursor);
	ret->sums = record->sums;
	ret->items = arena_array(&records->run->arena, count,
				 sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	while (ret->count < count && row_read(&cursor, &row)) {
		struct run_mapping *item = &ret->items[ret->count++];

		*item = (struct run_mapping){
			.kind = kind_of(row.kind),
			.mappings = row.mappings,
			.size = row.values[VALUE_SIZE],
			.resident = row.values[VALUE_RESIDENT],
			.anonymous = row.values[2],
			.clean = row.values[3] + row.values[5],
			.dirty = row.values[4] + row.values[6],
			.swapped = row.values[VALUE_SWAPPED],
			.name = records_text(records, row.name.data,
					     row.name.len),
		};
		if (!item->name)
			return -ENOMEM;
	}
	return 0;
}

static int by_tick(const void *a, const void *b)
{
	const struct run_memory *x = a, *y = b;

	return (x->tick > y->tick) - (x->tick < y->tick);
}

int records_finish_smaps(struct records *records)
{
	struct run *run = records->run;
	size_t count = records->smaps.count;
	int error;

	if (!count)
		return 0;
	run->memory = arena_array(&run->arena, count, sizeof(*run->memory));
	if (!run->memory)
		return -ENOMEM;
	memcpy(run->memory, records->smaps.items,
	       count * sizeof(*run->memory));
	run->memory_count = count;
	qsort(run->memory, count, sizeof(*run->memory), by_tick);
	error = make_mappings(records, &records->smaps_highest,
			      &run->mappings_highest);
	return error ? error
		     : make_mappings(records, &records->smaps_last,
				     &run->mappings_last);
}

void records_done_smaps(struct records *records)
{
	vec_done(&records->smaps);
	free(records->smaps_highest.data);
	free(records->smaps_last.data);
}
