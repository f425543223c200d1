/* SPDX-License-Identifier: MIT */
/* Files of a trace on disk: whatever they are called, below one directory. */
#include "tests/lib/unit.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/core/diag.h"
#include "report/core/kept.h"
#include "report/event/run.h"
#include "report/extract.h"

static char base[256];   /* holds all that a test writes */
static char inside[300]; /* where files are to go */

static int setup(void **state)
{
	const char *parent = getenv("TMPDIR");

	(void)state;
	snprintf(base, sizeof(base), "%s/extract-test.XXXXXX",
		 parent ? parent : "/tmp");
	if (!mkdtemp(base))
		return -1;
	snprintf(inside, sizeof(inside), "%s/in/side", base);
	return 0;
}

static int teardown(void **state)
{
	char command[300];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", base);
	return system(command);
}

/* The bytes of a file are its @source. */
static int read_text(const struct kept_file *file,
		     const struct kept_part *part, uint8_t *ret)
{
	if (!file->source)
		return -EIO;
	memcpy(ret, file->source, part->len);
	return 0;
}

static const struct kept_part four = { .len = 4 };

static struct kept_file make_file(const char *name, const char *text)
{
	return (struct kept_file){ .kind = KEPT_INCLUDED,
				   .is_whole = true,
				   .path = name,
				   .name = name,
				   .bytes = 4,
				   .parts = &four,
				   .part_count = 1,
				   .read = read_text,
				   .source = text };
}

/* Failures but the first, of all extractions. */
static struct findings more;

static int extract(const struct kept_file *files, size_t count,
		   struct diag *diag)
{
	const struct run run = { .trace_path = "trace",
				 .files = files,
				 .file_count = count };

	*diag = (struct diag){ 0 };
	return extract_files(&run, inside, NULL, &more, diag);
}

static void assert_content(const char *directory, const char *name,
			   const char *text)
{
	char path[1024], bytes[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "r");
	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	fread(bytes, 1, sizeof(bytes) - 1, file);
	fclose(file);
	assert_string_equal(bytes, text);
}

/* Nothing but "in" lies where all of it is. */
static void assert_nothing_outside(void)
{
	DIR *directory = opendir(base);
	struct dirent *entry;
	int count = 0;

	assert_non_null(directory);
	while ((entry = readdir(directory)))
		count += entry->d_name[0] != '.';
	closedir(directory);
	assert_int_equal(count, 1);
}

static void test_names(void **state)
{
	static const struct {
		const char *name;
		const char *place;
	} names[] = {
		{ "/usr/bin/x", "usr/bin/x" },
		{ "relative", "relative" },
		{ "/../../../up", "up" },
		{ "a/../../b", "a/b" },
		{ "//double///./slash/", "double/slash" },
		{ "/", "_" },
		{ "../..", "_.2" },
		{ "...", "..." },
		{ "/usr/bin/x", "usr/bin/x.2" },
		{ "usr/bin/x", "usr/bin/x.3" },
		{ "", "jit/7f00deadbeef" },
	};
	enum { COUNT = sizeof(names) / sizeof(names[0]) };
	struct kept_file files[COUNT];
	char texts[COUNT][16];
	struct diag diag;

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%04d", i);
		files[i] = make_file(names[i].name, texts[i]);
	}
	files[COUNT - 1].addr = 0x7f00deadbeef;
	/* What a run before has written is replaced. */
	for (int run = 0; run < 2; run++) {
		assert_int_equal(extract(files, COUNT, &diag), 0);
		for (int i = 0; i < COUNT; i++)
			assert_content(inside, names[i].place, texts[i]);
		assert_nothing_outside();
	}
}

/* Links below the directory, to what is not: a file and a directory. */
static void test_links(void **state)
{
	const struct kept_file through = make_file("/there/x", "evil");
	const struct kept_file over = make_file("/link", "evil");
	char outside[300], link[512];
	struct diag diag;
	FILE *file;

	(void)state;
	snprintf(outside, sizeof(outside), "%s/in/outside", base);
	mkdir(inside, 0777);
	assert_int_equal(mkdir(outside, 0777), 0);
	snprintf(link, sizeof(link), "%s/there", inside);
	assert_int_equal(symlink(outside, link), 0);
	assert_int_not_equal(extract(&through, 1, &diag), 0);
	assert_non_null(strstr(diag.file, "there/x"));
	snprintf(link, sizeof(link), "%s/x", outside);
	assert_int_equal(access(link, F_OK), -1);

	file = fopen(link, "w");
	assert_non_null(file);
	fputs("good", file);
	fclose(file);
	snprintf(link, sizeof(link), "%s/link", inside);
	assert_int_equal(symlink("../outside/x", link), 0);
	assert_int_equal(extract(&over, 1, &diag), 0);
	assert_content(inside, "link", "evil");
	assert_content(outside, "x", "good");
}

static void test_failures(void **state)
{
	struct kept_file files[] = { make_file("/f", "file"),
				     make_file("/f/g", "file") };
	struct kept_file unreadable = make_file("/h", NULL);
	struct kept_file huge = make_file("/i", "file");
	char long_name[400];
	struct kept_file longest = make_file(long_name, "file");
	struct diag diag;

	(void)state;
	assert_int_equal(extract(files, 2, &diag), -ENOTDIR);
	assert_content(inside, "f", "file");
	assert_int_equal(extract(&unreadable, 1, &diag), -EIO);
	assert_non_null(strstr(diag.file, "/h"));
	huge.bytes = UINT64_C(1) << 40;
	assert_int_equal(extract(&huge, 1, &diag), -EFBIG);
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(extract(&longest, 1, &diag), -ENAMETOOLONG);
}

/* One that cannot be written, or read, does not keep the rest from it. */
static void test_failures_of_some(void **state)
{
	struct kept_file files[] = { make_file("/some", "file"),
				     make_file("/some/g", "file"),
				     make_file("/before", "file"),
				     make_file("/unreadable", NULL),
				     make_file("/after", "file") };
	struct diag diag;
	size_t before = more.count;

	(void)state;
	assert_int_equal(extract(files, 5, &diag), -ENOTDIR);
	assert_non_null(strstr(diag.file, "/some/g"));
	assert_int_equal(more.count, before + 1);
	assert_non_null(strstr(more.items[before].file, "/unreadable"));
	assert_content(inside, "before", "file");
	assert_content(inside, "after", "file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_failures_of_some),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
