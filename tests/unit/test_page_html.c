/* SPDX-License-Identifier: MIT */
/* index.html, read back by an independent parser. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libxml/HTMLparser.h>
#include <libxml/xpath.h>

#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/figure/definition.h"
#include "tests/lib/sample_figures.h"

static void page_render(const struct page *page, struct sink *out)
{
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	char message[2048];

	sink_init_memory(out);
	if (page_html.render(page, out, &diag) == 0)
		return;
	diag_format(&diag, message, sizeof(message));
	fail_msg("%s", message);
}

/* libxml2 knows HTML 4 only: elements of HTML 5 and SVG are no faults. */
static void count_fault(void *context, xmlErrorPtr error)
{
	int *faults = context;

	if (error->code == XML_HTML_UNKNOWN_TAG)
		return;
	print_error("line %d: %s", error->line, error->message);
	++*faults;
}

static htmlDocPtr page_parse(const struct sink *text)
{
	htmlDocPtr document;
	int faults = 0;

	xmlSetStructuredErrorFunc(&faults, count_fault);
	document = htmlReadMemory(text->data, (int)text->len, "index.html",
				  "utf-8", HTML_PARSE_NONET);
	xmlSetStructuredErrorFunc(NULL, NULL);
	assert_non_null(document);
	assert_int_equal(faults, 0);
	return document;
}

static xmlXPathObjectPtr query(xmlXPathContextPtr context, const char *path)
{
	xmlXPathObjectPtr object =
		xmlXPathEvalExpression((const xmlChar *)path, context);

	assert_non_null(object);
	return object;
}

static double number(xmlXPathContextPtr context, const char *path)
{
	xmlXPathObjectPtr object = query(context, path);
	double value = xmlXPathCastToNumber(object);

	xmlXPathFreeObject(object);
	return value;
}

static void text_is(xmlXPathContextPtr context, const char *path,
		    const char *expected)
{
	xmlXPathObjectPtr object = query(context, path);
	xmlChar *text = xmlXPathCastToString(object);

	assert_string_equal((const char *)text, expected);
	xmlFree(text);
	xmlXPathFreeObject(object);
}

/* What holds for every page, whatever is on it. */
static void check_structure(xmlXPathContextPtr context)
{
	static const char *const counts_of_one[] = {
		"count(//main)", "count(//h1)", "count(//head/title)",
		"count(//header)", "count(//footer)", "count(//style)",
		"count(//html[@lang='en'])", "count(//meta[@charset])",
		"count(//meta[@name='viewport'])",
		"count(//nav[@aria-label])", "count(//a[@class='skip'])",
	};
	static const char *const counts_of_none[] = {
		/* No event handlers, nothing loaded. */
		"count(//@*[starts-with(name(), 'on')])",
		"count(//@src)", "count(//link)", "count(//iframe)",
		"count(//img)", "count(//form)", "count(//script/@*)",
		"count(//a[starts-with(@href, 'http')])",
		"count(//a[starts-with(@href, 'javascript')])",
		"count(//a[not(normalize-space())])",
		/* Every section is named, every table has heads. */
		"count(//section[not(@aria-labelledby = h2/@id)])",
		"count(//table[not(thead/tr/th[@scope='col'])])",
		"count(//tbody/tr[not(th[@scope='row'])][not(@class)])",
		/* What a row says at full width follows it. */
		"count(//tr[@class='more'][not(preceding-sibling::tr[1]/th)])",
		"count(//th[not(@scope)])",
		"count(//*[@id = preceding::*/@id])",
	};

	for (size_t i = 0; i < sizeof(counts_of_one) / sizeof(char *); i++)
		if (number(context, counts_of_one[i]) != 1)
			fail_msg("%s is %g", counts_of_one[i],
				 number(context, counts_of_one[i]));
	for (size_t i = 0; i < sizeof(counts_of_none) / sizeof(char *); i++)
		if (number(context, counts_of_none[i]) != 0)
			fail_msg("%s is %g", counts_of_none[i],
				 number(context, counts_of_none[i]));
	assert_true(number(context, "count(//script)") == 3);
	assert_true(number(context, "count(//dl[@class='definitions']/div)") ==
		    (double)definition_count);
}

