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
#include "report/core/units.h"
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
 * @short_command: the same without the program's directory
 * @end, @short_end: how it ended, for pages in fewer words
 * @parent: number in the order of starts of the run that its row stands below,
 *          @no_parent if that is not here
 * @is_next: the parent replaced itself by this: the same process
 * @is_exec: it replaced itself by another program
 * @failed: conditions of fail_if that hold; @has_limits: there are any
 * @inherited: frees of blocks that the process had when it was forked
 */
struct family_member {
	size_t number;
	const char *report;
	const char *program;
	const char *command;
	const char *short_command;
	const char *end;
	const char *short_end;
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
	size_t parent;
	bool is_fork;
	bool is_exec;
	bool is_next;
};

static const size_t no_parent = SIZE_MAX;

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

/* Of these the page shows as many as fit on it; the last where there are limits. */
static const struct figure_column page_columns[] = {
	{ "command", "Command", NULL, CELL_TEXT },
	{ "peak_bytes", "Peak", "peak_bytes", CELL_BYTES },
	{ "leaked_bytes", "Leaked", "leaked", CELL_BYTES },
	{ "start", "Started after", NULL, CELL_SECONDS },
	{ "run_time", "Run time", "run_time", CELL_SECONDS },
	{ "process", "Process", NULL, CELL_ID },
	{ "report", "Report", NULL, CELL_LINK },
	{ "end", "Ended", NULL, CELL_TEXT },
	{ "failed_limits", "Failed limits", NULL, CELL_COUNT },
};

/* COMMAND_MAX: of a command line that a page shows, in bytes */
enum {
	COMMAND_MAX = 200,
	PAGE_COLUMNS = sizeof(page_columns) / sizeof(page_columns[0]),
};

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

/* Return: @program with the arguments of @run, cut off at one where that is
   long. */
static const char *command_text(struct family *family, const struct run *run,
				const char *program)
{
	const char *text = keep_text(family, program);

	for (size_t i = 1; i < run->argument_count && text; i++) {
		if (strlen(text) + strlen(run->arguments[i]) > COMMAND_MAX)
			return arena_printf(&family->arena, "%s \xe2\x80\xa6",
					    text);
		text = arena_printf(&family->arena, "%s %s", text,
				    run->arguments[i]);
	}
	return text;
}

static const char *short_end(struct family *family,
			     const struct pipeline *pipeline)
{
	const struct run *run = &pipeline->run;

	return run->end == RUN_END_EXEC
		       ? arena_printf(&family->arena, "became %s",
				      text_basename(run->exec_program))
		       : keep_text(family, summary_end_text(&pipeline->scope));
}

