/* SPDX-License-Identifier: MIT */
#include "tracer/sys.h"

long (*sys_filtered)(const long call[7]);
