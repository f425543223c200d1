/* SPDX-License-Identifier: MIT */
/*
 * Blocks.  A container's blocks are first laid out as a list of items, in
 * which each placeholder that has a line to itself is an item of its own; then
 * sections are matched in the list and built by recursion.
 */
#include "report/template/builder.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/memory.h"
#include "report/core/sink.h"
#include "report/core/vec.h"
#include "report/template/name.h"

/**
 * struct item - one block of a container
 * @node:        NULL for a placeholder
 * @first, @end: of a paragraph, the pieces of text it is made of
 */
struct item {
	cmark_node *node;
	cmark_node *first;
	cmark_node *end;
	struct placeholder placeholder;
	uint32_t line;
};

struct items {
	struct item *items;
	size_t count;
	size_t capacity;
};

int builder_fault(struct builder *builder, uint32_t line, const char *format,
		  ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return diag_set_line(builder->diag, -EINVAL, builder->name, line, "%s",
			     text);
}

int builder_append(struct builder *builder, cmark_node *parent,
		   cmark_node *node)
{
	if (builder->section && parent == builder->root)
		parent = builder->section;
	if (!node || !cmark_node_append_child(parent, node)) {
		if (node)
			cmark_node_free(node);
		return -ENOMEM;
	}
	return 0;
}

cmark_node *builder_add_custom(struct builder *builder, cmark_node *parent,
			       cmark_node_type type, const char *before,
			       const char *after)
{
	cmark_node *node = cmark_node_new(type);

	if (!node)
		return NULL;
	/* The library would end the process. */
	memory_insist(true);
	cmark_node_set_on_enter(node, before ? before : "");
	cmark_node_set_on_exit(node, after ? after : "");
	memory_insist(false);
	if (memory_refused()) {
		cmark_node_free(node);
		return NULL;
	}
	return builder_append(builder, parent, node) == 0 ? node : NULL;
}

int builder_add_drawn(struct builder *builder, cmark_node *parent,
		      cmark_node_type type, struct sink *sink, int error)
{
	int status = sink->error ? sink->error : error;

	if (!status && sink->len &&
	    !builder_add_custom(builder, parent, type, sink->data, NULL))
		status = -ENOMEM;
	sink_done(sink);
	return status;
}

cmark_node *builder_copy_node(cmark_node *node)
{
	cmark_node_type type = cmark_node_get_type(node);
	cmark_node *copy = cmark_node_new(type);

	if (!copy)
		return NULL;
	if (type == CMARK_NODE_HEADING)
		cmark_node_set_heading_level(
			copy, cmark_node_get_heading_level(node));
	if (type == CMARK_NODE_LIST) {
		cmark_list_type list = cmark_node_get_list_type(node);

		cmark_node_set_list_type(copy, list);
		cmark_node_set_list_tight(copy,
					  cmark_node_get_list_tight(node));
		if (list == CMARK_ORDERED_LIST) {
			cmark_node_set_list_start(
				copy, cmark_node_get_list_start(node));
			cmark_node_set_list_delim(
				copy, cmark_node_get_list_delim(node));
		}
	}
	if (type == CMARK_NODE_LINK || type == CMARK_NODE_IMAGE) {
		cmark_node_set_url(copy, cmark_node_get_url(node));
		cmark_node_set_title(copy, cmark_node_get_title(node));
	}
	if (type == CMARK_NODE_CODE_BLOCK)
		cmark_node_set_fence_info(copy,
					  cmark_node_get_fence_info(node));
	if (cmark_node_get_literal(node))
		cmark_node_set_literal(copy, cmark_node_get_literal(node));
	return copy;
}

static bool is_break(cmark_node *node)
{
	return cmark_node_get_type(node) == CMARK_NODE_SOFTBREAK ||
	       cmark_node_get_type(node) == CMARK_NODE_LINEBREAK;
}

/* Return: whether the line that begins at @first is one placeholder and
   nothing else. */
