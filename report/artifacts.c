/* SPDX-License-Identifier: MIT */
#include "report/artifacts.h"

#include <errno.h>

#include "report/aggregate/completeness.h"
#include "report/aggregate/marks.h"
#include "report/aggregate/residency.h"
#include "report/aggregate/sites.h"
#include "report/aggregate/summary.h"
#include "report/aggregate/timeline.h"
#include "report/aggregate/view.h"
#include "report/budget.h"
#include "report/cli.h"
#include "report/core/diag.h"
#include "report/core/memory.h"
#include "report/core/text.h"
#include "report/core/vec.h"
#include "report/output/artifact.h"
#include "report/output/page.h"
#include "report/output/svg/svg.h"
#include "report/pipeline.h"
#include "report/report_files.h"
#include "report/spec.h"
#include "report/symbol/symbol.h"
#include "report/trees.h"

enum {
	TOP_ROWS = 20,
	PAGE_MARKS = 100,
	PAGE_MAPPINGS = 30,
	PAGE_SAMPLES_MIN = 4, /* of memory, for a chart */
};

/**
 * struct artifacts - figures made so far
 * @list:  what pages may show
 * @links: artifacts written
 * @trees: of all views; complete only after their tasks
 * @of_view: by view and subject, NULL until asked for
 */
struct artifacts {
	struct pipeline *pipeline;
	struct {
		const struct figure **items;
		size_t count;
		size_t capacity;
	} list;
	struct {
		struct page_link *items;
		size_t count;
		size_t capacity;
	} links;
	struct report_files files;
	struct trees trees;
	const struct figure *(*of_view)[SUBJECT_COUNT];
	const struct figure *timeline;
	bool failed;
};

static const struct figure *keep(struct artifacts *artifacts,
				 const struct figure *figure)
{
	const struct figure **slot = vec_push(&artifacts->list);

	if (!slot || !figure) {
		artifacts->failed = true;
		if (slot)
			artifacts->list.count--;
		return NULL;
	}
	*slot = figure;
	return figure;
}

static const struct figure *renamed(struct artifacts *artifacts,
				    const struct figure *figure, const char *id)
{
	struct arena *arena = artifacts->pipeline->scope.arena;
	struct figure *copy = arena_alloc(arena, sizeof(*copy));

	if (!copy || !figure) {
		artifacts->failed = true;
		return NULL;
	}
	*copy = *figure;
	copy->id = id;
	return copy;
}

static const struct figure *trace_timeline(struct artifacts *artifacts)
{
	if (!artifacts->timeline)
		artifacts->timeline =
			timeline_of_run(&artifacts->pipeline->scope);
	return artifacts->timeline;
}

/* What pages show of the memory that allocations do not explain. */
static void keep_residency(struct artifacts *artifacts)
{
	const struct scope *scope = &artifacts->pipeline->scope;

	if (!scope->run->memory_count)
		return;
	/* Of fewer a chart shows less than the table. */
	if (scope->run->memory_count >= PAGE_SAMPLES_MIN)
		keep(artifacts, residency_series(scope));
	keep(artifacts, residency_table(scope));
	keep(artifacts, residency_mappings(scope, PAGE_MAPPINGS));
}

/* Pages say of the limits of fail_if first which of them failed.
   Return: the table of all, NULL if there is none. */
static const struct figure *keep_limits(struct artifacts *artifacts)
{
	const struct figure *table = NULL, *failed = NULL;

	if (budgets_figures(artifacts->pipeline, &table, &failed))
		artifacts->failed = true;
	if (failed)
		keep(artifacts, failed);
	return table ? keep(artifacts, table) : NULL;
}

