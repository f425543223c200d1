/* SPDX-License-Identifier: MIT */
/* What the program said about itself: marks, numbers and phases. */
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
	MARKS_MAX = 1 << 20,
	/* So many phases are looked at for the one that ends. */
	OPEN_MAX = 1024,
};

int records_add_mark(struct records *records, const struct chunk *chunk,
		     struct cursor *cursor)
{
	struct findings *damage = &records->run->damage;
	struct mark_record mark = {0};
	struct mark_record *item;
	struct cursor_text text;

	mark.kind = cursor_u32(cursor);
	mark.thread = cursor_u32(cursor);
	mark.tick = cursor_u64(cursor);
	mark.value = cursor_u64(cursor);
	text = cursor_string(cursor, TRACE_STRING_LEN_MAX);
	if (cursor->failed) {
		findings_add(damage, records->file, chunk->offset,
			     "a MARK chunk is too short and is ignored");
		return 0;
	}
	if (mark.kind < TRACE_MARK_TEXT || mark.kind > TRACE_MARK_NUMBER)
		return 0;
	if (records->marks.count == MARKS_MAX) {
		if (!records->marks_refused)
			findings_add(damage, records->file, chunk->offset,
				     "holds more than %d marks; the rest of "
				     "them is left out",
				     MARKS_MAX);
		records->marks_refused = true;
		return 0;
	}
	mark.text = records_text(records, text.data, text.len);
	item = mark.text ? vec_push(&records->marks) : NULL;
	if (!item)
		return -ENOMEM;
	mark.order = records->marks.count;
	*item = mark;
	return 0;
}

static int by_tick(const void *a, const void *b)
{
	const struct mark_record *x = a, *y = b;

	if (x->tick != y->tick)
		return x->tick < y->tick ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Phases that have begun, the newest last. */
struct open_phases {
	struct run_mark *items[OPEN_MAX];
	size_t count;
};

static void open_phase(struct open_phases *open, struct run_mark *phase)
{
	if (open->count == OPEN_MAX) {
		memmove(open->items, open->items + 1,
			(OPEN_MAX - 1) * sizeof(*open->items));
		open->count--;
	}
	open->items[open->count++] = phase;
}

/* The newest open phase of its name: one of its own thread, else of any. */
static void close_phase(struct open_phases *open,
			const struct mark_record *mark)
{
	size_t found = SIZE_MAX;

	for (size_t i = open->count; i-- > 0;) {
		if (strcmp(open->items[i]->text, mark->text) != 0)
			continue;
		if (open->items[i]->thread == mark->thread) {
			found = i;
			break;
		}
		if (found == SIZE_MAX)
			found = i;
	}
	if (found == SIZE_MAX)
		return;
	open->items[found]->end_tick = mark->tick;
	open->count--;
	memmove(open->items + found, open->items + found + 1,
		(open->count - found) * sizeof(*open->items));
}

int records_finish_marks(struct records *records)
{
	struct run *run = records->run;
	size_t count = records->marks.count;
	struct open_phases *open;

	if (!count)
		return 0;
	open = calloc(1, sizeof(*open));
	run->marks = arena_array(&run->arena, count, sizeof(*run->marks));
	if (!open || !run->marks) {
		free(open);
		return -ENOMEM;
	}
	qsort(records->marks.items, count, sizeof(*records->marks.items),
	      by_tick);
	for (size_t i = 0; i < count; i++) {
		const struct mark_record *from = &records->marks.items[i];
		struct run_mark *mark;

		if (from->kind == TRACE_MARK_PHASE_END) {
			close_phase(open, from);
			continue;
		}
		mark = &run->marks[run->mark_count++];
		*mark = (struct run_mark){
		    .kind = from->kind == TRACE_MARK_TEXT     ? RUN_MARK_TEXT
			    : from->kind == TRACE_MARK_NUMBER ? RUN_MARK_NUMBER
							      : RUN_MARK_PHASE,
		    .thread = from->thread,
		    .tick = from->tick,
		    .end_tick = UINT64_MAX,
		    .value = from->value,
		    .text = from->text,
		};
		if (mark->kind == RUN_MARK_PHASE)
			open_phase(open, mark);
	}
	free(open);
	return 0;
}
