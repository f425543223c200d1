/* SPDX-License-Identifier: MIT */
#include "report/pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "report/aggregate/history.h"
#include "report/aggregate/timeline.h"
#include "report/aggregate/view.h"
#include "report/cli.h"
#include "report/core/diag.h"
#include "report/core/memory.h"
#include "report/core/vec.h"
#include "report/engine/engine.h"
#include "report/engine/merge.h"
#include "report/event/stacks.h"
#include "report/filter/filter.h"
#include "report/input/input.h"
#include "report/spec.h"
#include "report/symbol/symbol.h"

/* Rows of all views that are held in memory; --memory may make it less. */
#define ROWS_BYTES_MAX ((size_t)64 << 20)

/* Those that this process may use. */
static unsigned processor_count(void)
{
	cpu_set_t set;
	int count = 0;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		count = CPU_COUNT(&set);
	return count > 0 ? (unsigned)count : 1;
}

/* After an exec the process writes another program's map. */
static void set_run(struct pipeline *pipeline)
{
	const struct run *run = &pipeline->run;
	uint64_t start_ns = run->start_realtime_ns;
	uint32_t pid = start_ns && run->end != RUN_END_EXEC ? run->pid : 0;
	uint64_t end_ns;

	if (__builtin_add_overflow(
		    start_ns,
		    run_span_ns(run, run->first_tick, run->last_tick), &end_ns))
		end_ns = UINT64_MAX;
	symbols_set_run(pipeline->symbols, run->files, run->file_count, pid,
			start_ns, end_ns);
}

static int open_sources(struct pipeline *pipeline, char *const *paths,
			size_t count, struct diag *diag)
{
	int status = 0;

	pipeline->sources = calloc(count, sizeof(*pipeline->sources));
	if (!pipeline->sources)
		return diag_set(diag, -ENOMEM, paths[0], DIAG_NO_OFFSET,
				"out of memory");
	while (status == 0 && pipeline->source_count < count) {
		size_t i = pipeline->source_count;

		status = source_open(&pipeline->sources[i], paths[i], diag);
		if (status == 0)
			pipeline->source_count++;
	}
	return status;
}

int pipeline_open(struct pipeline *pipeline, const struct cli *cli,
		  const struct spec *spec, char *const *paths,
		  size_t path_count, struct diag *diag)
{
	const char *path = paths[0];
	int status;

	memset(pipeline, 0, sizeof(*pipeline));
	pipeline->cli = cli;
	pipeline->spec = spec;
	progress_init(&pipeline->progress, cli, path);
	pipeline->jobs = cli->jobs ? cli->jobs : processor_count();
	pipeline->timings.is_on = cli->timings;
	memory_set_phase("opening the trace");
	timings_phase(&pipeline->timings, "opening");
	status = stacks_init(&pipeline->stacks);
	if (status == 0)
		status = open_sources(pipeline, paths, path_count, diag);
	if (status)
		return status;
	status = input_open_pieces(pipeline->sources, pipeline->source_count,
				   &pipeline->stacks, &pipeline->run,
				   &pipeline->input, diag);
	if (status)
		return status;
	stacks_set_limit(&pipeline->stacks, pipeline->run.trace_bytes);
	pipeline->symbols = symbols_new(&pipeline->run.modules,
					(const char *const *)cli->debug_dirs,
					cli->debug_dir_count);
	pipeline->engine = engine_new(pipeline->input, &pipeline->run,
				      &pipeline->stacks);
	if (!pipeline->symbols || !pipeline->engine)
		return diag_set(diag, -ENOMEM, path, DIAG_NO_OFFSET,
				"out of memory");
	set_run(pipeline);
	engine_set_threads(pipeline->engine, pipeline->jobs);
	scope_stacks_init(&pipeline->shown);
	pipeline->scope = (struct scope){
		.run = &pipeline->run,
		.stacks = &pipeline->stacks,
		.engine = pipeline->engine,
		.symbols = pipeline->symbols,
		.arena = &pipeline->arena,
		.shown = &pipeline->shown,
		.frames = &pipeline->frames,
		.merged = &pipeline->merged,
	};
	return 0;
}

