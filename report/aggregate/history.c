/* SPDX-License-Identifier: MIT */
/*
 * A step in the file is a number whose two lowest bits are its kind and whose
 * others are the milliseconds since the step before it; then the bytes; then,
 * unless it is a sample of resident memory, the node of its backtrace.  Numbers
 * are written in groups of seven bits, the lowest first.
 */
#include "report/aggregate/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/aggregate/scope.h"
#include "report/aggregate/timeline.h"
#include "report/core/diag.h"
#include "report/core/temporary.h"
#include "report/core/vec.h"
#include "report/engine/engine.h"
#include "report/event/event.h"
#include "report/event/run.h"
#include "report/event/stacks.h"
#include "report/symbol/symbol.h"

enum {
	BUFFER_BYTES = 1 << 16,
	NUMBER_BYTES = 10, /* at most */
	STEP_BYTES = 3 * NUMBER_BYTES,
	KIND_BITS = 2,
};

/* Beyond it times make no sense, and would not fit. */
#define MILLISECONDS_MAX (UINT64_C(1) << 52)

/**
 * struct history
 * @buffer:     what comes after @file_bytes of the file; of a file being read,
 *              what came before @file_at
 * @used:       bytes of @buffer
 * @at:         of these, how many were read
 * @last:       milliseconds of the last step
 * @error:      0 or negative errno of the file
 * @frames:     of the call that was asked for last
 */
struct history {
	struct scope scope;
	const struct timeline *passed;
	const char *directory;
	int fd;
	int error;
	uint64_t file_bytes;
	uint64_t file_at;
	size_t used;
	size_t at;
	uint64_t last;
	struct {
		struct figure_frame *items;
		size_t count;
		size_t capacity;
	} frames;
	unsigned char buffer[BUFFER_BYTES];
};

struct history *history_new(const struct scope *scope,
			    const struct timeline *passed,
			    const char *directory)
{
	struct history *history = calloc(1, sizeof(*history));

	if (!history)
		return NULL;
	history->scope = *scope;
	history->passed = passed;
	history->directory = directory;
	history->fd = -1;
	return history;
}

void history_free(struct history *history)
{
	if (!history)
		return;
	if (history->fd >= 0)
		close(history->fd);
	vec_done(&history->frames);
	free(history);
}

int history_explain(const struct history *history, int status,
		    struct diag *diag)
{
	if (!history->error || status != history->error)
		return status;
	return diag_set(diag, status, history->directory, DIAG_NO_OFFSET,
			"no room for allocations in the order of time: %s "
			"(TMPDIR names another directory)",
			strerror(-status));
}

/* --- taking ------------------------------------------------------------- */

static int buffer_write(struct history *history)
{
	int status = history->error;

	if (status == 0 && history->fd < 0) {
		history->fd = temporary_open(history->directory);
		status = history->fd < 0 ? history->fd : 0;
	}
	if (status == 0)
		status = temporary_write(history->fd, history->file_bytes,
					 history->buffer, history->used);
	history->file_bytes += history->used;
	history->used = 0;
	history->error = status;
	return status;
}

static void number_put(struct history *history, uint64_t number)
{
	for (; number > 0x7f; number >>= 7)
		history->buffer[history->used++] =
			(unsigned char)(number | 0x80);
	history->buffer[history->used++] = (unsigned char)number;
}

static uint64_t milliseconds(const struct history *history, uint64_t tick)
{
	double ms = run_seconds(history->scope.run, tick) * 1e3;

	return ms < (double)MILLISECONDS_MAX ? (uint64_t)ms : MILLISECONDS_MAX;
}

/* Return: 0 or negative errno. */
static int step_put(struct history *history, enum figure_step_kind kind,
		    uint64_t tick, uint64_t bytes, uint32_t stack)
{
	uint64_t now = milliseconds(history, tick), elapsed = 0;
	int status = 0;

	/* Those of several threads may differ by less than a millisecond. */
	if (now > history->last) {
		elapsed = now - history->last;
		history->last = now;
	}
	if (history->used > BUFFER_BYTES - STEP_BYTES)
		status = buffer_write(history);
	number_put(history, elapsed << KIND_BITS | kind);
	number_put(history, bytes);
	if (kind != FIGURE_STEP_RESIDENT)
		number_put(history, stack);
	return status;
}

