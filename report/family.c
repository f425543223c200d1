/* SPDX-License-Identifier: MIT */
#include "report/family.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/aggregate/scope.h"
#include "report/aggregate/summary.h"
#include "report/budget.h"
#include "report/cli.h"
#include "report/core/diag.h"
#include "report/core/text.h"
#include "report/core/vec.h"
#include "report/engine/engine.h"
#include "report/output/artifact.h"
#include "report/output/page.h"
#include "report/output_file.h"
#include "report/pipeline.h"
#include "report/spec.h"

/**
 * struct family_member - one run
 * @number: in the order they were given
 * @command: with its arguments
 * @is_placed: it has its row
 * @failed: conditions of fail_if that hold; @has_limits: there are any
 * @inherited: frees of blocks that the process had when it was forked
 */
struct family_member {
	size_t number;
	const char *report;
	const char *program;
	const char *command;
	const char *end;
	uint32_t pid;
	uint32_t ppid;
	uint64_t start_ns;
	double run_time;
	uint64_t events;
	uint64_t peak_bytes;
	uint64_t leaked_bytes;
	uint64_t leaked_count;
	uint64_t inherited;
	size_t failed;
	bool has_limits;
	bool is_fork;
	bool is_placed;
};

static const struct figure_column columns[] = {
	{ "process", "Process", NULL, CELL_ID },
	{ "parent", "Parent", NULL, CELL_ID },
	{ "depth", "Depth", NULL, CELL_COUNT },
	{ "program", "Program", NULL, CELL_TEXT },
	{ "command", "Command", NULL, CELL_TEXT },
	{ "start", "Started", NULL, CELL_DATE },
	{ "run_time", "Run time", NULL, CELL_SECONDS },
	{ "events", "Events", "events", CELL_COUNT },
	{ "peak_bytes", "Peak", NULL, CELL_BYTES },
	{ "leaked_bytes", "Leaked", NULL, CELL_BYTES },
	{ "leaked_count", "Leaked blocks", NULL, CELL_COUNT },
	{ "inherited_frees", "Inherited blocks freed", NULL, CELL_COUNT },
	{ "end", "End", NULL, CELL_TEXT },
	{ "report", "Report", NULL, CELL_TEXT },
	{ "failed_limits", "Failed limits", NULL, CELL_COUNT },
};

/* Of these the page shows as many as fit on it. */
static const struct figure_column page_columns[] = {
	{ "command", "Command", NULL, CELL_TEXT },
	{ "report", "Report", NULL, CELL_LINK },
	{ "process", "Process", NULL, CELL_ID },
	{ "start", "Started", NULL, CELL_DATE },
	{ "run_time", "Run time", NULL, CELL_SECONDS },
	{ "peak_bytes", "Peak", NULL, CELL_BYTES },
	{ "leaked_bytes", "Leaked", NULL, CELL_BYTES },
	{ "end", "End", NULL, CELL_TEXT },
	{ "failed_limits", "Failed limits", NULL, CELL_COUNT },
};

/* Of a command line that a page shows, in bytes. */
enum { COMMAND_MAX = 200 };

void family_done(struct family *family)
{
	vec_done(&family->members);
	arena_done(&family->arena);
	memset(family, 0, sizeof(*family));
}

static const char *keep_text(struct family *family, const char *text)
{
	return arena_copy(&family->arena, text, strlen(text));
}

/* Return: the command line, cut off at an argument where it is long. */
static const char *command_text(struct family *family, const struct run *run)
{
	const char *text = run->executable;

	for (size_t i = 0; i < run->argument_count && text; i++) {
		if (i && strlen(text) + strlen(run->arguments[i]) > COMMAND_MAX)
			return arena_printf(&family->arena, "%s \xe2\x80\xa6",
					    text);
		text = arena_printf(&family->arena, "%s%s%s", i ? text : "",
				    i ? " " : "", run->arguments[i]);
	}
	return text ? keep_text(family, text) : NULL;
}

