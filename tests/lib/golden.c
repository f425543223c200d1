/* SPDX-License-Identifier: MIT */
#include "tests/lib/golden.h"

#include <sys/stat.h>

#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/output/artifact.h"
#include "tests/lib/unit.h"

/* Return: malloc'd text of a file, NULL if there is none. */
static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	if (getdelim(&text, &size, EOF, file) < 0) {
		free(text);
		text = calloc(1, 1);
	}
	fclose(file);
	return text;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file)
		fail_msg("cannot write %s", path);
	fputs(text, file);
	fclose(file);
}

void golden_check_text(const char *text, const char *name)
{
	char golden[256], found[256];
	char *expected;

	snprintf(golden, sizeof(golden), "tests/golden/%s", name);
	snprintf(found, sizeof(found), "build/golden/%s", name);
	if (getenv("BLESS")) {
		write_file(golden, text);
		return;
	}
	expected = read_file(golden);
	if (expected && strcmp(expected, text) == 0) {
		free(expected);
		return;
	}
	free(expected);
	mkdir("build", 0777);
	mkdir("build/golden", 0777);
	write_file(found, text);
	fail_msg("diff %s %s; BLESS=1 when the second is right", golden, found);
}

void golden_check_artifact(const char *artifact, const struct figure *figure,
			   const char *name)
{
	const struct artifact_format *format = artifact_find(artifact);
	struct diag diag = { 0 };
	struct sink out;

	assert_non_null(format);
	sink_init_memory(&out);
	if (format->render(figure, &out, &diag) != 0)
		fail_msg("%s: %s", artifact, diag.text);
	golden_check_text(out.data ? out.data : "", name);
	assert_int_equal(sink_done(&out), 0);
}
