/* SPDX-License-Identifier: MIT */
#include "report/spec_keys.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/units.h"
#include "report/filter/choice.h"

enum { WORD_BYTES = 64, NAMES_MAX = 32 };

static int copy_text(const char **ret, const char *value, struct arena *arena,
		     struct diag *diag)
{
	const char *copy = arena_copy(arena, value, strlen(value));

	if (!copy)
		return diag_set(diag, -ENOMEM, NULL, DIAG_NO_OFFSET,
				"out of memory");
	*ret = copy;
	return 0;
}

/**
 * list_next() - one word of a comma-separated list
 * @word: the word, trimmed, cut at WORD_BYTES - 1 (no name is as long)
 *
 * Return: rest of the list after the comma, NULL when this was the last.
 */
static const char *list_next(const char *list, char word[WORD_BYTES])
{
	static const char blank[] = " \t";
	const char *comma = strchr(list, ',');
	size_t len;

	list += strspn(list, blank);
	len = strcspn(list, ",");
	while (len && strchr(blank, list[len - 1]))
		len--;
	if (len > WORD_BYTES - 1)
		len = WORD_BYTES - 1;
	memcpy(word, list, len);
	word[len] = '\0';
	return comma ? comma + 1 : NULL;
}

/**
 * list_parse() - positions of the words of @value among @names
 * @max: of words
 *
 * Return: how many; -EINVAL for an unknown or repeated word.
 */
static int list_parse(int *ret, size_t max, const char *value,
		      const char *const *names, const char *what,
		      struct diag *diag)
{
	size_t count = 0;

	while (value) {
		char word[WORD_BYTES];
		int found;

		value = list_next(value, word);
		found = choice_find(word, names, what, diag);
		if (found < 0)
			return found;
		for (size_t i = 0; i < count; i++)
			if (ret[i] == found)
				return diag_set(diag, -EINVAL, NULL,
						DIAG_NO_OFFSET,
						"\"%s\" stands twice; "
						"allowed: once",
						word);
		if (count == max)
			return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
					"more than %zu words", max);
		ret[count++] = found;
	}
	return (int)count;
}

/* --- [report] --- */

static int set_report_title(struct spec *spec, const char *value,
			    struct diag *diag)
{
	return copy_text(&spec->title, value, &spec->arena, diag);
}

static int set_output(struct spec *spec, const char *value, struct diag *diag)
{
	return copy_text(&spec->output, value, &spec->arena, diag);
}

static int set_pages(struct spec *spec, const char *value, struct diag *diag)
{
	const char *names[NAMES_MAX] = { NULL };
	int found[SPEC_PAGES_MAX];
	size_t count = 0;
	int words;

	spec->page_count = 0;
	if (strcmp(value, "none") == 0)
		return 0;
	for (; page_formats[count]; count++) {
		assert(count < NAMES_MAX - 2);
		names[count] = page_formats[count]->name;
	}
	names[count] = "none";
	words = list_parse(found, SPEC_PAGES_MAX, value, names, "a page", diag);
	for (int i = 0; i < words; i++) {
		if ((size_t)found[i] == count)
			return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
					"\"none\" stands beside a page; "
					"allowed: by itself");
		spec->pages[spec->page_count++] = page_formats[found[i]];
	}
	return words < 0 ? words : 0;
}

static int set_theme(struct spec *spec, const char *value, struct diag *diag)
{
	static const char *const names[] = {
		[THEME_AUTO] = "auto",
		[THEME_LIGHT] = "light",
		[THEME_DARK] = "dark",
		NULL,
	};
	int found = choice_find(value, names, "a theme", diag);

	if (found < 0)
		return found;
	spec->theme = (enum page_theme)found;
	return 0;
}

static int set_views(struct spec *spec, const char *value, struct diag *diag)
{
	static const char *const names[] = { "default", "none", NULL };
	int found = choice_find(value, names, "a set of views", diag);

	spec->has_no_views = found == 1;
	return found < 0 ? found : 0;
}

static int set_report_budgets(struct spec *spec, const char *value,
			      struct diag *diag)
{
	return budgets_parse(&spec->budgets, BUDGET_OF_RUN, value, &spec->arena,
			     diag);
}

const struct report_key report_keys[] = {
	{ "title", "TEXT", "heading of the report", set_report_title },
	{ "output", "DIR", "where to write; -o overrides it", set_output },
	{ "pages", "LIST", "html, markdown, or none", set_pages },
	{ "views", "WORD",
	  "without [view NAME]: default, those of the built-in spec, or none",
	  set_views },
	{ "theme", "WORD", "colours of the page: auto, light or dark",
	  set_theme },
	{ "fail_if", "LIST", "exit with 1 if, see docs/spec.md",
	  set_report_budgets },
};