int family_add(struct family *family, const struct pipeline *pipeline,
	       const char *name)
{
	const struct engine_totals *totals = engine_totals(pipeline->engine);
	struct family_member *member = vec_push(&family->members);
	const struct run *run = &pipeline->run;
	size_t failed;
	bool has_limits = budgets_count(pipeline, &failed) > 0;

	if (!member)
		return -ENOMEM;
	*member = (struct family_member){
		.number = family->members.count,
		.report = text_sanitize(&family->arena, name, strlen(name)),
		.command = command_text(family, run),
		.program = keep_text(family, run->executable),
		.end = keep_text(family, summary_end_text(&pipeline->scope)),
		.pid = run->pid,
		.ppid = run->ppid,
		.start_ns = run->start_realtime_ns,
		.run_time = run_duration(run),
		.events = totals->events,
		.peak_bytes = totals->peak_bytes,
		.leaked_bytes = totals->live_bytes,
		.leaked_count = totals->live_count,
		.inherited = totals->unmatched_frees,
		.failed = failed,
		.has_limits = has_limits,
		.is_fork = run->piece_count && run->pieces[0].parent_run,
	};
	return member->report && member->program && member->command &&
			       member->end
		       ? 0
		       : -ENOMEM;
}

static struct cell failed_cell(const struct family_member *member)
{
	return cell_or_none(cell_count(member->failed), member->has_limits);
}

static void add_row(struct table_maker *table,
		    const struct family_member *member, uint64_t depth)
{
	table_row(table);
	table_add(table, cell_id(member->pid));
	table_add(table, cell_or_none(cell_id(member->ppid), member->ppid));
	table_add(table, cell_count(depth));
	table_add(table, cell_text(member->program));
	table_add(table, cell_text(member->command));
	table_add(table,
		  cell_or_none((struct cell){ .kind = CELL_DATE,
					      .count = member->start_ns },
			       member->start_ns));
	table_add(table, cell_seconds(member->run_time));
	table_add(table, cell_count(member->events));
	table_add(table, cell_bytes(member->peak_bytes));
	table_add(table, cell_bytes(member->leaked_bytes));
	table_add(table, cell_count(member->leaked_count));
	table_add(table, cell_or_none(cell_count(member->inherited),
				      member->is_fork));
	table_add(table, cell_text(member->end));
	table_add(table, cell_text(member->report));
	table_add(table, failed_cell(member));
}

/* A child stands further right than its parent. */
static const char *indented(struct arena *arena, const char *text,
			    uint64_t depth)
{
	static const char step[] = "\xc2\xa0\xc2\xa0\xc2\xa0";

	for (uint64_t i = 0; i < depth && i < 10 && text; i++)
		text = arena_printf(arena, i ? "%s%s" : "%s\xe2\x94\x94 %s",
				    i ? step : "", text);
	return text;
}

static void add_page_row(struct table_maker *table, struct arena *arena,
			 const struct family_member *member, uint64_t depth)
{
	struct figure_link *link = arena_alloc(arena, sizeof(*link));

	if (link) {
		link->text = member->report;
		link->path = arena_printf(arena, "%s/index.html",
					  member->report);
	}
	table_row(table);
	table_add(table, cell_text(indented(arena, member->command, depth)));
	table_add(table, link && link->path
				 ? (struct cell){ .kind = CELL_LINK,
						  .link = link }
				 : cell_text(member->report));
	table_add(table, cell_id(member->pid));
	table_add(table,
		  cell_or_none((struct cell){ .kind = CELL_DATE,
					      .count = member->start_ns },
			       member->start_ns));
	table_add(table, cell_seconds(member->run_time));
	table_add(table, cell_bytes(member->peak_bytes));
	table_add(table, cell_bytes(member->leaked_bytes));
	table_add(table, cell_text(member->end));
	if (member->has_limits)
		table_add(table, failed_cell(member));
}

