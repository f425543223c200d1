/* SPDX-License-Identifier: MIT */
/* Lines, inlined calls, names, keys and identities of frames. */
#include "tests/symbol/fixture.h"

#include "report/core/text.h"

static int setup(void **state)
{
	(void)state;
	return fixture_build("chain names");
}

static void assert_frame(const struct symbol_frame *frame, const char *function,
			 const char *source, const char *mark)
{
	assert_string_equal(frame->function, function);
	assert_int_equal(frame->quality, SYMBOL_LINE);
	assert_string_equal(text_basename(frame->file), source);
	assert_int_equal(frame->file[0], '/');
	assert_int_equal(frame->line, fixture_line(source, mark));
}

/* inner() in middle() in outer(), and a call without inlining. */
static void check_chain(const char *name, const char *id_from)
{
	struct subject subject;
	const struct symbol_frame *frames;
	size_t count;

	fixture_need(name);
	subject_open(&subject, name, id_from, NULL, 0);
	frames = subject_frames(&subject, fixture_symbol(name, "mark_inner"),
				&count);
	assert_int_equal(count, 3);
	assert_frame(&frames[0], "inner", "chain.c", "at inner");
	assert_frame(&frames[1], "middle", "chain.c", "call inner");
	assert_frame(&frames[2], "outer", "chain.c", "call middle");
	assert_true(frames[0].is_inlined);
	assert_true(frames[1].is_inlined);
	assert_false(frames[2].is_inlined);
	assert_string_equal(frames[0].module, text_basename(name));

	frames = subject_frames(&subject, fixture_symbol(name, "mark_local"),
				&count);
	assert_int_equal(count, 1);
	assert_frame(&frames[0], "local", "chain.c", "at local");
	assert_string_equal(subject_status(&subject)->note, "");
	assert_string_equal(subject_status(&subject)->debug_path,
			    fixture_path(name));
	assert_int_equal(subject_status(&subject)->addresses, 2);
	assert_int_equal(subject_status(&subject)->resolved[SYMBOL_LINE], 2);
	subject_close(&subject);
}

static void test_chain(void **state)
{
	static const char *const with_build_id[] = {
	    "chain",     "chain-dwarf4", "chain-dwarf5", "chain-gz",
	    "chain-lto", "chain-split",  "chain-nopie",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(with_build_id) / sizeof(char *); i++) {
		check_chain(with_build_id[i], with_build_id[i]);
		check_chain(with_build_id[i], NULL);
	}
}

/* clang writes no .debug_aranges. */
static void test_chain_clang(void **state)
{
	(void)state;
	check_chain("chain-clang4", NULL);
	check_chain("chain-clang5", NULL);
}

static void test_chain_dwz(void **state)
{
	(void)state;
	check_chain("dwz-one", NULL);
	check_chain("dwz-two", NULL);
}

/* The return address may already be in the next function. */
static void test_call_is_before_return_address(void **state)
{
	uint64_t addr = fixture_symbol("chain", "outer");
	struct subject subject;
	const struct symbol_frame *frames;
	size_t count;

	(void)state;
	subject_open(&subject, "chain", "chain", NULL, 0);
	frames = symbols_resolve(subject.symbols, FIXTURE_BIAS + addr, &count);
	assert_string_not_equal(frames[count - 1].function, "outer");
	frames =
	    symbols_resolve(subject.symbols, FIXTURE_BIAS + addr + 1, &count);
	assert_string_equal(frames[count - 1].function, "outer");
	subject_close(&subject);
}

struct expected_name {
	const char *mark;
	const char *gcc;
	const char *clang; /* NULL: the same */
};

