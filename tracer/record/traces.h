/* SPDX-License-Identifier: MIT */
/* The traces that tracers have announced (tracer/announce.h). */
#ifndef TRACER_RECORD_TRACES_H
#define TRACER_RECORD_TRACES_H

#include <stddef.h>

#include "tracer/record/finish.h"

/**
 * struct trace - one that a tracer has made
 * @head: @head.trace_id is not 0
 * @next: the piece after it, or NULL
 */
struct trace {
	const char *path;
	struct finish_head head;
	const struct trace *next;
};

/**
 * struct traces - all of them, in the order of their beginning
 */
struct traces {
	struct trace *items;
	size_t count;
};

/*
 * Finds them.  A trace that a process had not begun to record into when it was
 * killed is removed.
 *
 * @names: what tracers have written, @len bytes and then a zero; borrowed as
 *         long as @ret is used
 * @ret:   what it has is never freed
 *
 * Safety: single thread; allocates, ends the process without memory.  Waits as
 *         finish_discard() does.
 */
void traces_read(const char *names, size_t len, struct traces *ret);

#endif /* TRACER_RECORD_TRACES_H */
