/* SPDX-License-Identifier: MIT */
/* Files that a trace holds, written to where they can be looked at. */
#ifndef REPORT_EXTRACT_H
#define REPORT_EXTRACT_H

#include <stdio.h>

struct diag;
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
 * Return: 0; negative errno with @diag filled: the rest was not written.
 */
int extract_files(const struct run *run, const char *directory, FILE *out,
		  struct diag *diag);

#endif /* REPORT_EXTRACT_H */
