/* SPDX-License-Identifier: MIT */
/* draw_figures DIR: sample figures in all formats, for tests that look at them
   from outside (tests/browser). */
#include <stdio.h>
#include <string.h>

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/output/artifact.h"
#include "report/output/svg/svg_figures.h"
#include "tests/lib/figure_samples.h"

static const char *directory;

static void draw(const char *name, const char *format,
		 const struct figure *figure)
{
	const struct artifact_format *artifact = artifact_find(format);
	struct diag diag = { 0 };
	struct sink out;
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.%s", directory, name,
		 artifact->suffix);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		return;
	}
	sink_init_file(&out, file);
	if (artifact->render(figure, &out, &diag) < 0 || sink_done(&out) < 0)
		fprintf(stderr, "%s: %s\n", path, diag.text);
	fclose(file);
}

static void draw_inline(FILE *file, const struct figure *figure, const char *id)
{
	struct diag diag = { 0 };
	struct sink out;

	sink_init_file(&out, file);
	if (figure->kind == FIGURE_TREE)
		flamegraph_render(
			figure,
			&(struct flamegraph_options){ .inline_in_html = true,
						      .id_prefix = id },
			&out, &diag);
	else
		(figure->kind == FIGURE_TABLE ? histogram_render
					      : timeline_render)(
			figure,
			&(struct timeline_options){ .inline_in_html = true,
						    .id_prefix = id },
			&out, &diag);
	sink_done(&out);
}

/* Two graphs and two charts in one page. */
static void draw_page(struct arena *arena)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/page.html", directory);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		return;
	}
	fprintf(file,
		"<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\">"
		"<meta name=\"viewport\" content=\"width=device-width\">"
		"<title>figures</title><style>%s "
		"body{background:var(--mp-ground);color:var(--mp-text)}</"
		"style><h1>figures</h1>",
		svg_figures_style());
	draw_inline(file, sample_series(arena, 300, 12.5), "timeline");
	draw_inline(file, sample_lifetimes(arena), "lifetimes");
	draw_inline(file, sample_tree_small(arena), "small");
	draw_inline(file, sample_tree_large(arena, 3000, 5), "large");
	fprintf(file, "<script>%s</script><script>%s</script></html>",
		flamegraph_script(), timeline_script());
	fclose(file);
}

int main(int argc, char **argv)
{
	static const char *const tree_formats[] = { "flamegraph", "folded",
						    "tree" };
	struct arena arena = { 0 };

	if (argc != 2)
		return 2;
	directory = argv[1];
	for (size_t i = 0; i < 3; i++) {
		draw("small", tree_formats[i], sample_tree_small(&arena));
		draw("hostile", tree_formats[i], sample_tree_hostile(&arena));
		draw("empty", tree_formats[i], sample_tree_empty(&arena));
		draw("zero", tree_formats[i], sample_tree_zero(&arena));
		draw("large", tree_formats[i],
		     sample_tree_large(&arena, 100000, 1));
	}
	draw("medium", "flamegraph", sample_tree_large(&arena, 3000, 5));
	draw("medium", "tree", sample_tree_large(&arena, 3000, 5));
	draw("deep", "flamegraph", sample_tree_deep(&arena, 65536));
	draw("wide", "flamegraph", sample_tree_wide(&arena, 100000));
	draw("run", "timeline", sample_series(&arena, 300, 12.5));
	draw("short", "timeline", sample_series(&arena, 40, 0.0042));
	draw("none", "timeline", sample_series(&arena, 0, 0));
	draw("run", "timeline.json", sample_series(&arena, 300, 12.5));
	draw("none", "timeline.json", sample_series(&arena, 0, 0));
	draw("some", "sizes", sample_sizes(&arena));
	draw("some", "sizes.json", sample_sizes(&arena));
	draw("some", "lifetimes", sample_lifetimes(&arena));
	draw("some", "lifetimes.json", sample_lifetimes(&arena));
	draw("one", "allocations", sample_allocations(&arena));
	draw("one", "groups", sample_groups(&arena));
	draw("one", "allocations.csv", sample_allocations(&arena));
	draw("one", "groups.csv", sample_groups(&arena));
	draw("one", "summary", sample_summary(&arena));
	draw("one", "mmaps", sample_mmaps(&arena));
	draw("one", "mallopts", sample_mallopts(&arena));
	draw_page(&arena);
	arena_done(&arena);
	return 0;
}
