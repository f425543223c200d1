/* SPDX-License-Identifier: MIT */
/*
 * Pairing each free with its allocation: what is done for every event.
 *
 * Layer: engine, private to engine.c.
 */
#ifndef REPORT_ENGINE_PAIR_H
#define REPORT_ENGINE_PAIR_H

#include <stddef.h>

struct engine;
struct event;

/* Before the first event of a pass, when the tables are ready. */
void pair_begin(struct engine *engine);

/* A merge_span_fn; @context is the engine. */
int pair_span(void *context, const struct event *events, size_t count,
	      size_t known, size_t lane);

/* After the last event: what is alive was never freed.  Return: 0 or negative
   errno. */
int pair_end(struct engine *engine);

#endif /* REPORT_ENGINE_PAIR_H */
