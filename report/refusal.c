/* SPDX-License-Identifier: MIT */
#include "report/refusal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/cli.h"
#include "report/core/diag.h"
#include "report/core/memory.h"
#include "report/core/units.h"
#include "report/engine/engine.h"
#include "report/pipeline.h"

enum { PART_SIZE = 128 };

/* "1,234 live blocks take 132 KiB" */
static void part(char text[PART_SIZE], uint64_t count, const char *what,
		 uint64_t bytes)
{
	char number[UNITS_TEXT_SIZE], size[UNITS_TEXT_SIZE];

	units_format_count(number, sizeof(number), count);
	units_format_bytes(size, sizeof(size), bytes);
	snprintf(text, PART_SIZE, "%s %s%s take %s", number, what,
		 count == 1 ? "" : "s", size);
}

/* Where in the run a pass was, "" when it was not in one. */
static void place(char text[PART_SIZE], const struct pipeline *pipeline,
		  const struct engine_memory *memory)
{
	char at[UNITS_TEXT_SIZE], end[UNITS_TEXT_SIZE];

	text[0] = '\0';
	if (!memory->tick)
		return;
	units_format_seconds(at, sizeof(at),
			     run_seconds(&pipeline->run, memory->tick));
	units_format_seconds(end, sizeof(end), run_duration(&pipeline->run));
	if (strcmp(at, end) != 0)
		snprintf(text, PART_SIZE, "at %s of %s of the run, ", at, end);
}

/* Return: MiB of a limit that would have granted what was refused. */
static uint64_t enough_mib(const struct memory_refusal *refusal)
{
	uint64_t bytes = refusal->bytes;

	if (bytes > UINT64_MAX / 4)
		bytes = UINT64_MAX / 4;
	bytes += refusal->used;
	/* A sixteenth is kept back for small requests. */
	return ((bytes + bytes / 15) >> 20) + 1;
}

/* What to do, for who reads the message. */
static const char *advice(const struct pipeline *pipeline)
{
	return pipeline->cli->mode == CLI_REPORT
		       ? ", or ask for less at once (a spec with fewer views, "
			 "or one artifact with --as); no report was written"
		       : "";
}

int refusal_explain(const struct pipeline *pipeline, const char *trace,
		    struct diag *diag)
{
	const struct memory_refusal refusal = memory_refusal();
	struct engine_memory memory = { 0 };
	char limit[UNITS_TEXT_SIZE], more[UNITS_TEXT_SIZE];
	char rest[UNITS_TEXT_SIZE];
	char when[PART_SIZE], blocks[PART_SIZE], groups[PART_SIZE];
	uint64_t known;

	if (pipeline->engine)
		memory = engine_memory(pipeline->engine);
	memory.group_bytes += stacks_bytes(&pipeline->stacks);
	known = memory.live_bytes + memory.group_bytes;
	units_format_bytes(limit, sizeof(limit), memory_limit());
	units_format_bytes(more, sizeof(more), refusal.bytes);
	units_format_bytes(rest, sizeof(rest),
			   refusal.used > known ? refusal.used - known : 0);
	place(when, pipeline, &memory);
	part(blocks, memory.live_count, "live block", memory.live_bytes);
	part(groups, memory.group_count, "backtrace", memory.group_bytes);
	return diag_set(diag, -ENOMEM, trace, DIAG_NO_OFFSET,
			"--memory %s is not enough for %s: %s%s, %s, all else "
			"%s, and %s more were needed; allow at least %" PRIu64
			"MiB%s",
			limit, refusal.purpose ? refusal.purpose : "the report",
			when, blocks, groups, rest, more, enough_mib(&refusal),
			advice(pipeline));
}
