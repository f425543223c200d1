/* SPDX-License-Identifier: MIT */
/*
 * An array in an unlinked temporary file, mapped: what is too long to hold in
 * memory but seldom looked at.  The kernel may drop its pages at any time.
 *
 * Layer: core.
 */
#ifndef REPORT_CORE_SCRATCH_H
#define REPORT_CORE_SCRATCH_H

#include <stddef.h>

/**
 * struct scratch - zero-initialised is closed; set @fd to -1 by scratch_open()
 * @bytes: mapped at @data, 0 before the first growth
 */
struct scratch {
	int fd;
	int is_open;
	unsigned char *data;
	size_t bytes;
};

/* Makes the file in @directory.  Return: 0 or -errno. */
int scratch_open(struct scratch *scratch, const char *directory);
void scratch_close(struct scratch *scratch);

/* Makes @data at least @bytes long; new bytes are 0.  Space on the disk is
   taken now, so that a full one is an error here and no signal later. @data may
   move.  Return: 0 or -errno. */
int scratch_reserve(struct scratch *scratch, size_t bytes);

#endif /* REPORT_CORE_SCRATCH_H */
