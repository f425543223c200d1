/* SPDX-License-Identifier: MIT */
/*
 * What `use`, `use_any` and `not_use` name.
 */
#ifndef REPORT_SPEC_USES_H
#define REPORT_SPEC_USES_H

struct diag;
struct spec;

/* A filter that would be copied to more places than this, by use within use, is
   refused. */
enum { SPEC_USES_MAX = 1000 };

/**
 * spec_uses_resolve() - point every name at its [filter NAME] section
 * @spec: complete; its array of filters does not move any more
 *
 * Return: 0; -EINVAL with @diag naming file and line of the key for a filter
 * that does not exist, that uses itself, or that is used too often; -ENOMEM.
 */
int spec_uses_resolve(struct spec *spec, struct diag *diag);

#endif /* REPORT_SPEC_USES_H */