static const struct expected_name expected_names[] = {
    {"mark_hidden", "(anonymous namespace)::hidden",
     "(anonymous namespace)::hidden(int)"},
    {"mark_secret", "(anonymous namespace)::Secret::get",
     "(anonymous namespace)::Secret::get() const"},
    {"mark_convert", "shapes::Vec::operator bool() const", NULL},
    {"mark_call", "shapes::Vec::operator()(int)", NULL},
    {"mark_construct", "shapes::Vec::Vec(int)", NULL},
    {"mark_plus", "shapes::operator+(shapes::Vec const&, shapes::Vec const&)",
     NULL},
    {"mark_subscript", "shapes::Box<std::string>::operator[](unsigned long)",
     NULL},
    {"mark_twice", "shapes::twice<std::string>(std::string)", NULL},
    {"mark_inlined", "shapes::v2::inlined", "shapes::v2::inlined(int)"},
    {"mark_nested",
     "shapes::total(std::vector<std::vector<std::string, "
     "std::allocator<std::string>>, std::allocator<std::vector<"
     "std::string, std::allocator<std::string>>>> const&, "
     "std::string const&)",
     NULL},
    {"mark_new", "operator new(unsigned long, std::string const&)", NULL},
    {"mark_lambda", "main::{lambda}::operator()",
     "main::$_0::operator()(int) const"},
};

static void check_names(const char *fixture, bool is_clang)
{
	struct subject subject;

	fixture_need(fixture);
	subject_open(&subject, fixture, fixture, NULL, 0);
	for (size_t i = 0;
	     i < sizeof(expected_names) / sizeof(expected_names[0]); i++) {
		const struct expected_name *name = &expected_names[i];
		const struct symbol_frame *frames;
		size_t count;

		frames = subject_frames(
		    &subject, fixture_symbol(fixture, name->mark), &count);
		assert_string_equal(frames[0].function, is_clang && name->clang
							    ? name->clang
							    : name->gcc);
		assert_string_equal(text_basename(frames[0].file), "names.cpp");
	}
	subject_close(&subject);
}

/* The same answers, and nothing is said of modules that were not asked for. */
static void test_opened_ahead(void **state)
{
	uint64_t addr = FIXTURE_BIAS + fixture_symbol("chain", "outer") + 1;
	struct subject subject;
	const struct symbol_frame *frames;
	size_t count;

	(void)state;
	subject_open(&subject, "chain", "chain", NULL, 0);
	symbols_open_ahead(subject.symbols, &addr, 1);
	symbols_open_ahead(subject.symbols, &addr, 1);
	symbols_module_status(subject.symbols, &count);
	assert_int_equal(count, 0);
	frames = symbols_resolve(subject.symbols, addr, &count);
	assert_string_equal(frames[count - 1].function, "outer");
	symbols_module_status(subject.symbols, &count);
	assert_int_equal(count, 1);
	subject_close(&subject);
	subject_open(&subject, "chain", "chain", NULL, 0);
	symbols_open_ahead(subject.symbols, &addr, 1);
	subject_close(&subject);
}

static void test_names_gcc(void **state)
{
	(void)state;
	check_names("names-gcc", false);
}

static void test_names_clang(void **state)
{
	(void)state;
	check_names("names-clang", true);
}

static void test_hostile_bytes(void **state)
{
	struct subject subject;
	const struct symbol_frame *frames;
	size_t count;

	(void)state;
	subject_open(&subject, "evil-name", NULL, NULL, 0);
	frames =
	    subject_frames(&subject, fixture_symbol("chain", "plain"), &count);
	assert_string_equal(frames[0].function,
			    "evil\xef\xbf\xbd[31m\xef\xbf\xbd");
	subject_close(&subject);

	subject_open(&subject, "evil-path", NULL, NULL, 0);
	frames = subject_frames(
	    &subject, fixture_symbol("evil-path", "mark_plain"), &count);
	assert_string_equal(text_basename(frames[0].file),
			    "evil\xef\xbf\xbd[31m\xef\xbf\xbd.c");
	subject_close(&subject);
}

