/* SPDX-License-Identifier: MIT */
#include "report/input/records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report/core/diag.h"
#include "report/core/vec.h"
#include "report/event/run.h"
#include "report/input/chunk.h"
#include "report/input/cursor.h"

int records_add_thread(struct records *records, const struct chunk *chunk,
		       struct cursor *cursor)
{
	struct findings *damage = &records->run->damage;
	struct thread_record record = {0};
	struct thread_record *item;
	struct cursor_text name;

	record.number = cursor_u32(cursor);
	record.tid = cursor_u32(cursor);
	record.what = cursor_u32(cursor);
	cursor_u32(cursor);
	record.tick = cursor_u64(cursor);
	name = cursor_string(cursor, TRACE_STRING_LEN_MAX);
	if (cursor->failed) {
		findings_add(damage, records->file, chunk->offset,
			     "a THREAD chunk is too short and is ignored");
		return 0;
	}
	if (!record.number || record.what < TRACE_THREAD_START ||
	    record.what > TRACE_THREAD_END) {
		findings_add(damage, records->file, chunk->offset,
			     "a THREAD chunk says %" PRIu32
			     " of thread %" PRIu32 ", which means nothing",
			     record.what, record.number);
		return 0;
	}
	record.name =
	    name.len ? records_text(records, name.data, name.len) : "";
	item = record.name ? vec_push(&records->threads) : NULL;
	if (!item)
		return -ENOMEM;
	record.order = records->threads.count;
	*item = record;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct thread_record *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static void thread_fold(struct run_thread *thread,
			const struct thread_record *record)
{
	if (record->name[0])
		thread->name = record->name;
	/* Every piece of a run says that it starts. */
	if (record->what == TRACE_THREAD_START && !thread->tid)
		thread->start_tick = record->tick;
	else if (record->what == TRACE_THREAD_END)
		thread->end_tick = record->tick;
	thread->tid = record->tid;
}

int records_finish_threads(struct records *records,
			   const uint32_t *lane_threads,
			   size_t lane_thread_count)
{
	const struct thread_record *items = records->threads.items;
	size_t count = records->threads.count;
	struct run *run = records->run;
	size_t lane = 0, i = 0;

	if (count)
		qsort(records->threads.items, count, sizeof(*items), by_number);
	run->threads = arena_array(&run->arena, count + lane_thread_count,
				   sizeof(*run->threads));
	if (!run->threads)
		return -ENOMEM;
	while (i < count || lane < lane_thread_count) {
		struct run_thread *thread = &run->threads[run->thread_count++];

		thread->number =
		    lane < lane_thread_count ? lane_threads[lane] : UINT32_MAX;
		if (i < count && items[i].number < thread->number)
			thread->number = items[i].number;
		thread->name = "";
		thread->start_tick = run->first_tick;
		thread->end_tick = UINT64_MAX;
		while (i < count && items[i].number == thread->number)
			thread_fold(thread, &items[i++]);
		if (lane < lane_thread_count &&
		    lane_threads[lane] == thread->number)
			lane++;
	}
	return 0;
}
