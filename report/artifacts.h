/* SPDX-License-Identifier: MIT */
/* Which figures become which files. */
#ifndef REPORT_ARTIFACTS_H
#define REPORT_ARTIFACTS_H

#include <stddef.h>

struct artifact_format;
struct diag;
struct pipeline;
struct sink;

/**
 * artifacts_write_report() - every page and artifact of the spec
 * @directory: made if missing
 *
 * Files are written under temporary names and renamed when all are complete: a
 * reader never sees half of one, and what fails leaves the directory as it was.
 *
 * Return: 0 or negative errno with @diag naming the file.
 */
int artifacts_write_report(struct pipeline *pipeline, const char *directory,
			   struct diag *diag);

/* Writes one artifact of the spec's only view to @out.  Return: as above. */
int artifacts_write_view(struct pipeline *pipeline,
			 const struct artifact_format *format, struct sink *out,
			 struct diag *diag);

#endif /* REPORT_ARTIFACTS_H */
