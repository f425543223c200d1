/* SPDX-License-Identifier: MIT */
/* The template language: what each word gives, and the text of every fault. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/template/file.h"
#include "report/template/template.h"

static const struct figure_scalar head_scalars[] = {
	{ "peak_bytes", "Peak", NULL, { .kind = CELL_BYTES, .count = 9 } },
	{ "leaked_bytes", "Leaked", NULL, { .kind = CELL_BYTES, .count = 0 } },
	{ "end", "End", NULL, { .kind = CELL_NONE } },
	{ "damaged", "Damaged", NULL, { .kind = CELL_FLAG, .flag = false } },
};
static const struct figure head = {
	.kind = FIGURE_SCALARS, .id = "head", .scalars = head_scalars,
	.scalar_count = 4,
};
static const struct figure note = {
	.kind = FIGURE_NOTE, .id = "note.a", .note = { .text = "text" },
};
static const struct figure empty = { .kind = FIGURE_TABLE, .id = "empty" };
static const struct figure leaks = {
	.kind = FIGURE_NOTE, .id = "view.leaks.tree", .note = { .text = "t" },
};
static const struct figure *const figures[] = { &head, &note, &empty, &leaks };
static const struct template_view views[] = {
	{ "leaks", "Never *freed* {{x}}" },
	{ "peak", "Peak" },
};
static const struct template_text texts[] = { { "title", "a <b> [c](d)" } };
static const struct template_data data = {
	.figures = figures, .figure_count = 4, .views = views, .view_count = 2,
	.texts = texts, .text_count = 1,
};

static int draw_figure(void *context, const struct figure *figure,
		       struct sink *out, struct diag *diag)
{
	(void)context, (void)diag;
	sink_printf(out, "<x>%s</x>", figure->id);
	return 0;
}

static int draw_block(void *context, const char *name, struct sink *out,
		      struct diag *diag)
{
	(void)context, (void)diag;
	if (strcmp(name, "view.peak.links") != 0)
		return TEMPLATE_E_NO_BLOCK;
	if (out)
		sink_puts(out, "<links>");
	return 0;
}

static int draw_tiles(void *context, const struct figure_scalar *const *scalars,
		      size_t count, struct sink *out, struct diag *diag)
{
	(void)context, (void)diag;
	for (size_t i = 0; i < count; i++)
		sink_printf(out, "<%s>", scalars[i]->key);
	return 0;
}

static int draw_scalar(void *context, const struct figure_scalar *scalar,
		       struct sink *out, struct diag *diag)
{
	(void)context, (void)diag;
	sink_printf(out, "<i>%u</i>", (unsigned)scalar->value.count);
	return 0;
}

static int draw_text(void *context, const char *text, struct sink *out,
		     struct diag *diag)
{
	(void)context, (void)diag;
	sink_printf(out, "T(%s)", text);
	return 0;
}

static int draw_section(void *context, enum template_section section,
			const char *title, struct sink *before,
			struct sink *after)
{
	(void)context;
	sink_printf(before, "<%s %s>", section == SECTION_TABS ? "tabs" : "fold",
		    title);
	sink_puts(after, "</>");
	return 0;
}

static int render(const char *text, bool is_html, struct sink *out,
		  struct diag *diag)
{
	const struct template_output output = {
		.is_html = is_html,
		.figure = draw_figure,
		.block = draw_block,
		.tiles = draw_tiles,
		.scalar = draw_scalar,
		.text = is_html ? NULL : draw_text,
		.section = draw_section,
	};

	sink_init_memory(out);
	return template_render("t.md", text, strlen(text), &data, &output, out,
			       diag);
}

static void gives(bool is_html, const char *text, const char *expected)
{
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	char message[2048];
	struct sink out;

	if (render(text, is_html, &out, &diag)) {
		diag_format(&diag, message, sizeof(message));
		fail_msg("%s", message);
	}
	assert_string_equal(out.data ? out.data : "", expected);
	sink_done(&out);
}

static void refuses(const char *text, const char *expected)
{
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	char message[2048];
	struct sink out;

	assert_int_equal(render(text, true, &out, &diag), -EINVAL);
	diag_format(&diag, message, sizeof(message));
	assert_string_equal(message, expected);
	assert_int_equal(out.len, 0);
	sink_done(&out);
}

static void test_figures(void **state)
{
	(void)state;
	gives(true, "a\n\n{{head}}\n\nb\n",
	      "<p>a</p>\n<x>head</x>\n<p>b</p>\n");
	gives(true, "{{head}}\n{{note.a}}\n", "<x>head</x>\n<x>note.a</x>\n");
	gives(true, "{{ head }}\n", "<x>head</x>\n");
	gives(false, "a\n\n{{head}}\n\nb\n", "a\n\n<x>head</x>\n\nb\n");
	gives(true, "- a\n\n  {{head}}\n",
	      "<ul>\n<li>\n<p>a</p>\n<x>head</x>\n</li>\n</ul>\n");
	gives(true, "> {{head}}\n",
	      "<blockquote>\n<x>head</x>\n</blockquote>\n");
}

static void test_values(void **state)
{
	(void)state;
	gives(true, "It is {{head.peak_bytes}}.\n",
	      "<p>It is <i>9</i>.</p>\n");
	gives(true, "{{head.peak_bytes}}\n", "<p><i>9</i></p>\n");
	gives(true, "**{{head.peak_bytes}}**{{head.peak_bytes}} x\n",
	      "<p><strong><i>9</i></strong><i>9</i> x</p>\n");
	gives(false, "{{title}}\n", "T(a <b> [c](d))\n");
	gives(true, "{{tiles head.peak_bytes nothing head.end "
		    "head.leaked_bytes}}\n",
	      "<peak_bytes><leaked_bytes>\n");
}

/* Data never becomes markup: neither Markdown nor HTML nor placeholders. */
static void test_text_is_literal(void **state)
{
	(void)state;
	gives(true, "x {{title}}\n", "<p>x a &lt;b&gt; [c](d)</p>\n");
	gives(true, "{{#each views}}\n{{view.title}}\n{{/each}}\n",
	      "<p>Never *freed* {{x}}</p>\n<p>Peak</p>\n");
}

