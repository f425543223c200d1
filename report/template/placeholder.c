/* SPDX-License-Identifier: MIT */
#include "report/template/placeholder.h"

#include <string.h>

#include "report/core/arena.h"

struct section_word {
	const char *word;
	enum placeholder_kind kind;
	bool wants_argument;
};

static const struct section_word section_words[] = {
	{ "if", PLACEHOLDER_IF, true },
	{ "unless", PLACEHOLDER_UNLESS, true },
	{ "each", PLACEHOLDER_EACH, true },
	{ "details", PLACEHOLDER_DETAILS, true },
	{ "tabs", PLACEHOLDER_TABS, false },
};

static const struct section_word *section_word_find(const char *word)
{
	for (size_t i = 0; i < sizeof(section_words) / sizeof(*section_words);
	     i++)
		if (strcmp(section_words[i].word, word) == 0)
			return &section_words[i];
	return NULL;
}

static bool is_name(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_.-");

	return len > 0 && !text[len];
}

static const char *section_open(struct placeholder *ret, char *word)
{
	char *argument = word + strcspn(word, " ");
	const struct section_word *known;

	if (*argument)
		*argument++ = '\0';
	argument += strspn(argument, " ");
	known = section_word_find(word);
	if (!known)
		return "begins with an unknown word (if, unless, each, "
		       "details, tabs)";
	if (known->wants_argument != (*argument != '\0'))
		return known->wants_argument
			       ? "lacks the name or title after its word"
			       : "has a word too many";
	if (known->kind == PLACEHOLDER_EACH && strcmp(argument, "views") != 0)
		return "can only walk over \"views\"";
	if ((known->kind == PLACEHOLDER_IF ||
	     known->kind == PLACEHOLDER_UNLESS) &&
	    !is_name(argument))
		return "needs one name, of letters, digits and \"_.-\"";
	*ret = (struct placeholder){ known->kind, known->word, argument };
	return NULL;
}

static const char *inner_parse(struct placeholder *ret, char *inner)
{
	if (*inner == '#')
		return section_open(ret, inner + 1);
	if (*inner == '/') {
		const struct section_word *known = section_word_find(inner + 1);

		if (!known)
			return "ends a section of an unknown word";
		*ret = (struct placeholder){ PLACEHOLDER_END, known->word, "" };
		return NULL;
	}
	if (strncmp(inner, "tiles ", 6) == 0) {
		*ret = (struct placeholder){ PLACEHOLDER_TILES, "", inner + 6 };
		return NULL;
	}
	if (!is_name(inner))
		return "is not a name of letters, digits and \"_.-\"";
	*ret = (struct placeholder){ PLACEHOLDER_NAME, "", inner };
	return NULL;
}

const char *placeholder_find(const char *text)
{
	return strstr(text, "{{");
}

const char *placeholder_parse(struct placeholder *ret, const char **ret_end,
			      const char *text, struct arena *arena)
{
	const char *begin = text + 2 + strspn(text + 2, " ");
	const char *close = strstr(begin, "}}");
	const char *fault;
	char *inner;
	size_t len;

	if (!close)
		return "has no \"}}\" in the same piece of text";
	len = (size_t)(close - begin);
	while (len && begin[len - 1] == ' ')
		len--;
	inner = arena_copy(arena, begin, len);
	if (!inner)
		return "does not fit into memory";
	fault = inner_parse(ret, inner);
	if (!fault)
		*ret_end = close + 2;
	return fault;
}

bool placeholder_opens(enum placeholder_kind kind)
{
	return kind != PLACEHOLDER_NAME && kind != PLACEHOLDER_TILES &&
	       kind != PLACEHOLDER_END;
}
