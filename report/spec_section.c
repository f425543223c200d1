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
#include "report/spec_mistakes.h"

enum { NAMES_MAX = 128, HINT_BYTES = 2048 };

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
			  "not UTF-8; allowed: UTF-8 text without "
			  "control characters",
			  clean);
}

static int unknown_key(const struct place *place, const char *key,
		       const char *where, const char *const *names)
{
	char hint[HINT_BYTES];

	bool is_cut = choice_hint(key, names, hint, sizeof(hint));

	return place_fail(place, -EINVAL, "unknown key \"%s\"%s%s%s", key,
			  where, hint,
			  is_cut ? ", see memprof-report --help" : "");
}

/* Return: the line where the key stood before, 0 if it did not; 1 in --view. */
static uint32_t seen_before(struct section_seen *seen, size_t index,
			    uint32_t line)
{
	uint32_t before;

	assert(index < sizeof(seen->lines) / sizeof(seen->lines[0]));
	before = seen->lines[index];
	if (!before)
		seen->lines[index] = line ? line : 1;
	return before;
}

static int stands_twice(const struct place *place, const char *key,
			uint32_t before)
{
	if (!place->line)
		return place_fail(place, -EINVAL,
				  "%s stands twice; allowed: once", key);
	return place_fail(place, -EINVAL,
			  "%s stands twice, first in line %u; allowed: once in "
			  "a section",
			  key, before);
}

/* The checks that all keys share. @kind: what the key takes. */
static int key_check(struct spec *spec, const char *key, const char *value,
		     const char *kind, bool may_repeat, size_t index,
		     struct section_seen *seen, const struct place *place)
{
	uint32_t before = seen_before(seen, index, place->line);

	if (before && !may_repeat)
		return stands_twice(place, key, before);
	if (!value[0])
		return place_fail(place, -EINVAL,
				  "%s has no value; allowed: %s = %s", key, key,
				  kind);
	return section_text_check(spec, value, place);
}

/* An order is read once, and checked when all artifacts are known. */
static void sort_place(struct spec_view *view, const struct place *place)
{
	if (view->sort_by != SORT_DEFAULT && !view->sort_line)
		view->sort_line = place->line;
}

/* Budgets are read once: by the key that made them. */
static void budgets_place(struct budgets *budgets, const struct place *place)
{
	if (budgets->count && !budgets->line)
		budgets->line = place->line;
}

int section_report_set(struct spec *spec, const char *key, const char *value,
		       struct section_seen *seen, const struct place *place)
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
		status = key_check(spec, key, value, row->value, false, i,
				   seen, place);
		if (status < 0)
			return status;
		status = row->set(spec, value, &found);
		if (status < 0)
			return place_fail(place, status, "%s: %s", key,
					  found.text);
		budgets_place(&spec->budgets, place);
		if (strcmp(key, "views") == 0)
			spec->views_line = place->line;
		return 0;
	}
	return unknown_key(place, key, " in [report]", names);
}

/* Appends the filter keys to @count of @names. */
static void filter_key_names(bool is_query, const char **names, size_t count)
{
	for (size_t i = 0; i < filter_key_count; i++) {
		if (is_query && filter_key_names_sections(&filter_keys[i]))
			continue;
		names[count++] = filter_keys[i].name;
		if (filter_keys[i].negated)
			names[count++] = filter_keys[i].negated;
	}
	assert(count < NAMES_MAX);
	names[count] = NULL;
}

/* Fills @names with the keys that @is_query and the section allow. */
static void view_key_names(bool is_query, const char **names)
{
	size_t count = 0;

	for (size_t i = 0; i < view_key_count; i++)
		if (!is_query || view_keys[i].in_query)
			names[count++] = view_keys[i].name;
	filter_key_names(is_query, names, count);
}

static const struct view_key *view_key_find(const char *name, bool is_query)
{
	for (size_t i = 0; i < view_key_count; i++)
		if ((!is_query || view_keys[i].in_query) &&
		    strcmp(view_keys[i].name, name) == 0)
			return &view_keys[i];
	return NULL;
}

static int unknown_view_key(const struct place *place, const char *key,
			    bool is_query)
{
	const char *names[NAMES_MAX];
	const char *why = filter_key_refusal(key);

	if (why)
		return place_fail(place, -EINVAL, "there is no key %s: %s", key,
				  why);
	view_key_names(is_query, names);
	return unknown_key(place, key, is_query ? "" : " in [view]", names);
}