static void test_conditions(void **state)
{
	(void)state;
	gives(true, "{{#if note.a}}\n\nyes\n\n{{/if}}\n", "<p>yes</p>\n");
	gives(true, "{{#if note.a}}\nyes\n{{/if}}\nno\n",
	      "<p>yes</p>\n<p>no</p>\n");
	gives(true, "{{#if empty}}\nyes\n{{/if}}\n", "");
	gives(true, "{{#if absent}}\n{{absent}}\n{{/if}}\n", "");
	gives(true, "{{#unless absent}}\nyes\n{{/unless}}\n", "<p>yes</p>\n");
	gives(true, "{{#if head.leaked_bytes}}\nzero\n{{/if}}\n",
	      "<p>zero</p>\n");
	gives(true, "{{#if head.end}}\nno\n{{/if}}\n"
		    "{{#if head.damaged}}\nno\n{{/if}}\n",
	      "");
	gives(true,
	      "{{#if note.a}}\n{{#if empty}}\nno\n{{/if}}\nyes\n{{/if}}\n",
	      "<p>yes</p>\n");
}

static void test_views(void **state)
{
	(void)state;
	gives(true,
	      "{{#each views}}\n"
	      "{{view.name}}\n"
	      "{{#if view.tree}}\n{{view.tree}}\n{{/if}}\n"
	      "{{#if view.links}}\n{{view.links}}\n{{/if}}\n"
	      "{{/each}}\n",
	      "<p>leaks</p>\n<x>view.leaks.tree</x>\n<p>peak</p>\n<links>\n");
	gives(true, "{{view.leaks.tree}}\n", "<x>view.leaks.tree</x>\n");
}

static void test_folding(void **state)
{
	(void)state;
	gives(true, "{{#details A & b}}\n\nx\n\n{{/details}}\n",
	      "<fold A & b>\n<p>x</p>\n</>\n");
	gives(true, "{{#tabs}}\n{{head}}\n{{/tabs}}\n",
	      "<tabs >\n<x>head</x>\n</>\n");
	gives(false, "{{#details A}}\n{{head}}\n{{/details}}\n",
	      "<fold A>\n\n<x>head</x>\n\n</>\n");
}

static void test_headings(void **state)
{
	(void)state;
	gives(true, "# Top\n\n{{contents}}\n\n## A b\n\nx\n\n## A b\n\ny\n",
	      "<h1 id=\"top\">\nTop\n</h1>\n"
	      "<nav class=\"contents\" aria-label=\"Contents\">\n<ul>\n"
	      "<li><a href=\"#a-b\">A b</a></li>\n"
	      "<li><a href=\"#a-b-2\">A b</a></li>\n</ul>\n</nav>\n"
	      "<section aria-labelledby=\"a-b\">\n<h2 id=\"a-b\">\nA b\n</h2>\n"
	      "<p>x</p>\n</section>\n"
	      "<section aria-labelledby=\"a-b-2\">\n<h2 id=\"a-b-2\">\nA b\n"
	      "</h2>\n<p>y</p>\n</section>\n");
	gives(true, "# {{title}}\n",
	      "<h1 id=\"a-b-c-d\">\na &lt;b&gt; [c](d)\n</h1>\n");
	gives(false, "{{contents}}\n\n## A {{title}}\n",
	      "## A T(a <b> [c](d))\n");
}

