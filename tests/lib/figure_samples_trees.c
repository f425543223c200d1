/* SPDX-License-Identifier: MIT */
#include "tests/lib/figure_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/arena.h"

struct builder {
	const struct sample_node *input;
	struct figure_node *nodes;
	uint32_t *order; /* output place -> input index */
	uint32_t count;
	bool by_count;
	uint64_t *bytes; /* totals by input index */
	uint64_t *counts;
};

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static int compare_siblings(const void *a, const void *b, void *context)
{
	const struct builder *builder = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t *cost =
		builder->by_count ? builder->counts : builder->bytes;
	uint32_t x_parent = builder->input[x].parent;
	uint32_t y_parent = builder->input[y].parent;

	if (x_parent != y_parent)
		return x_parent < y_parent ? -1 : 1;
	if (cost[x] != cost[y])
		return cost[x] < cost[y] ? 1 : -1;
	if (builder->input[x].frame && builder->input[y].frame) {
		int order = strcmp(builder->input[x].frame->function,
				   builder->input[y].frame->function);

		if (order)
			return order;
	}
	return x < y ? -1 : x > y;
}

/* Input indices keep their meaning: a child is after its parent already. */
static void link_nodes(struct builder *builder)
{
	uint32_t *last = must(calloc(builder->count, sizeof(*last)));

	qsort_r(builder->order + 1, builder->count - 1, sizeof(*builder->order),
		compare_siblings, builder);
	for (uint32_t k = 1; k < builder->count; k++) {
		uint32_t i = builder->order[k];
		uint32_t parent = builder->input[i].parent;

		if (last[parent])
			builder->nodes[last[parent]].next_sibling = i;
		else
			builder->nodes[parent].first_child = i;
		last[parent] = i;
	}
	free(last);
}

static const struct figure_frame *copy_frame(struct arena *arena,
					     const struct figure_frame *frame)
{
	return memcpy(must(arena_alloc(arena, sizeof(*frame))), frame,
		      sizeof(*frame));
}

const struct figure *sample_tree(struct arena *arena,
				 const struct sample_node *input,
				 uint32_t count, bool by_count)
{
	struct figure *figure = must(arena_alloc(arena, sizeof(*figure)));
	struct builder builder = {
		.input = input,
		.nodes =
			must(arena_array(arena, count, sizeof(*builder.nodes))),
		.order = must(arena_array(arena, count, sizeof(uint32_t))),
		.bytes = must(arena_array(arena, count, sizeof(uint64_t))),
		.counts = must(arena_array(arena, count, sizeof(uint64_t))),
		.count = count,
		.by_count = by_count,
	};

	for (uint32_t i = count; i-- > 0;) {
		builder.bytes[i] += input[i].self_bytes;
		builder.counts[i] += input[i].self_count;
		if (i) {
			builder.bytes[input[i].parent] += builder.bytes[i];
			builder.counts[input[i].parent] += builder.counts[i];
		}
		builder.order[i] = i;
		builder.nodes[i] = (struct figure_node){
			.frame = i ? copy_frame(arena, input[i].frame) : NULL,
			.total_bytes = builder.bytes[i],
			.total_count = builder.counts[i],
			.first_child = FIGURE_NO_NODE,
			.next_sibling = FIGURE_NO_NODE,
		};
	}
	link_nodes(&builder);
	*figure = (struct figure){
		.kind = FIGURE_TREE,
		.id = "leaks",
		.title = "Never freed",
		.tree = { .nodes = builder.nodes,
			  .node_count = count,
			  .by_count = by_count,
			  .cost_label = by_count ? "allocations never freed"
						 : "bytes allocated and never "
						   "freed" },
	};
	return figure;
}

#define FRAME(name, in, src, at)                         \
	(&(const struct figure_frame){ .function = name, \
				       .module = in,     \
				       .file = src,      \
				       .line = at,       \
				       .address = 0x401000 + at })
#define INLINED(name, in, src, at)                               \
	(&(const struct figure_frame){ .function = name,         \
				       .module = in,             \
				       .file = src,              \
				       .line = at,               \
				       .address = 0x401000 + at, \
				       .is_inlined = true })
#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

const struct figure *sample_tree_small(struct arena *arena)
{
	const struct sample_node nodes[] = {
		{ 0, NULL, 0, 0 },
		{ 0, FRAME("_start", "sqlite3", NULL, 0), 0, 0 },
		{ 1, FRAME("__libc_start_main", "libc.so.6", NULL, 0), 0, 0 },
		{ 2, FRAME("main", "sqlite3", "/src/shell.c", 120), 512, 1 },
		{ 3, FRAME("do_meta_command", "sqlite3", "/src/shell.c", 77),
		  1024, 2 },
		{ 3, FRAME("run_queries", "sqlite3", "/src/shell.c", 88), 0,
		  0 },
		{ 5, FRAME("sqlite3_step", "libsqlite3.so.0", "vdbe.c", 12), 0,
		  0 },
		{ 6, INLINED("page_get", "libsqlite3.so.0", "pager.c", 44),
		  8000000, 2000 },
		{ 6, FRAME("btree_open", "libsqlite3.so.0", "btree.c", 9),
		  4000000, 10 },
		{ 8, FRAME("malloc_wrapper", "libsqlite3.so.0", NULL, 0), 64000,
		  7 },
		{ 1, FRAME("libfoo.so+0x1234", "libfoo.so", NULL, 0), 4096, 1 },
	};

	return sample_tree(arena, nodes, COUNT(nodes), false);
}

