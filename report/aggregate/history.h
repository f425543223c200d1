/* SPDX-License-Identifier: MIT */
/*
 * The allocations of a view one after another, in the order of time, with the
 * backtrace of each.
 *
 * Whether an allocation passes a filter may depend on its end.  So they are
 * taken in a pass after the one that marked those that pass (struct timeline),
 * and lie in a temporary file until they are written: a few bytes an event, and
 * no memory.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_HISTORY_H
#define REPORT_AGGREGATE_HISTORY_H

#include <stddef.h>
#include <stdint.h>

struct diag;
struct event;
struct history;
struct live_block;
struct record;
struct scope;
struct timeline;

/**
 * history_new()
 * @scope:  its run, engine and symbols are borrowed until history_free()
 * @passed: what marks the allocations to take; borrowed; NULL for all of them
 * @directory: of the temporary file; borrowed
 *
 * Return: owned by the caller, NULL when out of memory.
 */
struct history *history_new(const struct scope *scope,
			    const struct timeline *passed,
			    const char *directory);
void history_free(struct history *history);

/* An engine_observer's functions for the pass; @context is a struct history. */
int history_begun(void *context, const struct live_block *block);
int history_record(void *context, const struct record *record);
int history_event(void *context, const struct event *event, uint32_t thread);

/* After the pass.  Return: 0 or negative errno. */
int history_finish(struct history *history);

/* Return: @status, with a message in @diag if it came from the file. */
int history_explain(const struct history *history, int status,
		    struct diag *diag);

/* Return: HISTORY called @id, owned by @scope->arena, that needs @history while
   it is read; NULL when out of memory.  @left_out: see struct figure_history. */
struct figure *history_figure(struct history *history,
			      const struct scope *scope, const char *id,
			      const char *title, uint64_t left_out);

#endif /* REPORT_AGGREGATE_HISTORY_H */
