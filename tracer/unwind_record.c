/* SPDX-License-Identifier: MIT */
#include "tracer/unwind_record.h"

void record_drop_words(struct unwind_stack *stack, size_t keep)
{
	while (stack->words_len &&
	       stack->words[stack->words_len - 1].owner >= keep)
		stack->words_len--;
}

bool record_keep_words(struct unwind_stack *stack, size_t n)
{
	const struct unwind_word *word = stack->words;
	const struct unwind_word *end = word + stack->words_len;

	for (; word < end && word->owner < n; word++)
		if (UNLIKELY(record_load(word->addr) != word->value))
			return false;
	stack->words_len = (size_t)(word - stack->words);
	return true;
}

void record_enter_words(struct unwind_stack *stack, size_t walked_len,
			size_t read_len, size_t keep)
{
	const struct unwind_word *word = stack->read + read_len;

	for (size_t i = walked_len; i-- > 0; keep++) {
		while (word > stack->read && word[-1].owner == i) {
			word--;
			stack->words[stack->words_len] = *word;
			stack->words[stack->words_len++].owner = keep;
		}
	}
}

/*
 * Safety: see unwind_record.h.
 * Return: of the record's frames from @from to before @n, the outermost one
 * that has read a word which has changed; @n if none has.
 */
static size_t find_changed_word(const struct unwind_stack *stack,
					 size_t from, size_t n)
{
	const struct unwind_word *words = stack->words;
	size_t low = 0, high = from ? stack->words_len : 0;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (words[middle].owner < from)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i < stack->words_len && words[i].owner < n; i++)
		if (UNLIKELY(record_load(words[i].addr) != words[i].value))
			return words[i].owner;
	return n;
}

bool record_confirms(const struct unwind_stack *stack, size_t walked_len,
		     size_t *n, struct record_span *intact)
{
	size_t from = 0, to;

	if (*n + walked_len > UNWIND_WINDOW_MAX || stack->record_base)
		from = unwind_base(stack, *n + walked_len);
	if (*n <= from || (*n <= intact->to && intact->from <= from))
		return true;
	to = from + record_count_frames(stack->record_at + from,
					stack->record_pcs + from, *n - from);
	to = find_changed_word(stack, from, to);
	*intact = (struct record_span){from, to};
	if (to == *n)
		return true;
	*n = to;
	return false;
}