static bool has_passed(const struct history *history, uint64_t id)
{
	return !history->passed || timeline_has(history->passed, id);
}

int history_begun(void *context, const struct live_block *block)
{
	struct history *history = context;
	const struct groups *groups = engine_groups(history->scope.engine);

	if (!has_passed(history, block->id))
		return 0;
	return step_put(history, FIGURE_STEP_ALLOCATED, block->alloc_tick,
			live_block_size(block),
			groups->items[block->group].stack);
}

int history_record(void *context, const struct record *record)
{
	struct history *history = context;

	if (record_is_leaked(record) || !has_passed(history, record->id))
		return 0;
	return step_put(history, FIGURE_STEP_FREED, record->free_tick,
			record->size, record->stack);
}

int history_event(void *context, const struct event *event, uint32_t thread)
{
	(void)thread;
	if (event->kind != EVENT_RSS)
		return 0;
	return step_put(context, FIGURE_STEP_RESIDENT, event->tick, event->size,
			STACKS_ROOT);
}

int history_finish(struct history *history)
{
	return history->used ? buffer_write(history) : history->error;
}

/* --- reading ------------------------------------------------------------ */

static int source_rewind(void *context, struct diag *diag)
{
	struct history *history = context;

	(void)diag;
	history->file_at = 0;
	history->used = 0;
	history->at = 0;
	history->last = 0;
	return 0;
}

/* Return: 1 if there is another byte, 0 at the end, or negative errno. */
static int buffer_fill(struct history *history)
{
	uint64_t left = history->file_bytes - history->file_at;

	if (history->at < history->used)
		return 1;
	if (!left)
		return 0;
	history->used = left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;
	history->at = 0;
	history->error = temporary_read(history->fd, history->file_at,
					history->buffer, history->used);
	history->file_at += history->used;
	return history->error ? history->error : 1;
}

/* Return: 0 or negative errno. */
static int number_get(struct history *history, uint64_t *ret)
{
	unsigned char byte;
	unsigned shift = 0;

	*ret = 0;
	do {
		int status = buffer_fill(history);

		if (status <= 0)
			return status ? status : -EIO;
		byte = history->buffer[history->at++];
		*ret |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && shift < 64);
	return 0;
}

static int source_next(void *context, struct figure_step *ret,
		       struct diag *diag)
{
	struct history *history = context;
	uint64_t head = 0, call = STACKS_ROOT;
	int status = buffer_fill(history);

	if (status == 0)
		return 0;
	if (status > 0)
		status = number_get(history, &head);
	ret->kind = head & ((1 << KIND_BITS) - 1);
	if (status == 0)
		status = number_get(history, &ret->bytes);
	if (status == 0 && ret->kind != FIGURE_STEP_RESIDENT)
		status = number_get(history, &call);
	if (status)
		return history_explain(history, status, diag);
	history->last += head >> KIND_BITS;
	ret->milliseconds = history->last;
	ret->call = (uint32_t)call;
	return 1;
}

static int source_call(void *context, uint32_t number, struct figure_call *ret)
{
	struct history *history = context;
	const struct scope *scope = &history->scope;
	const struct stacks_node *node = &scope->stacks->nodes[number];
	const struct symbol_frame *symbols;
	size_t count;

	symbols = symbols_resolve(scope->symbols, node->pc_key, &count);
	if (!vec_reserve(&history->frames, count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		scope_frame_fill(&history->frames.items[i], &symbols[i],
				 node->pc_key);
	ret->caller = node->parent;
	ret->place = node->pc_key;
	ret->frames = history->frames.items;
	ret->count = count;
	return 0;
}

struct figure *history_figure(struct history *history,
			      const struct scope *scope, const char *id,
			      const char *title, uint64_t left_out)
{
	struct figure *figure = arena_alloc(scope->arena, sizeof(*figure));
	const struct run *run = scope->run;

	if (!figure || !id)
		return NULL;
	figure->kind = FIGURE_HISTORY;
	figure->id = id;
	figure->title = title;
	figure->history = (struct figure_history){
		.context = history,
		.rewind = source_rewind,
		.next = source_next,
		.call = source_call,
		.call_count = scope->stacks->count,
		.end = milliseconds(history, run->last_tick),
		.arguments = run->arguments,
		.argument_count = run->argument_count,
		.left_out = left_out,
	};
	return figure;
}
