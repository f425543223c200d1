/* SPDX-License-Identifier: MIT */
#include "report/input/input.h"

#include <errno.h>
#include <sys/types.h>

#include "report/core/diag.h"
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

int input_open(struct source *source, struct stacks *stacks, struct run *run,
	       struct input **ret, struct diag *diag)
{
	uint8_t head[PROBE_BYTES];
	ssize_t n = source_read(source, 0, head, sizeof(head), diag);

	if (n < 0)
		return (int)n;
	if (n == 0)
		return diag_set(diag, -EPROTO, source->path, DIAG_NO_OFFSET,
				"is empty");
	for (size_t i = 0; input_formats[i]; i++)
		if (input_formats[i]->probe(head, (size_t)n))
			return input_formats[i]->open(source, stacks, run, ret,
						      diag);
	return diag_set(diag, -EPROTO, source->path, DIAG_NO_OFFSET,
			"is not a memprof trace; it looks like %s",
			foreign_describe(head, (size_t)n));
}

void input_close(struct input *input)
{
	if (input)
		input->format->close(input);
}
