/* SPDX-License-Identifier: MIT */
#include "report/output/svg/ticks.h"

#include <math.h>
#include <stdio.h>

#include "report/core/units.h"
#include "report/output/svg/svg.h"

/* Smallest of 1, 2, 5, 10, 20, 50 … that is not below @least. */
static double round_up_125(double least)
{
	double power = pow(10, floor(log10(least)));
	static const double factors[] = { 1, 2, 5, 10 };

	for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++)
		if (factors[i] * power >= least * (1 - 1e-9))
			return factors[i] * power;
	return 10 * power;
}

static void bytes_step(struct ticks *ret, double least)
{
	static const char *const names[] = { "B",   "KiB", "MiB", "GiB",
					     "TiB", "PiB", "EiB" };
	size_t i = 0;

	ret->unit = 1;
	/* 200 KiB is followed by 0.5 MiB: its double has a short name. */
	while (i + 1 < sizeof(names) / sizeof(names[0]) &&
	       least / ret->unit > 200) {
		ret->unit *= 1024;
		i++;
	}
	ret->unit_name = names[i];
	ret->step = round_up_125(least / ret->unit) * ret->unit;
	if (ret->step < 1)
		ret->step = 1;
}

static void seconds_step(struct ticks *ret, double least, double end)
{
	static const double minutes[] = { 1, 2, 5, 10, 15, 30 };
	static const double hours[] = { 1, 2, 3, 6, 12, 24 };

	ret->unit = end >= 1 ? 1 : end >= 1e-3 ? 1e-3 : 1e-6;
	ret->unit_name = end >= 1 ? "s" : end >= 1e-3 ? "ms" : "µs";
	ret->step = round_up_125(least);
	if (ret->step < 60)
		return;
	ret->unit = 60;
	ret->unit_name = "min";
	for (size_t i = 0; i < sizeof(minutes) / sizeof(minutes[0]); i++) {
		ret->step = minutes[i] * 60;
		if (ret->step >= least)
			return;
	}
	ret->unit = 3600;
	ret->unit_name = "h";
	for (size_t i = 0; i < sizeof(hours) / sizeof(hours[0]); i++) {
		ret->step = hours[i] * 3600;
		if (ret->step >= least)
			return;
	}
	ret->step = round_up_125(least / 86400) * 86400;
}

void ticks_compute(struct ticks *ret, enum cell_kind kind, double end,
		   unsigned limit)
{
	double least = end / (limit ? limit : 1);

	*ret = (struct ticks){
		.step = 1, .count = 1, .unit = 1, .unit_name = ""
	};
	if (kind == CELL_SECONDS || kind == CELL_BYTES)
		ret->unit_name = kind == CELL_BYTES ? "B" : "s";
	if (!(end > 0) || !isfinite(end))
		return;
	if (kind == CELL_BYTES)
		bytes_step(ret, least);
	else if (kind == CELL_SECONDS)
		seconds_step(ret, least, end);
	else
		ret->step = round_up_125(fmax(least, 1));
	ret->count = (unsigned)floor(end / ret->step * (1 + 1e-9)) + 1;
}

void ticks_format(const struct ticks *ticks, unsigned index, char *buf,
		  size_t size)
{
	double value = ticks->step * index / ticks->unit;
	char number[UNITS_TEXT_SIZE];

	if (value >= 1000)
		units_format_count(number, sizeof(number),
				   (uint64_t)(value + 0.5));
	else
		svg_format_number(number, sizeof(number), value, 6);
	snprintf(buf, size, "%s%s%s", number, *ticks->unit_name ? " " : "",
		 ticks->unit_name);
}
