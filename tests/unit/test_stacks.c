/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "report/event/stacks.h"
#include "tests/lib/random.h"

static void same_is_same(void **state)
{
	struct stacks stacks;
	uint32_t a, b;

	(void)state;
	assert_int_equal(stacks_init(&stacks), 0);
	a = stacks_child(&stacks, STACKS_ROOT, 0x1000);
	b = stacks_child(&stacks, a, 0x2000);
	assert_int_not_equal(a, STACKS_ROOT);
	assert_int_equal(stacks_child(&stacks, STACKS_ROOT, 0x1000), a);
	assert_int_equal(stacks_child(&stacks, a, 0x2000), b);
	assert_int_not_equal(stacks_child(&stacks, b, 0x2000), b);
	assert_int_not_equal(stacks_child(&stacks, STACKS_ROOT, 0x2000), b);
	assert_int_equal(stacks.nodes[b].parent, a);
	assert_int_equal(stacks.nodes[b].depth, 2);
	assert_int_equal(stacks.nodes[STACKS_ROOT].depth, 0);
	stacks_done(&stacks);
}

/* Growth keeps numbers, and parents come before children. */
static void many(void **state)
{
	enum { COUNT = 200000 };
	struct random random = {4};
	struct stacks stacks;
	uint32_t *nodes = calloc(COUNT, sizeof(*nodes));
	uint64_t *keys = calloc(COUNT, sizeof(*keys));
	uint32_t *parents = calloc(COUNT, sizeof(*parents));

	(void)state;
	assert_true(nodes && keys && parents);
	assert_int_equal(stacks_init(&stacks), 0);
	for (uint32_t i = 0; i < COUNT; i++) {
		keys[i] = random_below(&random, 1000) << 12;
		parents[i] = (uint32_t)random_below(&random, stacks.count);
		nodes[i] = stacks_child(&stacks, parents[i], keys[i]);
		assert_true(nodes[i] > parents[i]);
	}
	for (uint32_t i = 0; i < COUNT; i++) {
		const struct stacks_node *node = &stacks.nodes[nodes[i]];

		assert_int_equal(stacks_child(&stacks, parents[i], keys[i]),
				 nodes[i]);
		assert_int_equal(node->pc_key, keys[i]);
		assert_int_equal(node->parent, parents[i]);
		assert_int_equal(
		    stacks.hashes[nodes[i]],
		    stacks_path_hash(stacks.hashes[parents[i]], keys[i]));
		assert_int_equal(node->depth,
				 stacks.nodes[parents[i]].depth + 1);
	}
	stacks_done(&stacks);
	free(nodes);
	free(keys);
	free(parents);
}

/* Different paths of one hash are different nodes. */
static void equal_hashes(void **state)
{
	struct stacks stacks;
	uint32_t nodes[100];

	(void)state;
	assert_int_equal(stacks_init(&stacks), 0);
	for (uint64_t i = 0; i < 100; i++)
		nodes[i] = stacks_child_hashed(&stacks, STACKS_ROOT,
					       0x1000 + i, UINT32_MAX);
	for (uint64_t i = 0; i < 100; i++) {
		assert_int_equal(stacks.nodes[nodes[i]].pc_key, 0x1000 + i);
		assert_int_equal(stacks_child_hashed(&stacks, STACKS_ROOT,
						     0x1000 + i, UINT32_MAX),
				 nodes[i]);
	}
	assert_int_equal(stacks.count, 101);
	stacks_done(&stacks);
}

/* What is known stays known; all that is new is one node, and so is what would be
   below it. */
static void limit(void **state)
{
	struct stacks stacks;
	uint32_t known, more;

	(void)state;
	assert_int_equal(stacks_init(&stacks), 0);
	stacks_set_limit(&stacks, 1000);
	assert_true(stacks.limit > 1000000);
	stacks_set_limit(&stacks, UINT64_MAX);
	assert_int_equal(stacks.limit, UINT32_MAX);
	stacks.limit = 3;
	known = stacks_child(&stacks, STACKS_ROOT, 0x1000);
	known = stacks_child(&stacks, known, 0x2000);
	assert_int_equal(stacks.left_out, STACKS_NONE);
	more = stacks_child(&stacks, known, 0x3000);
	assert_int_equal(stacks.left_out, more);
	assert_int_equal(stacks.nodes[more].parent, STACKS_ROOT);
	assert_int_equal(stacks.nodes[more].pc_key, 0);
	assert_int_equal(stacks_child(&stacks, more, 0x1000), more);
	assert_int_equal(stacks_child(&stacks, STACKS_ROOT, 0x4000), more);
	assert_int_equal(
	    stacks_child(&stacks, stacks_child(&stacks, STACKS_ROOT, 0x1000),
			 0x2000),
	    known);
	assert_int_equal(stacks.count, 4);
	stacks_done(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(same_is_same),
	    cmocka_unit_test(many),
	    cmocka_unit_test(equal_hashes),
	    cmocka_unit_test(limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
