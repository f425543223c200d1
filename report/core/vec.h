/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays: a struct with members `items`, `count`, `capacity`.
 *
 *	struct { struct row *items; size_t count, capacity; } rows = { 0 };
 *	struct row *row = vec_push(&rows);      NULL when out of memory
 *	vec_done(&rows);
 *
 * Layer: core.
 */
#ifndef REPORT_CORE_VEC_H
#define REPORT_CORE_VEC_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Return: @items grown to hold @need elements, *@capacity updated; NULL when
   out of memory or on overflow, with @items untouched. */
void *vec_grow(void *items, size_t *capacity, size_t need, size_t element_size);

#define vec_reserve(vec, need)                                                 \
	((need) <= (vec)->capacity                                             \
		 ? 1                                                           \
		 : vec_set_items((void **)&(vec)->items,                       \
				 vec_grow((vec)->items, &(vec)->capacity,      \
					  (need), sizeof(*(vec)->items))))

/* Return: pointer to a new zeroed element at the end, or NULL. */
#define vec_push(vec)                                                          \
	(vec_reserve((vec), (vec)->count + 1)                                  \
		 ? (memset(&(vec)->items[(vec)->count], 0,                     \
			   sizeof(*(vec)->items)),                             \
		    &(vec)->items[(vec)->count++])                             \
		 : NULL)

#define vec_done(vec)                                                          \
	(free((vec)->items), (vec)->items = NULL, (vec)->count = 0,            \
	 (vec)->capacity = 0)

static inline int vec_set_items(void **items, void *grown)
{
	if (!grown)
		return 0;
	*items = grown;
	return 1;
}

#endif /* REPORT_CORE_VEC_H */