/* Every link leads to a file of the page or to an id in it. */
static void check_links(xmlXPathContextPtr context, const struct page *page)
{
	xmlXPathObjectPtr links = query(context, "//a/@href");
	xmlNodeSetPtr set = links->nodesetval;

	for (int i = 0; set && i < set->nodeNr; i++) {
		xmlChar *value = xmlNodeGetContent(set->nodeTab[i]);
		const char *target = (const char *)value;
		char path[512];
		bool found = false;

		snprintf(path, sizeof(path), "count(//*[@id='%s'])",
			 target + 1);
		if (*target == '#')
			found = number(context, path) == 1;
		for (size_t j = 0; j < page->link_count; j++)
			found |= strcmp(page->links[j].path, target) == 0;
		if (!found)
			fail_msg("dangling link %s", target);
		xmlFree(value);
	}
	xmlXPathFreeObject(links);
}

static void test_structure(void **state)
{
	struct arena arena = { 0 };

	(void)state;
	for (int kind = SAMPLE_FULL; kind <= SAMPLE_BARE; kind++) {
		const struct page *page =
			sample_page(&arena, (enum sample_kind)kind);
		xmlXPathContextPtr context;
		htmlDocPtr document;
		struct sink out;

		page_render(page, &out);
		document = page_parse(&out);
		context = xmlXPathNewContext(document);
		check_structure(context);
		check_links(context, page);
		xmlXPathFreeContext(context);
		xmlFreeDoc(document);
		sink_done(&out);
	}
	arena_done(&arena);
}

static void test_content(void **state)
{
	struct arena arena = { 0 };
	const struct page *page = sample_page(&arena, SAMPLE_FULL);
	xmlXPathContextPtr context;
	htmlDocPtr document;
	struct sink out;

	(void)state;
	page_render(page, &out);
	document = page_parse(&out);
	context = xmlXPathNewContext(document);
	text_is(context, "//head/title", "sqlite3");
	text_is(context, "//dl[@class='tiles']/div[dt/abbr='Peak']"
			 "/dd[@class='number']", "8.76 MiB");
	text_is(context, "//dl[@class='tiles']/div[dt/abbr='Peak']"
			 "//data/@value", "9182344");
	text_is(context, "//dl[@class='tiles']/div[dt/abbr='Peak']"
			 "//data/@title", "9,182,344 bytes");
	text_is(context, "//div[contains(@class, 'group ok')]//strong", "OK");
	/* Hostile names stay text, to the letter. */
	text_is(context, "//section[h2[@id='top-call-sites']]//tr[5]/th/span[1]",
		sample_hostile_name);
	text_is(context, "//section[h2[@id='top-call-sites']]//tr[5]/th/span[1]/@title",
		sample_hostile_name);
	text_is(context, "//nav//a[starts-with(., 'Alive')]",
		"Alive at the peak <#1>");
	/* The numbers begin with what the table is about. */
	text_is(context, "normalize-space(//section[h2[@id='top-call-sites']]"
			 "//table[1]/thead//th[2])", "At the peak");
	text_is(context, "normalize-space(//section[h2[@id='top-call-sites']]"
			 "//table[1]/thead//th[3])", "Share");
	assert_true(number(context, "count(//section[h2[@id="
				    "'top-call-sites']]//th[@aria-sort="
				    "'descending'])") == 5);
	assert_true(number(context, "count(//details[@class='stack'])") == 4);
	/* A row is called by the call site; below it stand the callers, and the
	   long form has it all. */
	assert_true(number(context,
			   "count((//details[@class='stack'])[3]/ol/li)") == 5);
	assert_true(number(context,
			   "count((//details[@class='stack'])[3]/summary//span["
			   "@class='sym'])") == 2);
	assert_true(number(context,
			   "number((//details[@class='stack'])[3]/summary//span["
			   "@class='sym'][1] = (//details[@class='stack'])[3]/"
			   "ol/li[4]/span[1])") == 1);
	assert_true(number(context,
			   "number((//tr[@class='more'])[3]/preceding-sibling::"
			   "tr[1]/th/span[1] = (//details[@class='stack'])[3]/"
			   "ol/li[3]/span[1])") == 1);
	assert_true(number(context,
			   "number((//tr[@class='more'])[1]/preceding-sibling::"
			   "tr[1]/th/span[1] = (//details[@class='stack'])[1]/"
			   "ol/li[1]/span[1])") == 1);
	assert_true(number(context, "count(//svg)") >= 3);
	xmlXPathFreeContext(context);
	xmlFreeDoc(document);
	sink_done(&out);
	arena_done(&arena);
}

