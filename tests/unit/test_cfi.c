/* SPDX-License-Identifier: MIT */
/*
 * Rules from call frame information: written by hand, with every length,
 * offset and encoding at its worst; then of real libraries and programs, whole
 * and damaged.
 */
#include "tests/lib/unit.h"

#include <link.h>

#include "tests/lib/cfi_image.h"
#include "tests/lib/random.h"
#include "tracer/cfi.h"
#include "tracer/cfi_record.h"
#include "tracer/rules.h"

enum {
	TABLE = 12,
	CODE = 0x100000, /* distance from the image to its function's code */
	CODE_BYTES = 64,
	ROUNDS = 3000,
	FILE_BYTES_MAX = 64 << 20,
};

/**
 * struct writer - an image being written
 */
struct writer {
	uint8_t data[4096];
	size_t len;
};

static void put(struct writer *w, const void *data, size_t len)
{
	assert_true(len <= sizeof(w->data) - w->len);
	memcpy(w->data + w->len, data, len);
	w->len += len;
}

static void put_u8(struct writer *w, unsigned v)
{
	put(w, &(uint8_t){ (uint8_t)v }, 1);
}

static void put_u32(struct writer *w, uint32_t v)
{
	put(w, &v, sizeof(v));
}

#define PUT(w, ...)                                                    \
	put((w), (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ \
						       __VA_ARGS__ }))

/* Return: place of the length, for end_record(). */
static size_t begin_record(struct writer *w)
{
	put_u32(w, 0);
	return w->len - 4;
}

static void end_record(struct writer *w, size_t at)
{
	uint32_t len;

	while ((w->len - at) % 4)
		put_u8(w, 0);
	len = (uint32_t)(w->len - at - 4);
	memcpy(w->data + at, &len, sizeof(len));
}

/**
 * struct sample - one CIE and one FDE
 * @augmentation:      "zR" when NULL
 * @augmentation_data: after its length; an encoding of pcrel sdata4 when NULL
 * @cie_program:       DW_CFA_def_cfa rsp + 8, rip at CFA - 8 when NULL
 * @length:            replaces the FDE's when not 0
 * @back:              replaces the FDE's pointer to the CIE when not 0
 */
struct sample {
	const char *augmentation;
	const uint8_t *augmentation_data;
	size_t augmentation_len;
	const uint8_t *cie_program;
	size_t cie_program_len;
	const uint8_t *program;
	size_t program_len;
	uint32_t length;
	uint32_t back;
	unsigned version;
};

static void write_cie(struct writer *w, const struct sample *s)
{
	size_t at = begin_record(w);
	const char *augmentation = s->augmentation ? s->augmentation : "zR";

	put_u32(w, 0);
	put_u8(w, s->version ? s->version : 1);
	put(w, augmentation, strlen(augmentation) + 1);
	if (s->version == 4)
		PUT(w, 8, 0);
	PUT(w, 1, 0x78, 16);
	if (augmentation[0] == 'z' && s->augmentation_data)
		put(w, s->augmentation_data, s->augmentation_len);
	else if (augmentation[0] == 'z')
		PUT(w, 1, 0x1b);
	if (s->cie_program)
		put(w, s->cie_program, s->cie_program_len);
	else
		PUT(w, 0x0c, 7, 8, 0x90, 1);
	end_record(w, at);
}

/* Its function is CODE bytes after the image, CODE_BYTES long. */
static void write_image(struct writer *w, const struct sample *s)
{
	size_t cie = 20, fde;

	memset(w, 0, sizeof(*w));
	PUT(w, 1, 0x1b, 0x03, 0x3b);
	put_u32(w, 16); /* to .eh_frame */
	put_u32(w, 1);
	put_u32(w, CODE);
	put_u32(w, 0);
	write_cie(w, s);
	fde = begin_record(w);
	put_u32(w, s->back ? s->back : (uint32_t)(w->len - cie));
	put_u32(w, CODE - (uint32_t)w->len);
	put_u32(w, CODE_BYTES);
	put_u8(w, 0);
	put(w, s->program, s->program_len);
	end_record(w, fde);
	if (s->length)
		memcpy(w->data + fde, &s->length, sizeof(s->length));
	put_u32(w, 0);
	memcpy(w->data + TABLE + 4, &(uint32_t){ (uint32_t)fde }, 4);
}

