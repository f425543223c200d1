/* SPDX-License-Identifier: MIT */
/*
 * What to report: a spec file (docs/spec.md) or one --view.
 */
#ifndef REPORT_SPEC_H
#define REPORT_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/aggregate/cost.h"
#include "report/aggregate/sort.h"
#include "report/budget.h"
#include "report/core/arena.h"
#include "report/filter/filter.h"
#include "report/output/artifact.h"
#include "report/output/page.h"

struct diag;
struct findings;

enum { SPEC_ARTIFACTS_MAX = 32, SPEC_PAGES_MAX = 4 };

/**
 * struct spec_view - one [view NAME] section
 * @name:  [A-Za-z0-9_.-]+, not starting with a dot: part of file names
 * @title: if not set @name, for --view what it selects; @has_title: was set
 * @maps:  of --view about maps: what it selects, @filter being everything
 * @wants_maps: it says something about them: rows are maps, else all calls
 * @count: rows of allocations and groups, SORT_NO_COUNT for all
 * @skip:  rows before them
 * @cost, @direction: of trees
 * @path:  of the spec that has the section
 * @line:  of the section; @sort_line: of its sort_by, 0 if not set.  Both are for
 *         later errors, and 0 for --view
 */
struct spec_view {
	const char *name;
	const char *title;
	bool has_title;
	struct filter_spec filter;
	struct filter_spec maps;
	bool wants_maps;
	enum sort_by sort_by;
	enum sort_order order;
	bool has_order;
	uint64_t count;
	uint64_t skip;
	enum cost cost;
	enum direction direction;
	const struct artifact_format *artifacts[SPEC_ARTIFACTS_MAX];
	size_t artifact_count;
	struct budgets budgets;
	const char *path;
	uint32_t line;
	uint32_t sort_line;
};

/* One [filter NAME] section, which views and other filters use. */
struct spec_filter {
	const char *name;
	struct filter_spec filter;
	uint32_t line;
};

/**
 * struct spec - everything owned by @arena
 * @path:   file it came from, "built-in" or "--view"
 * @title:  NULL for a default made from the program's name
 * @output: directory, NULL if not set
 * @has_no_views: it wants none; else one without any gets those of the built-in
 * @lent: owns what spec_take_views() took
 */
struct spec {
	struct arena arena;
	const char *path;
	const char *title;
	const char *output;
	const struct page_format *pages[SPEC_PAGES_MAX];
	size_t page_count;
	enum page_theme theme;
	struct budgets budgets;
	struct spec_view *views;
	size_t view_count;
	bool has_no_views;
	uint32_t views_line; /* where it says so, or not so; 0 if nowhere */
	struct arena lent;
	struct spec_filter *filters;
	size_t filter_count;
};

/* An empty spec that writes all pages. @path: copied.  Return: 0 or -ENOMEM. */
int spec_init(struct spec *spec, const char *path);

/**
 * spec_read() - parse a spec file's text
 * @path: for messages
 * @text: borrowed
 *
 * Return: 0; -EINVAL with @diag naming file, line, what was found, what is
 * allowed and the nearest key (for unknown keys and sections); -ENOMEM.
 */
int spec_read(struct spec *spec, const char *path, const char *text, size_t len,
	      struct diag *diag);

/* Reads @path and parses it.  With -EINVAL, @more gets the errors after the
   first one; it may be NULL.  Return: as above, or -errno. */
int spec_load(struct spec *spec, const char *path, struct findings *more,
	      struct diag *diag);

/**
 * spec_view_parse() - "lifetime=only_leaked&size_min=1KiB&sort_by=size&count=3"
 * @artifact: what --as named
 *
 * Keys joined by `&`, values percent-decoded as in a URL query (%41, + stays
 * a plus).  Makes a spec with one view called "view".  With -EINVAL, @more gets
 * the errors after the first one; it may be NULL.
 */
int spec_view_parse(struct spec *spec, const char *query,
		    const struct artifact_format *artifact,
		    struct findings *more, struct diag *diag);

/* Whether an artifact of @view shows @subject. */
bool spec_view_has(const struct spec_view *view, enum artifact_subject subject);

/* The views of @from become those of @spec, which has none.  @from is done with. */
void spec_take_views(struct spec *spec, struct spec *from);

void spec_done(struct spec *spec);

#endif /* REPORT_SPEC_H */
