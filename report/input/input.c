/* SPDX-License-Identifier: MIT */
#include "report/input/input.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "report/core/diag.h"
#include "report/event/run.h"
#include "report/input/foreign.h"
#include "report/source/source.h"

#define INPUT(id) extern const struct input_format input_##id;
#include "report/input/input_list.h"
#undef INPUT

#define INPUT(id) &input_##id,
const struct input_format *const input_formats[] = {
#include "report/input/input_list.h"
    NULL,
};
#undef INPUT

enum { PROBE_BYTES = 4096 };

/* Return: 0 with *@ret the format of @source; negative errno. */
static int find_format(const struct source *source,
		       const struct input_format **ret, struct diag *diag)
{
	uint8_t head[PROBE_BYTES];
	ssize_t n = source_read(source, 0, head, sizeof(head), diag);

	if (n < 0)
		return (int)n;
	if (n == 0)
		return diag_set(diag, -EPROTO, source->path, DIAG_NO_OFFSET,
				"is empty");
	for (size_t i = 0; input_formats[i]; i++) {
		*ret = input_formats[i];
		if (input_formats[i]->probe(head, (size_t)n))
			return 0;
	}
	return diag_set(diag, -EPROTO, source->path, DIAG_NO_OFFSET,
			"is not a memprof trace; it looks like %s",
			foreign_describe(head, (size_t)n));
}

int input_open_pieces(struct source *sources, size_t source_count,
		      struct stacks *stacks, struct run *run,
		      struct input **ret, struct diag *diag)
{
	const struct input_format *format;
	int error = find_format(sources, &format, diag);

	return error ? error
		     : format->open(sources, source_count, stacks, run, ret,
				    diag);
}

int input_open(struct source *source, struct stacks *stacks, struct run *run,
	       struct input **ret, struct diag *diag)
{
	return input_open_pieces(source, 1, stacks, run, ret, diag);
}

int input_identify(const struct source *source, struct run_piece *ret,
		   struct diag *diag)
{
	const struct input_format *format;
	int error = find_format(source, &format, diag);

	memset(ret, 0, sizeof(*ret));
	if (error || !format->identify)
		return error;
	return format->identify(source, ret, diag);
}

void input_close(struct input *input)
{
	if (input)
		input->format->close(input);
}
