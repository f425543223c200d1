/* SPDX-License-Identifier: MIT */
/*
 * A flat walk over a tree of debugging information entries.
 *
 * Layer: symbol.  Knows libdw.
 */
#ifndef REPORT_SYMBOL_DIE_WALK_H
#define REPORT_SYMBOL_DIE_WALK_H

#include <elfutils/libdw.h>

enum die_visit {
	DIE_DESCEND,
	DIE_SKIP, /* its children are not visited */
	DIE_STOP, /* the walk ends and fails */
};

/* @depth: 1 for the children of the root */
typedef enum die_visit die_visit_fn(Dwarf_Die *die, int tag, unsigned int depth,
				    void *opaque);

/**
 * die_walk() - visit everything below @root in file order
 * @end: end of the unit
 *
 * Needs no stack, whatever the depth, and reads each entry a bounded number
 * of times: with dwarf_siblingof() alone, leaving a subtree means reading
 * it again where there is no DW_AT_sibling, as in the output of clang.
 *
 * Return: 0, -ECANCELED after DIE_STOP.  Damage ends the walk early.
 */
int die_walk(Dwarf_Die *root, const unsigned char *end, die_visit_fn *visit,
	     void *opaque);

#endif /* REPORT_SYMBOL_DIE_WALK_H */