/* The part of the head that is the same in pages and in summary.json. */
static const struct figure *summary_document(struct artifacts *artifacts)
{
	struct pipeline *pipeline = artifacts->pipeline;
	const struct scope *scope = &pipeline->scope;
	const struct figure *tops[SITE_COST_COUNT];
	const struct figure *children[9];
	struct sites_unnamed unnamed;
	struct sites *sites = sites_compute(scope);
	struct figure *document;

	if (!sites)
		return NULL;
	children[0] = keep(artifacts, summary_head(scope));
	children[1] = keep(artifacts, completeness_notes(scope));
	children[2] = keep(artifacts, sites_symbol_quality(sites, scope));
	if (!sites_unnamed(sites, scope, &unnamed))
		artifacts->failed = true;
	if (unnamed.note)
		keep(artifacts, unnamed.note);
	pipeline->unnamed = unnamed.line;
	for (int cost = 0; cost < SITE_COST_COUNT; cost++) {
		const char *name = site_cost_name(cost);

		tops[cost] = sites_top(sites, scope, cost, TOP_ROWS, name);
		keep(artifacts,
		     renamed(artifacts, tops[cost],
			     arena_printf(scope->arena, "top.%s", name)));
	}
	sites_free(sites);
	children[3] = scope_group(scope, "top", "Top call sites", tops,
				  SITE_COST_COUNT);
	children[4] = keep(artifacts, trace_timeline(artifacts));
	children[5] = keep(artifacts, summary_threads(scope));
	if (scope->run->mark_count)
		keep(artifacts, marks_table(scope, PAGE_MARKS));
	keep_residency(artifacts);
	children[6] = keep(artifacts, summary_modules(scope));
	children[7] = NULL;
	children[8] = keep_limits(artifacts);
	if (pipeline->spec->view_count) {
		const struct figure **views = arena_array(
			scope->arena, pipeline->spec->view_count,
			sizeof(struct figure *));

		for (size_t i = 0; views && i < pipeline->spec->view_count; i++)
			views[i] = renamed(
				artifacts,
				keep(artifacts,
				     view_summary(pipeline->views[i], scope)),
				pipeline->spec->views[i].name);
		if (views)
			children[7] = scope_group(scope, "views", "Views",
						  views,
						  pipeline->spec->view_count);
	}
	document = scope_group(scope, "summary", "Summary", children, 9);
	if (document)
		document->schema = "summary";
	return document;
}

static const struct figure *figure_make(struct artifacts *artifacts,
					size_t index,
					enum artifact_subject subject)
{
	struct pipeline *pipeline = artifacts->pipeline;
	const struct scope *scope = &pipeline->scope;
	struct view *view = pipeline->views[index];

	switch (subject) {
	case SUBJECT_FUNCTIONS:
		return trees_get(&artifacts->trees, index, false);
	case SUBJECT_LINES:
		return trees_get(&artifacts->trees, index, true);
	case SUBJECT_ALLOCATIONS:
		return view_allocations(view, scope);
	case SUBJECT_GROUPS:
		return view_groups(view, scope);
	case SUBJECT_TIMELINE:
		return view_series(view, scope);
	case SUBJECT_SIZES:
		return view_sizes(view, scope);
	case SUBJECT_LIFETIMES:
		return view_lifetimes(view, scope);
	case SUBJECT_HISTORY:
		return view_history(view, scope);
	case SUBJECT_SUMMARY:
		return summary_document(artifacts);
	case SUBJECT_MMAPS:
		return maps_mmaps(&pipeline->maps, scope);
	case SUBJECT_MALLOPTS:
		return maps_mallopts(&pipeline->maps, scope);
	case SUBJECT_THREADS:
		return summary_threads(scope);
	case SUBJECT_MODULES:
		return summary_loaded_modules(scope);
	case SUBJECT_MARKERS:
		return marks_table(scope, SIZE_MAX);
	case SUBJECT_RESIDENCY:
		return residency_series(scope);
	case SUBJECT_MAPPINGS:
		return residency_mappings(scope, SIZE_MAX);
	case SUBJECT_COUNT:
		break;
	}
	return NULL;
}

