/* SPDX-License-Identifier: MIT */
/*
 * What call sites are summed up in.
 *
 * Layer: aggregate, private to sites*.c.
 */
#ifndef REPORT_AGGREGATE_SITES_DATA_H
#define REPORT_AGGREGATE_SITES_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "report/aggregate/sites.h"
#include "report/symbol/symbol.h"

struct site {
	const struct symbol_frame *frame;
	uint64_t cost[SITE_COST_COUNT];
	uint64_t groups;
};

/* @rows: by frame id; frame NULL where there is none */
struct sites {
	struct {
		struct site *items;
		size_t count;
		size_t capacity;
	} rows;
	struct site total;
	uint64_t quality_bytes[SYMBOL_QUALITY_COUNT];
};

#endif /* REPORT_AGGREGATE_SITES_DATA_H */