static bool needs_histogram(const struct spec_view *view)
{
	return spec_view_has(view, SUBJECT_SIZES) ||
	       spec_view_has(view, SUBJECT_LIFETIMES);
}

/* Whether figures of @view say what was alive at the peak. */
static bool needs_peak_sums(const struct spec_view *view)
{
	return view->cost == COST_PEAK || needs_histogram(view);
}

/* Whether yet another pass needs to know which allocations passed. */
static bool needs_marks(const struct spec_view *view)
{
	return view->filter.count > 0 &&
	       (spec_view_has(view, SUBJECT_TIMELINE) ||
		spec_view_has(view, SUBJECT_HISTORY));
}

/* Whether yet another pass must show @view what happened, in the order of time. */
static bool needs_order(const struct spec_view *view)
{
	return needs_marks(view) || spec_view_has(view, SUBJECT_HISTORY);
}

/* Memory for the rows of one view. */
static size_t rows_bytes(const struct spec *spec)
{
	size_t views = 0;

	for (size_t i = 0; i < spec->view_count; i++)
		views += spec_view_has(&spec->views[i], SUBJECT_ALLOCATIONS);
	return memory_share(4, ROWS_BYTES_MAX) / (views ? views : 1);
}

struct filter *pipeline_compile(const struct pipeline *pipeline,
				const struct spec_view *view,
				const struct filter_spec *filter,
				struct diag *diag)
{
	const struct engine_totals *totals = engine_totals(pipeline->engine);
	const struct filter_context context = {
		.run = &pipeline->run,
		.stacks = engine_stacks(pipeline->engine),
		.symbols = pipeline->symbols,
		.groups = engine_groups(pipeline->engine),
		.peak_tick = totals->peak_tick,
		.peak_order = totals->peak_order,
		.maps = &pipeline->maps.ranges.past,
	};
	struct filter *compiled = filter_new(filter, &context, diag);

	/* The filter knows the key, the spec where it stands. */
	if (!compiled && diag && !diag->file[0]) {
		snprintf(diag->file, sizeof(diag->file), "%s", view->path);
		if (!diag->line)
			diag->line = view->line;
		diag->offset = DIAG_NO_OFFSET;
	}
	return compiled;
}

static int view_prepare(struct pipeline *pipeline, size_t index,
			struct diag *diag)
{
	const struct spec_view *spec = &pipeline->spec->views[index];
	const struct view_options options = {
		.name = spec->name,
		.title = spec->title,
		.sort_by = spec->sort_by,
		.order = spec->order,
		.has_order = spec->has_order,
		.rows = spec->count,
		.skip = spec->skip,
		.cost = spec->cost,
		.direction = spec->direction,
		.rows_bytes = rows_bytes(pipeline->spec),
		.directory = source_scratch_directory(),
		.keep_records = spec_view_has(spec, SUBJECT_ALLOCATIONS),
		.keep_histogram = needs_histogram(spec),
		.keep_timeline = needs_marks(spec),
		.keep_history = spec_view_has(spec, SUBJECT_HISTORY),
		.run = &pipeline->run,
	};

	pipeline->filters[index] =
		pipeline_compile(pipeline, spec, &spec->filter, diag);
	if (!pipeline->filters[index])
		return -EINVAL;
	pipeline->views[index] = view_new(&options, pipeline->filters[index]);
	return pipeline->views[index] ? 0 : -ENOMEM;
}

static void phase(struct pipeline *pipeline, const char *name)
{
	memory_set_phase(name);
	timings_phase(&pipeline->timings, name);
	progress_phase(&pipeline->progress, name);
}

static void note_times(struct pipeline *pipeline)
{
	const struct merge_times *times = engine_times(pipeline->engine);
	struct timings *timings = &pipeline->timings;

	timings_events(timings, engine_totals(pipeline->engine)->events);
	timings_part(timings, "decoding", times->read_ns, times->read_cpu_ns);
	timings_part(timings, "waiting for decoded events", times->waited_ns,
		     0);
	timings_part(timings, "filters and views",
		     engine_observe_ns(pipeline->engine), 0);
}

enum { AHEAD_KEYS = 2000 };

