/* SPDX-License-Identifier: MIT */
#include "report/timings.h"

#include <string.h>

#include "report/core/stopwatch.h"

static struct timings_row *row_add(struct timings *timings, const char *name)
{
	struct timings_row *row;

	if (!timings->is_on || timings->count == TIMINGS_MAX)
		return NULL;
	row = &timings->rows[timings->count++];
	memset(row, 0, sizeof(*row));
	snprintf(row->name, sizeof(row->name), "%s", name);
	return row;
}

static void phase_end(struct timings *timings, uint64_t wall_ns,
		      uint64_t cpu_ns)
{
	struct timings_row *row;

	if (!timings->phase)
		return;
	row = &timings->rows[timings->phase - 1];
	row->wall_ns = wall_ns - row->wall_ns;
	row->cpu_ns = cpu_ns - row->cpu_ns;
	timings->phase = 0;
}

void timings_phase(struct timings *timings, const char *name)
{
	uint64_t wall_ns, cpu_ns;
	struct timings_row *row;

	if (!timings->is_on)
		return;
	wall_ns = stopwatch_ns();
	cpu_ns = stopwatch_read(CLOCK_PROCESS_CPUTIME_ID);
	phase_end(timings, wall_ns, cpu_ns);
	row = row_add(timings, name);
	if (!row)
		return;
	row->wall_ns = wall_ns;
	row->cpu_ns = cpu_ns;
	timings->phase = timings->count;
}

void timings_events(struct timings *timings, uint64_t events)
{
	if (timings->phase)
		timings->rows[timings->phase - 1].events = events;
}

void timings_part(struct timings *timings, const char *name, uint64_t wall_ns,
		  uint64_t cpu_ns)
{
	struct timings_row *row = row_add(timings, name);

	if (!row)
		return;
	row->wall_ns = wall_ns;
	row->cpu_ns = cpu_ns;
	row->is_part = true;
}

static void row_print(const struct timings_row *row, FILE *out)
{
	int indent = row->is_part ? 2 : 0;

	fprintf(out, "%*s%-*s %9.6f", indent, "", TIMINGS_NAME_SIZE - indent,
		row->name, (double)row->wall_ns * 1e-9);
	if (row->cpu_ns || !row->is_part)
		fprintf(out, " %9.6f", (double)row->cpu_ns * 1e-9);
	if (row->events && row->wall_ns)
		fprintf(out, " %9.1f",
			(double)row->events * 1e3 / (double)row->wall_ns);
	fputc('\n', out);
}

void timings_print(struct timings *timings, const char *trace, FILE *out)
{
	struct timings_row total = { .name = "all" };

	if (!timings->is_on)
		return;
	phase_end(timings, stopwatch_ns(),
		  stopwatch_read(CLOCK_PROCESS_CPUTIME_ID));
	fprintf(out, "%-*s %9s %9s %9s\n", TIMINGS_NAME_SIZE, trace, "seconds",
		"CPU", "M ev./s");
	for (unsigned i = 0; i < timings->count; i++) {
		const struct timings_row *row = &timings->rows[i];

		row_print(row, out);
		if (row->is_part)
			continue;
		total.wall_ns += row->wall_ns;
		total.cpu_ns += row->cpu_ns;
		if (row->events > total.events)
			total.events = row->events;
	}
	row_print(&total, out);
}
