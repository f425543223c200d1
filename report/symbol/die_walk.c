/* SPDX-License-Identifier: MIT */
#include "report/symbol/die_walk.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* Where the list of siblings ends, *@null is its closing zero byte.  Goes up
   to the next list that goes on.  Return: false at the end of the walk. */
static bool die_ascend(const unsigned char *end, unsigned char *null,
		       unsigned int *depth, Dwarf_Die *die)
{
	unsigned char *next = null;

	do {
		next++;
		if (--*depth == 0)
			return false;
	} while (next < end && *next == 0);
	if (next >= end)
		return false;
	*die = (Dwarf_Die){ .addr = next, .cu = die->cu };
	return true;
}

int die_walk(Dwarf_Die *root, const unsigned char *end, die_visit_fn *visit,
	     void *opaque)
{
	unsigned int depth = 1;
	Dwarf_Die die;

	if (dwarf_child(root, &die) != 0)
		return 0;
	for (;;) {
		enum die_visit go = visit(&die, dwarf_tag(&die), depth, opaque);
		Dwarf_Die next = {0};
		int status;

		if (go == DIE_STOP)
			return -ECANCELED;
		if (go == DIE_DESCEND && dwarf_child(&die, &next) == 0) {
			depth++;
			die = next;
			continue;
		}
		next = (Dwarf_Die){0};
		status = dwarf_siblingof(&die, &next);
		if (status == 0) {
			die = next;
			continue;
		}
		if (status < 0 || !next.addr)
			return 0;
		if (!die_ascend(end, next.addr, &depth, &die))
			return 0;
	}
}
