/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <string.h>

#include "report/output/page.h"

const struct page_format *const page_formats[] = {
#define PAGE(id) &page_##id,
#include "report/output/page_list.h"
#undef PAGE
	NULL,
};

const struct page_format *page_find(const char *name)
{
	for (size_t i = 0; page_formats[i]; i++)
		if (strcmp(page_formats[i]->name, name) == 0)
			return page_formats[i];
	return NULL;
}
