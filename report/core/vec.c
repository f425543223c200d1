/* SPDX-License-Identifier: MIT */
#include "report/core/vec.h"

#include <stdint.h>

void *vec_grow(void *items, size_t *capacity, size_t need, size_t element_size)
{
	size_t grown = *capacity ? *capacity : 8;
	size_t bytes;
	void *result;

	while (grown < need) {
		if (grown > SIZE_MAX / 2)
			return NULL;
		grown *= 2;
	}
	if (__builtin_mul_overflow(grown, element_size, &bytes))
		return NULL;
	result = realloc(items, bytes);
	if (result)
		*capacity = grown;
	return result;
}
