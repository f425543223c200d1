/* SPDX-License-Identifier: MIT */
/* From one trace to its artifacts: the order in which the layers are used. */
#ifndef REPORT_PIPELINE_H
#define REPORT_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/aggregate/maps.h"
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
struct input;
struct spec;
struct symbols;
struct view;

/**
 * struct pipeline - one trace being reported; zero-initialised is closed
 * @spec:    borrowed; views[i] belongs to spec->views[i]
 * @figures: arena of all figures
 * @jobs:    how many threads there may be
 */
struct pipeline {
	const struct cli *cli;
	struct progress progress;
	struct timings timings;
	unsigned jobs;
	const struct spec *spec;
	struct source source;
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
	bool source_open;
};

/**
 * pipeline_open() - find the format, read everything but the events
 * @path: trace, "-" for standard input
 *
 * Return: 0, or negative errno with @diag filled; pipeline_close() is due in
 * both cases.
 */
int pipeline_open(struct pipeline *pipeline, const struct cli *cli,
		  const struct spec *spec, const char *path, struct diag *diag);

/* Reads the events, up to three times, into the engine and the views.  Return: 0 or
   negative errno; -EINVAL if a filter of the spec does not compile. */
int pipeline_run(struct pipeline *pipeline, struct diag *diag);

void pipeline_close(struct pipeline *pipeline);

#endif /* REPORT_PIPELINE_H */