/* Siblings stand in the order they were started. */
static int by_start(const void *a, const void *b)
{
	const struct family_member *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Return: the member after number @from that has no row yet and whose parent is
   @ppid; their number if there is none. */
static size_t next_child(const struct family *family, size_t from,
			 uint32_t ppid)
{
	const struct family_member *items = family->members.items;
	size_t i = from;

	while (i < family->members.count &&
	       (items[i].is_placed || items[i].ppid != ppid))
		i++;
	return i;
}

/* A row for number @i, then one for each that comes from it. */
static void place(struct family *family, struct table_maker tables[2], size_t i,
		  uint64_t depth)
{
	struct family_member *items = family->members.items;
	size_t child;

	items[i].is_placed = true;
	add_row(&tables[0], &items[i], depth);
	add_page_row(&tables[1], &family->arena, &items[i], depth);
	if (!items[i].pid)
		return;
	for (child = next_child(family, 0, items[i].pid);
	     child < family->members.count;
	     child = next_child(family, child, items[i].pid))
		place(family, tables, child, depth + 1);
}

static bool has_parent(const struct family *family, size_t i)
{
	const struct family_member *items = family->members.items;

	for (size_t j = 0; j < family->members.count; j++)
		if (j != i && items[j].pid == items[i].ppid)
			return true;
	return false;
}

/* @ret: what processes.json and what the page gets.  Return: 0 or -ENOMEM. */
static int processes_tables(struct family *family, const struct figure *ret[2])
{
	const struct scope scope = { .arena = &family->arena };
	size_t page_count = sizeof(page_columns) / sizeof(page_columns[0]);
	struct table_maker tables[2];

	if (family->members.count && !family->members.items[0].has_limits)
		page_count--;
	table_init(&tables[0], columns, sizeof(columns) / sizeof(columns[0]));
	table_init(&tables[1], page_columns, page_count);
	qsort(family->members.items, family->members.count,
	      sizeof(*family->members.items), by_start);
	for (size_t i = 0; i < family->members.count; i++)
		if (!family->members.items[i].is_placed &&
		    !has_parent(family, i))
			place(family, tables, i, 0);
	/* What is left goes round in a circle. */
	for (size_t i = 0; i < family->members.count; i++)
		if (!family->members.items[i].is_placed)
			place(family, tables, i, 0);
	for (int i = 0; i < 2; i++)
		ret[i] = table_finish(&tables[i], &scope, "processes",
				      "Processes");
	return ret[0] && ret[1] ? 0 : -ENOMEM;
}

/* Writes @page in the form of @format, @figure if there is no page. */
static int write_one(const char *directory, const char *name,
		     const struct page_format *format, const struct page *page,
		     const struct figure *figure, struct diag *diag)
{
	struct output_file out;
	char path[4096];
	int status;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	status = output_file_open(&out, path, diag);
	if (status)
		return status;
	status = page ? format->render(page, &out.sink, diag)
		      : artifact_processes.render(figure, &out.sink, diag);
	return output_file_close(&out, status, diag);
}

/* One page, whose links lead to the pages of the same form. */
static int write_page(struct family *family, const struct page_format *format,
		      struct page *page, struct page_link *links,
		      const char *directory, struct diag *diag)
{
	size_t count = family->members.count;

	for (size_t i = 0; i < count; i++) {
		const struct family_member *member = &family->members.items[i];

		links[i] = (struct page_link){
			.view = "",
			.name = "report",
			.title = member->program,
			.path = arena_printf(&family->arena, "%s/%s",
					     member->report, format->file),
		};
		if (!links[i].path)
			return -ENOMEM;
	}
	links[count] = (struct page_link){ "", "processes", "Processes",
					   "processes.json" };
	page->links = links;
	page->link_count = count + 1;
	return write_one(directory, format->file, format, page, NULL, diag);
}

int family_write(struct family *family, const struct cli *cli,
		 const struct spec *spec, const char *directory,
		 struct diag *diag)
{
	const struct figure *tables[2];
	int status = processes_tables(family, tables);
	size_t count = family->members.count;
	struct page_link *links =
		arena_array(&family->arena, count + 1, sizeof(*links));
	struct page page = {
		.title = spec->title ? spec->title : "Memory profiles",
		.figures = &tables[1],
		.figure_count = 1,
		.theme = spec->theme,
		.template_dir = cli->template_dir,
		.template_file = "processes.md",
	};

	if (status || !links)
		return -ENOMEM;
	status = write_one(directory, "processes.json", NULL, NULL, tables[0],
			   diag);
	for (size_t i = 0; status == 0 && i < spec->page_count; i++)
		status = write_page(family, spec->pages[i], &page, links,
				    directory, diag);
	return status;
}