static bool line_is_placeholder(cmark_node *first)
{
	cmark_node *next = cmark_node_next(first);
	const char *text = cmark_node_get_literal(first);
	const char *close;

	if (cmark_node_get_type(first) != CMARK_NODE_TEXT ||
	    (next && !is_break(next)) || strncmp(text, "{{", 2) != 0)
		return false;
	close = strstr(text, "}}");
	return close && !close[2 + strspn(close + 2, " ")];
}

/* Return: where the line after the one at @node begins, or NULL. */
static cmark_node *line_next(cmark_node *node)
{
	while (node && !is_break(node))
		node = cmark_node_next(node);
	return node ? cmark_node_next(node) : NULL;
}

static int items_add_placeholder(struct builder *builder, struct items *items,
				 cmark_node *text, uint32_t line)
{
	const char *literal = cmark_node_get_literal(text);
	struct placeholder placeholder;
	const char *fault;
	const char *end;
	struct item *item;

	fault = placeholder_parse(&placeholder, &end, literal,
				  &builder->arena);
	if (fault)
		return builder_fault(builder, line, "%.60s %s", literal, fault);
	item = vec_push(items);
	if (!item)
		return -ENOMEM;
	item->placeholder = placeholder;
	item->line = line;
	return 0;
}

static bool is_name_line(cmark_node *first)
{
	const char *text = cmark_node_get_literal(first);

	return line_is_placeholder(first) && !strpbrk(text, "#/ ");
}

/* Lines of text between words of the language: a figure for each line if they
   are nothing but names, else a paragraph. */
static int items_add_lines(struct builder *builder, struct items *items,
			   cmark_node *first, cmark_node *end, uint32_t line)
{
	cmark_node *node = first;
	struct item *item;
	int error = 0;

	while (node && node != end && is_name_line(node))
		node = line_next(node);
	if (node == end) {
		for (node = first; node != end && !error; line++) {
			error = items_add_placeholder(builder, items, node,
						      line);
			node = line_next(node);
		}
		return error;
	}
	item = vec_push(items);
	if (!item)
		return -ENOMEM;
	item->node = cmark_node_parent(first);
	item->first = first;
	item->end = end;
	item->line = line;
	return 0;
}

static int items_add_paragraph(struct builder *builder, struct items *items,
			       cmark_node *paragraph)
{
	uint32_t line = (uint32_t)cmark_node_get_start_line(paragraph);
	cmark_node *node = cmark_node_first_child(paragraph);
	cmark_node *run = node;
	uint32_t run_line = line;
	int error = 0;

	for (; node && !error; node = line_next(node), line++) {
		if (!line_is_placeholder(node) || is_name_line(node))
			continue;
		if (run != node)
			error = items_add_lines(builder, items, run, node,
						run_line);
		if (!error)
			error = items_add_placeholder(builder, items, node,
						      line);
		run = line_next(node);
		run_line = line + 1;
	}
	if (run && !error)
		error = items_add_lines(builder, items, run, NULL, run_line);
	return error;
}

static int items_add(struct builder *builder, struct items *items,
		     cmark_node *container)
{
	for (cmark_node *node = cmark_node_first_child(container); node;
	     node = cmark_node_next(node)) {
		struct item *item;
		int error;

		if (cmark_node_get_type(node) == CMARK_NODE_PARAGRAPH) {
			error = items_add_paragraph(builder, items, node);
			if (error)
				return error;
			continue;
		}
		item = vec_push(items);
		if (!item)
			return -ENOMEM;
		item->node = node;
		item->line = (uint32_t)cmark_node_get_start_line(node);
	}
	return 0;
}

/* Finds the end of the section that begins at @begin. */
static int section_end(struct builder *builder, const struct item *items,
		       size_t begin, size_t end, size_t *ret)
{
	unsigned depth = 0;

	for (size_t i = begin; i < end; i++) {
		const struct placeholder *placeholder = &items[i].placeholder;

		if (items[i].node)
			continue;
		if (placeholder_opens(placeholder->kind))
			depth++;
		if (placeholder->kind != PLACEHOLDER_END || --depth > 0)
			continue;
		if (strcmp(placeholder->word, items[begin].placeholder.word))
			return builder_fault(
				builder, items[i].line,
				"{{/%s}} ends the section {{#%s}} of line %u",
				placeholder->word,
				items[begin].placeholder.word,
				items[begin].line);
		*ret = i;
		return 0;
	}
	return builder_fault(builder, items[begin].line,
			     "{{#%s}} has no {{/%s}} at the same level",
			     items[begin].placeholder.word,
			     items[begin].placeholder.word);
}

