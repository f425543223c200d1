/* SPDX-License-Identifier: MIT */
/* Golden files: tests/golden/NAME holds what was once found right.  With
   BLESS=1 in the environment it is written instead of compared. */
#ifndef TESTS_LIB_GOLDEN_H
#define TESTS_LIB_GOLDEN_H

#include "report/figure/figure.h"

/* Renders @figure as @artifact and compares with golden file @name.  Fails the
   test where they differ and leaves what was drawn in build/golden/@name. */
void golden_check_artifact(const char *artifact, const struct figure *figure,
			   const char *name);
void golden_check_text(const char *text, const char *name);

#endif /* TESTS_LIB_GOLDEN_H */
