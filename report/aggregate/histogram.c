/* SPDX-License-Identifier: MIT */
#include "report/aggregate/histogram.h"

#include "report/aggregate/scope.h"
#include "report/core/units.h"
#include "report/engine/record.h"
#include "report/event/run.h"

enum {
	FIRST_BOUND_NS = 100,
	FIRST_DIGITS = 2, /* log10_of(FIRST_BOUND_NS) */
};

static unsigned size_class(uint64_t size)
{
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

static uint64_t size_class_min(unsigned class)
{
	return class ? UINT64_C(1) << (class - 1) : 0;
}

static const uint64_t powers_of_ten[] = {
	1,
	10,
	100,
	1000,
	10000,
	100000,
	1000000,
	10000000,
	100000000,
	1000000000,
	10000000000,
	100000000000,
	1000000000000,
	10000000000000,
	100000000000000,
	1000000000000000,
	10000000000000000,
	100000000000000000,
	1000000000000000000,
	UINT64_C(10000000000000000000),
};

/* 0, 100, 200, 500, 1000, … nanoseconds. */
static uint64_t lifetime_class_min_ns(unsigned class)
{
	static const uint64_t factors[] = { 1, 2, 5 };

	if (!class)
		return 0;
	return powers_of_ten[FIRST_DIGITS + (class - 1) / 3] *
	       factors[(class - 1) % 3];
}

/* Return: digits of @value, which is not 0, but one.  1233 / 4096 is a little
   more than log10(2): what the bits say is right or one too many. */
static unsigned log10_of(uint64_t value)
{
	unsigned bits = 64 - (unsigned)__builtin_clzll(value);
	unsigned digits = bits * 1233 >> 12;

	return digits - (value < powers_of_ten[digits]);
}

static unsigned lifetime_class(uint64_t ns)
{
	unsigned decade;
	uint64_t bound;

	if (ns < FIRST_BOUND_NS)
		return 0;
	decade = log10_of(ns) - FIRST_DIGITS;
	if (decade >= HISTOGRAM_DECADES)
		decade = HISTOGRAM_DECADES - 1;
	bound = powers_of_ten[FIRST_DIGITS + decade];
	return 1 + 3 * decade + (ns >= 2 * bound) + (ns >= 5 * bound);
}

static inline void class_add(struct histogram_class *class,
			     const struct record *record)
{
	class->count++;
	class->bytes += record->size;
	if (__builtin_expect(record_is_leaked(record), 0)) {
		class->leaked_count++;
		class->leaked_bytes += record->size;
	}
}

static void class_add_peak(struct histogram_class *class,
			   const struct record *record)
{
	class->peak_count++;
	class->peak_bytes += record->size;
}

static uint64_t ticks_ns(const struct run *run, uint64_t ticks)
{
	double ns = (double)ticks * run->tick_ns;

	return ns < 9e18 ? (uint64_t)ns : (uint64_t)9e18;
}

/* Not rounded as reports write the two times: up to 1 ns from their difference. */
static uint64_t lifetime_ns(const struct run *run, const struct record *record)
{
	if (record->free_tick <= record->alloc_tick)
		return 0;
	return ticks_ns(run, record->free_tick - record->alloc_tick);
}

/* By the lifetime that reports write, which is dearer to compute and only makes a
   difference at the bounds of the classes. */
static __attribute__((noinline)) unsigned
lifetime_class_of(const struct run *run, const struct record *record)
{
	uint64_t ns = lifetime_ns(run, record);
	unsigned class = lifetime_class(ns ? ns - 1 : 0);

	if (class + 1 == HISTOGRAM_LIFETIMES ||
	    ns + 1 < lifetime_class_min_ns(class + 1))
		return class;
	return lifetime_class(run_span_ns(run, record->alloc_tick,
					  record->free_tick));
}

/* Return: the span that @ticks are in: sixteen from each power of two to the
   next. */
static inline unsigned span_of(uint64_t ticks)
{
	unsigned power;

	if (ticks < 16)
		return (unsigned)ticks;
	power = 63 - (unsigned)__builtin_clzll(ticks);
	return (power - 3) * 16 + (unsigned)(ticks >> (power - 4) & 15);
}

/* Return: the least ticks in @span. */
static uint64_t span_min(unsigned span)
{
	if (span < 16)
		return span;
	return (uint64_t)(16 + span % 16) << (span / 16 - 1);
}

/* Where lifetime_class_of() has one answer for both ends of a span, without
   looking at how times are written, it has it for what lies between. */
void histogram_prepare(struct histogram *histogram, const struct run *run)
{
	for (unsigned span = 0; span < HISTOGRAM_SPANS; span++) {
		uint64_t least = ticks_ns(run, span_min(span));
		uint64_t most = ticks_ns(run, span + 1 < HISTOGRAM_SPANS
						      ? span_min(span + 1) - 1
						      : UINT64_MAX);
		unsigned class = lifetime_class(least ? least - 1 : 0);

		histogram->class_of[span] = 0;
		if (class + 1 == HISTOGRAM_LIFETIMES ||
		    most + 1 < lifetime_class_min_ns(class + 1))
			histogram->class_of[span] = (uint8_t)(class + 1);
	}
}

static inline struct histogram_class *
of_lifetime(struct histogram *histogram, const struct run *run,
	    const struct record *record)
{
	uint64_t ticks = record->free_tick - record->alloc_tick;
	unsigned class;

	if (record_is_leaked(record))
		return &histogram->never_freed;
	if (record->free_tick < record->alloc_tick)
		ticks = 0;
	class = histogram->class_of[span_of(ticks)];
	return &histogram->lifetimes[class ? class - 1
					   : lifetime_class_of(run, record)];
}

void histogram_add(struct histogram *histogram, const struct run *run,
		   const struct record *records, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct record *record = &records[i];

		class_add(&histogram->sizes[size_class(record->size)], record);
		class_add(of_lifetime(histogram, run, record), record);
	}
}