/* What artifacts about @subject of view @index show. */
static const struct figure *view_figure(struct artifacts *artifacts,
					size_t index,
					enum artifact_subject subject)
{
	const struct figure **slot = &artifacts->of_view[index][subject];

	if (!*slot)
		*slot = figure_make(artifacts, index, subject);
	return *slot;
}

static int write_artifact(const void *format, const void *what,
			  struct sink *out, struct diag *diag)
{
	const struct artifact_format *artifact = format;

	return artifact->render(what, out, diag);
}

static int write_page(const void *format, const void *what, struct sink *out,
		      struct diag *diag)
{
	const struct page_format *page = format;

	return page->render(what, out, diag);
}

static int add_link(struct artifacts *artifacts, const char *view,
		    const char *title, const struct artifact_format *format,
		    const char *path)
{
	struct page_link *link = vec_push(&artifacts->links);

	if (!link)
		return -ENOMEM;
	link->view = view;
	link->name = format->name;
	link->title = title;
	link->path = path;
	return 0;
}

static int write_one(struct artifacts *artifacts, const char *view,
		     const char *title, const struct artifact_format *format,
		     const struct figure *figure)
{
	struct arena *arena = artifacts->pipeline->scope.arena;
	const char *name = view[0] ? arena_printf(arena, "%s.%s", view,
						  format->suffix)
				   : format->suffix;
	enum file_needs needs = NEEDS_NOTHING;
	int status;

	if (!figure || !name)
		return -ENOMEM;
	if (figure->kind == FIGURE_TREE)
		needs = NEEDS_TREES;
	else if (figure->kind == FIGURE_HISTORY ||
		 (figure->kind == FIGURE_TABLE && figure->table.source))
		needs = NEEDS_ROWS;
	status = report_files_add(&artifacts->files, name, write_artifact,
				  format, figure, needs);
	if (status == 0)
		status = add_link(artifacts, view, title, format, name);
	return status;
}

/* Artifacts of the trace as a whole, whatever the spec. */
static int write_trace_artifacts(struct artifacts *artifacts,
				 const struct figure *summary)
{
	const struct scope *scope = &artifacts->pipeline->scope;
	int status = write_one(artifacts, "", "Summary", &artifact_summary,
			       summary);

	if (status == 0)
		status = write_one(artifacts, "", "Memory over time",
				   &artifact_timeline, artifacts->timeline);
	if (status == 0)
		status = write_one(artifacts, "", "Memory over time",
				   &artifact_timeline_json,
				   artifacts->timeline);
	if (status == 0)
		status = write_one(artifacts, "", "Maps", &artifact_mmaps,
				   maps_mmaps(&artifacts->pipeline->maps,
					      scope));
	if (status == 0)
		status = write_one(artifacts, "", "mallopt calls",
				   &artifact_mallopts,
				   maps_mallopts(&artifacts->pipeline->maps,
						 scope));
	if (status == 0)
		status = write_one(artifacts, "", "Threads", &artifact_threads,
				   summary_threads(scope));
	if (status == 0)
		status = write_one(artifacts, "", "Modules", &artifact_modules,
				   summary_loaded_modules(scope));
	if (status == 0 && scope->run->mark_count)
		status = write_one(artifacts, "", "Marks and phases",
				   &artifact_markers,
				   marks_table(scope, SIZE_MAX));
	if (status == 0 && scope->run->memory_count > 1)
		status = write_one(artifacts, "", "Resident memory by kind",
				   &artifact_residency,
				   residency_series(scope));
	if (status == 0 && scope->run->memory_count)
		status = write_one(artifacts, "", "Mappings",
				   &artifact_mappings,
				   residency_mappings(scope, SIZE_MAX));
	return status;
}