static void test_damage_is_said_in_words(void **state)
{
	struct arena arena = { 0 };
	xmlXPathContextPtr context;
	htmlDocPtr document;
	struct sink out;

	(void)state;
	page_render(sample_page(&arena, SAMPLE_DAMAGED), &out);
	document = page_parse(&out);
	context = xmlXPathNewContext(document);
	text_is(context, "//div[@role='note'][1]/strong", "Error");
	text_is(context, "//div[@role='note'][2]/strong", "Warning");
	assert_true(number(context, "count(//div[contains(@class, "
				    "'group ok')])") == 0);
	xmlXPathFreeContext(context);
	xmlFreeDoc(document);
	sink_done(&out);
	arena_done(&arena);
}

static void test_theme(void **state)
{
	static const char *const expected[] = {
		[THEME_AUTO] = "<html lang=\"en\" data-theme=\"auto\">",
		[THEME_LIGHT] = "<html lang=\"en\" data-theme=\"light\">",
		[THEME_DARK] = "<html lang=\"en\" data-theme=\"dark\">",
	};
	struct arena arena = { 0 };
	struct page page = *sample_page(&arena, SAMPLE_BARE);

	(void)state;
	for (int theme = THEME_AUTO; theme <= THEME_DARK; theme++) {
		struct sink out;

		page.theme = (enum page_theme)theme;
		page_render(&page, &out);
		assert_non_null(strstr(out.data, expected[theme]));
		sink_done(&out);
	}
	arena_done(&arena);
}

static void test_equal_figures_give_equal_bytes(void **state)
{
	struct arena arena = { 0 };
	struct sink one, two;

	(void)state;
	page_render(sample_page(&arena, SAMPLE_FULL), &one);
	page_render(sample_page(&arena, SAMPLE_FULL), &two);
	assert_int_equal(one.len, two.len);
	assert_memory_equal(one.data, two.data, one.len);
	sink_done(&one);
	sink_done(&two);
	arena_done(&arena);
}

static void file_write(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void file_remove(const char *dir, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
}

static void test_templates_of_the_user(void **state)
{
	char dir[] = "/tmp/memprof-page-XXXXXX";
	struct arena arena = { 0 };
	struct page page = *sample_page(&arena, SAMPLE_FULL);
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	char message[2048], expected[512];
	struct sink out;

	(void)state;
	assert_non_null(mkdtemp(dir));
	page.template_dir = dir;
	file_write(dir, "index.md", "# Mine\n\nPeak: {{head.peak_bytes}}\n");
	page_render(&page, &out);
	assert_non_null(strstr(out.data, "Mine"));
	assert_null(strstr(out.data, "Top call sites"));
	sink_done(&out);

	file_write(dir, "index.md", "# Mine\n\n{{head.peak}}\n");
	sink_init_memory(&out);
	assert_true(page_html.render(&page, &out, &diag) < 0);
	diag_format(&diag, message, sizeof(message));
	snprintf(expected, sizeof(expected),
		 "%s/index.md:3: nothing is called \"head.peak\"", dir);
	assert_memory_equal(message, expected, strlen(expected));
	sink_done(&out);

	file_write(dir, "page.css", "p::after { content: '</style>' }");
	sink_init_memory(&out);
	assert_true(page_html.render(&page, &out, &diag) < 0);
	assert_int_equal(out.len, 0);
	sink_done(&out);
	file_remove(dir, "page.css");
	file_remove(dir, "index.md");
	rmdir(dir);
	arena_done(&arena);
}

static void test_full_disk(void **state)
{
	struct arena arena = { 0 };
	struct diag diag = { 0 };
	struct sink out;
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	if (!full)
		skip();
	setvbuf(full, NULL, _IONBF, 0);
	sink_init_file(&out, full);
	assert_true(page_html.render(sample_page(&arena, SAMPLE_FULL), &out,
				     &diag) < 0);
	sink_done(&out);
	fclose(full);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_structure),
		cmocka_unit_test(test_content),
		cmocka_unit_test(test_damage_is_said_in_words),
		cmocka_unit_test(test_theme),
		cmocka_unit_test(test_equal_figures_give_equal_bytes),
		cmocka_unit_test(test_templates_of_the_user),
		cmocka_unit_test(test_full_disk),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	xmlCleanupParser();
	return failed;
}
