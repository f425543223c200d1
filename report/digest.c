/* SPDX-License-Identifier: MIT */
#include "report/digest.h"

#include <inttypes.h>
#include <string.h>

#include "report/aggregate/completeness.h"
#include "report/aggregate/summary.h"
#include "report/core/text.h"
#include "report/core/units.h"
#include "report/engine/engine.h"
#include "report/pipeline.h"
#include "report/spec.h"
#include "report/symbol/symbol.h"

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static void print_command(const struct run *run, FILE *out)
{
	size_t used = 0;

	fprintf(out, "  program      ");
	for (size_t i = 0; i < run->argument_count; i++) {
		used += strlen(run->arguments[i]) + 1;
		if (i && used > 120) {
			fprintf(out, " …");
			break;
		}
		fprintf(out, "%s%s", i ? " " : "", run->arguments[i]);
	}
	if (!run->argument_count)
		fprintf(out, "%s", run->executable);
	fputc('\n', out);
}

static void print_bytes(FILE *out, const char *label, uint64_t bytes,
			const char *detail)
{
	char human[UNITS_TEXT_SIZE], exact[UNITS_TEXT_SIZE];

	units_format_bytes(human, sizeof(human), bytes);
	units_format_count(exact, sizeof(exact), bytes);
	fprintf(out, "  %-12s %s (%s bytes)%s\n", label, human, exact, detail);
}

static void print_count(FILE *out, const char *label, uint64_t count,
			const char *detail)
{
	char text[UNITS_TEXT_SIZE];

	units_format_count(text, sizeof(text), count);
	fprintf(out, "  %-12s %s%s\n", label, text, detail);
}

static void print_totals(const struct pipeline *pipeline, FILE *out)
{
	const struct engine_totals *totals = engine_totals(pipeline->engine);
	char number[UNITS_TEXT_SIZE], when[UNITS_TEXT_SIZE];
	char detail[160];

	units_format_seconds(when, sizeof(when),
			     run_seconds(&pipeline->run, totals->peak_tick));
	snprintf(detail, sizeof(detail), " after %s", when);
	print_bytes(out, "peak", totals->peak_bytes, detail);
	units_format_count(number, sizeof(number), totals->live_count);
	snprintf(detail, sizeof(detail), " in %s block%s", number,
		 totals->live_count == 1 ? "" : "s");
	print_bytes(out, "leaked", totals->live_bytes, detail);
	units_format_count(number, sizeof(number), totals->freed_count);
	snprintf(detail, sizeof(detail), ", %s free%s", number,
		 totals->freed_count == 1 ? "" : "s");
	print_count(out, "allocations", totals->allocated_count, detail);
	units_format_ratio(number, sizeof(number),
			   scope_ratio(totals->temporary_count,
				       totals->allocated_count));
	snprintf(detail, sizeof(detail), " (%s)", number);
	print_count(out, "temporary", totals->temporary_count, detail);
}

void digest_print(const struct pipeline *pipeline, const char *directory,
		  FILE *out)
{
	const struct run *run = &pipeline->run;
	const struct engine_totals *totals = engine_totals(pipeline->engine);
	char text[UNITS_TEXT_SIZE];

	print_command(run, out);
	fprintf(out, "  ended        %s\n",
		summary_end_text(&pipeline->scope));
	units_format_seconds(text, sizeof(text), run_duration(run));
	fprintf(out, "  run time     %s, %zu thread%s\n", text,
		run->thread_count, plural(run->thread_count));
	print_totals(pipeline, out);
	print_count(out, "events", totals->events, "");
	if (run->damage.count)
		fprintf(out, "  trace        DAMAGED, %zu finding%s\n",
			run->damage.count, plural(run->damage.count));
	else
		fprintf(out, "  trace        %s\n",
			completeness_text(&pipeline->scope));
	digest_print_pages(pipeline->spec, directory, out);
}

void digest_print_pages(const struct spec *spec, const char *directory,
			FILE *out)
{
	for (size_t i = 0; i < spec->page_count; i++)
		fprintf(out, "  %-12s %s/%s\n", i ? "" : "report", directory,
			spec->pages[i]->file);
	if (!spec->page_count)
		fprintf(out, "  report       %s/\n", directory);
}