/* Return: the rule at the function's byte @offset. */
static uint32_t get_rule(const struct writer *w, size_t offset)
{
	struct cfi_image image;
	uint32_t rule;

	cfi_image_place(&image, w->data, w->len, w->len, 0);
	rule = rules_build((uintptr_t)image.data + CODE + offset + 1);
	cfi_image_remove(&image);
	return rule;
}

static uint32_t get_sample_rule(const struct sample *s, size_t offset)
{
	struct writer w;

	write_image(&w, s);
	return get_rule(&w, offset);
}

#define PROGRAM(...)                             \
	.program = (const uint8_t[]){ __VA_ARGS__ }, \
	.program_len = sizeof((const uint8_t[]){ __VA_ARGS__ })

static void check_rule(uint32_t rule, enum rule_kind kind, uintptr_t offset,
		       uintptr_t slot)
{
	assert_int_equal(rule_kind(rule), kind);
	assert_int_equal(rule_offset(rule), offset);
	assert_int_equal(rule_slot(rule), slot);
}

static void test_rows(void **state)
{
	/* push rbp; mov rbp, rsp; …; pop rbp; ret; then the body goes on. */
	const struct sample s = { PROGRAM(0x41, 0x0e, 16, 0x86, 2, /* 1 */
					  0x43, 0x0d, 6,           /* 4 */
					  0x50, 0x0a, 0x0c, 7, 8, 0xc6, /* 20 */
					  0x41, 0x0b) };           /* 21 */

	(void)state;
	check_rule(get_sample_rule(&s, 0), RULE_RSP, 8, RULE_SLOT_NONE);
	check_rule(get_sample_rule(&s, 1), RULE_RSP, 16, 2);
	check_rule(get_sample_rule(&s, 3), RULE_RSP, 16, 2);
	check_rule(get_sample_rule(&s, 4), RULE_RBP, 16, 2);
	check_rule(get_sample_rule(&s, 19), RULE_RBP, 16, 2);
	check_rule(get_sample_rule(&s, 20), RULE_RSP, 8, RULE_SLOT_NONE);
	check_rule(get_sample_rule(&s, 21), RULE_RBP, 16, 2);
	check_rule(get_sample_rule(&s, CODE_BYTES - 1), RULE_RBP, 16, 2);
	assert_int_equal(rule_kind(get_sample_rule(&s, CODE_BYTES)),
			 RULE_GUESS);
}

static void test_expressions(void **state)
{
	/* A PLT's entry: rsp + 8 + (rip & 15 >= 11) * 8. */
	const struct sample plt = { PROGRAM(
	    0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
	    0x22) };
	const struct sample realigned = { PROGRAM(0x0f, 3, 0x76, 0x70, 6, 0x10,
						  6, 2, 0x76, 0) };
	const struct sample end = { PROGRAM(0x07, 16) };

	(void)state;
	check_rule(get_sample_rule(&plt, 0), RULE_RSP, 8, RULE_SLOT_NONE);
	check_rule(get_sample_rule(&plt, 11), RULE_RSP, 16, RULE_SLOT_NONE);
	check_rule(get_sample_rule(&realigned, 9), RULE_REALIGN, 16, 0);
	assert_int_equal(rule_kind(get_sample_rule(&end, 9)), RULE_END);
}

