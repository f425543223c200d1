/* SPDX-License-Identifier: MIT */
/*
 * The trace file on disk: one descriptor, appended to with one write a chunk.
 */
#ifndef TRACER_TRACE_FILE_H
#define TRACER_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/**
 * trace_file_open() - create the trace
 * @keep_existing: never overwrite a file, whatever its state
 *
 * The name is that of the options.  A regular file of that name which no
 * living tracer holds is overwritten when the pattern has no placeholder;
 * otherwise .1, .2, … is appended until a name is free.
 *
 * Safety: once, at the start.  Allocates, locks: none.  errno: untouched.
 *
 * Return: 0, or -errno; then nothing was created.
 */
int trace_file_open(bool keep_existing);

/*
 * Gives the file @fd, the trace or PATH.live, to the user of the options.
 * Safety: after the path is known.  System call.  errno: untouched.
 */
void trace_file_give(int fd);

/* Return: the file's absolute path; static.  Safety: after the opening. */
const char *trace_file_path(void);

/**
 * trace_file_append() - add bytes at the end, with one write
 *
 * Before writing it makes sure that the descriptor is still ours (programs
 * close and reuse descriptors they do not know) and that the write cannot
 * raise SIGXFSZ.
 *
 * Safety: before start-up: after the opening.  Signal handler: with signals
 *         blocked.  After fork: never.  Allocates, locks: none.
 *         errno: untouched.
 *
 * Return: 0, or -errno; the file may then hold a part of the bytes.
 */
int trace_file_append(const void *bytes, size_t len);

/*
 * The descriptor of the trace that the helper has inherited, and uses from
 * now on.  Safety: the helper, before anything else.  Return: -1 when the
 * program has closed it.
 */
int trace_file_fd(void);

/* Return: whether @st is of the trace.  Safety: after the opening; pure. */
bool trace_file_is(const struct stat *st);

/* Forgets the file in a forked child.  Safety: child only. */
void trace_file_drop(void);

#endif /* TRACER_TRACE_FILE_H */
