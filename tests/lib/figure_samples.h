/* SPDX-License-Identifier: MIT */
/* Figures for tests of outputs: small ones by hand, large ones by formula. */
#ifndef TESTS_LIB_FIGURE_SAMPLES_H
#define TESTS_LIB_FIGURE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "report/figure/figure.h"

struct arena;

/* A node as the test says it: @parent is a smaller index, the root's own is 0.
   Totals and order of siblings are computed. */
struct sample_node {
	uint32_t parent;
	const struct figure_frame *frame;
	uint64_t self_bytes;
	uint64_t self_count;
};

/* Everything is owned by @arena; aborts when out of memory. */
const struct figure *sample_tree(struct arena *arena,
				 const struct sample_node *nodes,
				 uint32_t count, bool by_count);

const struct figure *sample_tree_small(struct arena *arena);
const struct figure *sample_tree_hostile(struct arena *arena);
const struct figure *sample_tree_empty(struct arena *arena);
const struct figure *sample_tree_zero(struct arena *arena);
/* A chain. */
const struct figure *sample_tree_deep(struct arena *arena, uint32_t depth);
/* A root with @width callees of equal cost. */
const struct figure *sample_tree_wide(struct arena *arena, uint32_t width);
/* Random, like a C++ program's; @seed decides all. */
const struct figure *sample_tree_large(struct arena *arena, uint32_t count,
				       uint32_t seed);

/* @points bins of a program that fills, empties and leaks a little. */
const struct figure *sample_series(struct arena *arena, size_t points,
				   double seconds);
const struct figure *sample_allocations(struct arena *arena);
const struct figure *sample_groups(struct arena *arena);
const struct figure *sample_summary(struct arena *arena);
const struct figure *sample_sizes(struct arena *arena);
const struct figure *sample_lifetimes(struct arena *arena);
const struct figure *sample_mmaps(struct arena *arena);
const struct figure *sample_mallopts(struct arena *arena);

#endif /* TESTS_LIB_FIGURE_SAMPLES_H */
