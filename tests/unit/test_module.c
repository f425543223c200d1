/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "report/core/module.h"
#include "tests/lib/random.h"

static struct module make(uint32_t number, uint64_t start, uint64_t end,
			  uint64_t load_tick, uint64_t unload_tick)
{
	return (struct module){ .number = number,
				.start = start,
				.end = end,
				.load_tick = load_tick,
				.unload_tick = unload_tick };
}

static uint32_t find(const struct module_map *map, uint64_t addr, uint64_t tick)
{
	const struct module *module =
	    module_map_find(map, module_map_key(map, addr, tick));

	return module ? module->number : 0;
}

static void plain(void **state)
{
	struct module modules[] = {
	    make(1, 0x5000, 0x6000, 10, MODULE_NEVER_UNLOADED),
	    make(2, 0x1000, 0x2000, 10, MODULE_NEVER_UNLOADED),
	    make(3, 0x2000, 0x3000, 10, MODULE_NEVER_UNLOADED),
	};
	struct module_map map;

	(void)state;
	module_map_build(&map, modules, 3);
	assert_false(map.reused);
	assert_int_equal(module_map_key(&map, 0x1234, 5), 0x1234);
	assert_int_equal(module_map_key(&map, UINT64_MAX, 5),
			 (UINT64_C(1) << 48) - 1);
	/* A return address belongs to the byte before it. */
	assert_int_equal(find(&map, 0x1000, 20), 0);
	assert_int_equal(find(&map, 0x1001, 20), 2);
	assert_int_equal(find(&map, 0x2000, 20), 2);
	assert_int_equal(find(&map, 0x2001, 20), 3);
	assert_int_equal(find(&map, 0x4000, 20), 0);
	assert_int_equal(find(&map, 0, 20), 0);
}

static void empty(void **state)
{
	struct module_map map;

	(void)state;
	module_map_build(&map, NULL, 0);
	assert_int_equal(find(&map, 0x1000, 1), 0);
}

static void reused(void **state)
{
	struct module modules[] = {
	    make(1, 0x1000, 0x2000, 10, 20),
	    make(2, 0x1000, 0x2000, 30, 40),
	    make(3, 0x1800, 0x3000, 50, MODULE_NEVER_UNLOADED),
	    make(4, 0x8000, 0x9000, 10, MODULE_NEVER_UNLOADED),
	};
	struct module_map map;

	(void)state;
	module_map_build(&map, modules, 4);
	assert_true(map.reused);
	assert_int_equal(find(&map, 0x1900, 5), 1);
	assert_int_equal(find(&map, 0x1900, 15), 1);
	assert_int_equal(find(&map, 0x1900, 25), 1);
	assert_int_equal(find(&map, 0x1900, 30), 2);
	assert_int_equal(find(&map, 0x1900, 60), 3);
	assert_int_equal(find(&map, 0x1100, 60), 2);
	assert_int_equal(find(&map, 0x2900, 60), 3);
	assert_int_equal(find(&map, 0x8100, 60), 4);
}

/* Overlaps that run against the order of addresses. */
static void chain(void **state)
{
	struct module modules[] = {
	    make(1, 0x1000, 0x2000, 10, 20),
	    make(2, 0x1800, 0x2800, 20, 30),
	    make(3, 0x2400, 0x3000, 30, MODULE_NEVER_UNLOADED),
	};
	struct module_map map;

	(void)state;
	module_map_build(&map, modules, 3);
	assert_int_equal(find(&map, 0x2500, 25), 2);
	assert_int_equal(find(&map, 0x2500, 35), 3);
}

/* Plugins of different lengths, one after the other at one address, as many as
   a trace may have. */
static void plugins(void **state)
{
	enum { COUNT = 0xffff };
	struct module *modules = calloc(COUNT, sizeof(*modules));
	struct module_map map;

	(void)state;
	assert_non_null(modules);
	for (uint32_t i = 0; i < COUNT; i++)
		modules[i] = make(i + 1, 0x1000, 0x2000 + i % 2, 10 * i,
				  10 * i + 5);
	module_map_build(&map, modules, COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(find(&map, 0x1800, 10 * i + 3), i + 1);
	assert_int_equal(find(&map, 0x2001, 10 * 40000 + 3), 40000);
	free(modules);
}

/* Against the plain definition: of the modules at an address, the last one
   loaded by then, else the first. */
static void random_modules(void **state)
{
	struct random random = {9};

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct module modules[12];
		struct module_map map;
		size_t count = 1 + random_below(&random, 12);

		for (size_t i = 0; i < count; i++) {
			uint64_t start = 1 + random_below(&random, 60);

			modules[i] = make((uint32_t)i + 1, start,
					  start + 1 + random_below(&random, 30),
					  random_below(&random, 20),
					  MODULE_NEVER_UNLOADED);
		}
		module_map_build(&map, modules, count);
		for (int i = 0; i < 500; i++) {
			uint64_t addr = 1 + random_below(&random, 100);
			uint64_t tick = random_below(&random, 25);
			const struct module *best = NULL;

			for (size_t j = 0; j < count; j++) {
				const struct module *m = &modules[j];
				bool by_then = m->load_tick <= tick;
				bool later;

				if (addr - 1 < m->start || addr - 1 >= m->end)
					continue;
				if (!best) {
					best = m;
					continue;
				}
				later = m->load_tick != best->load_tick
					    ? m->load_tick > best->load_tick
					    : m->number > best->number;
				if (by_then != (best->load_tick <= tick)
					? by_then
					: later == by_then)
					best = m;
			}
			assert_int_equal(find(&map, addr, tick),
					 best ? best->number : 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(plain),          cmocka_unit_test(empty),
	    cmocka_unit_test(reused),         cmocka_unit_test(chain),
	    cmocka_unit_test(plugins),        cmocka_unit_test(random_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
