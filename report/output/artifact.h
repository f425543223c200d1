/* SPDX-License-Identifier: MIT */
/*
 * Artifacts: one file format each, one file and one line in artifact_list.h.
 *
 * Layer: output.  May include core/, figure/, template/.
 */
#ifndef REPORT_OUTPUT_ARTIFACT_H
#define REPORT_OUTPUT_ARTIFACT_H

#include "report/figure/figure.h"

struct diag;
struct sink;

/* What an artifact is about; several may show the same. */
enum artifact_subject {
	/* of a view */
	SUBJECT_FUNCTIONS, /* its tree, a function a node */
	SUBJECT_LINES,     /* the same, a line of source a node */
	SUBJECT_ALLOCATIONS,
	SUBJECT_GROUPS,
	SUBJECT_TIMELINE, /* also of the trace */
	SUBJECT_SIZES,
	SUBJECT_LIFETIMES,
	SUBJECT_HISTORY,
	/* of the trace as a whole: there is one of each, and no filter applies but
	   that of --view to maps */
	SUBJECT_SUMMARY,
	SUBJECT_MMAPS,
	SUBJECT_MALLOPTS,
	SUBJECT_THREADS,
	SUBJECT_MODULES,
	SUBJECT_MARKERS,
	SUBJECT_RESIDENCY,
	SUBJECT_MAPPINGS,
	SUBJECT_COUNT,
};

/**
 * struct artifact_format - one way to write one figure
 * @name:    as in `artifacts =` and --as, [a-z.-]+
 * @suffix:  file name is VIEW.@suffix
 * @subject: the figure it draws
 * @kind:    the kind of that figure
 * @summary: one line for --help and the manual
 * @render:  borrows both.  Must not touch locale, clock, environment or static
 *           state: equal figures give equal bytes.  Return: 0 or negative
 *           errno with @diag filled
 */
struct artifact_format {
	const char *name;
	const char *suffix;
	enum artifact_subject subject;
	enum figure_kind kind;
	const char *summary;
	int (*render)(const struct figure *figure, struct sink *out,
		      struct diag *diag);
};

#define ARTIFACT(id) extern const struct artifact_format artifact_##id;
#include "report/output/artifact_list.h"
#undef ARTIFACT

/* Of several runs: in none of the lists. */
extern const struct artifact_format artifact_processes;

/* Whether @format is about the whole trace, so that it is written once, whatever
   the views. */
static inline bool artifact_is_of_trace(const struct artifact_format *format)
{
	return format->subject >= SUBJECT_SUMMARY;
}

/* Whether --view selects and orders the rows of @format, maps. */
static inline bool artifact_has_maps(const struct artifact_format *format)
{
	return format->subject == SUBJECT_MMAPS;
}

/* Return: the format called @name, or NULL. */
const struct artifact_format *artifact_find(const char *name);

/* NULL-terminated, in the order --help lists them. */
extern const struct artifact_format *const artifact_formats[];

#endif /* REPORT_OUTPUT_ARTIFACT_H */
