/* SPDX-License-Identifier: MIT */
#include "report/filter/choice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/text.h"

enum { HINT_BYTES = 2048 };

void choice_list(const char *const *words, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; words[i] && used < size; i++) {
		int put = snprintf(buf + used, size - used, "%s%s",
				   i ? ", " : "", words[i]);

		if (put < 0)
			return;
		used += (size_t)put;
	}
}

void choice_hint(const char *word, const char *const *words, char *buf,
		 size_t size)
{
	const char *nearest = text_nearest(word, words);
	char list[HINT_BYTES];

	choice_list(words, list, sizeof(list));
	if (nearest)
		snprintf(buf, size, "; did you mean \"%s\"? Allowed: %s",
			 nearest, list);
	else
		snprintf(buf, size, "; allowed: %s", list);
}

int choice_find(const char *word, const char *const *words, const char *what,
		struct diag *diag)
{
	char hint[HINT_BYTES];

	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	choice_hint(word, words, hint, sizeof(hint));
	return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
			"\"%s\" is not %s%s", word, what, hint);
}
