/* SPDX-License-Identifier: MIT */
/* memprof-report: reads traces, writes reports.  Reads like a summary. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/artifacts.h"
#include "report/budget.h"
#include "report/cli.h"
#include "report/core/diag.h"
#include "report/core/memory.h"
#include "report/core/sink.h"
#include "report/core/text.h"
#include "report/digest.h"
#include "report/engine/engine.h"
#include "report/family.h"
#include "report/extract.h"
#include "report/leftover.h"
#include "report/output_file.h"
#include "report/pipeline.h"
#include "report/refusal.h"
#include "report/spec.h"
#include "report/template/builtin.h"
#include "report/traces.h"

#define PROGRAM "memprof-report"
#define DEFAULT_OUTPUT "memprof-report"

static void complain(const struct diag *diag)
{
	char text[4096];

	diag_format(diag, text, sizeof(text));
	fprintf(stderr, PROGRAM ": %s\n", text);
}

static void complain_more(const struct findings *findings)
{
	for (size_t i = 0; i < findings->stored; i++)
		complain(&findings->items[i]);
	if (findings->count > findings->stored)
		fprintf(stderr, PROGRAM ": and %zu more\n",
			findings->count - findings->stored);
}

/* The worse of two: a trace that could not be read outweighs damage. */
static int worse(int a, int b)
{
	static const int rank[] = {
		[STATUS_OK] = 0,	 [STATUS_BUDGET] = 1,
		[STATUS_DAMAGED] = 2,	 [STATUS_UNREADABLE] = 3,
		[STATUS_USAGE] = 4,
	};

	return rank[a] >= rank[b] ? a : b;
}

static int builtin_spec(struct spec *spec, const struct cli *cli,
			struct findings *more, struct diag *diag)
{
	char path[4096];

	if (cli->template_dir) {
		snprintf(path, sizeof(path), "%s/default.ini",
			 cli->template_dir);
		if (access(path, F_OK) == 0)
			return spec_load(spec, path, more, diag);
	}
	for (size_t i = 0; i < builtin_file_count; i++) {
		const struct builtin_file *file = &builtin_files[i];

		if (strcmp(file->name, "default.ini") == 0)
			return spec_read(spec, "built-in spec", file->data,
					 (size_t)(file->end - file->data),
					 diag);
	}
	return diag_set(diag, -ENOENT, NULL, DIAG_NO_OFFSET,
			"the built-in spec is missing");
}

static int load_spec(struct spec *spec, const struct cli *cli,
		     struct findings *more, struct diag *diag)
{
	struct spec builtin;
	int status;

	if (cli->mode == CLI_VIEW)
		return spec_view_parse(spec, cli->view ? cli->view : "",
				       cli->as, more, diag);
	if (cli->mode == CLI_REPORT && cli->spec) {
		status = spec_load(spec, cli->spec, more, diag);
		if (status || spec->view_count || spec->has_no_views)
			return status;
		status = builtin_spec(&builtin, cli, more, diag);
		if (status == 0)
			spec_take_views(spec, &builtin);
		return status;
	}
	if (cli->mode == CLI_REPORT)
		return builtin_spec(spec, cli, more, diag);
	return 0;
}

static const char *output_directory(const struct cli *cli,
				    const struct spec *spec)
{
	return cli->extract   ? cli->extract
	       : cli->output  ? cli->output
	       : spec->output ? spec->output
			      : DEFAULT_OUTPUT;
}

/* DIR, or DIR/NAME when there are several runs. */
static void report_directory(char *ret, size_t size,
			     const struct pipeline *pipeline, const char *trace)
{
	const char *directory =
		output_directory(pipeline->cli, pipeline->spec);

	if (pipeline->is_only)
		snprintf(ret, size, "%s", directory);
	else
		snprintf(ret, size, "%s/%s", directory, text_basename(trace));
}

static int write_report(struct pipeline *pipeline, const char *trace,
			struct diag *diag)
{
	char directory[4096];
	int status;

	report_directory(directory, sizeof(directory), pipeline, trace);
	status = artifacts_write_report(pipeline, directory, diag);
	if (status == 0 && !pipeline->cli->quiet && pipeline->is_only)
		digest_print(pipeline, directory, stdout);
	else if (status == 0 && !pipeline->cli->quiet)
		digest_print_short(pipeline, text_basename(trace), stdout);
	return status;
}

