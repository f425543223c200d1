/* SPDX-License-Identifier: MIT */
/*
 * What several runs that are reported together have to do with each other: one
 * page and one JSON file above their reports.
 */
#ifndef REPORT_FAMILY_H
#define REPORT_FAMILY_H

#include <stddef.h>
#include <stdio.h>

#include "report/core/arena.h"

struct cli;
struct diag;
struct pipeline;
struct spec;

/**
 * struct family - runs in the order they were given; zero-initialised is empty
 * @arena: owns all text
 */
struct family {
	struct arena arena;
	struct {
		struct family_member *items;
		size_t count;
		size_t capacity;
	} members;
};

void family_done(struct family *family);

/* A run was reported, in the directory @name.  Return: 0 or -ENOMEM. */
int family_add(struct family *family, const struct pipeline *pipeline,
	       const char *name);

/* Writes a line on the run with the highest peak; there must be one. */
void family_print_highest(const struct family *family, FILE *out);

/* Writes processes.json and the pages of @spec into @directory, which exists.
   Return: 0 or negative errno, @diag filled. */
int family_write(struct family *family, const struct cli *cli,
		 const struct spec *spec, const char *directory,
		 struct diag *diag);

#endif /* REPORT_FAMILY_H */
