/* SPDX-License-Identifier: MIT */
/*
 * A page full of figures, as the engine would make them of a run of sqlite3,
 * with a good share of hostile and overlong names.
 */
#ifndef TESTS_LIB_SAMPLE_FIGURES_H
#define TESTS_LIB_SAMPLE_FIGURES_H

#include "report/core/arena.h"
#include "report/output/page.h"

enum sample_kind {
	SAMPLE_FULL,    /* everything, a complete trace */
	SAMPLE_DAMAGED, /* the same from a damaged trace */
	SAMPLE_EMPTY,   /* a program without a single allocation */
	SAMPLE_BARE,    /* no figures at all */
};

/* Return: a page owned by @arena.  Never fails: it aborts. */
const struct page *sample_page(struct arena *arena, enum sample_kind kind);

/* A name that ends up as markup wherever somebody forgot to escape. */
extern const char sample_hostile_name[];

#endif /* TESTS_LIB_SAMPLE_FIGURES_H */
