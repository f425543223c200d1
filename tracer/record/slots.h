/* SPDX-License-Identifier: MIT */
/* From the buffers of PATH.live to chunks of a trace. */
#ifndef TRACER_RECORD_SLOTS_H
#define TRACER_RECORD_SLOTS_H

#include <stddef.h>
#include <stdint.h>

struct summary;

/**
 * struct live_file - PATH.live, mapped
 * @bytes: NULL when there is none
 */
struct live_file {
	const uint8_t *bytes;
	size_t len;
};

/* Safety: maps.  Return: 0, also when there is none; or -errno. */
int live_open(struct live_file *ret, const char *path);

void live_close(struct live_file *live);

/**
 * struct live_owner - processes that write to it, or did
 * @program: the traced one
 * @helper:  writes its trace, 0 for none
 */
struct live_owner {
	int program;
	int helper;
};

/* Return: as the file says, zeros where it does not.  Safety: pure. */
struct live_owner live_get_owner(const struct live_file *live);

/**
 * struct slots_result - what was done
 * @chunks:        appended
 * @damaged_bytes: of buffers, left out
 */
struct slots_result {
	uint32_t chunks;
	uint64_t damaged_bytes;
};

/*
 * Appends to the trace what of the live buffers it lacks.
 *
 * Safety: allocates.  Return: 0; -EINVAL when @live is not the trace's; or
 * another -errno.
 */
int slots_append(int fd, const struct summary *sum,
		 const struct live_file *live, struct slots_result *ret);

#endif /* TRACER_RECORD_SLOTS_H */
