/* SPDX-License-Identifier: MIT */
/* Files that a trace holds, written to where they can be looked at. */
#ifndef REPORT_EXTRACT_H
#define REPORT_EXTRACT_H

#include <stdio.h>

struct diag;
struct findings;
struct run;

/**
 * extract_files() - write the files of @run below @directory
 * @directory: is made if it is not there
 * @out:       gets a line for each; NULL: nothing is said
 *
 * A file of /usr/bin/x goes to DIRECTORY/usr/bin/x, a second one of that name
 * to DIRECTORY/usr/bin/x.2, one without a name to DIRECTORY/jit/ADDRESS.  Files
 * of that name are replaced.  Paths come from the trace and may be meant to do
 * harm: nothing is written outside of @directory, no symbolic link below it is
 * followed, control characters do not get into names.
 *
 * A file that cannot be written does not keep the others from it.
 *
 * Return: 0; negative errno with @diag filled for the first file that could not
 * be written, the others being added to @more; or for the whole: without
 * memory, or with more than 64 GiB, what follows is not written.
 */
int extract_files(const struct run *run, const char *directory, FILE *out,
		  struct findings *more, struct diag *diag);

#endif /* REPORT_EXTRACT_H */