void digest_print_short(const struct pipeline *pipeline, const char *name,
			FILE *out)
{
	const struct engine_totals *totals = engine_totals(pipeline->engine);
	const struct run *run = &pipeline->run;
	char peak[UNITS_TEXT_SIZE], leaked[UNITS_TEXT_SIZE];

	units_format_bytes(peak, sizeof(peak), totals->peak_bytes);
	units_format_bytes(leaked, sizeof(leaked), totals->live_bytes);
	fprintf(out, "  %-24s peak %9s, leaked %9s, %s%s: %s\n", name, peak,
		leaked,
		run->damage.count  ? "DAMAGED, "
		: run->events_lost ? "INCOMPLETE, "
				   : "",
		summary_end_text(&pipeline->scope),
		text_basename(run->executable));
}

static void print_ids(const struct module *module, FILE *out)
{
	for (size_t i = 0; i < module->build_id_len; i++)
		fprintf(out, "%02x", module->build_id[i]);
	if (!module->build_id_len)
		fputc('-', out);
}

static void print_files(const struct run *run, FILE *out)
{
	char text[UNITS_TEXT_SIZE];

	fprintf(out, "  files        %zu\n", run->file_count);
	for (size_t i = 0; i < run->file_count && i < 50; i++) {
		const struct kept_file *file = &run->files[i];

		units_format_bytes(text, sizeof(text), file->bytes);
		fprintf(out, "    %-10s %9s  ", kept_kind_name(file->kind),
			text);
		if (file->name[0])
			fprintf(out, "%s", file->name);
		else
			fprintf(out, "at %012" PRIx64, file->addr);
		fprintf(out, "%s\n",
			!file->is_whole ? " (incomplete)"
			: file->is_cut	? " (its beginning)"
					: "");
	}
	if (run->file_count > 50)
		fprintf(out, "    … and %zu more\n", run->file_count - 50);
}

static void print_missing(uint32_t from, uint32_t count, FILE *out)
{
	if (count == 1)
		fprintf(out, "    %-4" PRIu32 " MISSING\n", from);
	else if (count)
		fprintf(out, "    %" PRIu32 "-%" PRIu32 " MISSING\n", from,
			from + count - 1);
}

static void print_pieces(const struct run *run, FILE *out)
{
	char when[UNITS_TEXT_SIZE];

	if (run->piece_count < 2 && !(run->piece_count && run->pieces->is_known))
		return;
	fprintf(out, "  pieces       %zu\n", run->piece_count);
	for (size_t i = 0; i < run->piece_count; i++) {
		const struct run_piece *piece = &run->pieces[i];

		print_missing(piece->index - run_piece_missing(run, i),
			      run_piece_missing(run, i), out);
		units_format_seconds(when, sizeof(when),
				     run_seconds(run, piece->start_tick));
		fprintf(out, "    %-4" PRIu32 " from %s%s, %s\n", piece->index,
			when, i && piece->has_gap ? ", after a gap" : "",
			piece->path);
	}
	if (run->end == RUN_END_CONTINUED)
		print_missing(run->pieces[run->piece_count - 1].index + 1, 1,
			      out);
}

