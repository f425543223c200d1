/* SPDX-License-Identifier: MIT */
/* Pieces of text: values take the place of {{names}}. */
#include <errno.h>
#include <string.h>

#include "report/core/sink.h"
#include "report/template/builder.h"
#include "report/template/name.h"

static int add_text(struct builder *builder, cmark_node *parent,
		    const char *text, size_t len)
{
	cmark_node *node;
	char *copy;

	if (!len)
		return 0;
	copy = arena_copy(&builder->arena, text, len);
	node = cmark_node_new(CMARK_NODE_TEXT);
	if (!copy || !node || !cmark_node_set_literal(node, copy)) {
		if (node)
			cmark_node_free(node);
		return -ENOMEM;
	}
	return builder_append(builder, parent, node);
}

static int unknown_name(struct builder *builder, uint32_t line,
			const struct name *name)
{
	const char *near =
		name_nearest(name->full, builder->data, &builder->arena);

	if (near)
		return builder_fault(builder, line,
				     "nothing is called \"%s\"; did you mean "
				     "\"%s\"?",
				     name->full, near);
	return builder_fault(builder, line, "nothing is called \"%s\"",
			     name->full);
}

int builder_add_value(struct builder *builder, cmark_node *parent,
		      const char *text, uint32_t line)
{
	const struct template_output *output = builder->output;
	struct sink sink;
	struct name name;
	int error;

	error = name_resolve(&name, text, builder->data, output, builder->view,
			     &builder->arena, builder->diag);
	if (error)
		return error;
	if (name.kind == NAME_NONE)
		return unknown_name(builder, line, &name);
	if (name.kind == NAME_FIGURE || name.kind == NAME_BLOCK)
		return builder_fault(builder, line,
				     "\"%s\" must stand in a paragraph of its "
				     "own",
				     name.full);
	if (name.kind == NAME_TEXT && !output->text)
		return add_text(builder, parent, name.text, strlen(name.text));
	sink_init_memory(&sink);
	if (name.kind == NAME_TEXT)
		error = output->text(output->context, name.text, &sink,
				     builder->diag);
	else
		error = output->scalar(output->context, name.scalar, &sink,
				       builder->diag);
	return builder_add_drawn(builder, parent, CMARK_NODE_CUSTOM_INLINE,
				 &sink, error);
}

static int add_bound_text(struct builder *builder, cmark_node *parent,
			  const char *text, uint32_t line)
{
	const char *open;
	int error = 0;

	while (!error && (open = placeholder_find(text))) {
		struct placeholder placeholder;
		const char *fault;
		const char *end;

		fault = placeholder_parse(&placeholder, &end, open,
					  &builder->arena);
		if (fault)
			return builder_fault(builder, line, "%.60s %s", open,
					     fault);
		if (placeholder.kind != PLACEHOLDER_NAME)
			return builder_fault(builder, line,
					     "%.60s must stand on a line of "
					     "its own",
					     open);
		error = add_text(builder, parent, text, (size_t)(open - text));
		if (!error)
			error = builder_add_value(builder, parent,
						  placeholder.argument, line);
		text = end;
	}
	return error ? error : add_text(builder, parent, text, strlen(text));
}

/* Attributes and code take no values: nothing may look like one there. */
static int check_plain(struct builder *builder, const char *text,
		       uint32_t line)
{
	if (text && (placeholder_find(text) || strstr(text, "%7B%7B")))
		return builder_fault(builder, line,
				     "a placeholder cannot stand in code or "
				     "in a link's target");
	return 0;
}

static int add_node(struct builder *builder, cmark_node *parent,
		    cmark_node *node, uint32_t line)
{
	cmark_node_type type = cmark_node_get_type(node);
	const char *literal = cmark_node_get_literal(node);
	cmark_node *copy;
	int error;

	if (type == CMARK_NODE_TEXT)
		return add_bound_text(builder, parent, literal, line);
	if (type == CMARK_NODE_HTML_INLINE) {
		if (strncmp(literal, "<!--", 4) == 0)
			return 0;
		return builder_fault(builder, line,
				     "raw HTML is not allowed in templates");
	}
	error = check_plain(builder, literal, line);
	if (!error)
		error = check_plain(builder, cmark_node_get_url(node), line);
	if (!error)
		error = check_plain(builder, cmark_node_get_title(node), line);
	if (error)
		return error;
	copy = builder_copy_node(node);
	error = builder_append(builder, parent, copy);
	if (error)
		return error;
	return builder_add_inlines(builder, copy, cmark_node_first_child(node),
				   NULL, line);
}

int builder_add_inlines(struct builder *builder, cmark_node *parent,
			cmark_node *first, const cmark_node *end,
			uint32_t line)
{
	int error = 0;

	if (builder->depth >= BUILDER_DEPTH_MAX)
		return builder_fault(builder, line,
				     "text is nested too deeply");
	builder->depth++;
	for (cmark_node *node = first; node && node != end && !error;
	     node = cmark_node_next(node)) {
		cmark_node_type type = cmark_node_get_type(node);
		bool is_break = type == CMARK_NODE_SOFTBREAK ||
				type == CMARK_NODE_LINEBREAK;

		line += is_break;
		if (!is_break || cmark_node_next(node) != end)
			error = add_node(builder, parent, node, line);
	}
	builder->depth--;
	return error;
}
