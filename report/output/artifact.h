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

/**
 * struct artifact_format - one way to write one figure
 * @name:    as in `artifacts =` and --as, [a-z-]+
 * @suffix:  file name is VIEW.@suffix
 * @kind:    the figure it draws
 * @summary: one line for --help and the manual
 * @render:  borrows both.  Must not touch locale, clock, environment or static
 *           state: equal figures give equal bytes.  Return: 0 or negative
 *           errno with @diag filled
 */
struct artifact_format {
	const char *name;
	const char *suffix;
	enum figure_kind kind;
	const char *summary;
	int (*render)(const struct figure *figure, struct sink *out,
		      struct diag *diag);
};

#define ARTIFACT(id) extern const struct artifact_format artifact_##id;
#include "report/output/artifact_list.h"
#undef ARTIFACT

/* Return: the format called @name, or NULL. */
const struct artifact_format *artifact_find(const char *name);

/* NULL-terminated, in the order --help lists them. */
extern const struct artifact_format *const artifact_formats[];

#endif /* REPORT_OUTPUT_ARTIFACT_H */
