/* SPDX-License-Identifier: MIT */
/*
 * The trace files on disk: one descriptor each, appended to with one write a
 * chunk.  There is one for the piece being recorded, and for a moment that of
 * the piece before.
 */
#ifndef TRACER_TRACE_FILE_H
#define TRACER_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/**
 * trace_file_open() - create the trace of a piece
 * @piece: its index, also for %n; that before the one before it is closed
 * @keep_existing: never overwrite a file, whatever its state
 * @trace_id: what it is going to begin with, for memprof-record
 *
 * The name is that of the options.  A regular file of that name which no
 * living tracer holds is overwritten when the pattern has no placeholder;
 * otherwise .1, .2, … is appended until a name is free.  memprof-record is told
 * of the name before the file is made or changed.
 *
 * Safety: one thread at a time.  Allocates, locks: none.  errno: untouched.
 *
 * Return: 0, or -errno; then nothing was created.
 */
int trace_file_open(uint32_t piece, bool keep_existing, uint64_t trace_id);

/* Return: the file's absolute path; static.  Safety: after the opening. */
const char *trace_file_path(uint32_t piece);

/* Return: the file's length when it was last written.  Safety: anywhere. */
uint64_t trace_file_bytes(uint32_t piece);

/**
 * trace_file_append() - add bytes at the end, with one write
 * @piece: of the run; its low 16 bits are enough
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
int trace_file_append(uint32_t piece, const void *bytes, size_t len);

/*
 * The descriptor of the trace that the helper has inherited, and uses from
 * now on.  Safety: the helper, before anything else.  Return: -1 when the
 * program has closed it.
 */
int trace_file_inherit(uint32_t piece);

/* Return: whether @st is of a trace.  Safety: after the opening; pure. */
bool trace_file_is(const struct stat *st);

/* The file is complete, or a forked child's no more.  Safety: nobody writes
   to it. */
void trace_file_close(uint32_t piece);

/* Removes the file, which was just opened.  Safety: as trace_file_close(). */
void trace_file_remove(uint32_t piece);

/*
 * Gives the file @fd, the trace or PATH.live, to the user of the options.
 * Safety: after the path is known.  System call.  errno: untouched.
 */
void trace_file_give(int fd, const char *path);

#endif /* TRACER_TRACE_FILE_H */