static int write_files(struct pipeline *pipeline, const char *trace,
		       struct findings *more, struct diag *diag)
{
	const struct cli *cli = pipeline->cli;
	char directory[4096];

	report_directory(directory, sizeof(directory), pipeline, trace);
	return extract_files(&pipeline->run, directory,
			     cli->quiet ? NULL : stdout, more, diag);
}

static int write_standard_output(struct pipeline *pipeline, struct diag *diag)
{
	struct sink sink;
	int status, done;

	sink_init_file(&sink, stdout);
	status = artifacts_write_view(pipeline, pipeline->cli->as, &sink, diag);
	done = sink_done(&sink);
	if (fflush(stdout) && !done)
		done = -errno;
	if (status == 0 && done)
		status = diag_set(diag, done, "standard output", DIAG_NO_OFFSET,
				  "cannot write: %s", strerror(-done));
	return status;
}

static int write_view(struct pipeline *pipeline, struct diag *diag)
{
	const char *path = pipeline->cli->output;
	struct output_file out;
	int status;

	if (!path || strcmp(path, "-") == 0)
		return write_standard_output(pipeline, diag);
	status = output_file_open(&out, path, diag);
	if (status)
		return status;
	status = artifacts_write_view(pipeline, pipeline->cli->as, &out.sink,
				      diag);
	return output_file_close(&out, status, diag);
}

/* What a failure means for the exit status. */
static int failure_status(int error, bool trace_was_open)
{
	if (error == -EINVAL)
		return STATUS_USAGE;
	return trace_was_open && error != -ENOMEM ? STATUS_USAGE
						  : STATUS_UNREADABLE;
}

/* @family: gets the run, NULL when there is no other. */
static int report_run(const struct cli *cli, const struct spec *spec,
		      const struct trace_group *group, struct family *family)
{
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	struct findings more = { 0 };
	const char *trace = group->paths[0];
	struct pipeline pipeline;
	int status = pipeline_open(&pipeline, cli, spec, group->paths,
				   group->count, &diag);
	bool opened = status == 0;
	bool refused;
	int result = STATUS_OK;

	pipeline.is_only = !family;
	if (status == 0 && cli->mode != CLI_LIST && cli->mode != CLI_EXTRACT)
		status = pipeline_run(&pipeline, &diag);
	if (status == 0 && cli->mode == CLI_LIST)
		digest_list(&pipeline, stdout);
	if (status == 0 && cli->mode == CLI_EXTRACT)
		status = write_files(&pipeline, trace, &more, &diag);
	if (status == 0 && cli->mode == CLI_CHECK)
		digest_check(&pipeline, stdout);
	if (status == 0 && cli->mode == CLI_REPORT)
		status = write_report(&pipeline, trace, &diag);
	if (status == 0 && cli->mode == CLI_REPORT && family)
		status = family_add(family, &pipeline, text_basename(trace));
	if (status == 0 && cli->mode == CLI_VIEW)
		status = write_view(&pipeline, &diag);
	if (status == 0 &&
	    (cli->mode == CLI_REPORT || cli->mode == CLI_VIEW))
		digest_rebuilt(&pipeline, stderr);
	if (status == 0 && cli->mode == CLI_REPORT && !family && !cli->quiet)
		digest_unnamed(&pipeline, stderr);
	if (status == 0 && cli->verbose)
		digest_symbols(&pipeline, stderr);
	/* Whoever was refused memory: a report without it is another one.  Not so
	   what came after the report was complete. */
	refused = memory_refused() && (status || cli->mode != CLI_REPORT);
	if (refused)
		status = refusal_explain(&pipeline, trace, &diag);
	if (status) {
		if (!diag.text[0])
			diag_set(&diag, status, trace, DIAG_NO_OFFSET, "%s",
				 strerror(-status));
		complain(&diag);
		complain_more(&more);
		result = refused ? STATUS_USAGE
				 : failure_status(status, opened);
	} else if (pipeline.run.damage.count ||
		   run_misses_pieces(&pipeline.run)) {
		digest_warn(&pipeline, stderr);
		result = STATUS_DAMAGED;
	}
	timings_print(&pipeline.timings, trace, stderr);
	if (status == 0 &&
	    (cli->mode == CLI_REPORT || cli->mode == CLI_VIEW) &&
	    budgets_check(&pipeline, stderr))
		result = worse(result, STATUS_BUDGET);
	findings_done(&more);
	pipeline_close(&pipeline);
	memory_forgive();
	return result;
}

