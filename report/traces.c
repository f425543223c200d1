/* SPDX-License-Identifier: MIT */
#include "report/traces.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/core/diag.h"
#include "report/input/input.h"
#include "report/source/source.h"

/* What cannot be read says so when it is reported. */
static void identify(struct trace_file *file)
{
	struct source source;
	struct diag ignored;

	/* Standard input can be read but once. */
	if (strcmp(file->path, "-") == 0 ||
	    source_open(&source, file->path, &ignored))
		return;
	if (input_identify(&source, &file->piece, &ignored))
		file->piece.is_known = false;
	source_close(&source);
}

static bool is_same_run(const struct trace_file *a, const struct trace_file *b)
{
	return a->piece.is_known && b->piece.is_known &&
	       a->piece.run_id == b->piece.run_id;
}

/* Puts @file, the last of @count, where it belongs in the group of its run: the
   files of a group lie side by side, in their order. */
static void place(struct trace_file *files, size_t count)
{
	struct trace_file file = files[count - 1];
	size_t at = count - 1;

	for (size_t i = 0; i + 1 < count; i++) {
		if (!is_same_run(&files[i], &file))
			continue;
		/* The same piece again is none of the run. */
		if (files[i].piece.index == file.piece.index) {
			files[count - 1].piece.is_known = false;
			return;
		}
		at = files[i].piece.index < file.piece.index ? i + 1 : i;
		if (at == i)
			break;
	}
	memmove(files + at + 1, files + at, (count - 1 - at) * sizeof(*files));
	files[at] = file;
}

int traces_group(struct traces *ret, char **paths, size_t count)
{
	*ret = (struct traces){
		.files = calloc(count + 1, sizeof(*ret->files)),
		.paths = calloc(count + 1, sizeof(*ret->paths)),
		.groups = calloc(count + 1, sizeof(*ret->groups)),
	};
	if (!ret->files || !ret->paths || !ret->groups)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		ret->files[i].path = paths[i];
		if (count > 1)
			identify(&ret->files[i]);
		place(ret->files, i + 1);
	}
	for (size_t i = 0; i < count; i++) {
		struct trace_group *group;

		ret->paths[i] = ret->files[i].path;
		if (!i || !is_same_run(&ret->files[i - 1], &ret->files[i])) {
			group = &ret->groups[ret->group_count++];
			group->files = &ret->files[i];
			group->paths = &ret->paths[i];
		}
		ret->groups[ret->group_count - 1].count++;
	}
	return 0;
}

void traces_done(struct traces *traces)
{
	free(traces->files);
	free(traces->paths);
	free(traces->groups);
	memset(traces, 0, sizeof(*traces));
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool trace_is_file(const char *trace, const char *path)
{
	char live[PATH_MAX];
	struct stat file, other;

	/* To write to a device or a pipe replaces nothing. */
	if (stat(path, &file) || !S_ISREG(file.st_mode))
		return false;
	if (strcmp(trace, "-") == 0)
		return fstat(STDIN_FILENO, &other) == 0 &&
		       is_same_file(&file, &other);
	if (stat(trace, &other) == 0 && is_same_file(&file, &other))
		return true;
	return snprintf(live, sizeof(live), "%s.live", trace) <
		       (int)sizeof(live) &&
	       stat(live, &other) == 0 && is_same_file(&file, &other);
}