int family_add(struct family *family, const struct pipeline *pipeline,
	       const char *name)
{
	const struct engine_totals *totals = engine_totals(pipeline->engine);
	struct family_member *member = vec_push(&family->members);
	const struct run *run = &pipeline->run;
	const char *program =
		run->argument_count ? run->arguments[0] : run->executable;
	size_t failed;
	bool has_limits = budgets_count(pipeline, &failed) > 0;

	if (!member)
		return -ENOMEM;
	*member = (struct family_member){
		.number = family->members.count,
		.report = text_sanitize(&family->arena, name, strlen(name)),
		.command = command_text(family, run, program),
		.short_command =
			command_text(family, run, text_basename(program)),
		.program = keep_text(family, run->executable),
		.end = keep_text(family, summary_end_text(&pipeline->scope)),
		.short_end = short_end(family, pipeline),
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
		.is_exec = run->end == RUN_END_EXEC,
	};
	return member->report && member->program && member->command &&
			       member->short_command && member->end &&
			       member->short_end
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

/* A child stands further right than its parent, what a process became right
   below what it was. */
static const char *indented(struct arena *arena,
			    const struct family_member *member, uint64_t depth)
{
	static const char step[] = "\xc2\xa0\xc2\xa0\xc2\xa0";
	const char *text = member->short_command;

	if (member->is_next)
		text = arena_printf(arena, "\xe2\x86\xaa %s", text);
	else if (depth)
		text = arena_printf(arena, "\xe2\x94\x94 %s", text);
	for (uint64_t i = 1; i < depth && i < 10 && text; i++)
		text = arena_printf(arena, "%s%s", step, text);
	return text;
}

static void add_page_row(struct table_maker *table, struct family *family,
			 const struct family_member *member, uint64_t depth)
{
	const struct family_member *first = family->members.items;
	struct arena *arena = &family->arena;
	struct figure_link *link = arena_alloc(arena, sizeof(*link));
	double after = (double)(member->start_ns - first->start_ns) / 1e9;

	if (link) {
		link->text = member->report;
		link->path = arena_printf(arena, "%s/index.html",
					  member->report);
	}
	table_row(table);
	table_add(table, cell_text(indented(arena, member, depth)));
	table_add(table, cell_bytes(member->peak_bytes));
	table_add(table, cell_bytes(member->leaked_bytes));
	table_add(table, cell_or_none(cell_seconds(after), first->start_ns));
	table_add(table, cell_seconds(member->run_time));
	table_add(table, cell_id(member->pid));
	table_add(table, link && link->path
				 ? (struct cell){ .kind = CELL_LINK,
						  .link = link }
				 : cell_text(member->report));
	table_add(table, cell_text(member->short_end));
	if (table->column_count == PAGE_COLUMNS)
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

/* Numbers are given out again, and a process may have replaced itself: it is
   the latest run before that counts. */
static void find_parent(const struct family *family, size_t i)
{
	struct family_member *items = family->members.items;
	struct family_member *member = &items[i];

	member->parent = no_parent;
	for (size_t j = i; member->pid && j-- > 0;) {
		if (items[j].pid != member->pid)
			continue;
		if (items[j].is_exec) {
			member->parent = j;
			member->is_next = true;
			return;
		}
		break;
	}
	for (size_t j = i; member->ppid && j-- > 0;)
		if (items[j].pid == member->ppid) {
			member->parent = j;
			return;
		}
}

/* A row for number @i, then one for each that comes from it. */
static void place(struct family *family, struct table_maker tables[2], size_t i,
		  uint64_t depth)
{
	const struct family_member *items = family->members.items;

	add_row(&tables[0], &items[i], depth);
	add_page_row(&tables[1], family, &items[i], depth);
	for (size_t j = i + 1; j < family->members.count; j++)
		if (items[j].parent == i)
			place(family, tables, j, depth + !items[j].is_next);
}

/* Return: how many replaced themselves by a program whose trace is not here. */
static size_t lost_count(const struct family *family)
{
	const struct family_member *items = family->members.items;
	size_t lost = 0;

	for (size_t i = 0; i < family->members.count; i++)
		lost += items[i].is_exec;
	for (size_t i = 0; i < family->members.count; i++)
		lost -= items[i].is_next;
	return lost;
}

/* Return: the first of those with the highest peak; there is one. */
static const struct family_member *highest_get(const struct family *family)
{
	const struct family_member *items = family->members.items;
	const struct family_member *highest = items;

	for (size_t i = 1; i < family->members.count; i++)
		if (items[i].peak_bytes > highest->peak_bytes)
			highest = &items[i];
	return highest;
}

void family_print_highest(const struct family *family, FILE *out)
{
	const struct family_member *highest = highest_get(family);
	char peak[UNITS_TEXT_SIZE];

	units_format_bytes(peak, sizeof(peak), highest->peak_bytes);
	fprintf(out, "  highest peak %s: %s (%s)\n", peak,
		text_basename(highest->program), highest->report);
}

/* Return: what stands above the table of the page; NULL when out of memory. */
static const char *caption(struct family *family)
{
	const struct family_member *items = family->members.items;
	const struct family_member *highest = highest_get(family);
	char peak[UNITS_TEXT_SIZE], date[UNITS_TEXT_SIZE];
	size_t lost = lost_count(family);
	const char *text;

	units_format_bytes(peak, sizeof(peak), highest->peak_bytes);
	units_format_date(date, sizeof(date), items->start_ns);
	text = arena_printf(&family->arena,
			    "%zu runs%s%s. The highest peak, %s, is that of %s "
			    "(%s)",
			    family->members.count,
			    items->start_ns ? ", the first from " : "",
			    items->start_ns ? date : "", peak,
			    text_basename(highest->program), highest->report);
	if (!text || !lost)
		return text;
	return arena_printf(&family->arena,
			    "%s. %zu replaced %s by a program whose trace was "
			    "not given: where memprof-record --children made "
			    "it, it lies beside as NAME.1, NAME.2 and so on",
			    text, lost, lost == 1 ? "itself" : "themselves");
}

/* @ret: what processes.json and what the page gets.  Return: 0 or -ENOMEM. */
static int processes_tables(struct family *family, const struct figure *ret[2])
{
	const struct scope scope = { .arena = &family->arena };
	struct family_member *items = family->members.items;
	struct table_maker tables[2];
	struct figure *page;

	table_init(&tables[0], columns, sizeof(columns) / sizeof(columns[0]));
	table_init(&tables[1], page_columns,
		   items[0].has_limits ? PAGE_COLUMNS : PAGE_COLUMNS - 1);
	qsort(items, family->members.count, sizeof(*items), by_start);
	for (size_t i = 0; i < family->members.count; i++)
		find_parent(family, i);
	for (size_t i = 0; i < family->members.count; i++)
		if (items[i].parent == no_parent)
			place(family, tables, i, 0);
	ret[0] = table_finish(&tables[0], &scope, "processes", "Processes");
	ret[1] = page = table_finish(&tables[1], &scope, "processes",
				     "Processes");
	if (!ret[0] || !page)
		return -ENOMEM;
	page->caption = caption(family);
	return page->caption ? 0 : -ENOMEM;
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