/* A key of the table filter_keys; its opposite is a key of its own. */
static int filter_key_set(struct spec *spec, struct filter_spec *filter,
			  const struct filter_key *row, bool is_negated,
			  const char *value, struct section_seen *seen,
			  const struct place *place)
{
	const char *name = is_negated ? row->negated : row->name;
	size_t index = view_key_count + 2 * (size_t)(row - filter_keys) +
		       is_negated;
	struct diag found;
	int status = key_check(spec, name, value, row->value, row->repeats,
			       index, seen, place);

	if (status < 0)
		return status;
	if (place->line == 0 && filter_key_names_sections(row))
		return place_fail(place, -EINVAL,
				  "%s names [filter NAME] sections, which only "
				  "a spec has (--spec)",
				  name);
	status = filter_spec_set(filter, row, is_negated, value, place->line,
				 &spec->arena, &found);
	return status < 0 ? place_fail(place, status, "%s: %s", name,
				       found.text)
			  : 0;
}

/* Return: whether an artifact of @view heeds the key @row. */
static bool is_heeded(const struct view_key *row, const struct spec_view *view)
{
	for (size_t i = 0; i < view->artifact_count; i++)
		if (row->applies & VIEW_KEY_OF(view->artifacts[i]->subject))
			return true;
	return !row->applies;
}

/* Fills @list with the artifacts of a view, or of --view, that heed the key
   @row. */
static void list_heeding(const struct view_key *row, bool is_query, char *list,
			 size_t size)
{
	const char *names[NAMES_MAX];
	size_t count = 0;

	for (size_t i = 0; artifact_formats[i]; i++) {
		const struct artifact_format *format = artifact_formats[i];

		assert(count < NAMES_MAX - 1);
		if (row->applies & VIEW_KEY_OF(format->subject) &&
		    (is_query || !artifact_is_of_trace(format)))
			names[count++] = artifact_formats[i]->name;
	}
	names[count] = NULL;
	choice_list(names, list, size);
}

/* Return: whether --view may say the key @name of maps. */
static bool is_of_maps(const char *name)
{
	const struct view_key *row = view_key_find(name, true);
	const struct filter_key *filter = filter_key_find(name, NULL);

	return row ? row->applies & VIEW_KEY_OF(SUBJECT_MMAPS)
		   : filter && filter_key_rows(filter) != FILTER_ALLOCATIONS &&
			     !filter_key_names_sections(filter);
}

/* A key that exists, of a view of maps. */
static int maps_key_check(const char *key, const struct place *place)
{
	const char *all[NAMES_MAX], *names[NAMES_MAX];
	char list[HINT_BYTES];
	size_t count = 0;

	if (is_of_maps(key))
		return 0;
	view_key_names(true, all);
	for (size_t i = 0; all[i]; i++)
		if (is_of_maps(all[i]))
			names[count++] = all[i];
	names[count] = NULL;
	choice_list(names, list, sizeof(list));
	return place_fail(place, -EINVAL,
			  "%s does not apply to maps; allowed for mmaps: %s",
			  key, list);
}

/* Whether the rows that @view has can be selected by @filter. */
static int rows_check(const struct spec_view *view,
		      const struct filter_key *filter, const char *key,
		      const struct place *place)
{
	bool has_maps = view->artifact_count &&
			artifact_has_maps(view->artifacts[0]);

	if (has_maps)
		return maps_key_check(key, place);
	if (filter_key_rows(filter) != FILTER_MAPS)
		return 0;
	return place_fail(place, -EINVAL,
			  "%s is about maps, not allocations; allowed: in "
			  "--view with --as mmaps",
			  key);
}

/* --view has one artifact: a key that it does not heed would be passed over
   without a word.  Keys that apply to nothing because the artifact is about the
   whole trace are told so together. */
static int query_key_check(const struct spec_view *view,
			   const struct view_key *row,
			   const struct place *place)
{
	const struct artifact_format *artifact = view->artifacts[0];
	char list[HINT_BYTES];

	if (artifact_has_maps(artifact))
		return maps_key_check(row->name, place);
	if (artifact_is_of_trace(artifact) || is_heeded(row, view))
		return 0;
	list_heeding(row, true, list, sizeof(list));
	return place_fail(place, -EINVAL,
			  "%s does not apply to %s; it does to: %s", row->name,
			  artifact->name, list);
}

