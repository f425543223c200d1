/* SPDX-License-Identifier: MIT */
/*
 * Keys of one section, whether it came from a file or from --view: looked up,
 * checked and set, with messages that point at their place.
 */
#ifndef REPORT_SPEC_SECTION_H
#define REPORT_SPEC_SECTION_H

#include <stdint.h>

#include "report/spec.h"

struct mistakes;

/* Where each key of one section stood first, zeroed at its beginning: a line, 0
   if it has not been met; of --view 1.  @is_wrong: what it said is a mistake. */
struct section_seen {
	uint32_t lines[256];
	bool is_wrong[256];
};

/* What messages point at. @line is 0 for --view. */
struct place {
	const char *path;
	uint32_t line;
	struct diag *diag;
};

/* Fills the diag of @place and returns @status. */
int place_fail(const struct place *place, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Return: 0; -EINVAL when @text holds what no page may show (control
   characters, bytes that are not UTF-8). */
int section_text_check(struct spec *spec, const char *text,
		       const struct place *place);

/**
 * section_report_set() - one key of [report]
 * @key, @value: as written, trimmed
 * @seen: keys of the section met so far
 *
 * Return: 0; -EINVAL for an unknown or repeated key or a bad value; -ENOMEM.
 */
int section_report_set(struct spec *spec, const char *key, const char *value,
		       struct section_seen *seen, const struct place *place);

/* The same for a key of [view NAME] or of --view. */
int section_view_set(struct spec *spec, struct spec_view *view, const char *key,
		     const char *value, struct section_seen *seen,
		     const struct place *place);

/* The same for a key of [filter NAME]. */
int section_filter_set(struct spec *spec, struct filter_spec *filter,
		       const char *key, const char *value,
		       struct section_seen *seen, const struct place *place);

/* Checks what the keys of a filter say together.  @place: the section, not its
   last key; its diag is that of @mistakes, which gets what is found.  Return: 0,
   also with mistakes; -ENOMEM. */
int section_filter_finish(const struct spec_filter *filter,
			  const struct place *place, struct mistakes *mistakes);

/* The same of a view, of which @seen are the keys; fills in what was not said. */
int section_view_finish(struct spec_view *view, const struct section_seen *seen,
			const struct place *place, struct mistakes *mistakes);

#endif /* REPORT_SPEC_SECTION_H */