/* What has to give RULE_FAIL, and never a fault. */
static void test_worst_programs(void **state)
{
	const struct sample samples[] = {
		/* more remembered states than there is room for */
		{ PROGRAM(10, 10, 10, 10, 10, 10, 10, 10, 10, 10) },
		/* a state that was not remembered */
		{ PROGRAM(0x0b) },
		/* rbp at CFA - 2^63, by all instructions that can say so */
		{ PROGRAM(0x11, 6, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
			  0x80, 0x90, 0) },
		{ PROGRAM(0x2f, 6, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
			  0x80, 0x10) },
		/* a CFA of rsp + 2^63, of rsp - 8, of rsp + 2^20 + 8 */
		{ PROGRAM(0x0c, 7, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
			  0x80, 0x80, 1) },
		{ PROGRAM(0x13, 1) },
		{ PROGRAM(0x0e, 0x88, 0x80, 0x40) },
		/* rbp above the CFA, at no multiple of 8, below rsp */
		{ PROGRAM(0x11, 6, 0x7f) },
		{ PROGRAM(0x86, 2) },
		/* a number of too many bytes, one without an end */
		{ PROGRAM(0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			  0xff, 0xff, 0xff, 0xff, 0x7f) },
		{ PROGRAM(0x0e, 0x88, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
			  0x80, 0x80) },
		/* an instruction that there is not, registers we do not know */
		{ PROGRAM(0x3f) },
		{ PROGRAM(0x0c, 3, 16) },
		{ PROGRAM(0x0c, 0xff, 0xff, 0xff, 0xff, 0x7f, 16) },
		/* the return address elsewhere */
		{ PROGRAM(0x09, 16, 3) },
		{ PROGRAM(0x90, 2) },
		/* expressions: longer than the record, empty, an overflow and
		   an underflow of the stack, -2^63 from rbp */
		{ PROGRAM(0x0f, 0xff, 0x7f, 0x77, 8) },
		{ PROGRAM(0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			  0xff, 1) },
		{ PROGRAM(0x0f, 0) },
		{ PROGRAM(0x0f, 9, 48, 48, 48, 48, 48, 48, 48, 48, 48) },
		{ PROGRAM(0x0f, 2, 0x77, 0x22) },
		{ PROGRAM(0x0f, 1, 0x22) },
		{ PROGRAM(0x0f, 12, 0x76, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
			  0x80, 0x80, 0x80, 0x7f, 6, 0x10, 6, 2, 0x76, 0) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		uint32_t rule = get_sample_rule(&samples[i], 9);

		if (rule_kind(rule) != RULE_FAIL)
			fail_msg("sample %zu: rule %#x", i, rule);
	}
}

static void test_worst_records(void **state)
{
	const uint8_t indirect[] = { 1, 0x9b }, aligned[] = { 1, 0x50 },
		      omit[] = { 1, 0xff }, text[] = { 1, 0x2b },
		      longer[] = { 0xff, 0x7f, 0x1b }, personality[] = { 1, 0 },
		      unknown[] = { 2, 1, 0x1b };
	const struct sample samples[] = {
		{ .length = UINT32_MAX, PROGRAM(0) },
		{ .length = UINT32_MAX - 1, PROGRAM(0) },
		{ .length = INT32_MAX, PROGRAM(0) },
		{ .length = 1, PROGRAM(0) },
		{ .length = 4, PROGRAM(0) },
		{ .back = 4, PROGRAM(0) },
		{ .back = UINT32_MAX, PROGRAM(0) },
		{ .back = 5000, PROGRAM(0) },
		{ .back = 1, PROGRAM(0) },
		{ .version = 2, PROGRAM(0) },
		{ .version = 255, PROGRAM(0) },
		{ .augmentation = "eh", PROGRAM(0) },
		{ .augmentation = "R", PROGRAM(0) },
		{ .augmentation = "zX", .augmentation_data = unknown,
		  .augmentation_len = 3, PROGRAM(0) },
		{ .augmentation = "zPLRRRR", .augmentation_data = personality,
		  .augmentation_len = 2, PROGRAM(0) },
		{ .augmentation_data = indirect, .augmentation_len = 2,
		  PROGRAM(0) },
		{ .augmentation_data = aligned, .augmentation_len = 2,
		  PROGRAM(0) },
		{ .augmentation_data = omit, .augmentation_len = 2,
		  PROGRAM(0) },
		{ .augmentation_data = text, .augmentation_len = 2,
		  PROGRAM(0) },
		{ .augmentation_data = longer, .augmentation_len = 3,
		  PROGRAM(0) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		uint32_t rule = get_sample_rule(&samples[i], 9);

		if (rule_kind(rule) != RULE_FAIL)
			fail_msg("sample %zu: rule %#x", i, rule);
	}
}

/* Both versions that compilers write, and the header's own fields. */
static void test_headers(void **state)
{
	const struct sample s = { PROGRAM(0) };
	const struct sample later = { .version = 3, PROGRAM(0) };
	const struct sample latest = { .version = 4, PROGRAM(0) };
	const uint32_t offsets[] = { 0,         8,         5000,
				     INT32_MAX, INT32_MIN, UINT32_MAX };
	struct writer w;

	(void)state;
	check_rule(get_sample_rule(&later, 9), RULE_RSP, 8, RULE_SLOT_NONE);
	check_rule(get_sample_rule(&latest, 9), RULE_RSP, 8, RULE_SLOT_NONE);
	write_image(&w, &s);
	for (size_t i = 0; i < 4; i++) {
		for (unsigned v = 0; v < 256; v++) {
			struct writer changed = w;

			changed.data[i] = (uint8_t)v;
			if (v != w.data[i] && (i == 0 || i == 3) && v != 0xff)
				assert_int_not_equal(
				    rule_kind(get_rule(&changed, 9)), RULE_RSP);
			else
				get_rule(&changed, 9);
		}
	}
	/* More pairs than there are; a function's record anywhere. */
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		struct writer changed = w;

		memcpy(changed.data + TABLE + 4, &offsets[i], 4);
		assert_int_equal(rule_kind(get_rule(&changed, 9)), RULE_FAIL);
		changed = w;
		memcpy(changed.data + 8, &offsets[i], 4);
		if (offsets[i])
			assert_int_equal(rule_kind(get_rule(&changed, 9)),
					 RULE_FAIL);
	}
	/* Every length that a section can be cut to. */
	for (size_t len = 0; len < w.len - 4; len++) {
		struct writer changed = w;

		changed.len = len;
		assert_int_not_equal(rule_kind(get_rule(&changed, 9)),
				     RULE_RSP);
	}
}

/* A header with nothing but where the records are. */
static void test_no_table(void **state)
{
	const struct sample s = { PROGRAM(0x41, 0x0e, 16) };
	struct writer w;

	(void)state;
	for (size_t i = 2; i < 4; i++) {
		write_image(&w, &s);
		w.data[i] = 0xff;
		check_rule(get_rule(&w, 0), RULE_RSP, 8, RULE_SLOT_NONE);
		check_rule(get_rule(&w, 9), RULE_RSP, 16, RULE_SLOT_NONE);
		assert_int_equal(rule_kind(get_rule(&w, CODE_BYTES)),
				 RULE_GUESS);
		memset(w.data + 4, 0x7f, 4);
		assert_int_equal(rule_kind(get_rule(&w, 9)), RULE_FAIL);
	}
}

/* Every bit of a record flipped: anything but a fault. */
static void test_flips(void **state)
{
	const struct sample s = { PROGRAM(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d,
					  6, 0x50, 0x0a, 0x0c, 7, 8, 0xc6, 0x41,
					  0x0b) };
	struct writer w;

	(void)state;
	write_image(&w, &s);
	for (size_t bit = 0; bit < 8 * w.len; bit++) {
		struct writer changed = w;

		changed.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		for (size_t offset = 0; offset < 24; offset += 5)
			get_rule(&changed, offset);
	}
}

/**
 * struct table - the search table of an image
 */
struct table {
	const struct cfi_image *image;
	size_t count;
};

static uintptr_t get_function(const struct table *table, size_t i)
{
	int32_t start;

	memcpy(&start, table->image->data + TABLE + 8 * i, sizeof(start));
	return (uintptr_t)table->image->data + (uintptr_t)(intptr_t)start;
}

static void check_whole(const struct table *table, const char *path)
{
	size_t found = 0, failed = 0;
	struct cfi_row row;

	for (size_t i = 0; i < table->count; i++) {
		uintptr_t pc = get_function(table, i);
		enum rule_kind kind;

		if (cfi_find(pc, &row) != CFI_FOUND)
			fail_msg("%s: function %zu", path, i);
		kind = rule_kind(rules_build(pc + 1));
		found += kind == RULE_RSP;
		failed += kind == RULE_FAIL;
	}
	if (found <= table->count * 9 / 10 || failed > table->count / 50)
		fail_msg("%s: %zu functions, %zu begin with rsp, %zu without "
			 "a rule", path, table->count, found, failed);
}

/* Changes bytes of the table or of any record, looks up there, changes back. */
static void check_damaged(struct table *table, struct random *random)
{
	const struct cfi_image *image = table->image;
	static const uint8_t worst[] = { 0, 1, 0x7f, 0x80, 0xff };
	uint8_t saved[64];
	size_t i = random_below(random, table->count);
	size_t at, len = 1 + random_below(random, sizeof(saved) - 1);
	uint32_t offset;

	memcpy(&offset, image->data + TABLE + 8 * i + 4, sizeof(offset));
	if (random_below(random, 4) == 0)
		at = random_below(random, image->len);
	else if (random_below(random, 3) == 0)
		at = random_below(random, TABLE) + 8 * i * (i % 2);
	else
		at = offset + random_below(random, 40);
	if (at + len > image->len)
		return;
	memcpy(saved, image->data + at, len);
	for (size_t k = 0; k < len; k++)
		if (random_below(random, 3) == 0)
			image->data[at + k] =
			    random_below(random, 2)
				? (uint8_t)random_u64(random)
				: worst[random_below(random, sizeof(worst))];
	for (size_t k = i; k < i + 3 && k < table->count; k++)
		for (size_t byte = 0; byte < 100; byte += 7)
			rules_build(get_function(table, k) + byte + 1);
	memcpy(image->data + at, saved, len);
}

static void check_file(const char *path, struct random *random)
{
	struct cfi_image image;
	struct table table = { .image = &image };
	uint32_t count;
	size_t len;
	uint8_t *data = cfi_image_read(path, &len);

	if (!data)
		return;
	cfi_image_place(&image, data, len, len, 0);
	memcpy(&count, image.data + 8, sizeof(count));
	table.count = count;
	assert_true(TABLE + 8 * table.count <= len);
	check_whole(&table, path);
	for (int i = 0; i < ROUNDS; i++)
		check_damaged(&table, random);
	check_whole(&table, path);
	cfi_image_remove(&image);
	free(data);
}

static int check_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	check_file(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe",
		   arg);
	return 0;
}

/* The libraries of this program, itself, and what else is there. */
static void test_real_tables(void **state)
{
	struct random random = { .state = 11 };
	char path[512] = "";
	FILE *out;

	(void)state;
	dl_iterate_phdr(check_module, &random);
	check_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", &random);
	out = popen("g++ -print-prog-name=cc1plus 2>/dev/null", "r");
	if (!out)
		return;
	if (fgets(path, sizeof(path), out)) {
		path[strcspn(path, "\n")] = '\0';
		check_file(path, &random);
	}
	pclose(out);
}

static int setup(void **state)
{
	(void)state;
	return rules_init() ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_worst_programs),
		cmocka_unit_test(test_worst_records),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_no_table),
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_real_tables),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