void digest_list(const struct pipeline *pipeline, FILE *out)
{
	const struct run *run = &pipeline->run;
	char text[UNITS_TEXT_SIZE];

	fprintf(out, "%s\n", run->trace_path);
	fprintf(out, "  format       %s\n", run->format);
	print_bytes(out, "size", run->trace_bytes, "");
	print_command(run, out);
	fprintf(out, "  executable   %s\n", run->executable);
	fprintf(out, "  process      %" PRIu32, run->pid);
	if (run->ppid)
		fprintf(out, ", child of %" PRIu32, run->ppid);
	fputc('\n', out);
	print_pieces(run, out);
	if (run->start_realtime_ns) {
		units_format_date(text, sizeof(text), run->start_realtime_ns);
		fprintf(out, "  started      %s\n", text);
	}
	units_format_seconds(text, sizeof(text), run_duration(run));
	fprintf(out, "  run time     %s\n", text);
	fprintf(out, "  ended        %s\n",
		summary_end_text(&pipeline->scope));
	if (run->events_declared)
		print_count(out, "events", run->events_declared, "");
	print_count(out, "lost", run->events_lost, " events");
	if (run->mark_count)
		fprintf(out, "  marks        %zu\n", run->mark_count);
	fprintf(out, "  threads      %zu\n", run->thread_count);
	for (size_t i = 0; i < run->thread_count && i < 50; i++)
		fprintf(out, "    %-4" PRIu32 " tid %-8" PRIu32 " %s\n",
			run->threads[i].number, run->threads[i].tid,
			run->threads[i].name);
	if (run->thread_count > 50)
		fprintf(out, "    … and %zu more\n", run->thread_count - 50);
	fprintf(out, "  modules      %zu\n", run->modules.count);
	for (size_t i = 0; i < run->modules.count; i++) {
		fprintf(out, "    %012" PRIx64 " ",
			run->modules.items[i].start);
		print_ids(&run->modules.items[i], out);
		fprintf(out, " %s\n", run->modules.items[i].name);
	}
	if (run->file_count)
		print_files(run, out);
}

static const char *soundness(const struct pipeline *pipeline)
{
	const struct run *run = &pipeline->run;

	if (run_misses_pieces(run))
		return completeness_text(&pipeline->scope);
	return run->events_lost || run->end == RUN_END_MISSING
		       ? "sound but incomplete"
		       : "sound";
}

void digest_check(const struct pipeline *pipeline, FILE *out)
{
	const struct run *run = &pipeline->run;
	const struct engine_totals *totals = engine_totals(pipeline->engine);
	char bytes[UNITS_TEXT_SIZE], lost[UNITS_TEXT_SIZE];
	char events[UNITS_TEXT_SIZE];

	units_format_count(bytes, sizeof(bytes), run->damaged_bytes);
	units_format_count(lost, sizeof(lost), run->events_lost);
	units_format_count(events, sizeof(events), totals->events);
	if (run->damage.count)
		fprintf(out,
			"%s: damaged: %zu finding%s, %s bytes skipped, %s "
			"events read\n",
			run->trace_path, run->damage.count,
			plural(run->damage.count), bytes, events);
	else
		fprintf(out,
			"%s: %s: %s events, %s lost by the tracer, ended: %s\n",
			run->trace_path, soundness(pipeline), events, lost,
			summary_end_text(&pipeline->scope));
}

void digest_warn(const struct pipeline *pipeline, FILE *out)
{
	const struct findings *damage = &pipeline->run.damage;
	const struct run *run = &pipeline->run;
	char text[2048];

	for (size_t i = 0; i < damage->stored && i < 20; i++) {
		diag_format(&damage->items[i], text, sizeof(text));
		fprintf(out, "memprof-report: %s\n", text);
	}
	if (damage->count > 20)
		fprintf(out, "memprof-report: … and %zu more\n",
			damage->count - 20);
	if (run_misses_pieces(run))
		fprintf(out, "memprof-report: %s: %s\n", run->trace_path,
			completeness_text(&pipeline->scope));
}

void digest_rebuilt(const struct pipeline *pipeline, FILE *out)
{
	const char *text = completeness_rebuilt_text(&pipeline->scope);

	if (text)
		fprintf(out, "memprof-report: %s: %s\n",
			pipeline->run.trace_path, text);
}

void digest_unnamed(const struct pipeline *pipeline, FILE *out)
{
	if (pipeline->unnamed)
		fprintf(out, "memprof-report: %s: %s\n",
			pipeline->run.trace_path, pipeline->unnamed);
}

void digest_symbols(const struct pipeline *pipeline, FILE *out)
{
	size_t count;
	const struct symbol_module_status *rows =
		symbols_module_status(pipeline->symbols, &count);

	for (size_t i = 0; i < count; i++)
		if (rows[i].note && rows[i].note[0])
			fprintf(out, "memprof-report: %s: %s\n",
				rows[i].module->name, rows[i].note);
}
