/* SPDX-License-Identifier: MIT */
/*
 * Headings that can be linked to.  cmark gives headings no ids, so in HTML
 * they become custom blocks; ids are made of [a-z0-9-] only.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "report/core/sink.h"
#include "report/core/vec.h"
#include "report/template/builder.h"

static void node_gather_text(cmark_node *node, struct sink *out)
{
	for (; node; node = cmark_node_next(node)) {
		cmark_node_type type = cmark_node_get_type(node);

		if (type == CMARK_NODE_TEXT || type == CMARK_NODE_CODE)
			sink_puts(out, cmark_node_get_literal(node));
		else if (type == CMARK_NODE_SOFTBREAK)
			sink_puts(out, " ");
		node_gather_text(cmark_node_first_child(node), out);
	}
}

static bool slug_is_taken(const struct builder *builder, const char *slug)
{
	for (size_t i = 0; i < builder->headings.count; i++)
		if (strcmp(builder->headings.items[i].slug, slug) == 0)
			return true;
	return false;
}

/* Return: "Memory over time" as "memory-over-time", with a number if taken;
   NULL when out of memory. */
static const char *slug_make(struct builder *builder, const char *text)
{
	char slug[64] = "";
	const char *unique;
	size_t len = 0;

	for (; *text && len < sizeof(slug) - 1; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x80 && isalnum(c))
			slug[len++] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20
								 : c);
		else if (len && slug[len - 1] != '-')
			slug[len++] = '-';
	}
	while (len && slug[len - 1] == '-')
		len--;
	slug[len] = '\0';
	if (!len)
		memcpy(slug, "section", sizeof("section"));
	unique = arena_copy(&builder->arena, slug, strlen(slug));
	for (unsigned n = 2; unique && slug_is_taken(builder, unique); n++)
		unique = arena_printf(&builder->arena, "%s-%u", slug, n);
	return unique;
}

static int heading_note(struct builder *builder, cmark_node *block, int level)
{
	struct builder_heading heading = { .level = level };
	struct builder_heading *added;
	struct sink text;

	sink_init_memory(&text);
	node_gather_text(cmark_node_first_child(block), &text);
	heading.text = text.error
			       ? NULL
			       : arena_copy(&builder->arena,
					    text.data ? text.data : "",
					    text.len);
	sink_done(&text);
	if (heading.text)
		heading.slug = slug_make(builder, heading.text);
	added = heading.slug ? vec_push(&builder->headings) : NULL;
	if (!added)
		return -ENOMEM;
	*added = heading;
	return 0;
}

int builder_add_heading(struct builder *builder, cmark_node *parent,
			cmark_node *heading)
{
	uint32_t line = (uint32_t)cmark_node_get_start_line(heading);
	int level = cmark_node_get_heading_level(heading);
	const struct builder_heading *last;
	cmark_node *block;
	int error;

	if (!builder->output->is_html) {
		block = builder_copy_node(heading);
		error = builder_append(builder, parent, block);
		if (error)
			return error;
		return builder_add_inlines(builder, block,
					   cmark_node_first_child(heading),
					   NULL, line);
	}
	if (level == 2 && parent == builder->root) {
		builder->section = NULL;
		builder->section = builder_add_custom(
			builder, parent, CMARK_NODE_CUSTOM_BLOCK, "<section>",
			"</section>");
		if (!builder->section)
			return -ENOMEM;
	}
	block = builder_add_custom(builder, parent, CMARK_NODE_CUSTOM_BLOCK,
				   NULL, NULL);
	if (!block)
		return -ENOMEM;
	error = builder_add_inlines(builder, block,
				    cmark_node_first_child(heading), NULL,
				    line);
	if (!error)
		error = heading_note(builder, block, level);
	if (error)
		return error;
	last = &builder->headings.items[builder->headings.count - 1];
	cmark_node_set_on_enter(block,
				arena_printf(&builder->arena,
					     "<h%d id=\"%s\">", level,
					     last->slug));
	cmark_node_set_on_exit(block, arena_printf(&builder->arena, "</h%d>",
						   level));
	if (level == 2 && parent == builder->root)
		cmark_node_set_on_enter(
			builder->section,
			arena_printf(&builder->arena,
				     "<section aria-labelledby=\"%s\">",
				     last->slug));
	return 0;
}

static int contents_add(struct builder *builder, cmark_node *list,
			const struct builder_heading *heading)
{
	cmark_node *item = cmark_node_new(CMARK_NODE_ITEM);
	cmark_node *paragraph = cmark_node_new(CMARK_NODE_PARAGRAPH);
	cmark_node *link = cmark_node_new(CMARK_NODE_LINK);
	cmark_node *text = cmark_node_new(CMARK_NODE_TEXT);
	const char *url = arena_printf(&builder->arena, "#%s", heading->slug);

	if (!url)
		return -ENOMEM;
	cmark_node_set_url(link, url);
	cmark_node_set_literal(text, heading->text);
	cmark_node_append_child(link, text);
	cmark_node_append_child(paragraph, link);
	cmark_node_append_child(item, paragraph);
	cmark_node_append_child(list, item);
	return 0;
}

int builder_fill_contents(struct builder *builder)
{
	cmark_node *list;
	int error = 0;

	if (!builder->contents || !builder->output->is_html)
		return 0;
	list = cmark_node_new(CMARK_NODE_LIST);
	if (!list)
		return -ENOMEM;
	cmark_node_set_list_type(list, CMARK_BULLET_LIST);
	cmark_node_set_list_tight(list, 1);
	for (size_t i = 0; i < builder->headings.count && !error; i++)
		if (builder->headings.items[i].level == 2)
			error = contents_add(builder, list,
					     &builder->headings.items[i]);
	cmark_node_append_child(builder->contents, list);
	cmark_node_set_on_enter(builder->contents,
				"<nav class=\"contents\" "
				"aria-label=\"Contents\">");
	cmark_node_set_on_exit(builder->contents, "</nav>");
	return error;
}
