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
	struct arena scratch = { 0 };
	const char *found = text_table_find(&names->texts, text, len);
	char *clean;

	/* Only clean texts are in the table, so a hit needs no cleaning. */
	if (found)
		return found;
	clean = text_sanitize(&scratch, text, len);
	if (clean) {
		size_t clean_len = strlen(clean);

		found = text_table_find(&names->texts, clean, clean_len);
		if (!found)
			found = text_table_add(&names->texts, &names->arena,
					       clean, clean_len, NULL);
	}
	arena_done(&scratch);
	return found;
}

const char *names_function(struct names *names, const char *linker_name)
{
	size_t len = strlen(linker_name);
	struct arena scratch = { 0 };
	const char *text = text_table_find(&names->functions, linker_name, len);
	const char *readable;

	if (text)
		return text;
	readable = demangle_name(&scratch, linker_name, len);
	if (readable)
		text = names_text(names, readable, strlen(readable));
	arena_done(&scratch);
	return text ? text_table_add(&names->functions, &names->arena,
				     linker_name, len, text)
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

const char *names_path(struct names *names, const char *directory,
		       const char *path)
{
	bool join = directory && directory[0] && path[0] != '/';
	struct arena scratch = { 0 };
	const char *text = NULL;
	size_t key_len;
	char *key;

	if (strlen(path) > PATH_LENGTH_MAX ||
	    (join && strlen(directory) > PATH_LENGTH_MAX))
		return names_text(names, "", 0);
	key = join ? arena_printf(&scratch, "%s/%s", directory, path)
		   : arena_copy(&scratch, path, strlen(path));
	if (!key)
		return NULL;
	key_len = strlen(key);
	text = text_table_find(&names->paths, key, key_len);
	if (!text) {
		char *plain = arena_copy(&scratch, key, key_len);

		if (plain)
			text = names_text(names, plain, path_normalise(plain));
		if (text)
			text = text_table_add(&names->paths, &names->arena, key,
					      key_len, text);
	}
	arena_done(&scratch);
	return text;
}

void names_done(struct names *names)
{
	text_table_done(&names->texts);
	text_table_done(&names->functions);
	text_table_done(&names->paths);
	arena_done(&names->arena);
}
