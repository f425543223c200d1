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
struct lane_chunks;
struct source;

/**
 * live_scan() - find the slots in use
 * @trace_id: of the trace; a file with another one is left alone
 * @slots:    extended, in the file's order
 * @damage:   what is wrong with the file
 *
 * Return: 0; -ENOMEM; negative errno from reading, @diag filled.
 */
int live_scan(const struct source *live, uint64_t trace_id,
	      struct lane_chunks *slots, struct findings *damage,
	      struct diag *diag);

/* Reads a slot's events and codes them as EVENTS does.  Return: 0, with
   *@ret_problem why the end of them is missing, NULL if all are there; 1 not
   readable, *@ret_problem says why; negative errno, @diag filled. */
int live_load(const struct source *live, const struct lane_chunk *where,
	      struct chunk_payload *payload, const char **ret_problem,
	      struct diag *diag);

/**
 * live_records() - from records to the coding of EVENTS
 * @words:   @count 64-bit words
 * @from:    those before it only say what stack and time the others build upon
 * @payload: gets the events before the first one that is not right
 *
 * Return: 0 with *@ret_problem as live_load(); -ENOMEM.
 */
int live_records(const uint64_t *words, size_t count, size_t from,
		 struct chunk_payload *payload, const char **ret_problem);

#endif /* REPORT_INPUT_LIVE_H */