static int write_view_artifacts(struct artifacts *artifacts, size_t index)
{
	const struct spec_view *view =
		&artifacts->pipeline->spec->views[index];
	int status = 0;

	for (size_t i = 0; status == 0 && i < view->artifact_count; i++) {
		const struct artifact_format *format = view->artifacts[i];
		const struct figure *figure =
			view_figure(artifacts, index, format->subject);

		status = write_one(artifacts, view->name, view->title, format,
				   figure);
	}
	return status;
}

/* Return: whether pages show what @format is about as a drawing: its pictures,
   and a tree as a flamegraph in whatever form it is written. */
static bool is_drawn(const struct artifact_format *format)
{
	return format == &artifact_timeline || format == &artifact_sizes ||
	       format == &artifact_lifetimes ||
	       format->subject == SUBJECT_FUNCTIONS ||
	       format->subject == SUBJECT_LINES;
}

/* What pages may show of a view: what is written of it as a picture or a tree,
   and the first of the groups where groups are written. */
static void keep_view(struct artifacts *artifacts, size_t index)
{
	const struct pipeline *pipeline = artifacts->pipeline;
	const struct scope *scope = &pipeline->scope;
	const struct spec_view *spec = &pipeline->spec->views[index];
	const struct view *view = pipeline->views[index];
	const struct figure *nothing;
	bool has_groups = false, has_tree = false;

	if (!view_nothing(view, scope, &nothing))
		artifacts->failed = true;
	if (nothing)
		keep(artifacts, nothing);
	for (size_t i = 0; i < spec->artifact_count; i++) {
		const struct artifact_format *format = spec->artifacts[i];
		enum artifact_subject subject = format->subject;
		bool is_tree = subject == SUBJECT_FUNCTIONS ||
			       subject == SUBJECT_LINES;

		if (is_tree)
			subject = SUBJECT_FUNCTIONS;
		if (is_drawn(format) && !(is_tree && has_tree))
			keep(artifacts, view_figure(artifacts, index, subject));
		has_tree |= is_tree;
		has_groups |= subject == SUBJECT_GROUPS;
	}
	if (has_groups)
		keep(artifacts, view_top_groups(view, scope));
}

/* What the program was called as, which a symbolic link may hide. */
static const char *program_name(const struct run *run)
{
	return text_basename(run->argument_count && run->arguments[0][0]
				     ? run->arguments[0]
				     : run->executable);
}

/* @page must live until the files are written. */
static int write_pages(struct artifacts *artifacts, struct page *page)
{
	struct pipeline *pipeline = artifacts->pipeline;
	const struct spec *spec = pipeline->spec;
	int status = 0;

	*page = (struct page){
		.title = spec->title
				 ? spec->title
				 : arena_printf(pipeline->scope.arena,
						"Memory profile of %s",
						program_name(&pipeline->run)),
		.figures = artifacts->list.items,
		.figure_count = artifacts->list.count,
		.links = artifacts->links.items,
		.link_count = artifacts->links.count,
		.theme = spec->theme,
		.template_dir = pipeline->cli->template_dir,
	};
	for (size_t i = 0; status == 0 && i < spec->page_count; i++)
		status = report_files_add(&artifacts->files,
					  spec->pages[i]->file, write_page,
					  spec->pages[i], page, NEEDS_TREES);
	return status;
}

/* Makes what views show but for trees, and begins the files of it.  @first: comes
   to have the number of the first file of each view and of the first page. */
static int write_views(struct artifacts *artifacts, size_t *first)
{
	size_t count = artifacts->pipeline->spec->view_count;
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++) {
		first[i] = artifacts->files.count;
		status = write_view_artifacts(artifacts, i);
		keep_view(artifacts, i);
	}
	first[count] = artifacts->files.count;
	return status == 0 && artifacts->failed ? -ENOMEM : status;
}

/* Makes the trees and begins the files that need them: of each view once it has
   its own.  Pages need all, and take long, so they are not left to the end. */
