/* SPDX-License-Identifier: MIT */
/*
 * One file that the user named: written beside its place and put there when it
 * is complete.  What is no regular file (a device, a pipe, a link) is written in
 * its place.
 */
#ifndef REPORT_OUTPUT_FILE_H
#define REPORT_OUTPUT_FILE_H

#include <stdio.h>

#include "report/core/sink.h"
#include "report/leftover.h"

struct diag;

/**
 * struct output_file - open between output_file_open() and _close()
 * @path:      borrowed
 * @temporary: NULL where @path itself is written; owned
 */
struct output_file {
	const char *path;
	char *temporary;
	struct leftover leftover;
	FILE *file;
	struct sink sink;
};

/* @path: must live until output_file_close().  Return: 0 or negative errno,
   @diag filled. */
int output_file_open(struct output_file *out, const char *path,
		     struct diag *diag);

/* @status: of what was written.  If it is 0 and the file is complete it gets its
   name, else it goes.  Return: @status, or negative errno, @diag filled. */
int output_file_close(struct output_file *out, int status, struct diag *diag);

#endif /* REPORT_OUTPUT_FILE_H */
