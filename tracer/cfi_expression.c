/* SPDX-License-Identifier: MIT */
/* The DWARF expressions that compilers and linkers put into `.eh_frame`. */
#include "tracer/cfi.h"

#include "tracer/cfi_cursor.h"

enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,

	STACK_MAX = 8,
};

/* Safety: pure. */
static struct cfi_cursor open_expression(const struct cfi_expression *e)
{
	return (struct cfi_cursor){.p = e->start, .end = e->end};
}

bool cfi_match_memory(const struct cfi_expression *expression,
		      uint64_t register_number, bool deref, int64_t *ret_offset)
{
	struct cfi_cursor c = open_expression(expression);
	uint8_t op = cfi_u8(&c);
	int64_t offset = cfi_sleb(&c);

	if (op != OP_BREG0 + register_number)
		return false;
	if (deref && cfi_u8(&c) != OP_DEREF)
		return false;
	if (c.bad || c.p != c.end)
		return false;
	*ret_offset = offset;
	return true;
}

/**
 * struct stack - an evaluation in progress
 * @rsp, @rip: values of the registers
 */
struct stack {
	uint64_t rsp;
	uint64_t rip;
	uint64_t item[STACK_MAX];
	unsigned len;
	bool bad;
};

/* Safety: pure. */
static void push(struct stack *stack, uint64_t v)
{
	if (stack->len < STACK_MAX)
		stack->item[stack->len++] = v;
	else
		stack->bad = true;
}

/* Safety: pure. */
static uint64_t pop(struct stack *stack)
{
	if (stack->len)
		return stack->item[--stack->len];
	stack->bad = true;
	return 0;
}

/* Safety: pure.  An operation on the two topmost items. */
static uint64_t apply(struct stack *stack, uint8_t op, uint64_t a, uint64_t b)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case OP_AND:
		return a & b;
	case OP_MINUS:
		return a - b;
	case OP_PLUS:
		return a + b;
	case OP_SHL:
		return b < 64 ? a << b : 0;
	case OP_SHR:
		return b < 64 ? a >> b : 0;
	case OP_EQ:
		return sa == sb;
	case OP_GE:
		return sa >= sb;
	case OP_GT:
		return sa > sb;
	case OP_LE:
		return sa <= sb;
	case OP_LT:
		return sa < sb;
	case OP_NE:
		return sa != sb;
	default:
		stack->bad = true;
		return 0;
	}
}

/* Safety: bounds checked.  Return: whether @op puts a constant on top. */
static bool push_constant(struct stack *stack, struct cfi_cursor *c, uint8_t op)
{
	if (op >= OP_LIT0 && op <= OP_LIT31)
		push(stack, op - OP_LIT0);
	else if (op == OP_CONST1U || op == OP_CONST2U || op == OP_CONST4U)
		push(stack,
		     cfi_unsigned(c, (size_t)1 << (op - OP_CONST1U) / 2));
	else if (op == OP_CONST1S || op == OP_CONST2S || op == OP_CONST4S)
		push(stack, (uint64_t)cfi_signed(
				c, (size_t)1 << (op - OP_CONST1S) / 2));
	else if (op == OP_CONSTU)
		push(stack, cfi_uleb(c));
	else if (op == OP_CONSTS)
		push(stack, (uint64_t)cfi_sleb(c));
	else
		return false;
	return true;
}

/* Safety: bounds checked.  Return: the value with these registers. */
static uint64_t evaluate(const struct cfi_expression *expression,
			 struct stack *stack)
{
	struct cfi_cursor c = open_expression(expression);

	while (c.p < c.end && !c.bad && !stack->bad) {
		uint8_t op = cfi_u8(&c);

		if (push_constant(stack, &c, op))
			continue;
		if (op == OP_BREG0 + CFI_RSP) {
			push(stack, stack->rsp + (uint64_t)cfi_sleb(&c));
		} else if (op == OP_BREG0 + CFI_RIP) {
			push(stack, stack->rip + (uint64_t)cfi_sleb(&c));
		} else if (op == OP_PLUS_UCONST) {
			push(stack, pop(stack) + cfi_uleb(&c));
		} else {
			uint64_t b = pop(stack);
			uint64_t a = pop(stack);

			push(stack, apply(stack, op, a, b));
		}
	}
	stack->bad |= c.bad || stack->len != 1;
	return stack->item[0];
}

/*
 * Without memory accesses the value can depend on rsp in other ways than
 * rsp + constant; three stack pointers that differ in low and in high bits
 * would have to agree by chance.
 */
bool cfi_fold_rsp(const struct cfi_expression *expression, uintptr_t pc,
		  int64_t *ret_offset)
{
	static const uint64_t places[] = {0x7ffc12345670, 0x7f0000bc9a98,
					  0x5500deadbee0};
	int64_t offset = 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct stack stack = {.rsp = places[i], .rip = pc};
		uint64_t value = evaluate(expression, &stack);

		if (stack.bad)
			return false;
		if (i > 0 && (int64_t)(value - places[i]) != offset)
			return false;
		offset = (int64_t)(value - places[i]);
	}
	*ret_offset = offset;
	return true;
}
