/* SPDX-License-Identifier: MIT */
/*
 * Bytes of a trace: a regular file, or standard input spooled into an unnamed
 * temporary file, read at any offset, several times over.
 *
 * Layer: source.
 */
#ifndef REPORT_SOURCE_SOURCE_H
#define REPORT_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct diag;

/**
 * struct source
 * @path: as the user gave it, "-" for standard input; owned
 * @size: bytes; fixed even if the file grows, until source_look_again()
 */
struct source {
	char *path;
	int fd;
	uint64_t size;
};

/**
 * source_open() - open @path, "-" is standard input
 *
 * Return: 0; -errno with @diag filled: no such file, a directory (-EISDIR), no
 * permission, no room for the temporary file.  An empty file opens.
 */
int source_open(struct source *source, const char *path, struct diag *diag);

/* Whether it has no name beside which there could be other files. */
bool source_is_stdin(const struct source *source);

/* Opens PATH.live beside @main.  Return: 0, -ENOENT if there is none. */
int source_open_live(struct source *source, const struct source *main_source,
		     struct diag *diag);

/* Gives @source the size that its file has now.  Return: 0; negative errno,
   @diag filled. */
int source_look_again(struct source *source, struct diag *diag);

void source_close(struct source *source);

/* Return: bytes read at @offset, fewer than @len only at the end; negative
   errno with @diag filled (file and offset named) when reading fails. */
ssize_t source_read(const struct source *source, uint64_t offset, void *buf,
		    size_t len, struct diag *diag);

/* Return: the directory for temporary files: TMPDIR, else /tmp. */
const char *source_scratch_directory(void);

#endif /* REPORT_SOURCE_SOURCE_H */