void histogram_add_culled(struct histogram *histogram, const struct run *run,
			  const struct culled *culled)
{
	uint64_t count = culled->count, bytes = count * culled->record.size;
	uint64_t shortest = ticks_ns(run, culled->shortest);
	unsigned least = lifetime_class(shortest ? shortest - 1 : 0);
	unsigned most = lifetime_class(ticks_ns(run, culled->longest) + 1);
	struct histogram_class *lived = least == most
						? &histogram->lifetimes[least]
						: &histogram->not_known;
	struct histogram_class *size =
		&histogram->sizes[size_class(culled->record.size)];

	lived->count += count;
	lived->bytes += bytes;
	size->count += count;
	size->bytes += bytes;
}

void histogram_add_peak(struct histogram *histogram, const struct run *run,
			const struct record *record)
{
	class_add_peak(&histogram->sizes[size_class(record->size)], record);
	class_add_peak(of_lifetime(histogram, run, record), record);
}

/* --- figures --- */

/* Return: number of classes up to the last that is not empty; *@ret_first is
   the first of them. */
static unsigned used_classes(const struct histogram_class *classes,
			     unsigned count, unsigned *ret_first)
{
	unsigned first = 0;

	while (count && !classes[count - 1].count)
		count--;
	while (first < count && !classes[first].count)
		first++;
	*ret_first = first;
	return count;
}

static void add_sums(struct table_maker *table,
		     const struct histogram_class *class)
{
	table_add(table, cell_count(class->count));
	table_add(table, cell_bytes(class->bytes));
	table_add(table, cell_count(class->peak_count));
	table_add(table, cell_bytes(class->peak_bytes));
}

static struct figure *finish(struct table_maker *table,
			     const struct scope *scope, const char *id,
			     const char *title, const char *schema)
{
	struct figure *figure = id ? table_finish(table, scope, id, title)
				   : NULL;

	if (!figure)
		return NULL;
	figure->schema = schema;
	figure->rows_key = "classes";
	figure->table.is_histogram = true;
	return figure;
}

static const char *size_label(const struct scope *scope, uint64_t min,
			      uint64_t max)
{
	char low[UNITS_TEXT_SIZE], high[UNITS_TEXT_SIZE];

	units_format_bytes(low, sizeof(low), min);
	units_format_bytes(high, sizeof(high), max + 1);
	units_trim_zeros(low);
	units_trim_zeros(high);
	if (min == max)
		return arena_printf(scope->arena, "%s", low);
	if (max == UINT64_MAX)
		return arena_printf(scope->arena, "%s and more", low);
	return arena_printf(scope->arena, "%s to below %s", low, high);
}