const size_t report_key_count = sizeof(report_keys) / sizeof(report_keys[0]);

/* --- [view NAME] --- */

static int set_title(struct spec_view *view, const char *value,
		     struct arena *arena, struct diag *diag)
{
	return copy_text(&view->title, value, arena, diag);
}

static int set_artifacts(struct spec_view *view, const char *value,
			 struct arena *arena, struct diag *diag)
{
	const struct artifact_format *formats[NAMES_MAX] = { NULL };
	const char *names[NAMES_MAX] = { NULL };
	int found[SPEC_ARTIFACTS_MAX];
	size_t count = 0;
	int words;

	(void)arena;
	for (size_t i = 0; artifact_formats[i]; i++) {
		assert(i < NAMES_MAX - 1);
		if (artifact_is_of_trace(artifact_formats[i]))
			continue;
		formats[count] = artifact_formats[i];
		names[count++] = artifact_formats[i]->name;
	}
	words = list_parse(found, SPEC_ARTIFACTS_MAX, value, names,
			   "an artifact of a view", diag);
	for (int i = 0; i < words; i++)
		view->artifacts[i] = formats[found[i]];
	view->artifact_count = words < 0 ? 0 : (size_t)words;
	return words < 0 ? words : 0;
}

const char *const sort_names[] = {
	[SORT_TIMESTAMP - 1] = "timestamp",
	[SORT_ADDRESS - 1] = "address",
	[SORT_SIZE - 1] = "size",
	[SORT_USABLE_SIZE - 1] = "usable_size",
	[SORT_LIFETIME - 1] = "lifetime",
	[SORT_MATCHED_MIN_TIMESTAMP - 1] = "only_matched.min_timestamp",
	[SORT_MATCHED_MAX_TIMESTAMP - 1] = "only_matched.max_timestamp",
	[SORT_MATCHED_INTERVAL - 1] = "only_matched.interval",
	[SORT_MATCHED_ALLOCATED_COUNT - 1] = "only_matched.allocated_count",
	[SORT_MATCHED_LEAKED_COUNT - 1] = "only_matched.leaked_count",
	[SORT_MATCHED_SIZE - 1] = "only_matched.size",
	[SORT_ALL_MIN_TIMESTAMP - 1] = "all.min_timestamp",
	[SORT_ALL_MAX_TIMESTAMP - 1] = "all.max_timestamp",
	[SORT_ALL_INTERVAL - 1] = "all.interval",
	[SORT_ALL_ALLOCATED_COUNT - 1] = "all.allocated_count",
	[SORT_ALL_LEAKED_COUNT - 1] = "all.leaked_count",
	[SORT_ALL_SIZE - 1] = "all.size",
	[SORT_ALL_MAX_USAGE - 1] = "all.max_total_usage_first_seen_at",
	NULL,
};

static int set_sort_by(struct spec_view *view, const char *value,
		       struct arena *arena, struct diag *diag)
{
	int found = choice_find(value, sort_names, "a sort key", diag);

	(void)arena;
	if (found < 0)
		return found;
	view->sort_by = (enum sort_by)(found + 1);
	return 0;
}

static int set_order(struct spec_view *view, const char *value,
		     struct arena *arena, struct diag *diag)
{
	static const char *const names[] = {
		[SORT_ASCENDING] = "asc",
		[SORT_DESCENDING] = "dsc",
		NULL,
	};
	int found = choice_find(value, names, "an order", diag);

	(void)arena;
	if (found < 0)
		return found;
	view->order = (enum sort_order)found;
	view->has_order = true;
	return 0;
}

static int set_count(struct spec_view *view, const char *value,
		     struct arena *arena, struct diag *diag)
{
	uint64_t count;

	(void)arena;
	if (strcmp(value, "all") == 0) {
		view->count = SORT_NO_COUNT;
		return 0;
	}
	if (!units_parse_integer(value, &count) || count == 0)
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"\"%s\" is not a number of rows; allowed: 1 "
				"and more, all",
				value);
	view->count = count;
	return 0;
}

static int set_skip(struct spec_view *view, const char *value,
		    struct arena *arena, struct diag *diag)
{
	(void)arena;
	if (!units_parse_integer(value, &view->skip))
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"\"%s\" is not a number of rows; allowed: 0 "
				"and more",
				value);
	return 0;
}

