/* SPDX-License-Identifier: MIT */
/*
 * Call frame information and the rules made of it.  The input is where the
 * image's segments part (two bytes), the gap between them (one byte), whether
 * to read records as of `.debug_frame` (one byte), then `.eh_frame_hdr` and what follows it in memory.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/lib/cfi_image.h"
#include "tracer/cfi.h"
#include "tracer/cfi_record.h"
#include "tracer/rules.h"

enum {
	PREFIX = 4,
	TABLE = 12,      /* where the search table is, usually */
	FUNCTIONS = 100, /* looked up at most */
	RECORDS = 1000,
};

static void look_up(uintptr_t pc)
{
	uint32_t rule = rules_build(pc + 1);
	struct cfi_row row;

	if (rule_kind(rule) == RULE_NONE)
		abort();
	if (rule_kind(rule) == RULE_RSP &&
	    rule_slot(rule) * sizeof(uintptr_t) > rule_offset(rule))
		abort();
	if (rule_kind(rule) <= RULE_RBP &&
	    cfi_find(pc, &row) != CFI_FOUND)
		abort();
}

/* The instructions that the search table is about. */
static void use_table(const struct cfi_image *image)
{
	int32_t pair[2];

	for (size_t i = 0; i < FUNCTIONS; i++) {
		size_t at = TABLE + i * sizeof(pair);
		uintptr_t pc = (uintptr_t)image->data;

		if (at + sizeof(pair) > image->split)
			break;
		memcpy(pair, image->data + at, sizeof(pair));
		pc += (uintptr_t)(intptr_t)pair[0];
		for (size_t byte = 0; byte < 40; byte += 1 + byte / 4)
			look_up(pc + byte);
	}
}

/* The records one after the other, without a table. */
static void use_records(const struct cfi_image *image, bool is_debug)
{
	struct cfi_section section = { .start = (uintptr_t)image->data,
				       .shift = image->len,
				       .bias = is_debug ? image->len : 0,
				       .is_debug = is_debug };
	uintptr_t addr = section.start, before;
	struct cfi_range range;
	struct cfi_row row;

	section.end = section.start + image->split;
	if (image->split > TABLE)
		addr += image->data[TABLE - 1] % image->split;
	for (size_t i = 0; i < RECORDS; i++) {
		before = addr;
		if (!cfi_next(&section, &addr, &range))
			break;
		if (addr <= before || addr > section.end)
			abort();
		if (range.start == range.end)
			continue;
		if (cfi_read_fde(&section, before, range.start, &row) ==
		    CFI_NONE)
			abort();
		cfi_scan(&section, section.start, range.end - 1, &row);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_image image;

	if (size < PREFIX || !rules_init())
		return 0;
	cfi_image_place(&image, data + PREFIX, size - PREFIX,
			data[0] | (size_t)data[1] << 8, data[2]);
	use_table(&image);
	use_records(&image, data[3] & 1);
	look_up((uintptr_t)image.data);
	look_up(0);
	look_up(UINTPTR_MAX - 1);
	cfi_image_remove(&image);
	return 0;
}
