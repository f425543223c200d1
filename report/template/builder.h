/* SPDX-License-Identifier: MIT */
/*
 * From the parsed template to the tree that is rendered.  The template's tree
 * is only read: the body of a loop is built once for each view.
 *
 * Layer: template, private to it.
 */
#ifndef REPORT_TEMPLATE_BUILDER_H
#define REPORT_TEMPLATE_BUILDER_H

#include <cmark.h>
#include <stdint.h>

#include "report/core/arena.h"
#include "report/template/placeholder.h"
#include "report/template/template.h"

enum { BUILDER_DEPTH_MAX = 64 };

/* A heading that {{contents}} can point to. */
struct builder_heading {
	int level;
	const char *slug;
	const char *text;
};

/**
 * struct builder - one document being made
 * @name:     the template's, for messages
 * @view:     the one {{#each views}} is at, or NULL
 * @root:     document node of the new tree, owned
 * @section:  HTML: where blocks of the top level go since the last h2
 * @contents: node of {{contents}} or NULL; filled at the end
 * @depth:    of nested containers and sections
 */
struct builder {
	const char *name;
	const struct template_data *data;
	const struct template_output *output;
	struct diag *diag;
	struct arena arena;
	const struct template_view *view;
	cmark_node *root;
	cmark_node *section;
	cmark_node *contents;
	unsigned depth;
	struct {
		struct builder_heading *items;
		size_t count;
		size_t capacity;
	} headings;
};

/* Adds to @parent what the blocks of @container become.
   Return: 0 or negative errno. */
int builder_add_blocks(struct builder *builder, cmark_node *parent,
		       cmark_node *container);

/* The same for the pieces of text from @first up to @end (NULL: all).
   @line: of @first. */
int builder_add_inlines(struct builder *builder, cmark_node *parent,
			cmark_node *first, const cmark_node *end,
			uint32_t line);

/* Adds the value that @text names. */
int builder_add_value(struct builder *builder, cmark_node *parent,
		      const char *text, uint32_t line);

/* Adds a heading: to HTML with an id and, at level 2, in a section of its
   own. */
int builder_add_heading(struct builder *builder, cmark_node *parent,
			cmark_node *heading);

/* Fills @builder->contents with links to the headings of level 2. */
int builder_fill_contents(struct builder *builder);

/* Appends @node, taken over even on failure.  Return: 0 or -ENOMEM. */
int builder_append(struct builder *builder, cmark_node *parent,
		   cmark_node *node);

/* Return: a custom block or inline of @before and @after, appended to
   @parent; NULL when out of memory. */
cmark_node *builder_add_custom(struct builder *builder, cmark_node *parent,
			       cmark_node_type type, const char *before,
			       const char *after);

/* Adds what an output drew, nothing if it drew nothing.  @sink: of memory,
   taken over; @error: what the output returned.  Return: 0, the sink's error,
   @error or -ENOMEM. */
int builder_add_drawn(struct builder *builder, cmark_node *parent,
		      cmark_node_type type, struct sink *sink, int error);

/* Return: a copy of @node without its children, or NULL. */
cmark_node *builder_copy_node(cmark_node *node);

/* Fills the diag.  Return: -EINVAL. */
int builder_fault(struct builder *builder, uint32_t line, const char *format,
		  ...) __attribute__((format(printf, 3, 4)));

#endif /* REPORT_TEMPLATE_BUILDER_H */