static int write_trees(struct artifacts *artifacts, const size_t *first)
{
	struct pipeline *pipeline = artifacts->pipeline;
	struct report_files *files = &artifacts->files;
	size_t count = pipeline->spec->view_count;
	const size_t *after = artifacts->trees.after;
	int status = trees_make(&artifacts->trees, pipeline, files->tasks);

	for (size_t i = 0; status == 0 && i < count; i++) {
		status = report_files_start(files, first[i], first[i + 1],
					    after[i]);
		if (status == 0 && i == 0)
			status = report_files_start(files, first[count],
						    files->count,
						    after[count - 1]);
	}
	if (status == 0 && count == 0)
		status = report_files_start(files, 0, files->count, 0);
	return status;
}

static int write_all(struct artifacts *artifacts, struct page *page)
{
	struct pipeline *pipeline = artifacts->pipeline;
	size_t view_count = pipeline->spec->view_count;
	const struct figure *summary;
	size_t *first;
	int status;

	artifacts->of_view = arena_array(pipeline->scope.arena, view_count,
					 sizeof(*artifacts->of_view));
	first = arena_array(pipeline->scope.arena, view_count + 1,
			    sizeof(*first));
	/* Which says how many addresses were looked up for it. */
	summary = artifacts->of_view && first ? summary_document(artifacts)
					      : NULL;
	status = summary ? write_trace_artifacts(artifacts, summary) : -ENOMEM;
	if (status == 0)
		status = trees_init(&artifacts->trees, pipeline, true);
	if (status == 0)
		status = write_views(artifacts, first);
	if (status == 0)
		status = write_pages(artifacts, page);
	/* Others write what there is while this thread merges backtraces. */
	return status ? status : write_trees(artifacts, first);
}

int artifacts_write_report(struct pipeline *pipeline, const char *directory,
			   struct diag *diag)
{
	struct artifacts artifacts = { .pipeline = pipeline };
	struct page page;
	int status = report_files_init(&artifacts.files, directory,
				       &pipeline->arena, pipeline->jobs, diag);

	if (status)
		return status;
	memory_set_phase("the figures");
	progress_phase(&pipeline->progress, "writing the report");
	timings_phase(&pipeline->timings, "figures");
	svg_prepare();
	status = write_all(&artifacts, &page);
	if (status == 0)
		status = report_files_write_rows(&artifacts.files, diag);
	timings_part(&pipeline->timings, "symbols",
		     symbols_resolve_ns(pipeline->symbols), 0);
	timings_phase(&pipeline->timings, "files not yet written");
	status = report_files_finish(&artifacts.files, status,
				     &pipeline->timings, diag);
	progress_clear(&pipeline->progress);
	vec_done(&artifacts.list);
	vec_done(&artifacts.links);
	trees_done(&artifacts.trees);
	return status;
}

int artifacts_write_view(struct pipeline *pipeline,
			 const struct artifact_format *format, struct sink *out,
			 struct diag *diag)
{
	const struct figure *of_view[1][SUBJECT_COUNT] = { { NULL } };
	struct artifacts artifacts = { .pipeline = pipeline,
				       .of_view = of_view };
	const struct spec_view *view = pipeline->spec->views;
	bool is_of_run = format->subject == SUBJECT_TIMELINE &&
			 view->filter.count == 0 && !view->has_title;
	const struct figure *figure = NULL;
	int status;

	memory_set_phase(format->name);
	status = trees_init(&artifacts.trees, pipeline, false);
	if (status == 0)
		status = trees_make(&artifacts.trees, pipeline, NULL);
	if (status == 0)
		figure = is_of_run ? trace_timeline(&artifacts)
				   : view_figure(&artifacts, 0,
						 format->subject);
	status = figure && !artifacts.failed
			 ? format->render(figure, out, diag)
			 : -ENOMEM;
	if (status == 0 && memory_refused())
		status = -ENOMEM;
	trees_done(&artifacts.trees);
	vec_done(&artifacts.list);
	return status;
}
