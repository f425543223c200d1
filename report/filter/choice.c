/* SPDX-License-Identifier: MIT */
#include "report/filter/choice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/text.h"

enum { HINT_BYTES = 2048, LISTED_MAX = 24, NEAR = 6 };

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

/* How far @candidate is from what may have been meant by @word: one that holds
   it is nearer than others of as many changes. */
static size_t how_far(const char *word, const char *candidate)
{
	size_t distance = text_distance(word, candidate);

	return strstr(candidate, word) ? distance / 4 : distance;
}

/* Fills @ret with the NEAR words nearest to @word, nearest first, and NULL; with
   those alone that hold it if @only_holders. */
static void nearest_words(const char *word, const char *const *words,
			  bool only_holders, const char *ret[NEAR + 1])
{
	size_t far[NEAR];
	size_t count = 0;

	for (; *words; words++) {
		size_t distance = how_far(word, *words);
		size_t at = count;

		while (at > 0 && far[at - 1] > distance)
			at--;
		if (at == NEAR || (only_holders && !strstr(*words, word)))
			continue;
		count += count < NEAR;
		for (size_t i = count - 1; i > at; i--) {
			far[i] = far[i - 1];
			ret[i] = ret[i - 1];
		}
		far[at] = distance;
		ret[at] = *words;
	}
	ret[count] = NULL;
}

/* The shortest of @words that ends with "_" and @word and adds no more to it
   than its own length: "only_leaked" for "leaked".  Return: NULL if none does. */
static const char *completed(const char *word, const char *const *words)
{
	size_t len = strlen(word), best = 2 * len + 1;
	const char *found = NULL;

	for (; *words; words++) {
		size_t its = strlen(*words);

		if (its <= len + 1 || its >= best ||
		    (*words)[its - len - 1] != '_' ||
		    strcmp(*words + its - len, word) != 0)
			continue;
		best = its;
		found = *words;
	}
	return found;
}

/* What may have been meant by @word, or NULL.  Of a regular expression the
   opposite is called negative_X, not not_X: without a look at that name X
   itself would be the nearest. */
static const char *nearest_word(const char *word, const char *const *words)
{
	const char *nearest = text_nearest(word, words);
	const char *negative;
	char respelled[HINT_BYTES];

	if (strncmp(word, "not_", 4) == 0) {
		snprintf(respelled, sizeof(respelled), "negative_%s", word + 4);
		negative = text_nearest(respelled, words);
		if (negative && (!nearest ||
				 text_distance(respelled, negative) <
					 text_distance(word, nearest)))
			nearest = negative;
	}
	return nearest ? nearest : completed(word, words);
}

bool choice_hint(const char *word, const char *const *words, char *buf,
		 size_t size)
{
	const char *nearest = nearest_word(word, words);
	const char *near[NEAR + 1];
	char list[HINT_BYTES], question[HINT_BYTES] = "";
	size_t count = 0;

	while (words[count])
		count++;
	nearest_words(nearest ? nearest : word, words, !nearest, near);
	choice_list(count > LISTED_MAX ? near : words, list, sizeof(list));
	if (nearest)
		snprintf(question, sizeof(question), "did you mean \"%s\"? ",
			 nearest);
	if (count > LISTED_MAX && !near[0])
		snprintf(buf, size, "; there are %zu", count);
	else if (count > LISTED_MAX)
		snprintf(buf, size, "; %s%s: %s; there are %zu", question,
			 nearest ? "Near it" : "near it", list, count);
	else
		snprintf(buf, size, "; %s%s: %s", question,
			 nearest ? "Allowed" : "allowed", list);
	return count > LISTED_MAX;
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
