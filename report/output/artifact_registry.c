/* SPDX-License-Identifier: MIT */
#include "report/output/artifact.h"

#include <string.h>

const struct artifact_format *const artifact_formats[] = {
#define ARTIFACT(id) &artifact_##id,
#include "report/output/artifact_list.h"
#undef ARTIFACT
	NULL,
};

const struct artifact_format *artifact_find(const char *name)
{
	for (size_t i = 0; artifact_formats[i]; i++)
		if (strcmp(artifact_formats[i]->name, name) == 0)
			return artifact_formats[i];
	return NULL;
}
