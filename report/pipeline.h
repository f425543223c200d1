/* SPDX-License-Identifier: MIT */
/* From one trace to its artifacts: the order in which the layers are used. */
#ifndef REPORT_PIPELINE_H
#define REPORT_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/aggregate/maps.h"
#include "report/aggregate/merged.h"
#include "report/aggregate/scope.h"
#include "report/core/arena.h"
#include "report/event/run.h"
#include "report/event/stacks.h"
#include "report/progress.h"
#include "report/source/source.h"
#include "report/timings.h"

struct cli;
struct diag;
struct engine;
struct filter;
struct filter_spec;
struct input;
struct spec;
struct spec_view;
struct symbols;
struct view;

/**
 * struct pipeline - one trace being reported; zero-initialised is closed
 * @sources: @source_count of them are open
 * @spec:    borrowed; views[i] belongs to spec->views[i]
 * @figures: arena of all figures
 * @is_only: no other run is reported
 * @unnamed: once the report is written, a line on call sites without a name;
 *           NULL if they are few
 * @jobs:    how many threads there may be
 */
struct pipeline {
	const struct cli *cli;
	struct progress progress;
	struct timings timings;
	unsigned jobs;
	bool is_only;
	const struct spec *spec;
	struct source *sources;
	size_t source_count;
	struct stacks stacks;
	struct run run;
	struct input *input;
	struct symbols *symbols;
	struct engine *engine;
	struct maps maps;
	struct filter **filters;
	struct view **views;
	struct arena arena;
	struct scope scope;
	struct scope_stacks shown;
	struct scope_frames frames;
	struct merged merged;
	const char *unnamed;
};

/**
 * pipeline_open() - find the format, read everything but the events
 * @paths: pieces of one trace in their order, "-" for standard input
 *
 * Return: 0, or negative errno with @diag filled; pipeline_close() is due in
 * both cases.
 */
int pipeline_open(struct pipeline *pipeline, const struct cli *cli,
		  const struct spec *spec, char *const *paths,
		  size_t path_count, struct diag *diag);

/* Reads the events, up to three times, into the engine and the views.  Return: 0 or
   negative errno; -EINVAL if a filter of the spec does not compile. */
int pipeline_run(struct pipeline *pipeline, struct diag *diag);

/* Parts of pipeline_run(). */

/* Return: @filter, which @view has, owned by the caller; NULL with @diag filled. */
struct filter *pipeline_compile(const struct pipeline *pipeline,
				const struct spec_view *view,
				const struct filter_spec *filter,
				struct diag *diag);

/* A regular expression that gave up on a name has no answer to report.  Return: 0
   or -EINVAL. */
int pipeline_check_regex(const struct spec_view *view,
			 const struct filter *filter, struct diag *diag);

/* What --view asks about maps, if it does.  Return: 0 or negative errno. */
int pipeline_select_maps(struct pipeline *pipeline, struct diag *diag);

void pipeline_close(struct pipeline *pipeline);

#endif /* REPORT_PIPELINE_H */
