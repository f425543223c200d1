/* SPDX-License-Identifier: MIT */
/* What every unit test includes first. */
#ifndef TESTS_LIB_UNIT_H
#define TESTS_LIB_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#endif /* TESTS_LIB_UNIT_H */
