/* SPDX-License-Identifier: MIT */
/*
 * Texts are told apart by their addresses: the same text at another address only
 * makes one more entry.
 */
#include "report/output/frame_texts.h"

#include <stdbool.h>
#include <stdlib.h>

enum { CAPACITY_INITIAL = 256 };

void frame_texts_init(struct frame_texts *texts)
{
	*texts = (struct frame_texts){ .slots = NULL };
	sink_init_memory(&texts->bytes);
}

void frame_texts_done(struct frame_texts *texts)
{
	free(texts->slots);
	sink_done(&texts->bytes);
	frame_texts_init(texts);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static uint64_t frame_hash(const struct figure_frame *frame)
{
	uint64_t hash = mix(0, frame->address);

	hash = mix(hash, (uintptr_t)frame->function);
	return mix(hash, (uint64_t)frame->line << 1 | frame->is_inlined);
}

static bool is_same(const struct figure_frame *a, const struct figure_frame *b)
{
	return a->address == b->address && a->function == b->function &&
	       a->file == b->file && a->line == b->line &&
	       a->module == b->module && a->is_inlined == b->is_inlined;
}

/* Return: the slot of @frame, or the free one where it belongs. */
static struct frame_text *slot_find(struct frame_text *slots, size_t capacity,
				    const struct figure_frame *frame)
{
	size_t at = frame_hash(frame) & (capacity - 1);

	while (slots[at].frame.function && !is_same(&slots[at].frame, frame))
		at = (at + 1) & (capacity - 1);
	return &slots[at];
}

static bool grow(struct frame_texts *texts)
{
	size_t capacity = texts->capacity ? 2 * texts->capacity
					  : CAPACITY_INITIAL;
	struct frame_text *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < texts->capacity; i++) {
		const struct frame_text *from = &texts->slots[i];

		if (from->frame.function)
			*slot_find(slots, capacity, &from->frame) = *from;
	}
	free(texts->slots);
	texts->slots = slots;
	texts->capacity = capacity;
	return true;
}

struct frame_text *frame_texts_get(struct frame_texts *texts,
				   const struct figure_frame *frame)
{
	struct frame_text *slot;

	if (2 * texts->count >= texts->capacity && !grow(texts))
		return NULL;
	slot = slot_find(texts->slots, texts->capacity, frame);
	if (!slot->frame.function) {
		slot->frame = *frame;
		texts->count++;
	}
	return slot;
}
