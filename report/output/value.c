/* SPDX-License-Identifier: MIT */
#include "report/output/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void format_signed(char *buf, size_t size, int64_t value)
{
	uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	char digits[UNITS_TEXT_SIZE];

	units_format_count(digits, sizeof(digits), magnitude);
	snprintf(buf, size, "%s%s", value < 0 ? "\xe2\x88\x92" : "", digits);
}

bool value_format(char *buf, size_t size, const struct cell *cell)
{
	buf[0] = '\0';
	switch (cell->kind) {
	case CELL_COUNT:
		units_format_count(buf, size, cell->count);
		return true;
	case CELL_BYTES:
		units_format_bytes(buf, size, cell->count);
		return true;
	case CELL_ID:
		snprintf(buf, size, "%" PRIu64, cell->count);
		return true;
	case CELL_SIGNED:
		format_signed(buf, size, cell->number_signed);
		return true;
	case CELL_SECONDS:
		units_format_seconds(buf, size, cell->number);
		return true;
	case CELL_RATIO:
		units_format_ratio(buf, size, cell->number);
		return true;
	case CELL_ADDRESS:
		snprintf(buf, size, "0x%" PRIx64, cell->count);
		return true;
	case CELL_DATE:
		units_format_date(buf, size, cell->count);
		return true;
	case CELL_FLAG:
		snprintf(buf, size, "%s", cell->flag ? "yes" : "no");
		return true;
	case CELL_NONE:
	case CELL_TEXT:
	case CELL_STACK:
	case CELL_LIST:
	case CELL_LINK:
		break;
	}
	return false;
}

bool value_format_exact(char *buf, size_t size, const struct cell *cell)
{
	char digits[UNITS_TEXT_SIZE];

	buf[0] = '\0';
	if (cell->kind == CELL_BYTES && cell->count >= 1024) {
		units_format_count(digits, sizeof(digits), cell->count);
		snprintf(buf, size, "%s bytes", digits);
		return true;
	}
	if (cell->kind == CELL_SECONDS) {
		snprintf(buf, size, "%.9g seconds", cell->number);
		return true;
	}
	if (cell->kind == CELL_RATIO) {
		snprintf(buf, size, "%.6g %%", cell->number * 100);
		return true;
	}
	return false;
}

bool value_format_plain(char *buf, size_t size, const struct cell *cell)
{
	switch (cell->kind) {
	case CELL_COUNT:
	case CELL_BYTES:
	case CELL_ID:
		snprintf(buf, size, "%" PRIu64, cell->count);
		return true;
	case CELL_SIGNED:
		snprintf(buf, size, "%" PRId64, cell->number_signed);
		return true;
	case CELL_SECONDS:
	case CELL_RATIO:
		snprintf(buf, size, "%.9g", cell->number);
		return true;
	case CELL_ADDRESS:
	case CELL_DATE:
	case CELL_FLAG:
	case CELL_NONE:
	case CELL_TEXT:
	case CELL_STACK:
	case CELL_LIST:
	case CELL_LINK:
		break;
	}
	return value_format(buf, size, cell);
}

bool value_is_numeric(enum cell_kind kind)
{
	return kind == CELL_COUNT || kind == CELL_BYTES ||
	       kind == CELL_ID || kind == CELL_SIGNED || kind == CELL_SECONDS ||
	       kind == CELL_RATIO;
}

bool value_is_prose(const char *text)
{
	for (; *text; text++) {
		bool letter = (*text >= 'a' && *text <= 'z') ||
			      (*text >= 'A' && *text <= 'Z') ||
			      (*text >= '0' && *text <= '9');

		if (letter || strchr(" ,;'()%", *text))
			continue;
		if (!strchr(".:-", *text) || (text[1] && text[1] != ' '))
			return false;
	}
	return true;
}

const char *value_frame_name(const struct figure_frame *frame)
{
	if (frame->function && *frame->function)
		return frame->function;
	return frame->module && *frame->module ? frame->module : "?";
}