static int set_cost(struct spec_view *view, const char *value,
		    struct arena *arena, struct diag *diag)
{
	static const char *const names[] = {
		[COST_BYTES] = "bytes",
		[COST_COUNT] = "count",
		[COST_TEMPORARY] = "temporary",
		[COST_PEAK] = "peak",
		[COST_LEAKED] = "leaked",
		NULL,
	};
	int found = choice_find(value, names, "a cost", diag);

	(void)arena;
	if (found < 0)
		return found;
	view->cost = (enum cost)found;
	return 0;
}

static int set_direction(struct spec_view *view, const char *value,
			 struct arena *arena, struct diag *diag)
{
	static const char *const names[] = {
		[DIRECTION_CALLERS] = "callers",
		[DIRECTION_CALLEES] = "callees",
		NULL,
	};
	int found = choice_find(value, names, "a direction", diag);

	(void)arena;
	if (found < 0)
		return found;
	view->direction = (enum direction)found;
	return 0;
}

static int set_budgets(struct spec_view *view, const char *value,
		       struct arena *arena, struct diag *diag)
{
	return budgets_parse(&view->budgets, BUDGET_OF_VIEW, value, arena,
			     diag);
}

#define OF_ROWS (VIEW_KEY_OF(SUBJECT_ALLOCATIONS) | VIEW_KEY_OF(SUBJECT_GROUPS))
#define OF_MAPS	 VIEW_KEY_OF(SUBJECT_MMAPS)
#define OF_TREES (VIEW_KEY_OF(SUBJECT_FUNCTIONS) | VIEW_KEY_OF(SUBJECT_LINES))

const struct view_key view_keys[] = {
	{ "title", "TEXT", "heading of the view", true, 0, set_title },
	{ "artifacts", "LIST", "what to write, see Artifacts", false, 0,
	  set_artifacts },
	{ "sort_by", "WORD", "order of the rows of allocations, groups, mmaps",
	  true, OF_ROWS | OF_MAPS, set_sort_by },
	{ "order", "WORD", "asc (rising) or dsc (falling)", true,
	  OF_ROWS | OF_MAPS, set_order },
	{ "count", "NUMBER", "rows of allocations, groups, mmaps; or all", true,
	  OF_ROWS | OF_MAPS, set_count },
	{ "skip", "NUMBER", "rows to leave out before these", true,
	  OF_ROWS | OF_MAPS, set_skip },
	{ "cost", "WORD",
	  "what trees add up: bytes, count, temporary, peak or leaked", true,
	  OF_TREES, set_cost },
	{ "direction", "WORD", "trees begin with callers or with callees",
	  true, OF_TREES, set_direction },
	{ "fail_if", "LIST", "exit with 1 if bytes > 1MiB, groups > 0, …", true,
	  0, set_budgets },
};

const size_t view_key_count = sizeof(view_keys) / sizeof(view_keys[0]);

static int maps_order_check(const struct spec_view *view, struct diag *diag)
{
	if (view->sort_by <= SORT_LIFETIME &&
	    view->sort_by != SORT_USABLE_SIZE)
		return 0;
	return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
			"sort_by = %s is not an order of maps; allowed: "
			"timestamp, address, size, lifetime",
			sort_names[view->sort_by - 1]);
}

/* An order for rows of another kind would be passed over without a word.  That of
   views with neither kind of rows is refused as a key that nothing heeds. */
int spec_view_check(const struct spec_view *view, struct diag *diag)
{
	bool of_groups = view->sort_by >= SORT_MATCHED_MIN_TIMESTAMP;
	bool has_allocations = spec_view_has(view, SUBJECT_ALLOCATIONS);
	bool has_groups = spec_view_has(view, SUBJECT_GROUPS);
	const char *has = of_groups ? "allocations" : "groups";
	const char *lacks = of_groups ? "groups" : "allocations";

	if (spec_view_has(view, SUBJECT_MMAPS))
		return maps_order_check(view, diag);
	if (view->sort_by == SORT_DEFAULT || has_allocations == has_groups ||
	    has_groups == of_groups)
		return 0;
	return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
			"sort_by = %s is an order of %s, not of %s; allowed: "
			"%s",
			sort_names[view->sort_by - 1], lacks, has,
			of_groups ? "timestamp, address, size, "
				    "usable_size, lifetime"
				  : "only_matched.… and all.…");
}

