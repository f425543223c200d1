/* SPDX-License-Identifier: MIT */
/*
 * sample_pages DIR [TEMPLATES] - every page of every sample, as
 * DIR/KIND/index.html and DIR/KIND/report.md, for eyes and browser tests.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "report/core/diag.h"
#include "report/core/sink.h"
#include "tests/lib/sample_figures.h"

static int page_write(const struct page *page, const struct page_format *format,
		      const char *dir)
{
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	char path[4096];
	char text[2048];
	struct sink sink;
	FILE *file;
	int error;

	snprintf(path, sizeof(path), "%s/%s", dir, format->file);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		return 1;
	}
	sink_init_file(&sink, file);
	error = format->render(page, &sink, &diag);
	if (error) {
		diag_format(&diag, text, sizeof(text));
		fprintf(stderr, "%s: %s (%s)\n", path, text, strerror(-error));
	}
	if (sink_done(&sink) || fclose(file))
		error = error ? error : -EIO;
	return error != 0;
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = {
		[SAMPLE_FULL] = "full",
		[SAMPLE_DAMAGED] = "damaged",
		[SAMPLE_EMPTY] = "empty",
		[SAMPLE_BARE] = "bare",
	};
	struct arena arena = { 0 };
	int status = 0;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: sample_pages DIR [TEMPLATES]\n");
		return 2;
	}
	for (int kind = SAMPLE_FULL; kind <= SAMPLE_BARE; kind++) {
		struct page page =
			*sample_page(&arena, (enum sample_kind)kind);
		char dir[2048];

		page.template_dir = argv[2];
		snprintf(dir, sizeof(dir), "%s/%s", argv[1], kinds[kind]);
		if (mkdir(dir, 0777) && errno != EEXIST) {
			perror(dir);
			return 1;
		}
		for (size_t i = 0; page_formats[i]; i++)
			status |= page_write(&page, page_formats[i], dir);
	}
	arena_done(&arena);
	return status;
}
