/* SPDX-License-Identifier: MIT */
/*
 * Which files a report wrote into its directory, so that the next one can take
 * away those that it does not write again: an old leaks.folded beside a new
 * index.html would be read as part of it.
 */
#ifndef REPORT_MANIFEST_H
#define REPORT_MANIFEST_H

#include <stddef.h>

struct diag;

#define MANIFEST_NAME ".memprof-files"

/**
 * manifest_update() - remove what is stale, remember what is new
 * @names: base names written now
 *
 * Only files that an earlier manifest in @directory names are ever removed.
 *
 * Return: 0, or negative errno with @diag filled when the manifest cannot be
 * written.
 */
int manifest_update(const char *directory, const char *const *names,
		    size_t count, struct diag *diag);

#endif /* REPORT_MANIFEST_H */