const struct figure *sample_tree_hostile(struct arena *arena)
{
	const struct sample_node nodes[] = {
		{ 0, NULL, 0, 0 },
		{ 0,
		  FRAME("<script>alert('x')</script>", "a&b.so", "q\"uote.c",
			1),
		  10, 1 },
		{ 1, FRAME("x]]>y<![CDATA[z", "]]>", "-->", 2), 20, 2 },
		{ 2, FRAME("f;g 12", "m;n", NULL, 0), 30, 3 },
		{ 2, FRAME("evil\xef\xbf\xbdtxt", "\xef\xbf\xbd", "a b;c", 3),
		  40, 4 },
		{ 2,
		  FRAME("h\xc3\xa9llo \xe4\xb8\x96\xe7\x95\x8c "
			"\xf0\x9f\x98\x80",
			"", NULL, 0),
		  50, 5 },
		{ 2, FRAME("", "", "", 0), 60, 6 },
		{ 2,
		  FRAME("operator<<(std::ostream&, char const*)", "lib.so",
			"a.h", 4),
		  70, 7 },
	};

	return sample_tree(arena, nodes, COUNT(nodes), false);
}

const struct figure *sample_tree_empty(struct arena *arena)
{
	const struct sample_node nodes[] = { { 0, NULL, 0, 0 } };

	return sample_tree(arena, nodes, COUNT(nodes), false);
}

const struct figure *sample_tree_zero(struct arena *arena)
{
	const struct sample_node nodes[] = {
		{ 0, NULL, 0, 0 },
		{ 0, FRAME("main", "prog", "main.c", 3), 0, 4 },
	};

	return sample_tree(arena, nodes, COUNT(nodes), false);
}

const struct figure *sample_tree_deep(struct arena *arena, uint32_t depth)
{
	static const struct figure_frame frame = {
		.function = "recurse",
		.module = "deep",
		.file = "deep.c",
		.line = 7,
	};
	struct sample_node *nodes =
		must(arena_array(arena, depth + 1, sizeof(*nodes)));
	const struct figure *figure;

	for (uint32_t i = 1; i <= depth; i++)
		nodes[i] = (struct sample_node){
			.parent = i - 1,
			.frame = &frame,
			.self_bytes = i == depth ? 1 << 20 : 0,
			.self_count = i == depth,
		};
	figure = sample_tree(arena, nodes, depth + 1, false);
	return figure;
}

const struct figure *sample_tree_wide(struct arena *arena, uint32_t width)
{
	struct sample_node *nodes =
		must(arena_array(arena, width + 1, sizeof(*nodes)));
	struct figure_frame *frames =
		must(arena_array(arena, width, sizeof(*frames)));

	for (uint32_t i = 0; i < width; i++) {
		frames[i] = (struct figure_frame){
			.function = arena_printf(arena, "leaf_%06u", i),
			.module = "wide",
		};
		nodes[i + 1] = (struct sample_node){ .frame = &frames[i],
						     .self_bytes = 16,
						     .self_count = 1 };
	}
	return sample_tree(arena, nodes, width + 1, false);
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static const struct figure_frame *random_frame(struct arena *arena,
					       uint32_t *state)
{
	static const char *const modules[] = {
		"cc1plus",        "cc1plus",
		"cc1plus",        "libc.so.6",
		"libstdc++.so.6", "libgmp.so.10",
		"libzstd.so.1",   "ld-linux-x86-64.so.2",
	};
	static const char *const verbs[] = {
		"parse", "lookup", "instantiate", "build", "resolve",
		"fold",  "expand", "convert",     "emit",  "walk",
	};
	static const char *const nouns[] = {
		"template_class", "declaration",     "expression",
		"type_list",      "namespace_scope", "statement_seq",
		"constant",       "identifier",      "initializer_list",
		"overload_set",   "parameter_pack",
	};
	struct figure_frame *frame = must(arena_alloc(arena, sizeof(*frame)));
	uint32_t number = next_random(state) % 40;

	frame->function = arena_printf(
		arena,
		number % 3
			? "cp_%s_%s_%u"
			: "ns::%s<std::vector<ns::%s, std::allocator<> >, %u>",
		verbs[next_random(state) % 10], nouns[next_random(state) % 11],
		number);
	frame->module = modules[next_random(state) % 8];
	frame->file = number % 5 ? arena_printf(arena, "/usr/src/gcc/cp/p%u.cc",
						number)
				 : NULL;
	frame->line = number * 17 + 3;
	frame->address = 0x400000 + next_random(state);
	frame->is_inlined = number % 7 == 0;
	return frame;
}

const struct figure *sample_tree_large(struct arena *arena, uint32_t count,
				       uint32_t seed)
{
	struct sample_node *nodes =
		must(arena_array(arena, count, sizeof(*nodes)));
	uint32_t state = seed;

	for (uint32_t i = 1; i < count; i++) {
		uint32_t back = next_random(&state) % 100;

		nodes[i].parent =
			back < 70 ? i - 1 : i - 1 - next_random(&state) % i;
		nodes[i].frame = random_frame(arena, &state);
		if (next_random(&state) % 3 == 0) {
			nodes[i].self_bytes = 1 + next_random(&state) % 5000;
			nodes[i].self_count = 1 + next_random(&state) % 9;
		}
	}
	return sample_tree(arena, nodes, count, false);
}