/* The same of a section, once all its artifacts are known. */
static int view_keys_check(const struct spec_view *view,
			   const struct section_seen *seen,
			   const struct place *place, struct mistakes *mistakes)
{
	struct place there = *place;
	char list[HINT_BYTES];
	int status = 0;

	for (size_t i = 0; status == 0 && i < view_key_count; i++) {
		const struct view_key *row = &view_keys[i];

		if (!seen->lines[i] || seen->is_wrong[i] ||
		    is_heeded(row, view))
			continue;
		list_heeding(row, false, list, sizeof(list));
		there.line = seen->lines[i];
		status = mistakes_keep(
			mistakes,
			place_fail(&there, -EINVAL,
				   "[view %s]: %s applies to none of its "
				   "artifacts; it does to: %s",
				   view->name, row->name, list));
	}
	return status;
}

int section_view_set(struct spec *spec, struct spec_view *view, const char *key,
		     const char *value, struct section_seen *seen,
		     const struct place *place)
{
	bool is_query = place->line == 0;
	const struct view_key *row = view_key_find(key, is_query);
	bool is_negated;
	const struct filter_key *filter = filter_key_find(key, &is_negated);
	struct diag found;
	int status;

	if (filter) {
		status = rows_check(view, filter, key, place);
		return status ? status
			      : filter_key_set(spec, &view->filter, filter,
					       is_negated, value, seen, place);
	}
	if (!row)
		return unknown_view_key(place, key, is_query);
	status = key_check(spec, key, value, row->value, false,
			   (size_t)(row - view_keys), seen, place);
	if (status == 0 && is_query)
		status = query_key_check(view, row, place);
	seen->is_wrong[row - view_keys] |= status < 0;
	if (status < 0)
		return status;
	status = row->set(view, value, &spec->arena, &found);
	seen->is_wrong[row - view_keys] |= status < 0;
	if (status < 0)
		return place_fail(place, status, "%s: %s", key, found.text);
	sort_place(view, place);
	budgets_place(&view->budgets, place);
	return 0;
}

int section_filter_set(struct spec *spec, struct filter_spec *filter,
		       const char *key, const char *value,
		       struct section_seen *seen, const struct place *place)
{
	const char *names[NAMES_MAX];
	const char *why = filter_key_refusal(key);
	bool is_negated;
	const struct filter_key *row = filter_key_find(key, &is_negated);

	if (row && filter_key_rows(row) == FILTER_MAPS)
		return place_fail(place, -EINVAL,
				  "%s is about maps, not allocations; allowed: "
				  "in --view with --as mmaps",
				  key);
	if (row)
		return filter_key_set(spec, filter, row, is_negated, value,
				      seen, place);
	if (why)
		return place_fail(place, -EINVAL, "there is no key %s: %s", key,
				  why);
	if (view_key_find(key, false))
		return place_fail(place, -EINVAL,
				  "%s is a key of [view NAME]; allowed in "
				  "[filter NAME]: filter keys",
				  key);
	filter_key_names(false, names, 0);
	return unknown_key(place, key, " in [filter]", names);
}

/* What the conditions of @filter say together. */
static int filter_check(const struct filter_spec *filter,
			const struct place *place, struct mistakes *mistakes)
{
	struct diag found = { 0 };
	size_t at = 0;
	int status = 0;

	while (status == 0 && filter_spec_check(filter, &at, &found) < 0) {
		struct place there = *place;

		there.line = found.line;
		status = mistakes_keep(mistakes, place_fail(&there, -EINVAL,
							    "%s", found.text));
	}
	return status;
}

int section_filter_finish(const struct spec_filter *filter,
			  const struct place *place, struct mistakes *mistakes)
{
	return filter_check(&filter->filter, place, mistakes);
}

int section_view_finish(struct spec_view *view, const struct section_seen *seen,
			const struct place *place, struct mistakes *mistakes)
{
	const struct view_key *artifacts = view_key_find("artifacts", false);
	struct place there = *place;
	struct diag found;
	int status = filter_check(&view->filter, place, mistakes);
	bool are_known = !seen->is_wrong[artifacts - view_keys];

	if (!view->title)
		view->title = view->name;
	if (view->artifact_count == 0) {
		view->artifacts[view->artifact_count++] = &artifact_flamegraph;
		view->artifacts[view->artifact_count++] = &artifact_tree;
	}
	if (status == 0 && place->line && are_known)
		status = view_keys_check(view, seen, place, mistakes);
	if (status < 0 || spec_view_check(view, &found) == 0)
		return status;
	there.line = view->sort_line;
	if (place->line)
		place_fail(&there, -EINVAL, "[view %s]: %s", view->name,
			   found.text);
	else
		place_fail(place, -EINVAL, "%s", found.text);
	return mistakes_keep(mistakes, -EINVAL);
}
