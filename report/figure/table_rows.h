/* SPDX-License-Identifier: MIT */
/*
 * The rows of a table one after another, wherever they are.
 *
 * Layer: figure.
 */
#ifndef REPORT_FIGURE_TABLE_ROWS_H
#define REPORT_FIGURE_TABLE_ROWS_H

#include <stddef.h>

struct cell;
struct diag;
struct figure_table;

struct table_rows {
	const struct figure_table *table;
	size_t at;
};

/* Begins with the first row of @table, borrowed.  Two may not go on at once over
   a table that has a source.  Return: 0, or negative errno with @diag filled. */
int table_rows_begin(struct table_rows *rows, const struct figure_table *table,
		     struct diag *diag);

/* Return: 1 with the cells of the next row, valid until the next call; 0 at the
   end; negative errno with @diag filled. */
int table_rows_next(struct table_rows *rows, const struct cell **ret_cells,
		    struct diag *diag);

#endif /* REPORT_FIGURE_TABLE_ROWS_H */
