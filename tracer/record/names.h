/* SPDX-License-Identifier: MIT */
/* The file in which tracers announce their traces (tracer/announce.h). */
#ifndef TRACER_RECORD_NAMES_H
#define TRACER_RECORD_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct names - the file
 * @path:       by which tracers open it
 * @is_on_disk: it has to be removed
 */
struct names {
	int fd;
	char path[64];
	bool is_on_disk;
};

/*
 * Makes it, in memory if other processes can get at it there.
 * Safety: single thread.  Ends the process where neither can be had.
 */
void names_open(struct names *ret);

/*
 * Reads what tracers have written, and lets go of the file.  Programs that go
 * on have its name and find that it leads elsewhere.
 *
 * Safety: single thread; allocates, ends the process without memory.
 * Return: @ret_len bytes and then a zero; the caller's.
 */
char *names_take(struct names *names, size_t *ret_len);

#endif /* TRACER_RECORD_NAMES_H */