static int name_find(struct builder *builder, const char *text,
		     struct name *ret)
{
	return name_resolve(ret, text, builder->data, builder->output,
			    builder->view, &builder->arena, builder->diag);
}

/* A block that the output draws. */
static int add_drawn(struct builder *builder, cmark_node *parent,
		     const struct name *name)
{
	const struct template_output *output = builder->output;
	struct sink sink;
	int error;

	sink_init_memory(&sink);
	if (name->kind == NAME_FIGURE)
		error = output->figure(output->context, name->figure, &sink,
				       builder->diag);
	else
		error = output->block(output->context, name->full, &sink,
				      builder->diag);
	return builder_add_drawn(builder, parent, CMARK_NODE_CUSTOM_BLOCK,
				 &sink, error);
}

/* {{name}} as a paragraph of its own. */
static int add_name(struct builder *builder, cmark_node *parent,
		    const struct item *item)
{
	const char *text = item->placeholder.argument;
	cmark_node *paragraph;
	struct name name;
	int error;

	if (strcmp(text, "contents") == 0) {
		builder->contents = builder_add_custom(
			builder, parent, CMARK_NODE_CUSTOM_BLOCK, NULL, NULL);
		return builder->contents ? 0 : -ENOMEM;
	}
	error = name_find(builder, text, &name);
	if (error)
		return error;
	if (name.kind == NAME_FIGURE || name.kind == NAME_BLOCK)
		return add_drawn(builder, parent, &name);

	paragraph = cmark_node_new(CMARK_NODE_PARAGRAPH);
	error = builder_append(builder, parent, paragraph);
	return error ? error
		     : builder_add_value(builder, paragraph, text, item->line);
}

static int add_tiles(struct builder *builder, cmark_node *parent,
		     const struct item *item)
{
	struct name name = { .kind = NAME_BLOCK };
	const struct figure_scalar *scalars[32];
	const char *rest = item->placeholder.argument;
	struct sink sink;
	size_t count = 0;
	int error = 0;

	while (!error && *rest) {
		size_t len = strcspn(rest, " ");
		char *word = arena_copy(&builder->arena, rest, len);

		if (!word || count == sizeof(scalars) / sizeof(*scalars))
			return word ? builder_fault(builder, item->line,
						    "too many tiles")
				    : -ENOMEM;
		rest += len + strspn(rest + len, " ");
		error = name_find(builder, word, &name);
		if (!error && name.kind == NAME_SCALAR &&
		    !name_is_empty(&name))
			scalars[count++] = name.scalar;
	}
	if (error || !count)
		return error;
	sink_init_memory(&sink);
	error = builder->output->tiles(builder->output->context, scalars, count,
				       &sink, builder->diag);
	return builder_add_drawn(builder, parent, CMARK_NODE_CUSTOM_BLOCK,
				 &sink, error);
}

static int add_range(struct builder *builder, cmark_node *parent,
		     const struct item *items, size_t begin, size_t end);

static int add_each(struct builder *builder, cmark_node *parent,
		    const struct item *items, size_t begin, size_t end)
{
	int error = 0;

	if (builder->view)
		return builder_fault(builder, items[begin].line,
				     "{{#each views}} inside of another");
	for (size_t i = 0; i < builder->data->view_count && !error; i++) {
		builder->view = &builder->data->views[i];
		error = add_range(builder, parent, items, begin + 1, end);
	}
	builder->view = NULL;
	return error;
}

