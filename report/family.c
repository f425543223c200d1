/* SPDX-License-Identifier: MIT */
#include "report/family.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "report/aggregate/scope.h"
#include "report/aggregate/summary.h"
#include "report/cli.h"
#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/core/text.h"
#include "report/core/vec.h"
#include "report/engine/engine.h"
#include "report/output/artifact.h"
#include "report/output/page.h"
#include "report/pipeline.h"
#include "report/spec.h"

/**
 * struct family_member - one run
 * @depth:  processes above it that are among the members
 * @is_placed: it has its row
 * @inherited: frees of blocks that the process had when it was forked
 */
struct family_member {
	const char *report;
	const char *program;
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
	bool is_fork;
	bool is_placed;
};

static const struct figure_column columns[] = {
	{ "process", "Process", NULL, CELL_ID },
	{ "parent", "Parent", NULL, CELL_ID },
	{ "depth", "Depth", NULL, CELL_COUNT },
	{ "program", "Program", NULL, CELL_TEXT },
	{ "start", "Started", NULL, CELL_DATE },
	{ "run_time", "Run time", NULL, CELL_SECONDS },
	{ "events", "Events", "events", CELL_COUNT },
	{ "peak_bytes", "Peak", NULL, CELL_BYTES },
	{ "leaked_bytes", "Leaked", NULL, CELL_BYTES },
	{ "leaked_count", "Leaked blocks", NULL, CELL_COUNT },
	{ "inherited_frees", "Inherited blocks freed", NULL, CELL_COUNT },
	{ "end", "End", NULL, CELL_TEXT },
	{ "report", "Report", NULL, CELL_TEXT },
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

int family_add(struct family *family, const struct pipeline *pipeline,
	       const char *name)
{
	const struct engine_totals *totals = engine_totals(pipeline->engine);
	struct family_member *member = vec_push(&family->members);
	const struct run *run = &pipeline->run;

	if (!member)
		return -ENOMEM;
	*member = (struct family_member){
		.report = text_sanitize(&family->arena, name, strlen(name)),
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
		.is_fork = run->piece_count && run->pieces[0].parent_run,
	};
	return member->report && member->program && member->end ? 0 : -ENOMEM;
}

static void add_row(struct table_maker *table,
		    const struct family_member *member, uint64_t depth)
{
	table_row(table);
	table_add(table, cell_id(member->pid));
	table_add(table, cell_or_none(cell_id(member->ppid), member->ppid));
	table_add(table, cell_count(depth));
	table_add(table, cell_text(member->program));
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
static void place(struct family *family, struct table_maker *table, size_t i,
		  uint64_t depth)
{
	struct family_member *items = family->members.items;
	size_t child;

	items[i].is_placed = true;
	add_row(table, &items[i], depth);
	if (!items[i].pid)
		return;
	for (child = next_child(family, 0, items[i].pid);
	     child < family->members.count;
	     child = next_child(family, child, items[i].pid))
		place(family, table, child, depth + 1);
}

static bool has_parent(const struct family *family, size_t i)
{
	const struct family_member *items = family->members.items;

	for (size_t j = 0; j < family->members.count; j++)
		if (j != i && items[j].pid == items[i].ppid)
			return true;
	return false;
}

static const struct figure *processes_table(struct family *family)
{
	const struct scope scope = { .arena = &family->arena };
	struct table_maker table;

	table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < family->members.count; i++)
		if (!family->members.items[i].is_placed &&
		    !has_parent(family, i))
			place(family, &table, i, 0);
	/* What is left goes round in a circle. */
	for (size_t i = 0; i < family->members.count; i++)
		if (!family->members.items[i].is_placed)
			place(family, &table, i, 0);
	return table_finish(&table, &scope, "processes", "Processes");
}

/* Writes @page in the form of @format, @figure if there is no page. */
static int write_one(const char *directory, const char *name,
		     const struct page_format *format, const struct page *page,
		     const struct figure *figure, struct diag *diag)
{
	char path[4096];
	struct sink sink;
	int status, done;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "wbe");
	if (!file)
		return diag_set(diag, -errno, path, DIAG_NO_OFFSET,
				"cannot write: %s", strerror(errno));
	sink_init_file(&sink, file);
	status = page ? format->render(page, &sink, diag)
		      : artifact_processes.render(figure, &sink, diag);
	done = sink_done(&sink);
	if (fclose(file) && !done)
		done = -errno;
	if (status == 0 && done)
		status = diag_set(diag, done, path, DIAG_NO_OFFSET,
				  "cannot write: %s", strerror(-done));
	return status;
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
	const struct figure *table = processes_table(family);
	size_t count = family->members.count;
	struct page_link *links =
		arena_array(&family->arena, count + 1, sizeof(*links));
	struct page page = {
		.title = spec->title ? spec->title : "Memory profiles",
		.figures = &table,
		.figure_count = 1,
		.theme = spec->theme,
		.template_dir = cli->template_dir,
		.template_file = "processes.md",
	};
	int status;

	if (!table || !links)
		return -ENOMEM;
	status = write_one(directory, "processes.json", NULL, NULL, table,
			   diag);
	for (size_t i = 0; status == 0 && i < spec->page_count; i++)
		status = write_page(family, spec->pages[i], &page, links,
				    directory, diag);
	return status;
}
