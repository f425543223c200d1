/* SPDX-License-Identifier: MIT */
#include "report/symbol/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/text.h"
#include "report/symbol/demangle.h"

enum { PATH_LENGTH_MAX = 65536 };

const char *names_text(struct names *names, const char *text, size_t len)
{
	const char *found = text_table_find(&names->texts, text, len);
	const char *clean;

	/* Only clean texts are in the table, so a hit needs no cleaning. */
	if (found)
		return found;
	clean = text_sanitize(&names->arena, text, len);
	if (!clean)
		return NULL;
	len = strlen(clean);
	found = text_table_find(&names->texts, clean, len);
	return found ? found : text_table_add(&names->texts, clean, len, clean);
}

/* Remembers that @key reads @text. */
static const char *remember(struct names *names, struct text_table *table,
			    const char *key, size_t key_len, const char *text)
{
	const char *copy = arena_copy(&names->arena, key, key_len);

	return copy ? text_table_add(table, copy, key_len, text) : NULL;
}

const char *names_function(struct names *names, const char *linker_name)
{
	size_t len = strlen(linker_name);
	const char *text = text_table_find(&names->functions, linker_name, len);
	char *readable;

	if (text)
		return text;
	readable = demangle_name(linker_name, len);
	if (readable)
		text = names_text(names, readable, strlen(readable));
	free(readable);
	return text ? remember(names, &names->functions, linker_name, len, text)
		    : NULL;
}

/* Drops empty and "." parts and lets ".." take back the part before it. */
static size_t path_normalise(char *path)
{
	bool absolute = path[0] == '/';
	size_t out = absolute;
	size_t floor = out; /* ".." must not take back what is before here */

	for (const char *part = path; *part;) {
		size_t len = strcspn(part, "/");

		if (!len || (len == 1 && part[0] == '.')) {
			/* nothing */
		} else if (len == 2 && memcmp(part, "..", 2) == 0 &&
			   (out > floor || absolute)) {
			while (out > floor && path[out - 1] != '/')
				out--;
			if (out > floor)
				out--;
		} else {
			if (out > absolute)
				path[out++] = '/';
			memmove(path + out, part, len);
			out += len;
			if (len == 2 && memcmp(path + out - 2, "..", 2) == 0)
				floor = out;
		}
		part += len;
		part += *part == '/';
	}
	path[out] = '\0';
	return out;
}

/* Debug information whose paths are all relative, such as that of a package's C
   library, has files of the directory itself as "./libio/genops.c" in
   "./libio". */
static bool is_below(const char *directory, const char *path)
{
	size_t len = strlen(directory);

	return directory[0] != '/' && strncmp(path, directory, len) == 0 &&
	       path[len] == '/';
}

const char *names_path(struct names *names, const char *directory,
		       const char *path)
{
	bool join = directory && directory[0] && path[0] != '/' &&
		    !is_below(directory, path);
	size_t directory_len = join ? strlen(directory) + 1 : 0;
	size_t len = directory_len + strlen(path);
	const char *text;
	char *key;

	if (len > PATH_LENGTH_MAX)
		return names_text(names, "", 0);
	key = malloc(2 * (len + 1));
	if (!key)
		return NULL;
	if (join) {
		memcpy(key, directory, directory_len - 1);
		key[directory_len - 1] = '/';
	}
	memcpy(key + directory_len, path, len + 1 - directory_len);
	text = text_table_find(&names->paths, key, len);
	if (!text) {
		char *plain = memcpy(key + len + 1, key, len + 1);

		text = names_text(names, plain, path_normalise(plain));
		if (text)
			text = remember(names, &names->paths, key, len, text);
	}
	free(key);
	return text;
}

void names_done(struct names *names)
{
	text_table_done(&names->texts);
	text_table_done(&names->functions);
	text_table_done(&names->paths);
	arena_done(&names->arena);
}