static void test_markdown_survives(void **state)
{
	(void)state;
	gives(true,
	      "<!-- comment -->\n\n1. a\n2. [b](c.svg \"t\") `d`\n\n"
	      "```sh\ne <f>\n```\n\n---\n",
	      "<ol>\n<li>a</li>\n<li><a href=\"c.svg\" title=\"t\">b</a> "
	      "<code>d</code></li>\n</ol>\n"
	      "<pre><code class=\"language-sh\">e &lt;f&gt;\n</code></pre>\n"
	      "<hr />\n");
}

static void test_faults(void **state)
{
	(void)state;
	refuses("a\n\n{{hed}}\n",
		"t.md:3: nothing is called \"hed\"; did you mean \"head\"?");
	refuses("{{head.peek_bytes}}\n",
		"t.md:1: nothing is called \"head.peek_bytes\"; did you mean "
		"\"head.peak_bytes\"?");
	refuses("a\nb {{zzzzzzzzzz}}\n",
		"t.md:2: nothing is called \"zzzzzzzzzz\"");
	refuses("x {{head}}\n",
		"t.md:1: \"head\" must stand in a paragraph of its own");
	refuses("a\n\n`{{head}}`\n",
		"t.md:3: a placeholder cannot stand in code or in a link's "
		"target");
	refuses("[a]({{head}})\n", "t.md:1: a placeholder cannot stand in "
				   "code or in a link's target");
	refuses("    {{head}}\n", "t.md:1: a placeholder cannot stand in code");
	refuses("<b>x</b>\n", "t.md:1: raw HTML is not allowed in templates");
	refuses("<div>\n", "t.md:1: raw HTML is not allowed in templates");
	refuses("a {{head\n", "t.md:1: {{head has no \"}}\" in the same piece "
			      "of text");
	refuses("{{x*y*z}}\n", "t.md:1: {{x has no \"}}\" in the same piece "
			       "of text");
	refuses("{{a b}}\n", "t.md:1: {{a b}} is not a name of letters, "
			     "digits and \"_.-\"");
}

static void test_section_faults(void **state)
{
	(void)state;
	refuses("{{#if head}}\n", "t.md:1: {{#if}} has no {{/if}} at the same "
				  "level");
	refuses("{{/if}}\n", "t.md:1: {{/if}} ends nothing");
	refuses("{{#if head}}\n{{#tabs}}\n{{/if}}\n{{/tabs}}\n",
		"t.md:4: {{/tabs}} ends the section {{#if}} of line 1");
	refuses("{{#for x}}\n", "t.md:1: {{#for x}} begins with an unknown "
				"word (if, unless, each, details, tabs)");
	refuses("{{#if}}\n", "t.md:1: {{#if}} lacks the name or title after "
			     "its word");
	refuses("{{#each x}}\n", "t.md:1: {{#each x}} can only walk over "
				 "\"views\"");
	refuses("{{#each views}}\n{{#each views}}\n{{/each}}\n{{/each}}\n",
		"t.md:2: {{#each views}} inside of another");
	refuses("a {{#if head}} b\n",
		"t.md:1: {{#if head}} b must stand on a line of its own");
	refuses("- {{#if head}}\n\n{{/if}}\n",
		"t.md:1: {{#if}} has no {{/if}} at the same level");
}

static void test_depth(void **state)
{
	char text[512];

	(void)state;
	memset(text, '>', 200);
	memcpy(text + 200, "x\n", 3);
	refuses(text, "t.md:1: blocks are nested too deeply");
}

static void write_file(const char *path, const char *bytes, size_t len)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static void test_files(void **state)
{
	char dir[] = "/tmp/memprof-template-XXXXXX";
	struct arena arena = { 0 };
	struct template_file file;
	struct diag diag = { 0 };
	char path[128];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/report.md", dir);
	write_file(path, "mine\n", 5);
	assert_int_equal(template_file_load(&file, dir, "report.md", &arena,
					    &diag), 0);
	assert_string_equal(file.text, "mine\n");
	assert_string_equal(file.path, path);
	assert_int_equal(template_file_load(&file, dir, "index.md", &arena,
					    &diag), 0);
	assert_string_equal(file.path, "index.md (built in)");
	assert_int_equal(template_file_load(&file, NULL, "report.md", &arena,
					    &diag), 0);
	assert_string_equal(file.path, "report.md (built in)");
	write_file(path, "a\0b", 3);
	assert_int_equal(template_file_load(&file, dir, "report.md", &arena,
					    &diag), -EINVAL);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(template_file_load(&file, dir, "report.md", &arena,
					    &diag), -EISDIR);
	assert_string_equal(diag.file, path);
	assert_int_equal(template_file_load(&file, dir, "nope.md", &arena,
					    &diag), -ENOENT);
	rmdir(path);
	rmdir(dir);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_text_is_literal),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_views),
		cmocka_unit_test(test_folding),
		cmocka_unit_test(test_headings),
		cmocka_unit_test(test_markdown_survives),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_section_faults),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
