/* SPDX-License-Identifier: MIT */
#include "report/spec_section.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/text.h"
#include "report/filter/choice.h"
#include "report/spec_keys.h"

enum { NAMES_MAX = 64, HINT_BYTES = 960 };

int place_fail(const struct place *place, int status, const char *format, ...)
{
	char text[sizeof(((struct diag *)NULL)->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return diag_set_line(place->diag, status, place->path, place->line,
			     "%s", text);
}

int section_text_check(struct spec *spec, const char *text,
		       const struct place *place)
{
	const char *clean = text_sanitize(&spec->arena, text, strlen(text));

	if (!clean)
		return place_fail(place, -ENOMEM, "out of memory");
	if (strcmp(clean, text) == 0)
		return 0;
	return place_fail(place, -EINVAL,
			  "\"%s\" holds control characters or bytes that are "
			  "not UTF-8",
			  clean);
}

static int unknown_key(const struct place *place, const char *key,
		       const char *where, const char *const *names)
{
	char hint[HINT_BYTES];

	choice_hint(key, names, hint, sizeof(hint));
	return place_fail(place, -EINVAL, "unknown key \"%s\"%s%s", key, where,
			  hint);
}

/* The checks that all keys share. @kind: what the key takes. */
static int key_check(struct spec *spec, const char *key, const char *value,
		     const char *kind, size_t index, uint64_t *seen,
		     const struct place *place)
{
	assert(index < 64);
	if (*seen & UINT64_C(1) << index)
		return place_fail(place, -EINVAL, "%s stands twice", key);
	*seen |= UINT64_C(1) << index;
	if (!value[0])
		return place_fail(place, -EINVAL,
				  "%s has no value; allowed: %s = %s", key, key,
				  kind);
	return section_text_check(spec, value, place);
}

int section_report_set(struct spec *spec, const char *key, const char *value,
		       uint64_t *seen, const struct place *place)
{
	const char *names[NAMES_MAX] = { NULL };
	struct diag found;
	int status;

	assert(report_key_count < NAMES_MAX);
	for (size_t i = 0; i < report_key_count; i++) {
		const struct report_key *row = &report_keys[i];

		names[i] = row->name;
		if (strcmp(row->name, key) != 0)
			continue;
		status = key_check(spec, key, value, row->value, i, seen,
				   place);
		if (status < 0)
			return status;
		status = row->set(spec, value, &found);
		if (status < 0)
			return place_fail(place, status, "%s: %s", key,
					  found.text);
		return 0;
	}
	return unknown_key(place, key, " in [report]", names);
}

/* Position of @key among the view keys and, after them, the filter keys; -1
   with the allowed ones in @names. */
static int view_key_index(const char *key, bool is_query, const char **names)
{
	size_t count = 0;

	assert(view_key_count + filter_key_count < NAMES_MAX);
	for (size_t i = 0; i < view_key_count; i++) {
		if (is_query && !view_keys[i].in_query)
			continue;
		if (strcmp(view_keys[i].name, key) == 0)
			return (int)i;
		names[count++] = view_keys[i].name;
	}
	for (size_t i = 0; i < filter_key_count; i++) {
		if (strcmp(filter_keys[i].name, key) == 0)
			return (int)(view_key_count + i);
		names[count++] = filter_keys[i].name;
	}
	return -1;
}

int section_view_set(struct spec *spec, struct spec_view *view, const char *key,
		     const char *value, uint64_t *seen,
		     const struct place *place)
{
	const char *names[NAMES_MAX] = { NULL };
	bool is_query = place->line == 0;
	int index = view_key_index(key, is_query, names);
	bool is_filter = index >= (int)view_key_count;
	size_t row = (size_t)index - (is_filter ? view_key_count : 0);
	struct diag found;
	int status;

	if (index < 0)
		return unknown_key(place, key, is_query ? "" : " in [view]",
				   names);
	status = key_check(spec, key, value,
			   is_filter ? filter_keys[row].value
				     : view_keys[row].value,
			   (size_t)index, seen, place);
	if (status < 0)
		return status;
	view->has_filter |= is_filter;
	if (is_filter)
		status = filter_keys[row].set(&view->filter, value,
					      &spec->arena, &found);
	else
		status = view_keys[row].set(view, value, &spec->arena, &found);
	return status < 0 ? place_fail(place, status, "%s: %s", key, found.text)
			  : 0;
}

int section_view_finish(struct spec_view *view, const struct place *place)
{
	struct diag found;
	int status;

	if (!view->title)
		view->title = view->name;
	if (view->artifact_count == 0) {
		view->artifacts[view->artifact_count++] = &artifact_flamegraph;
		view->artifacts[view->artifact_count++] = &artifact_tree;
	}
	status = spec_view_check(view, &found);
	if (status < 0 && place->line)
		return place_fail(place, status, "[view %s]: %s", view->name,
				  found.text);
	return status < 0 ? place_fail(place, status, "%s", found.text) : 0;
}
