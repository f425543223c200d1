/* SPDX-License-Identifier: MIT */
/* --view about maps: no pass over the trace of its own. */
#include <errno.h>

#include "report/aggregate/map_select.h"
#include "report/core/diag.h"
#include "report/engine/engine.h"
#include "report/filter/filter.h"
#include "report/pipeline.h"
#include "report/spec.h"

int pipeline_select_maps(struct pipeline *pipeline, struct diag *diag)
{
	const struct engine_totals *totals = engine_totals(pipeline->engine);
	const struct spec_view *view = pipeline->spec->views;
	struct map_question question;
	int status;

	if (!pipeline->spec->view_count || !view->wants_maps)
		return 0;
	question = (struct map_question){
		.run = &pipeline->run,
		.sort_by = view->sort_by,
		.order = view->order,
		.skip = view->skip,
		.rows = view->count,
		.peak_tick = totals->peak_tick,
		.peak_order = totals->peak_order,
	};
	question.filter = pipeline_compile(pipeline, view, &view->maps,
					   diag);
	if (!question.filter)
		return -EINVAL;
	status = map_select(&pipeline->maps, &question);
	if (status == -E2BIG)
		status = diag_set(diag, -EINVAL, pipeline->sources[0].path,
				  DIAG_NO_OFFSET,
				  "more than %d calls of mmap and its like: "
				  "they cannot be selected",
				  MAPS_ROWS_MAX);
	if (status == 0)
		status = pipeline_check_regex(view, question.filter, diag);
	filter_free(question.filter);
	return status;
}
