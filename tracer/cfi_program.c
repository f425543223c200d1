/* SPDX-License-Identifier: MIT */
#include "tracer/cfi_program.h"

#include "tracer/compiler.h"

enum {
	REMEMBER_MAX = 8, /* nesting of DW_CFA_remember_state */
	OPERAND_MASK = 0x3f,
	ULEB_MORE = 0x80, /* in all bytes of a LEB128 but the last */
};

/* Call frame instructions; the first three have an operand in the low bits. */
enum {
	OP_ADVANCE_LOC = 0x40,
	OP_OFFSET = 0x80,
	OP_RESTORE = 0xc0,
	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE_LOC1 = 0x02,
	OP_ADVANCE_LOC2 = 0x03,
	OP_ADVANCE_LOC4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER_STATE = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_GNU_ARGS_SIZE = 0x2e,
	OP_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/**
 * struct machine - a call frame program being run
 * @loc:     address that the row under construction begins at
 * @row:     that row
 * @initial: the row after the CIE's program, for restore
 * @depth:   rows remembered
 */
struct machine {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	uintptr_t loc;
	struct cfi_row *row;
	struct cfi_row initial;
	unsigned depth;
	bool bad;
	struct cfi_row remembered[REMEMBER_MAX];
};

/* Safety: pure.  Return: where @reg's rule is kept, NULL for the others. */
static struct cfi_saved *get_saved(struct cfi_row *row, uint64_t reg)
{
	if (reg == CFI_RBP)
		return &row->rbp;
	if (reg == CFI_RIP)
		return &row->rip;
	return NULL;
}

/* Safety: pure. */
static void set_saved(struct machine *m, uint64_t reg, enum cfi_where where,
		      int64_t offset)
{
	struct cfi_saved *saved = get_saved(m->row, reg);

	if (saved)
		*saved = (struct cfi_saved){.where = where, .offset = offset};
}

/* Safety: pure. */
static void restore_saved(struct machine *m, uint64_t reg)
{
	struct cfi_saved *saved = get_saved(m->row, reg);

	if (saved)
		*saved = *get_saved(&m->initial, reg);
}

/* Safety: bounds checked. */
static struct cfi_expression read_expression(struct cfi_cursor *c)
{
	uint64_t len = cfi_uleb(c);
	struct cfi_expression expression = {.start = c->p};

	cfi_skip(c, len);
	expression.end = c->p;
	return expression;
}

/* Safety: pure. */
static void set_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
	m->row->cfa_is_expression = false;
	m->row->cfa_register = reg;
	m->row->cfa_offset = offset;
}

/* Safety: bounds checked.  An operand times the data alignment. */
static int64_t read_factored(const struct machine *m, struct cfi_cursor *c,
			     bool is_signed)
{
	uint64_t v = is_signed ? (uint64_t)cfi_sleb(c) : cfi_uleb(c);

	return (int64_t)(v * (uint64_t)m->cie->data_align);
}

/* Safety: bounds checked.  Instructions about the CFA.  Return: was one. */
static bool run_cfa(struct machine *m, struct cfi_cursor *c, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case OP_DEF_CFA:
		reg = cfi_uleb(c);
		set_cfa(m, reg, (int64_t)cfi_uleb(c));
		return true;
	case OP_DEF_CFA_SF:
		reg = cfi_uleb(c);
		set_cfa(m, reg, read_factored(m, c, true));
		return true;
	case OP_DEF_CFA_REGISTER:
		set_cfa(m, cfi_uleb(c), m->row->cfa_offset);
		return true;
	case OP_DEF_CFA_OFFSET_SF:
		set_cfa(m, m->row->cfa_register, read_factored(m, c, true));
		return true;
	case OP_DEF_CFA_EXPRESSION:
		m->row->cfa_is_expression = true;
		m->row->cfa_expression = read_expression(c);
		return true;
	default:
		return false;
	}
}

/* Safety: bounds checked.  Instructions about one register. */
static bool run_register(struct machine *m, struct cfi_cursor *c, uint8_t op)
{
	struct cfi_saved *saved;
	uint64_t reg;

	if ((op < OP_OFFSET_EXTENDED || op > OP_REGISTER) &&
	    op != OP_EXPRESSION && op != OP_OFFSET_EXTENDED_SF &&
	    (op < OP_VAL_OFFSET || op > OP_VAL_EXPRESSION) &&
	    op != OP_GNU_NEGATIVE_OFFSET_EXTENDED)
		return false;
	reg = cfi_uleb(c);
	if (op == OP_OFFSET_EXTENDED) {
		set_saved(m, reg, CFI_OFFSET, read_factored(m, c, false));
	} else if (op == OP_OFFSET_EXTENDED_SF) {
		set_saved(m, reg, CFI_OFFSET, read_factored(m, c, true));
	} else if (op == OP_GNU_NEGATIVE_OFFSET_EXTENDED) {
		set_saved(
		    m, reg, CFI_OFFSET,
		    (int64_t)-(uint64_t)read_factored(m, c, false));
	} else if (op == OP_RESTORE_EXTENDED) {
		restore_saved(m, reg);
	} else if (op == OP_UNDEFINED) {
		set_saved(m, reg, CFI_UNDEFINED, 0);
	} else if (op == OP_SAME_VALUE) {
		set_saved(m, reg, CFI_SAME, 0);
	} else if (op == OP_EXPRESSION) {
		set_saved(m, reg, CFI_EXPRESSION, 0);
		saved = get_saved(m->row, reg);
		if (saved)
			saved->expression = read_expression(c);
		else
			read_expression(c);
	} else {
		set_saved(m, reg, CFI_OTHER, 0);
		if (op == OP_VAL_EXPRESSION)
			read_expression(c);
		else
			cfi_uleb(c);
	}
	return true;
}

