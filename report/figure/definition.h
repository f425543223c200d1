/* SPDX-License-Identifier: MIT */
/*
 * The one place where terms are defined.  Outputs print a definition beside
 * its term; docs/figures.md repeats the table and a test compares them.
 *
 * Layer: figure.
 */
#ifndef REPORT_FIGURE_DEFINITION_H
#define REPORT_FIGURE_DEFINITION_H

#include <stddef.h>

/**
 * struct definition
 * @id:   [a-z0-9_]+, what figures refer to
 * @term: as labels spell it
 * @text: one or two sentences, plain text
 */
struct definition {
	const char *id;
	const char *term;
	const char *text;
};

/* Return: the definition, NULL if there is none.  Static storage. */
const struct definition *definition_find(const char *id);

extern const struct definition definitions[];
extern const size_t definition_count;

#endif /* REPORT_FIGURE_DEFINITION_H */
