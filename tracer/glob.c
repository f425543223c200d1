/* SPDX-License-Identifier: MIT */
#include "tracer/glob.h"

/* Safety: pure.  @p is behind a '['.  Return: whether @c is in the set, and
   what follows it in @ret; NULL there if the set has no end. */
static bool match_set(const char *p, const char *end, char c, const char **ret)
{
	bool is_not = p < end && (*p == '!' || *p == '^');
	bool found = false;

	p += is_not;
	for (const char *first = p; p < end && (*p != ']' || p == first);) {
		char low = *p++, high = low;

		if (p + 1 < end && *p == '-' && p[1] != ']') {
			high = p[1];
			p += 2;
		}
		found |= c >= low && c <= high;
	}
	*ret = p < end ? p + 1 : NULL;
	return found != is_not;
}

/* Safety: pure.  One step at @p, no '*'.  Return: what follows, NULL if @c does
   not match. */
static const char *match_one(const char *p, const char *end, char c)
{
	const char *after;

	if (*p == '?')
		return p + 1;
	if (*p == '[') {
		bool is_in = match_set(p + 1, end, c, &after);

		if (after)
			return is_in ? after : NULL;
	}
	if (*p == '\\' && p + 1 < end)
		p++;
	return *p == c ? p + 1 : NULL;
}

bool glob_match(const char *pattern, size_t len, const char *name)
{
	const char *end = pattern + len;
	const char *star = NULL, *retry = NULL;

	if (name[0] == '.' && (!len || pattern[0] != '.'))
		return false;
	while (*name) {
		const char *next = NULL;

		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			retry = name;
			continue;
		}
		if (pattern < end)
			next = match_one(pattern, end, *name);
		if (next) {
			pattern = next;
			name++;
		} else if (star) {
			pattern = star;
			name = ++retry;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}
