/* SPDX-License-Identifier: MIT */
/*
 * Moved code does what it did: functions that begin in every way that matters
 * are copied and called, with another jump in their place.
 */
#include "tests/lib/unit.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/code_move.h"

#if defined(__x86_64__)

enum {
	NEAR_BYTES = 1 << 16,
	FUNCTION_OFF = 4096, /* of the function under test */
	FUNCTION_MAX = 256,
	AFTER_OFF = 8192,
};

/* Each adds 100 to its argument, at least where that is not 0. */
__asm__(".pushsection .text\n"
	".macro begin name\n"
	".local move_\\name\nmove_\\name:\n"
	".endm\n"
	".macro finish name\n"
	".local move_\\name\\()_end\nmove_\\name\\()_end:\n"
	".endm\n"

	"begin plain\n"
	"push %rbp\nmov %rsp, %rbp\nlea 100(%rdi), %rax\npop %rbp\nret\n"
	"finish plain\n"

	"begin endbr\n"
	"endbr64\npush %rbx\nmov %rdi, %rbx\nlea 100(%rbx), %rax\n"
	"pop %rbx\nret\n"
	"finish endbr\n"

	"begin condition\n" /* jumps over the end of what is moved */
	"test %rdi, %rdi\nje 1f\nlea 100(%rdi), %rax\nret\n"
	"1: mov $-1, %rax\nret\n"
	"finish condition\n"

	"begin memory\n" /* an operand relative to the instruction */
	"mov 2f(%rip), %rax\nadd %rdi, %rax\nret\n"
	".balign 8\n2: .quad 100\n"
	"finish memory\n"

	"begin compare\n" /* with an immediate behind the offset */
	"cmpl $7, 2f(%rip)\njne 3f\nlea 100(%rdi), %rax\nret\n"
	"3: xor %eax, %eax\nret\n"
	".balign 8\n2: .quad 7\n"
	"finish compare\n"

	"begin call\n"
	"push %rdi\ncall 4f\npop %rdi\nadd %rdi, %rax\nret\n"
	"4: mov $100, %eax\nret\n"
	"finish call\n"

	"begin jump\n"
	"jmp 5f\n.skip 160, 0xcc\n5: lea 100(%rdi), %rax\nret\n"
	"finish jump\n"

	"begin thread\n" /* a segment, an absolute address */
	"mov %fs:0x28, %rax\nlea 100(%rdi), %rax\nret\n"
	"finish thread\n"

	"begin long\n"
	"movabs $0x1122334455667788, %rax\nlea 100(%rdi), %rax\nret\n"
	"finish long\n"

	/* What must be refused: */
	"begin loop\n" /* back to the second instruction */
	"xor %eax, %eax\n6: inc %rax\ncmp %rdi, %rax\njb 6b\nret\n"
	"finish loop\n"

	"begin short\n"
	"mov %edi, %eax\nret\n"
	"finish short\n"

	"begin early\n" /* may be a call of the two bytes behind it */
	"ret\nnop\nnop\nnop\nnop\nnop\nnop\n"
	"finish early\n"

	"begin strange\n"
	".byte 0xc4, 0xe2, 0x78, 0xf2, 0xc7, 0xc3, 0x90, 0x90\n"
	"finish strange\n"
	".popsection\n");

#define EXAMPLE(name)                                      \
	extern const uint8_t move_##name[], move_##name##_end[]; \
	static const struct example name##_example = {move_##name, \
						      move_##name##_end};
struct example {
	const uint8_t *start;
	const uint8_t *end;
};

EXAMPLE(plain)
EXAMPLE(endbr)
EXAMPLE(condition)
EXAMPLE(memory)
EXAMPLE(compare)
EXAMPLE(call)
EXAMPLE(jump)
EXAMPLE(thread)
EXAMPLE(long)
EXAMPLE(loop)
EXAMPLE(short)
EXAMPLE(early)
EXAMPLE(strange)

static uint8_t *near_code;

static int map_code(void **state)
{
	(void)state;
	near_code = mmap(NULL, NEAR_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return near_code == MAP_FAILED;
}

static int unmap_code(void **state)
{
	(void)state;
	return munmap(near_code, NEAR_BYTES);
}

/* Return: code_move()'s result for a copy of @example. */
static int move(const struct example *example, uint8_t **ret_function)
{
	size_t len = (size_t)(example->end - example->start);
	uint8_t *function = near_code + FUNCTION_OFF;

	memset(near_code, 0xcc, NEAR_BYTES);
	memcpy(function, example->start, len);
	*ret_function = function;
	return code_move(function, len, near_code);
}

static void moved_functions_do_what_they_did(void **state)
{
	static const struct example *const examples[] = {
		&plain_example,   &endbr_example, &condition_example,
		&memory_example,  &compare_example, &call_example,
		&jump_example,    &thread_example, &long_example};
	uint64_t (*copy)(uint64_t) = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		uint8_t *function;
		int skip = move(examples[i], &function);
		void *start = near_code;

		assert_int_equal(skip, examples[i] == &endbr_example ? 4 : 0);
		/* Whatever goes there instead, the copy does without. */
		memset(function + skip, 0xcc, CODE_JUMP_BYTES);
		memcpy(&copy, &start, sizeof(copy));
		assert_int_equal(copy(5), 105);
		assert_int_equal(copy(1u << 20), (1u << 20) + 100);
	}
	move(&condition_example, &(uint8_t *){NULL});
	assert_true(copy(0) == UINT64_MAX);
}

static void what_cannot_be_moved_is_refused(void **state)
{
	static const struct example *const examples[] = {
		&loop_example, &short_example, &early_example,
		&strange_example};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		assert_int_equal(move(examples[i], &(uint8_t *){NULL}), -1);
}

/* The function may be the last thing before memory that is not there. */
static void nothing_is_read_behind_the_function(void **state)
{
	size_t page = 4096, len = (size_t)(move_plain_end - move_plain);
	uint8_t *end = near_code + NEAR_BYTES - page;

	(void)state;
	assert_int_equal(mprotect(end, page, PROT_NONE), 0);
	for (size_t n = 0; n <= len; n++) {
		memcpy(end - n, move_plain, n);
		assert_int_equal(code_move(end - n, n, near_code),
				 n > CODE_JUMP_BYTES + 2 ? 0 : -1);
	}
	assert_int_equal(mprotect(end, page, PROT_READ | PROT_WRITE), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moved_functions_do_what_they_did),
		cmocka_unit_test(what_cannot_be_moved_is_refused),
		cmocka_unit_test(nothing_is_read_behind_the_function),
	};

	return cmocka_run_group_tests(tests, map_code, unmap_code);
}

#else

int main(void)
{
	return 0;
}

#endif