struct figure *histogram_of_sizes(const struct histogram *histogram,
				  const struct scope *scope, const char *id,
				  const char *title)
{
	static const struct figure_column columns[] = {
		{ "min", "From", NULL, CELL_BYTES },
		{ "max", "To", NULL, CELL_BYTES },
		{ "class", "Requested size", "size_class", CELL_TEXT },
		{ "allocations", "Allocations", "allocations", CELL_COUNT },
		{ "bytes", "Allocated bytes", "allocated_bytes", CELL_BYTES },
		{ "peak_blocks", "Blocks at the peak", "class_at_peak",
		  CELL_COUNT },
		{ "peak_bytes", "Bytes at the peak", "class_at_peak",
		  CELL_BYTES },
		{ "leaked_count", "Leaked blocks", "leaked", CELL_COUNT },
		{ "leaked_bytes", "Leaked bytes", "leaked", CELL_BYTES },
	};
	unsigned first, end;
	struct table_maker table;

	end = used_classes(histogram->sizes, HISTOGRAM_SIZES, &first);
	table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
	for (unsigned i = first; i < end; i++) {
		const struct histogram_class *class = &histogram->sizes[i];
		uint64_t min = size_class_min(i);
		uint64_t max = i ? min - 1 + min : 0;

		table_row(&table);
		table_add(&table, cell_bytes(min));
		/* No size is larger than JSON's integers. */
		table_add(&table, max > INT64_MAX ? cell_none()
						  : cell_bytes(max));
		table_add(&table, cell_text(size_label(scope, min, max)));
		add_sums(&table, class);
		table_add(&table, cell_count(class->leaked_count));
		table_add(&table, cell_bytes(class->leaked_bytes));
	}
	return finish(&table, scope, id, title, "sizes");
}

static const char *lifetime_label(const struct scope *scope, unsigned class)
{
	char low[UNITS_TEXT_SIZE], high[UNITS_TEXT_SIZE];
	double min = (double)lifetime_class_min_ns(class) / 1e9;
	double max = (double)lifetime_class_min_ns(class + 1) / 1e9;

	units_format_seconds(low, sizeof(low), min);
	units_format_seconds(high, sizeof(high), max);
	units_trim_zeros(low);
	units_trim_zeros(high);
	if (class == 0)
		return arena_printf(scope->arena, "below %s", high);
	if (class + 1 == HISTOGRAM_LIFETIMES)
		return arena_printf(scope->arena, "%s and more", low);
	return arena_printf(scope->arena, "%s to below %s", low, high);
}

static void add_class_without_bounds(struct table_maker *table,
				     const struct histogram_class *class,
				     const char *label)
{
	if (!class->count)
		return;
	table_row(table);
	table_add(table, cell_none());
	table_add(table, cell_none());
	table_add(table, cell_text(label));
	add_sums(table, class);
}

struct figure *histogram_of_lifetimes(const struct histogram *histogram,
				      const struct scope *scope,
				      const char *id, const char *title)
{
	static const struct figure_column columns[] = {
		{ "min", "From", NULL, CELL_SECONDS },
		{ "below", "To", NULL, CELL_SECONDS },
		{ "class", "Lifetime", "lifetime_class", CELL_TEXT },
		{ "allocations", "Allocations", "allocations", CELL_COUNT },
		{ "bytes", "Allocated bytes", "allocated_bytes", CELL_BYTES },
		{ "peak_blocks", "Blocks at the peak", "class_at_peak",
		  CELL_COUNT },
		{ "peak_bytes", "Bytes at the peak", "class_at_peak",
		  CELL_BYTES },
	};
	unsigned first, end;
	struct table_maker table;

	end = used_classes(histogram->lifetimes, HISTOGRAM_LIFETIMES, &first);
	table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
	for (unsigned i = first; i < end; i++) {
		double min = (double)lifetime_class_min_ns(i) / 1e9;
		double below = (double)lifetime_class_min_ns(i + 1) / 1e9;

		table_row(&table);
		table_add(&table, cell_seconds(min));
		table_add(&table, i + 1 < HISTOGRAM_LIFETIMES
					  ? cell_seconds(below)
					  : cell_none());
		table_add(&table, cell_text(lifetime_label(scope, i)));
		add_sums(&table, &histogram->lifetimes[i]);
	}
	add_class_without_bounds(&table, &histogram->never_freed,
				 "never freed");
	add_class_without_bounds(&table, &histogram->not_known,
				 "not known (culled)");
	return finish(&table, scope, id, title, "lifetimes");
}
