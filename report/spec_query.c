/* SPDX-License-Identifier: MIT */
/* Reads --view: one view as a query. */
#include <errno.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/spec.h"
#include "report/spec_mistakes.h"
#include "report/spec_section.h"
#include "report/spec_uses.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 'a' - 'A';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes %41 in place.  A % that two hex digits do not follow is itself: times
   are written 50%. */
static void percent_decode(char *text)
{
	char *out = text;

	while (*text) {
		int high = *text == '%' ? hex_digit(text[1]) : -1;
		int low = high >= 0 ? hex_digit(text[2]) : -1;

		if (low < 0) {
			*out++ = *text++;
			continue;
		}
		*out++ = (char)(high << 4 | low);
		text += 3;
	}
	*out = '\0';
}

/* Return: 0, or -EINVAL when @text holds %00, which would cut it. */
static int percent_check(const char *text, const struct place *place)
{
	if (!strstr(text, "%00"))
		return 0;
	return place_fail(place, -EINVAL,
			  "%%00 in \"%s\"; allowed: text without NUL", text);
}

/* @pair: "key=value", modified. */
static int pair_set(struct spec *spec, char *pair, struct section_seen *seen,
		    const struct place *place)
{
	char *value = strchr(pair, '=');
	int status = percent_check(pair, place);

	if (status < 0)
		return status;
	if (value)
		*value++ = '\0';
	percent_decode(pair);
	status = section_text_check(spec, pair, place);
	if (status < 0)
		return status;
	if (!value)
		return place_fail(place, -EINVAL,
				  "\"%s\" has no value; allowed: "
				  "KEY=VALUE&KEY=VALUE",
				  pair);
	percent_decode(value);
	return section_view_set(spec, spec->views, pair, value, seen, place);
}

enum { TITLE_TERMS = 8 };

/* What a view that has no name is about: its conditions, as written. */
static const char *query_title(struct arena *arena,
			       const struct spec_view *view)
{
	const struct filter_spec *filter = &view->filter;
	const char *title = "All allocations";

	for (size_t i = 0; title && i < filter->count; i++) {
		if (i == TITLE_TERMS)
			return arena_printf(arena, "%s, and %zu more", title,
					    filter->count - i);
		title = arena_printf(arena, "%s %s = %s",
				     i ? arena_printf(arena, "%s,", title)
				       : "Allocations with",
				     filter->terms[i].is_negated
					     ? filter->terms[i].key->negated
					     : filter->terms[i].key->name,
				     filter->terms[i].written);
	}
	return title;
}

/* What was said is about maps: allocations are left alone. */
static int take_maps(struct spec_view *view, bool has_keys,
		     const struct place *place, struct mistakes *mistakes)
{
	const struct filter_spec *filter = &view->filter;
	int status = 0;

	for (size_t i = 0; status == 0 && i < filter->count; i++) {
		const struct filter_term *term = &filter->terms[i];
		bool is_word = term->key->subject == SUBJECT_LIFETIME_WORD;

		if (!is_word ||
		    (term->value.number != LIFETIME_CHAIN_LEAKED &&
		     term->value.number != LIFETIME_WHOLE_GROUP_LEAKED))
			continue;
		status = mistakes_keep(
			mistakes,
			place_fail(place, -EINVAL,
				   "lifetime: \"%s\" is not a lifetime of maps; "
				   "allowed: all, only_leaked, only_temporary, "
				   "only_not_deallocated_in_current_range, "
				   "only_deallocated_in_current_range",
				   term->written));
	}
	view->maps = view->filter;
	view->filter = (struct filter_spec){ 0 };
	view->wants_maps = has_keys;
	return status;
}

static int query_read(struct spec *spec, const char *query,
		      const struct artifact_format *artifact,
		      struct mistakes *mistakes)
{
	const struct place here = { .path = spec->path,
				    .diag = &mistakes->last };
	const struct place *place = &here;
	struct spec_view *view = arena_alloc(&spec->arena, sizeof(*view));
	char *copy = arena_copy(&spec->arena, query, strlen(query));
	struct section_seen seen = { 0 };
	bool has_keys = false;
	char *pair;
	int status = 0;

	if (!view || !copy)
		return place_fail(place, -ENOMEM, "out of memory");
	view->name = "view";
	view->path = spec->path;
	view->count = SORT_NO_COUNT;
	view->artifacts[view->artifact_count++] = artifact;
	spec->views = view;
	spec->view_count = 1;
	while (status == 0 && (pair = strsep(&copy, "&")))
		if (pair[0]) {
			has_keys = true;
			status = mistakes_keep(
				mistakes, pair_set(spec, pair, &seen, place));
		}
	if (status == 0 && has_keys && artifact_is_of_trace(artifact) &&
	    !artifact_has_maps(artifact))
		status = mistakes_keep(
			mistakes, place_fail(place, -EINVAL,
					     "%s is about the whole trace: no "
					     "key applies to it",
					     artifact->name));
	view->has_title = view->title != NULL;
	if (status == 0 && !view->title) {
		view->title = query_title(&spec->arena, view);
		if (!view->title)
			status = place_fail(place, -ENOMEM, "out of memory");
	}
	if (status == 0)
		status = section_view_finish(view, &seen, place, mistakes);
	if (status == 0 && artifact_has_maps(artifact))
		status = take_maps(view, has_keys, place, mistakes);
	return status < 0 ? status : spec_uses_resolve(spec, false, mistakes);
}

int spec_view_parse(struct spec *spec, const char *query,
		    const struct artifact_format *artifact,
		    struct findings *more, struct diag *diag)
{
	struct mistakes mistakes = { .more = more };
	const struct place place = { .path = "--view",
				     .diag = &mistakes.last };
	int status = spec_init(spec, place.path);

	if (status < 0)
		place_fail(&place, status, "out of memory");
	if (status == 0)
		status = query_read(spec, query, artifact, &mistakes);
	status = mistakes_finish(&mistakes, status, diag);
	if (status < 0)
		spec_done(spec);
	return status;
}