enum stage {
	STAGE_PASS,      /* views that one pass can answer */
	STAGE_PEAK,      /* of what was alive at the peak, which that pass kept */
	STAGE_AGAIN,     /* that had to wait for the peak */
	STAGE_PEAK_SUMS, /* views that say what was alive at the peak */
};

static bool belongs(const struct pipeline *pipeline, size_t index,
		    enum stage stage)
{
	const struct spec_view *view = &pipeline->spec->views[index];
	bool is_done = pipeline->views[index] != NULL;

	switch (stage) {
	case STAGE_PASS:
		return !filter_needs(&view->filter);
	case STAGE_PEAK:
		return !is_done && filter_needs(&view->filter) == NEED_PEAK &&
		       filter_is_of_peak(&view->filter) &&
		       engine_has_peak(pipeline->engine);
	case STAGE_AGAIN:
		return !is_done;
	case STAGE_PEAK_SUMS:
		return needs_peak_sums(view);
	}
	return false;
}

static bool has_stage(const struct pipeline *pipeline, enum stage stage)
{
	for (size_t i = 0; i < pipeline->spec->view_count; i++)
		if (belongs(pipeline, i, stage))
			return true;
	return stage == STAGE_PASS;
}

/* Adds the views of @stage to @observers.  Return: 0 or negative errno. */
static int add_views(struct pipeline *pipeline, enum stage stage,
		     struct engine_observer *observers, size_t *count,
		     struct diag *diag)
{
	const struct engine_totals *totals = engine_totals(pipeline->engine);
	int status = 0;

	for (size_t i = 0; status == 0 && i < pipeline->spec->view_count; i++) {
		struct engine_observer *observer = &observers[*count];

		if (!belongs(pipeline, i, stage))
			continue;
		observer->records = view_add;
		observer->culled = view_add_culled;
		if (stage == STAGE_PEAK_SUMS) {
			view_set_peak(pipeline->views[i], totals->peak_order);
			observer->records = NULL;
			observer->culled = NULL;
			observer->record = view_add_peak;
		} else {
			status = view_prepare(pipeline, i, diag);
		}
		observer->context = pipeline->views[i];
		++*count;
	}
	return status;
}

/* A view of the peak that nothing passed says which condition removed how much,
   of all allocations and not of those alive at the peak: it needs a pass of its
   own. */
static void drop_empty(struct pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->spec->view_count; i++) {
		if (!pipeline->views[i] ||
		    !filter_is_of_peak(&pipeline->spec->views[i].filter) ||
		    !view_is_empty(pipeline->views[i]))
			continue;
		view_free(pipeline->views[i]);
		filter_free(pipeline->filters[i]);
		pipeline->views[i] = NULL;
		pipeline->filters[i] = NULL;
	}
}

/* Shows their records to the views of @stage. */
static int run_stage(struct pipeline *pipeline, enum stage stage,
		     struct diag *diag)
{
	bool is_of_peak = stage == STAGE_PEAK || stage == STAGE_PEAK_SUMS;
	struct engine_observer *observers;
	size_t count = 0;
	int status;

	if (!has_stage(pipeline, stage))
		return 0;
	observers = calloc(pipeline->spec->view_count + 1, sizeof(*observers));
	if (!observers)
		return -ENOMEM;
	if (stage == STAGE_PASS)
		observers[count++] = (struct engine_observer){
			.context = &pipeline->maps, .event = maps_add
		};
	status = add_views(pipeline, stage, observers, &count, diag);
	if (status == 0 && is_of_peak && engine_has_peak(pipeline->engine)) {
		memory_set_phase("what is of the peak");
		timings_phase(&pipeline->timings, "what is of the peak");
		status = engine_show_peak(pipeline->engine, observers, count);
	} else if (status == 0) {
		phase(pipeline, stage == STAGE_PASS ? "reading"
						    : "reading again");
		status = engine_pass(pipeline->engine, observers, count, diag);
		note_times(pipeline);
	}
	for (size_t i = 0; status == 0 && i < count; i++)
		if (observers[i].records == view_add)
			status = view_settle(observers[i].context,
					     engine_groups(pipeline->engine));
	if (stage == STAGE_PASS && status == 0)
		status = map_ranges_settle(&pipeline->maps.ranges);
	if (stage == STAGE_PEAK && status == 0)
		drop_empty(pipeline);
	for (size_t i = 0; status < 0 && i < pipeline->spec->view_count; i++)
		if (pipeline->views[i])
			view_explain(pipeline->views[i], status, diag);
	free(observers);
	return status;
}

