/* SPDX-License-Identifier: MIT */
/*
 * What `use`, `use_any` and `not_use` name.
 */
#ifndef REPORT_SPEC_USES_H
#define REPORT_SPEC_USES_H

#include <stdbool.h>

struct mistakes;
struct spec;

/* A filter that would be copied to more places than this, by use within use, is
   refused. */
enum { SPEC_USES_MAX = 1000 };

/**
 * spec_uses_resolve() - point every name at its [filter NAME] section
 * @spec: complete; its array of filters does not move any more
 * @may_lack: some sections could not be read: names that none has are passed over
 *
 * @mistakes gets one with file and line of the key for each filter that does not
 * exist, that uses itself, or that is used too often: those point nowhere.
 *
 * Return: 0, also with mistakes; -ENOMEM.
 */
int spec_uses_resolve(struct spec *spec, bool may_lack,
		      struct mistakes *mistakes);

#endif /* REPORT_SPEC_USES_H */