/* Every run that is given, one after the other.  Return: the exit status. */
static int report_all(const struct cli *cli, const struct spec *spec)
{
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	struct family family = { 0 };
	struct traces traces;
	int result = STATUS_OK;
	bool is_good;

	if (traces_group(&traces, cli->traces, cli->trace_count)) {
		diag_set(&diag, -ENOMEM, NULL, DIAG_NO_OFFSET, "out of memory");
		complain(&diag);
		result = STATUS_UNREADABLE;
	} else if (cli->mode == CLI_VIEW && traces.group_count > 1) {
		diag_set(&diag, -EINVAL, NULL, DIAG_NO_OFFSET,
			 "--as writes one run's artifact; traces of %zu runs "
			 "given (see memprof-report --help)",
			 traces.group_count);
		complain(&diag);
		result = STATUS_USAGE;
	}
	is_good = result == STATUS_OK;
	for (size_t i = 0; is_good && i < traces.group_count; i++)
		result = worse(result, report_run(cli, spec, &traces.groups[i],
						  traces.group_count > 1
							  ? &family
							  : NULL));
	if (family.members.count > 1 &&
	    family_write(&family, cli, spec, output_directory(cli, spec),
			 &diag)) {
		complain(&diag);
		result = worse(result, STATUS_USAGE);
	} else if (family.members.count > 1 && !cli->quiet) {
		family_print_highest(&family, stdout);
		digest_print_pages(spec, output_directory(cli, spec), stdout);
	}
	family_done(&family);
	traces_done(&traces);
	return result;
}

/* Other threads may be at work, so nothing is freed. */
static void end_without_memory(void)
{
	leftovers_remove();
	fputs(PROGRAM ": out of memory\n", stderr);
	_exit(STATUS_UNREADABLE);
}

/* A program or library that was built anew while its names were read. */
static void end_of_mapped_file(void)
{
	static const char text[] = PROGRAM
		": a file became shorter while names were read from it\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(STATUS_USAGE);
}

/* What the program opens must not become its standard error. */
static void fill_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			/* To be used is as much an error as before. */
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY
								    : O_RDONLY);
}

int main(int argc, char **argv)
{
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	struct spec spec = { 0 };
	struct findings mistakes = { 0 };
	struct cli cli = { 0 };
	int result = STATUS_OK;
	int status;

	fill_descriptors();
	signal(SIGXFSZ, SIG_IGN); /* EFBIG is an error like any other */
	leftovers_watch(end_of_mapped_file);
	memory_set_end(end_without_memory);
	if (cli_parse(&cli, argc, argv, &diag)) {
		complain(&diag);
		cli_done(&cli);
		return STATUS_USAGE;
	}
	if (cli.template_dir && access(cli.template_dir, R_OK | X_OK)) {
		diag_set(&diag, -errno, cli.template_dir, DIAG_NO_OFFSET,
			 "cannot read the templates: %s", strerror(errno));
		complain(&diag);
		cli_done(&cli);
		return STATUS_USAGE;
	}
	memory_set_limit(cli.memory);
	status = load_spec(&spec, &cli, &mistakes, &diag);
	if (cli.mode == CLI_HELP) {
		cli_print_help(stdout);
	} else if (cli.mode == CLI_VERSION) {
		puts(PROGRAM " " MEMPROF_VERSION);
	} else if (status) {
		complain(&diag);
		complain_more(&mistakes);
		result = status == -ENOMEM ? STATUS_UNREADABLE : STATUS_USAGE;
	} else {
		result = report_all(&cli, &spec);
	}
	findings_done(&mistakes);
	spec_done(&spec);
	cli_done(&cli);
	if ((fflush(stdout) || ferror(stdout)) && result == STATUS_OK) {
		perror(PROGRAM ": standard output");
		result = STATUS_USAGE;
	}
	return result;
}
