/* SPDX-License-Identifier: MIT */
#ifndef TRACER_HOOKS_NEW_H
#define TRACER_HOOKS_NEW_H

/*
 * Looks the global operators up, so that a forked child need not take the
 * loader's lock.  Safety: constructor, inside the internal guard.
 */
void hooks_new_init(void);

#endif /* TRACER_HOOKS_NEW_H */