/* Equal function, file, line and module: equal id; ids are dense. */
static void test_identities(void **state)
{
	uint64_t start = fixture_symbol("chain", "outer");
	bool used[256] = {false};
	struct subject subject;
	uint32_t top = 0;

	(void)state;
	subject_open(&subject, "chain", NULL, NULL, 0);
	for (uint64_t addr = start - 64; addr < start + 64; addr++) {
		size_t count;
		const struct symbol_frame *frames =
		    subject_frames(&subject, addr, &count);

		for (size_t i = 0; i < count; i++) {
			assert_in_range(frames[i].id, 0, 255);
			used[frames[i].id] = true;
			top = frames[i].id > top ? frames[i].id : top;
		}
		/* A second time the very same frames. */
		assert_ptr_equal(frames,
				 subject_frames(&subject, addr, &count));
	}
	for (uint32_t id = 0; id <= top; id++)
		assert_true(used[id]);
	assert_in_range(top, 3, 200);
	assert_int_equal(subject_status(&subject)->addresses, 128);
	subject_close(&subject);
}

static void test_outside_of_modules(void **state)
{
	struct subject subject;
	const struct symbol_frame *frames;
	size_t count;

	(void)state;
	subject_open(&subject, "chain", NULL, NULL, 0);
	frames = symbols_resolve(subject.symbols, 0xdeadbeef, &count);
	assert_int_equal(count, 1);
	assert_string_equal(frames[0].function, "[anonymous]");
	assert_string_equal(frames[0].module, "");
	assert_null(frames[0].file);
	assert_int_equal(frames[0].quality, SYMBOL_ADDRESS);
	frames = symbols_resolve(subject.symbols, 0, &count);
	assert_string_equal(frames[0].function, "[anonymous]");
	symbols_module_status(subject.symbols, &count);
	assert_int_equal(count, 0);
	subject_close(&subject);
}

/* Two libraries at one place, one after the other. */
static void test_generations(void **state)
{
	char first[512], second[512];
	struct module modules[] = {
	    { .number = 1,
	      .bias = FIXTURE_BIAS,
	      .start = FIXTURE_BIAS,
	      .end = FIXTURE_BIAS + 0x100000,
	      .load_tick = 1,
	      .unload_tick = 10,
	      .path = first,
	      .name = first },
	    { .number = 2,
	      .bias = FIXTURE_BIAS,
	      .start = FIXTURE_BIAS,
	      .end = FIXTURE_BIAS + 0x100000,
	      .load_tick = 20,
	      .unload_tick = MODULE_NEVER_UNLOADED,
	      .is_tracer = true,
	      .path = second,
	      .name = second },
	};
	uint64_t addr =
	    FIXTURE_BIAS + fixture_symbol("chain", "mark_inner") + 1;
	const struct symbol_module_status *rows;
	const struct symbol_frame *frames;
	struct symbols *symbols;
	struct module_map map;
	uint64_t early, late;
	size_t count;

	(void)state;
	snprintf(first, sizeof(first), "%s", fixture_path("chain"));
	snprintf(second, sizeof(second), "%s", fixture_path("gone"));
	module_map_build(&map, modules, 2);
	symbols = symbols_new(&map, NULL, 0);
	early = module_map_key(&map, addr, 5);
	late = module_map_key(&map, addr, 25);
	assert_int_not_equal(early, late);
	frames = symbols_resolve(symbols, early, &count);
	assert_int_equal(count, 3);
	assert_string_equal(frames[0].function, "inner");
	frames = symbols_resolve(symbols, late, &count);
	assert_int_equal(count, 1);
	assert_string_equal(frames[0].module, "gone");
	assert_int_equal(frames[0].quality, SYMBOL_MODULE);
	rows = symbols_module_status(symbols, &count);
	assert_int_equal(count, 2);
	assert_string_equal(rows[0].note, "");
	assert_string_equal(rows[1].note, "no such file");
	symbols_free(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_chain),
	    cmocka_unit_test(test_chain_clang),
	    cmocka_unit_test(test_chain_dwz),
	    cmocka_unit_test(test_call_is_before_return_address),
	    cmocka_unit_test(test_opened_ahead),
	    cmocka_unit_test(test_names_gcc),
	    cmocka_unit_test(test_names_clang),
	    cmocka_unit_test(test_hostile_bytes),
	    cmocka_unit_test(test_identities),
	    cmocka_unit_test(test_outside_of_modules),
	    cmocka_unit_test(test_generations),
	};

	return cmocka_run_group_tests(tests, setup, fixture_remove);
}
