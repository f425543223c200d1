/* SPDX-License-Identifier: MIT */
/*
 * PATH.live: the buffers that had not yet become chunks when the process died.
 *
 * Layer: input.
 */
#ifndef REPORT_INPUT_LIVE_H
#define REPORT_INPUT_LIVE_H

#include <stddef.h>
#include <stdint.h>

struct chunk_payload;
struct diag;
struct findings;
struct lane_chunk;
struct source;

/**
 * struct live_chunks - slots that hold events, in the file's order
 */
struct live_chunks {
	struct lane_chunk *items;
	size_t count;
	size_t capacity;
};

/**
 * live_scan() - find the slots in use
 * @trace_id: of the trace; a file with another one is left alone
 * @chunks:   extended
 * @damage:   what is wrong with the file
 *
 * Return: 0; -ENOMEM; negative errno from reading, @diag filled.
 */
int live_scan(const struct source *live, uint64_t trace_id,
	      struct live_chunks *chunks, struct findings *damage,
	      struct diag *diag);

/* Reads a slot's events.  Return: 0; 1 not readable, *@ret_problem says why;
   negative errno, @diag filled. */
int live_load(const struct source *live, const struct lane_chunk *where,
	      struct chunk_payload *payload, const char **ret_problem,
	      struct diag *diag);

#endif /* REPORT_INPUT_LIVE_H */