/* {{#details}} and {{#tabs}}: a custom block around the content. */
static int add_wrapped(struct builder *builder, cmark_node *parent,
		       const struct item *items, size_t begin, size_t end)
{
	const struct placeholder *opener = &items[begin].placeholder;
	const struct template_output *output = builder->output;
	struct sink before, after;
	cmark_node *block = NULL;
	int error;

	sink_init_memory(&before);
	sink_init_memory(&after);
	error = output->section(output->context,
				opener->kind == PLACEHOLDER_TABS
					? SECTION_TABS
					: SECTION_DETAILS,
				opener->argument, &before, &after);
	if (!error)
		error = before.error ? before.error : after.error;
	if (!error) {
		block = builder_add_custom(builder, parent,
					   CMARK_NODE_CUSTOM_BLOCK,
					   before.data, after.data);
		error = block ? 0 : -ENOMEM;
	}
	sink_done(&before);
	sink_done(&after);
	return error ? error
		     : add_range(builder, block, items, begin + 1, end);
}

static int add_section(struct builder *builder, cmark_node *parent,
		       const struct item *items, size_t begin, size_t end)
{
	const struct placeholder *opener = &items[begin].placeholder;
	struct name name;
	int error;

	if (opener->kind == PLACEHOLDER_EACH)
		return add_each(builder, parent, items, begin, end);
	if (opener->kind == PLACEHOLDER_DETAILS ||
	    opener->kind == PLACEHOLDER_TABS)
		return add_wrapped(builder, parent, items, begin, end);
	error = name_find(builder, opener->argument, &name);
	if (error || name_is_empty(&name) == (opener->kind == PLACEHOLDER_IF))
		return error;
	return add_range(builder, parent, items, begin + 1, end);
}

static int add_node(struct builder *builder, cmark_node *parent,
		    const struct item *item)
{
	cmark_node_type type = cmark_node_get_type(item->node);
	const char *literal = cmark_node_get_literal(item->node);
	cmark_node *copy;
	int error;

	if (type == CMARK_NODE_HTML_BLOCK) {
		if (strncmp(literal, "<!--", 4) == 0)
			return 0;
		return builder_fault(builder, item->line,
				     "raw HTML is not allowed in templates");
	}
	if (type == CMARK_NODE_HEADING)
		return builder_add_heading(builder, parent, item->node);
	if (literal && placeholder_find(literal))
		return builder_fault(builder, item->line,
				     "a placeholder cannot stand in code");
	copy = builder_copy_node(item->node);
	error = builder_append(builder, parent, copy);
	if (error)
		return error;
	if (type == CMARK_NODE_PARAGRAPH)
		return builder_add_inlines(builder, copy, item->first,
					   item->end, item->line);
	return builder_add_blocks(builder, copy, item->node);
}

static int add_range(struct builder *builder, cmark_node *parent,
		     const struct item *items, size_t begin, size_t end)
{
	int error = 0;

	if (builder->depth >= BUILDER_DEPTH_MAX)
		return builder_fault(builder, items[begin - 1].line,
				     "sections are nested too deeply");
	builder->depth++;
	for (size_t i = begin; i < end && !error; i++) {
		const struct placeholder *placeholder = &items[i].placeholder;
		size_t close = i;

		if (items[i].node) {
			error = add_node(builder, parent, &items[i]);
		} else if (placeholder->kind == PLACEHOLDER_NAME) {
			error = add_name(builder, parent, &items[i]);
		} else if (placeholder->kind == PLACEHOLDER_TILES) {
			error = add_tiles(builder, parent, &items[i]);
		} else if (placeholder->kind == PLACEHOLDER_END) {
			error = builder_fault(builder, items[i].line,
					      "{{/%s}} ends nothing",
					      placeholder->word);
		} else {
			error = section_end(builder, items, i, end, &close);
			if (!error)
				error = add_section(builder, parent, items, i,
						    close);
			i = error ? i : close;
		}
	}
	builder->depth--;
	return error;
}

int builder_add_blocks(struct builder *builder, cmark_node *parent,
		       cmark_node *container)
{
	struct items items = { 0 };
	int error;

	if (builder->depth >= BUILDER_DEPTH_MAX)
		return builder_fault(
			builder,
			(uint32_t)cmark_node_get_start_line(container),
			"blocks are nested too deeply");
	error = items_add(builder, &items, container);
	if (!error && items.count)
		error = add_range(builder, parent, items.items, 0, items.count);
	vec_done(&items);
	return error;
}
