/* SPDX-License-Identifier: MIT */
#include "report/template/template.h"

#include <errno.h>

#include "report/core/diag.h"
#include "report/core/memory.h"
#include "report/core/sink.h"
#include "report/core/vec.h"
#include "report/template/builder.h"

static int rendered_write(cmark_node *root, bool is_html, struct sink *out)
{
	char *text;

	if (memory_refused())
		return -ENOMEM;
	memory_insist(true);
	text = is_html ? cmark_render_html(root, CMARK_OPT_DEFAULT)
		       : cmark_render_commonmark(root, CMARK_OPT_DEFAULT, 0);
	memory_insist(false);
	if (!text)
		return -ENOMEM;
	sink_puts(out, text);
	cmark_get_default_mem_allocator()->free(text);
	return out->error;
}

int template_render(const char *name, const char *text, size_t len,
		    const struct template_data *data,
		    const struct template_output *output, struct sink *out,
		    struct diag *diag)
{
	struct builder builder = {
		.name = name,
		.data = data,
		.output = output,
		.diag = diag,
	};
	cmark_node *source;
	int error = -ENOMEM;

	source = cmark_parse_document(text, len, CMARK_OPT_VALIDATE_UTF8);
	builder.root = cmark_node_new(CMARK_NODE_DOCUMENT);
	if (source && builder.root) {
		cmark_consolidate_text_nodes(source);
		error = builder_add_blocks(&builder, builder.root, source);
	}
	if (!error)
		error = builder_fill_contents(&builder);
	if (!error)
		error = rendered_write(builder.root, output->is_html, out);
	if (error == -ENOMEM)
		diag_set(diag, error, name, DIAG_NO_OFFSET, "out of memory");
	cmark_node_free(builder.root);
	cmark_node_free(source);
	vec_done(&builder.headings);
	arena_done(&builder.arena);
	return error;
}
