/* SPDX-License-Identifier: MIT */
/*
 * Where the text of templates comes from: a directory of the user's, else the
 * files built into the program.
 *
 * Layer: template.
 */
#ifndef REPORT_TEMPLATE_FILE_H
#define REPORT_TEMPLATE_FILE_H

#include <stddef.h>

struct arena;
struct diag;

/* Nobody writes a larger template by hand. */
enum { TEMPLATE_FILE_BYTES_MAX = 4 * 1024 * 1024 };

/**
 * struct template_file
 * @path: for messages
 * @text: NUL-terminated, @len bytes; static storage or owned by the arena
 */
struct template_file {
	const char *path;
	const char *text;
	size_t len;
};

/**
 * template_file_load() - find a template by its base name
 * @dir: looked in first; NULL for the built-in files alone
 *
 * Return: 0; -ENOENT when neither has it; -EFBIG; -EINVAL for a NUL byte;
 * another negative errno when a file in @dir cannot be read.
 */
int template_file_load(struct template_file *ret, const char *dir,
		       const char *name, struct arena *arena,
		       struct diag *diag);

#endif /* REPORT_TEMPLATE_FILE_H */