/* Adds who wants to see in the order of time what passed the filter of @view.
   Return: 0 or negative errno. */
static int add_ordered(struct pipeline *pipeline, struct view *view,
		       struct engine_observer *observers, size_t *count)
{
	struct timeline *timeline = view_timeline(view);
	struct history *history;
	int status = view_take_history(view, &pipeline->scope, &history);

	if (status)
		return status;
	if (timeline) {
		timeline_start(timeline, &pipeline->run);
		observers[(*count)++] = (struct engine_observer){
			.context = timeline,
			.begun = timeline_begun,
			.record = timeline_record,
		};
	}
	if (history)
		observers[(*count)++] = (struct engine_observer){
			.context = history,
			.begun = history_begun,
			.record = history_record,
			.event = history_event,
		};
	return 0;
}

static int finish_ordered(const struct engine_observer *observer, int status,
			  struct diag *diag)
{
	struct history *history = observer->context;

	if (observer->record == timeline_record) {
		timeline_finish(observer->context);
		return status;
	}
	if (status == 0)
		status = history_finish(history);
	return status ? history_explain(history, status, diag) : 0;
}

/* For the views that add up, or list, what happened. */
static int ordered_pass(struct pipeline *pipeline, struct diag *diag)
{
	size_t view_count = pipeline->spec->view_count;
	struct engine_observer *observers =
		calloc(2 * view_count + 1, sizeof(*observers));
	size_t count = 0;
	int status = observers ? 0 : -ENOMEM;

	for (size_t i = 0; status == 0 && i < view_count; i++)
		status = add_ordered(pipeline, pipeline->views[i], observers,
				     &count);
	if (status == 0) {
		phase(pipeline, "reading again, in the order of time");
		status = engine_pass(pipeline->engine, observers, count, diag);
		note_times(pipeline);
	}
	for (size_t i = 0; i < count; i++)
		status = finish_ordered(&observers[i], status, diag);
	free(observers);
	return status;
}

int pipeline_check_regex(const struct spec_view *view,
			 const struct filter *filter, struct diag *diag)
{
	uint64_t failures = filter_regex_failures(filter);

	if (!failures)
		return 0;
	return diag_set_line(diag, -EINVAL, view->path, view->line,
			     "a regular expression of view %s reached the "
			     "matcher's limits on %" PRIu64 " function "
			     "name%s: simplify it",
			     view->name, failures, failures == 1 ? "" : "s");
}

static int check_regexes(const struct pipeline *pipeline, struct diag *diag)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < pipeline->spec->view_count; i++)
		status = pipeline_check_regex(&pipeline->spec->views[i],
					      pipeline->filters[i], diag);
	return status;
}

/* How chains end is kept in the first pass for the second. */
static int keep_chains(struct pipeline *pipeline, struct diag *diag)
{
	const char *directory = source_scratch_directory();
	int status = engine_keep_chains(pipeline->engine, directory);

	if (status < 0)
		diag_set(diag, status, directory, DIAG_NO_OFFSET,
			 "no temporary file can be made here: %s",
			 strerror(-status));
	return status;
}

/* Says which file it was that did not fit. */
static void explain_chains(int status, struct diag *diag)
{
	if (!diag->text[0] && (status == -EFBIG || status == -ENOSPC ||
			       status == -EDQUOT))
		diag_set(diag, status, source_scratch_directory(),
			 DIAG_NO_OFFSET,
			 "no room for how chains of realloc end: %s "
			 "(TMPDIR names another directory)",
			 strerror(-status));
}

/* The files of what the first stacks are made of will be needed.  Those of what
   none of them goes through wait until an address in them is shown. */
