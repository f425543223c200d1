/* SPDX-License-Identifier: MIT */
#ifndef TRACER_VERSION_H
#define TRACER_VERSION_H

#define MEMPROF_VERSION "0.1.0"

#endif /* TRACER_VERSION_H */