/* Safety: bounds checked.  Instructions that are rare.  Return: was one. */
static bool run_rare(struct machine *m, struct cfi_cursor *c, uint8_t op)
{
	switch (op) {
	case OP_SET_LOC:
		m->loc = cfi_encoded(m->section, c, m->cie->encoding) +
			 m->section->bias;
		return true;
	case OP_GNU_ARGS_SIZE:
		cfi_uleb(c);
		return true;
	default:
		break;
	}
	if ((op & ~OPERAND_MASK) != OP_OFFSET)
		return run_cfa(m, c, op) || run_register(m, c, op);
	set_saved(m, op & OPERAND_MASK, CFI_OFFSET, read_factored(m, c, false));
	return true;
}

/* Safety: bounds checked.  All but those that run() does by itself. */
static NOINLINE void run_other(struct machine *m, struct cfi_cursor *c,
			       uint8_t op)
{
	switch (op) {
	case OP_ADVANCE_LOC1:
		m->loc += cfi_u8(c) * m->cie->code_align;
		break;
	case OP_ADVANCE_LOC2:
		m->loc += cfi_unsigned(c, 2) * m->cie->code_align;
		break;
	case OP_ADVANCE_LOC4:
		m->loc += cfi_unsigned(c, 4) * m->cie->code_align;
		break;
	case OP_DEF_CFA_OFFSET:
		set_cfa(m, m->row->cfa_register, (int64_t)cfi_uleb(c));
		break;
	case OP_REMEMBER_STATE:
		if (m->depth < REMEMBER_MAX)
			m->remembered[m->depth++] = *m->row;
		else
			m->bad = true;
		break;
	case OP_RESTORE_STATE:
		if (m->depth > 0)
			*m->row = m->remembered[--m->depth];
		else
			m->bad = true;
		break;
	default:
		m->bad |= !run_rare(m, c, op);
		break;
	}
}

/* Safety: bounds checked.  Return: whether a LEB128 of one byte is at @p. */
static inline bool is_short(const uint8_t *p, const uint8_t *end)
{
	return p < end && !(*p & ULEB_MORE);
}

/*
 * Runs until the row for @pc is complete.  Functions of hundreds of
 * instructions consist of the few that are done here.
 *
 * Safety: bounds checked.
 */
static void run(struct machine *m, struct cfi_cursor c, uintptr_t pc)
{
	const uint8_t *p = c.p;
	uint64_t code_align = m->cie->code_align;
	uintptr_t loc = m->loc;

	while (p < c.end && loc <= pc) {
		uint8_t op = *p++;
		uint64_t operand = op & OPERAND_MASK;

		if ((op & ~OPERAND_MASK) == OP_ADVANCE_LOC) {
			loc += operand * code_align;
		} else if (op == OP_DEF_CFA_OFFSET && is_short(p, c.end)) {
			set_cfa(m, m->row->cfa_register, *p++);
		} else if ((op & ~OPERAND_MASK) == OP_OFFSET &&
			   is_short(p, c.end)) {
			uint64_t align = (uint64_t)m->cie->data_align;

			set_saved(m, operand, CFI_OFFSET,
				  (int64_t)(*p++ * align));
		} else if ((op & ~OPERAND_MASK) == OP_RESTORE) {
			restore_saved(m, operand);
		} else if (op != OP_NOP) {
			c.p = p;
			m->loc = loc;
			run_other(m, &c, op);
			if (c.bad || m->bad)
				break;
			p = c.p;
			loc = m->loc;
		}
	}
	m->bad |= c.bad;
}

bool cfi_run(const struct cfi_section *section, const struct cfi_cie *cie,
	     struct cfi_cursor program, uintptr_t start, uintptr_t pc,
	     struct cfi_row *ret)
{
	struct machine m; /* what is remembered is written before it is read */

	*ret = (struct cfi_row){0};
	m.section = section;
	m.cie = cie;
	m.row = ret;
	m.loc = 0;
	m.depth = 0;
	m.bad = false;
	m.initial = *ret;
	run(&m, cie->program, UINTPTR_MAX);
	m.initial = *ret;
	m.loc = start;
	run(&m, program, pc);
	return !m.bad;
}
