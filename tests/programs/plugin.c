/* SPDX-License-Identifier: MIT */
/* A library built twice under one name, with PLUGIN_SIZE to tell apart. */
#include <stdlib.h>

void *plugin_allocate(void);
void plugin_ready(void) __attribute__((constructor));
void plugin_done(void) __attribute__((destructor));

static void *kept;

void plugin_ready(void)
{
	kept = malloc(PLUGIN_SIZE + 1);
}

void *plugin_allocate(void)
{
	void *volatile p = malloc(PLUGIN_SIZE);

	return p;
}

void plugin_done(void)
{
	free(kept);
}