static void open_symbols(struct pipeline *pipeline)
{
	const struct groups *groups = engine_groups(pipeline->engine);
	const struct stacks *stacks = engine_stacks(pipeline->engine);
	uint64_t keys[AHEAD_KEYS];
	size_t count = 0;

	for (size_t i = 0; i < groups->count && count < AHEAD_KEYS; i++)
		for (uint32_t node = groups->items[i].stack;
		     node != STACKS_ROOT && count < AHEAD_KEYS;
		     node = stacks->nodes[node].parent)
			keys[count++] = stacks->nodes[node].pc_key;
	symbols_open_ahead(pipeline->symbols, keys, count);
}

static void on_progress(void *context, uint64_t events, uint64_t bytes)
{
	struct pipeline *pipeline = context;

	if (pipeline->jobs > 1)
		open_symbols(pipeline);
	progress_read(&pipeline->progress, events, bytes);
}

/* Said once, after all passes: they find the same. */
static void note_full(struct pipeline *pipeline)
{
	if (pipeline->stacks.left_out != STACKS_NONE)
		findings_add(&pipeline->run.damage, pipeline->sources[0].path,
			     DIAG_NO_OFFSET,
			     "holds more than %" PRIu32 " different stack "
			     "frames, too many for its %" PRIu64 " bytes: all "
			     "further stacks are counted as one, at address 0",
			     pipeline->stacks.limit,
			     pipeline->run.trace_bytes);
}

int pipeline_run(struct pipeline *pipeline, struct diag *diag)
{
	const struct spec *spec = pipeline->spec;
	unsigned needs = 0;
	bool ordered = false;
	int status = 0;

	pipeline->filters =
		calloc(spec->view_count + 1, sizeof(*pipeline->filters));
	pipeline->views =
		calloc(spec->view_count + 1, sizeof(*pipeline->views));
	if (!pipeline->filters || !pipeline->views)
		return -ENOMEM;
	for (size_t i = 0; i < spec->view_count; i++) {
		const struct spec_view *view = &spec->views[i];

		if (filter_is_of_peak(&view->filter) || needs_peak_sums(view))
			engine_keep_peak(pipeline->engine);
		needs |= filter_needs(&view->filter);
		ordered |= needs_order(view);
	}
	pipeline->progress.total_bytes = pipeline->run.trace_bytes;
	if (needs & NEED_CHAINS)
		status = keep_chains(pipeline, diag);
	pipeline->maps.ranges.keeps_past = needs & NEED_MAPS;
	engine_set_progress(pipeline->engine, on_progress, pipeline);
	for (enum stage stage = STAGE_PASS;
	     status == 0 && stage <= STAGE_PEAK_SUMS; stage++)
		status = run_stage(pipeline, stage, diag);
	if (needs & NEED_CHAINS)
		explain_chains(status, diag);
	if (status == 0 && ordered)
		status = ordered_pass(pipeline, diag);
	progress_clear(&pipeline->progress);
	note_full(pipeline);
	if (status == 0)
		status = check_regexes(pipeline, diag);
	if (status == 0)
		status = pipeline_select_maps(pipeline, diag);
	if (status == -ENOMEM && !diag->text[0])
		diag_set(diag, status, pipeline->sources[0].path, DIAG_NO_OFFSET,
			 "out of memory");
	return status;
}

void pipeline_close(struct pipeline *pipeline)
{
	for (size_t i = 0; pipeline->spec && i < pipeline->spec->view_count;
	     i++) {
		if (pipeline->views)
			view_free(pipeline->views[i]);
		if (pipeline->filters && pipeline->filters[i])
			filter_free(pipeline->filters[i]);
	}
	free(pipeline->views);
	free(pipeline->filters);
	maps_done(&pipeline->maps);
	engine_free(pipeline->engine);
	if (pipeline->symbols)
		symbols_free(pipeline->symbols);
	if (pipeline->input)
		input_close(pipeline->input);
	run_done(&pipeline->run);
	for (size_t i = 0; i < pipeline->source_count; i++)
		source_close(&pipeline->sources[i]);
	free(pipeline->sources);
	scope_stacks_done(&pipeline->shown);
	vec_done(&pipeline->frames);
	merged_done(&pipeline->merged);
	stacks_done(&pipeline->stacks);
	arena_done(&pipeline->arena);
	memset(pipeline, 0, sizeof(*pipeline));
}
