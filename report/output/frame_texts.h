/* SPDX-License-Identifier: MIT */
/*
 * What an output writes of a frame, made once and copied from then on: the
 * backtraces of a table have a few hundred different frames, thousands of times.
 *
 * Layer: output.
 */
#ifndef REPORT_OUTPUT_FRAME_TEXTS_H
#define REPORT_OUTPUT_FRAME_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "report/core/sink.h"
#include "report/figure/figure.h"

/**
 * struct frame_text - of one frame
 * @frame: without function where the slot is free; its texts are borrowed
 * @begin, @len: its part of frame_texts.bytes; @len is 0 until it is there
 */
struct frame_text {
	struct figure_frame frame;
	size_t begin;
	size_t len;
};

/**
 * struct frame_texts - open addressing by all that a frame says; at most half of
 * the slots are used
 * @bytes: a memory sink
 */
struct frame_texts {
	struct frame_text *slots;
	size_t capacity;
	size_t count;
	struct sink bytes;
};

void frame_texts_init(struct frame_texts *texts);
void frame_texts_done(struct frame_texts *texts);

/* Return: what there is of @frame, whose texts are borrowed until
   frame_texts_done(); valid until the next call.  NULL when out of memory. */
struct frame_text *frame_texts_get(struct frame_texts *texts,
				   const struct figure_frame *frame);

#endif /* REPORT_OUTPUT_FRAME_TEXTS_H */
