/* SPDX-License-Identifier: MIT */
#include "report/core/diag.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 5, 0))) static void
diag_fill(struct diag *diag, const char *file, uint64_t offset, uint32_t line,
	  const char *format, va_list args)
{
	snprintf(diag->file, sizeof(diag->file), "%s", file ? file : "");
	diag->offset = offset;
	diag->line = line;
	vsnprintf(diag->text, sizeof(diag->text), format, args);
}

int diag_set(struct diag *diag, int status, const char *file, uint64_t offset,
	     const char *format, ...)
{
	va_list args;

	if (diag) {
		va_start(args, format);
		diag_fill(diag, file, offset, 0, format, args);
		va_end(args);
	}
	return status;
}

int diag_set_line(struct diag *diag, int status, const char *file,
		  uint32_t line, const char *format, ...)
{
	va_list args;

	if (diag) {
		va_start(args, format);
		diag_fill(diag, file, DIAG_NO_OFFSET, line, format, args);
		va_end(args);
	}
	return status;
}

void diag_format(const struct diag *diag, char *buf, size_t size)
{
	if (!diag->file[0])
		snprintf(buf, size, "%s", diag->text);
	else if (diag->offset != DIAG_NO_OFFSET)
		snprintf(buf, size, "%s: offset %" PRIu64 ": %s", diag->file,
			 diag->offset, diag->text);
	else if (diag->line)
		snprintf(buf, size, "%s:%" PRIu32 ": %s", diag->file,
			 diag->line, diag->text);
	else
		snprintf(buf, size, "%s: %s", diag->file, diag->text);
}

void findings_add(struct findings *findings, const char *file, uint64_t offset,
		  const char *format, ...)
{
	va_list args;

	findings->count++;
	if (!findings->items)
		findings->items =
			calloc(FINDINGS_MAX, sizeof(*findings->items));
	if (!findings->items || findings->stored == FINDINGS_MAX)
		return;
	va_start(args, format);
	diag_fill(&findings->items[findings->stored++], file, offset, 0, format,
		  args);
	va_end(args);
}

void findings_done(struct findings *findings)
{
	free(findings->items);
	memset(findings, 0, sizeof(*findings));
}

void findings_add_diag(struct findings *findings, const struct diag *diag)
{
	size_t before = findings->stored;

	findings_add(findings, diag->file, diag->offset, "%s", diag->text);
	if (findings->stored > before)
		findings->items[before].line = diag->line;
}
