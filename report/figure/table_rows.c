/* SPDX-License-Identifier: MIT */
#include "report/figure/table_rows.h"

#include "report/figure/figure.h"

int table_rows_begin(struct table_rows *rows, const struct figure_table *table,
		     struct diag *diag)
{
	const struct figure_row_source *source = table->source;

	rows->table = table;
	rows->at = 0;
	return source ? source->rewind(source->context, diag) : 0;
}

int table_rows_next(struct table_rows *rows, const struct cell **ret_cells,
		    struct diag *diag)
{
	const struct figure_table *table = rows->table;
	const struct figure_row_source *source = table->source;

	if (source)
		return source->next(source->context, ret_cells, diag);
	if (rows->at == table->row_count)
		return 0;
	*ret_cells = table->cells + rows->at++ * table->column_count;
	return 1;
}
