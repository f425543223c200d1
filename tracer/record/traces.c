/* SPDX-License-Identifier: MIT */
#include "tracer/record/traces.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/announce.h"
#include "tracer/record/settings.h"

/**
 * struct announced - a name that a tracer has tried for a trace
 * @trace_id: of that trace
 */
struct announced {
	uint64_t trace_id;
	const char *path;
};

/* Safety: pure.  @entry: a string.  Return: whether it can be one. */
static bool read_entry(const char *entry, struct announced *ret)
{
	char digits[ANNOUNCE_ID_DIGITS + 1] = "";
	char *end;

	memccpy(digits, entry, '\0', ANNOUNCE_ID_DIGITS);
	ret->trace_id = strtoull(digits, &end, 16);
	ret->path = entry + (end - digits);
	return end == digits + ANNOUNCE_ID_DIGITS && ret->path[0] == '/';
}

/* Safety: single thread.  @names: @len bytes of strings, then a zero.  Return:
   the entries, @ret_count of them; never freed. */
static struct announced *read_entries(const char *names, size_t len,
				      size_t *ret_count)
{
	struct announced *entries;
	size_t count = 1;

	for (size_t i = 0; i < len; i++)
		count += !names[i];
	entries = calloc(count, sizeof(*entries));
	if (!entries)
		fail(EXIT_OWN_FAILURE, "trace names", ENOMEM);
	*ret_count = 0;
	for (const char *p = names; p < names + len; p += strlen(p) + 1)
		*ret_count += read_entry(p, &entries[*ret_count]);
	return entries;
}

/* Safety: pure.  Whether no name after @at was tried for its trace. */
static bool is_last_try(const struct announced *entries, size_t count,
			size_t at)
{
	for (size_t i = at + 1; i < count; i++)
		if (entries[i].trace_id == entries[at].trace_id)
			return false;
	return true;
}

/*
 * Whether there is a trace of the tracer that announced it.  One that it had
 * not begun to record into when it was killed is removed: a file that has its
 * id, or is empty and has the last name that it tried.
 *
 * Safety: single thread; allocates.
 */
static bool find_trace(const struct announced *entries, size_t count,
		       size_t at, struct finish_head *ret)
{
	const struct announced *entry = &entries[at];
	int err = finish_read_head(entry->path, ret);

	if (err == -ENOENT)
		return false;
	if (ret->trace_id != entry->trace_id && is_last_try(entries, count, at)) {
		if (finish_discard(entry->path, entry->trace_id))
			return false;
		/* Its process lives, and has gone on. */
		finish_read_head(entry->path, ret);
	}
	if (!ret->trace_id || ret->trace_id != entry->trace_id)
		return false;
	return ret->has_piece ||
	       !finish_discard(entry->path, entry->trace_id);
}

/* Safety: pure.  For qsort(): by the piece before. */
static int compare_previous(const void *a, const void *b)
{
	const struct trace *const *left = a, *const *right = b;
	uint64_t left_id = (*left)->head.previous_id;
	uint64_t right_id = (*right)->head.previous_id;

	return (left_id > right_id) - (left_id < right_id);
}

/* Safety: pure.  For bsearch(): the same. */
static int compare_to_previous(const void *key, const void *item)
{
	const uint64_t *id = key;
	const struct trace *const *trace = item;
	uint64_t previous_id = (*trace)->head.previous_id;

	return (*id > previous_id) - (*id < previous_id);
}

/* Safety: allocates.  Has each trace know the piece after it. */
static void link_pieces(struct traces *traces)
{
	const struct trace **sorted =
	    calloc(traces->count + 1, sizeof(*sorted));

	if (!sorted)
		fail(EXIT_OWN_FAILURE, "trace names", ENOMEM);
	for (size_t i = 0; i < traces->count; i++)
		sorted[i] = &traces->items[i];
	qsort(sorted, traces->count, sizeof(*sorted), compare_previous);
	for (size_t i = 0; i < traces->count; i++) {
		const struct trace **next =
		    bsearch(&traces->items[i].head.trace_id, sorted,
			    traces->count, sizeof(*sorted),
			    compare_to_previous);

		traces->items[i].next = next ? *next : NULL;
	}
	free(sorted);
}

void traces_read(const char *names, size_t len, struct traces *ret)
{
	size_t count;
	struct announced *entries = read_entries(names, len, &count);

	ret->count = 0;
	ret->items = calloc(count + 1, sizeof(*ret->items));
	if (!ret->items)
		fail(EXIT_OWN_FAILURE, "trace names", ENOMEM);
	for (size_t i = 0; i < count; i++) {
		struct trace *trace = &ret->items[ret->count];

		trace->path = entries[i].path;
		ret->count += find_trace(entries, count, i, &trace->head);
	}
	link_pieces(ret);
	free(entries);
}
