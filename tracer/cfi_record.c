/* SPDX-License-Identifier: MIT */
#include "tracer/cfi_record.h"

enum {
	REMEMBER_MAX = 8, /* nesting of DW_CFA_remember_state */

	/* Pointer encodings. */
	ENC_ABSPTR = 0x00,
	ENC_ULEB = 0x01,
	ENC_UDATA2 = 0x02,
	ENC_UDATA4 = 0x03,
	ENC_UDATA8 = 0x04,
	ENC_SLEB = 0x09,
	ENC_SDATA2 = 0x0a,
	ENC_SDATA4 = 0x0b,
	ENC_SDATA8 = 0x0c,
	ENC_PCREL = 0x10,
	ENC_INDIRECT = 0x80,
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
 * struct cie - what the FDEs of one kind have in common
 */
struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool has_augmentation_data;
	bool is_signal;
	struct cfi_cursor program;
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
	const struct cie *cie;
	uintptr_t loc;
	struct cfi_row row;
	struct cfi_row initial;
	struct cfi_row remembered[REMEMBER_MAX];
	unsigned depth;
	bool bad;
};

struct cfi_cursor cfi_open(const struct cfi_section *section, uintptr_t addr)
{
	struct cfi_cursor c = {0};

	if (addr < section->start || addr >= section->end) {
		c.bad = true;
		return c;
	}
	c.p = (const uint8_t *)addr;
	c.end = (const uint8_t *)section->end;
	return c;
}

uintptr_t cfi_encoded(const struct cfi_section *section, struct cfi_cursor *c,
		      uint8_t encoding)
{
	uintptr_t here = (uintptr_t)c->p + section->shift;
	uintptr_t v = 0;

	switch (encoding & 0x0f) {
	case ENC_ABSPTR:
	case ENC_UDATA8:
	case ENC_SDATA8:
		v = cfi_unsigned(c, 8);
		break;
	case ENC_UDATA2:
		v = cfi_unsigned(c, 2);
		break;
	case ENC_UDATA4:
		v = cfi_unsigned(c, 4);
		break;
	case ENC_SDATA2:
		v = (uintptr_t)cfi_signed(c, 2);
		break;
	case ENC_SDATA4:
		v = (uintptr_t)cfi_signed(c, 4);
		break;
	case ENC_ULEB:
		v = cfi_uleb(c);
		break;
	case ENC_SLEB:
		v = (uintptr_t)cfi_sleb(c);
		break;
	default:
		c->bad = true;
	}
	if ((encoding & 0x70) == ENC_PCREL)
		v += here;
	else if (encoding & 0x70)
		c->bad = true;
	if (encoding & ENC_INDIRECT)
		c->bad = true;
	return v;
}

/*
 * Narrows @c to the record it is at, after its length.
 *
 * Safety: pure.  Return: bytes of an offset in it.
 */
static size_t enter_record(struct cfi_cursor *c)
{
	uint64_t len = cfi_unsigned(c, 4);
	size_t offset_bytes = 4;

	if (len == UINT32_MAX) {
		len = cfi_unsigned(c, 8);
		offset_bytes = 8;
	}
	if (len < 4)
		c->bad = true;
	if (cfi_has(c, len))
		c->end = c->p + len;
	return offset_bytes;
}

/* Safety: bounds checked.  Return: whether a CIE's mark is at @c. */
static bool read_cie_mark(const struct cfi_section *section,
			  struct cfi_cursor *c, size_t offset_bytes)
{
	if (!section->is_debug)
		return cfi_unsigned(c, 4) == 0;
	return cfi_signed(c, offset_bytes) == -1;
}

/*
 * Where the CIE of an FDE is: so many bytes before this, or after the start of
 * `.debug_frame`.
 *
 * Safety: bounds checked.  Return: 0 when this is a CIE.
 */
static uintptr_t read_cie_place(const struct cfi_section *section,
				struct cfi_cursor *c, size_t offset_bytes)
{
	uintptr_t here = (uintptr_t)c->p;
	uint64_t v;

	if (!section->is_debug) {
		v = cfi_unsigned(c, 4);
		return v ? here - v : 0;
	}
	v = (uint64_t)cfi_signed(c, offset_bytes);
	if (v == UINT64_MAX || v >= section->end - section->start)
		return 0;
	return section->start + v;
}

/* Safety: bounds checked.  Reads the augmentation data @letters describe. */
static void read_augmentation(const struct cfi_section *section,
			      struct cie *cie, struct cfi_cursor *c,
			      const char *letters)
{
	uint64_t len = cfi_uleb(c);
	struct cfi_cursor data = *c;

	cfi_skip(c, len);
	data.end = c->p;
	for (; *letters; letters++) {
		if (*letters == 'R') {
			cie->encoding = cfi_u8(&data);
		} else if (*letters == 'L') {
			cfi_u8(&data);
		} else if (*letters == 'P') {
			uint8_t encoding = cfi_u8(&data) & ~ENC_INDIRECT;

			cfi_encoded(section, &data, encoding & 0x0f);
		} else if (*letters == 'S') {
			cie->is_signal = true;
		} else if (*letters != 'B') {
			c->bad = true;
		}
	}
	c->bad |= data.bad;
}

/* Safety: bounds checked.  Return: whether the CIE at @addr is readable. */
static bool read_cie(const struct cfi_section *section, uintptr_t addr,
		     struct cie *ret)
{
	struct cfi_cursor c = cfi_open(section, addr);
	const char *letters;
	uint64_t return_register;
	size_t offset_bytes;
	uint8_t version;

	*ret = (struct cie){.encoding = ENC_ABSPTR};
	if (c.bad)
		return false;
	offset_bytes = enter_record(&c);
	if (!read_cie_mark(section, &c, offset_bytes))
		return false;
	version = cfi_u8(&c);
	letters = (const char *)c.p;
	while (cfi_u8(&c))
		;
	if (c.bad || (version != 1 && version != 3 && version != 4))
		return false;
	/* Sizes of addresses and of segments. */
	if (version == 4 && (cfi_u8(&c) != 8 || cfi_u8(&c) != 0))
		return false;
	ret->code_align = cfi_uleb(&c);
	ret->data_align = cfi_sleb(&c);
	return_register = version == 1 ? cfi_u8(&c) : cfi_uleb(&c);
	if (*letters == 'z') {
		ret->has_augmentation_data = true;
		read_augmentation(section, ret, &c, letters + 1);
	} else if (*letters) {
		return false;
	}
	ret->program = c;
	return !c.bad && return_register == CFI_RIP;
}

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
	struct cfi_saved *saved = get_saved(&m->row, reg);

	if (saved)
		*saved = (struct cfi_saved){.where = where, .offset = offset};
}

/* Safety: pure. */
static void restore_saved(struct machine *m, uint64_t reg)
{
	struct cfi_saved *saved = get_saved(&m->row, reg);

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
	m->row.cfa_is_expression = false;
	m->row.cfa_register = reg;
	m->row.cfa_offset = offset;
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
		set_cfa(m, cfi_uleb(c), m->row.cfa_offset);
		return true;
	case OP_DEF_CFA_OFFSET:
		set_cfa(m, m->row.cfa_register, (int64_t)cfi_uleb(c));
		return true;
	case OP_DEF_CFA_OFFSET_SF:
		set_cfa(m, m->row.cfa_register, read_factored(m, c, true));
		return true;
	case OP_DEF_CFA_EXPRESSION:
		m->row.cfa_is_expression = true;
		m->row.cfa_expression = read_expression(c);
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
		saved = get_saved(&m->row, reg);
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

/* Safety: bounds checked.  Instructions that move on.  Return: was one. */
static bool run_advance(struct machine *m, struct cfi_cursor *c, uint8_t op)
{
	uint64_t delta;

	if ((op & 0xc0) == OP_ADVANCE_LOC)
		delta = op & 0x3f;
	else if (op == OP_ADVANCE_LOC1)
		delta = cfi_unsigned(c, 1);
	else if (op == OP_ADVANCE_LOC2)
		delta = cfi_unsigned(c, 2);
	else if (op == OP_ADVANCE_LOC4)
		delta = cfi_unsigned(c, 4);
	else
		return false;
	m->loc += delta * m->cie->code_align;
	return true;
}

/* Safety: bounds checked.  The rest. */
static void run_other(struct machine *m, struct cfi_cursor *c, uint8_t op)
{
	if ((op & 0xc0) == OP_OFFSET) {
		set_saved(m, op & 0x3f, CFI_OFFSET, read_factored(m, c, false));
	} else if ((op & 0xc0) == OP_RESTORE) {
		restore_saved(m, op & 0x3f);
	} else if (op == OP_REMEMBER_STATE && m->depth < REMEMBER_MAX) {
		m->remembered[m->depth++] = m->row;
	} else if (op == OP_RESTORE_STATE && m->depth > 0) {
		m->row = m->remembered[--m->depth];
	} else if (op == OP_SET_LOC) {
		m->loc = cfi_encoded(m->section, c, m->cie->encoding) +
			 m->section->bias;
	} else if (op == OP_GNU_ARGS_SIZE) {
		cfi_uleb(c);
	} else if (op != OP_NOP) {
		m->bad = true;
	}
}

/* Safety: bounds checked.  Runs until the row for @pc is complete. */
static void run(struct machine *m, struct cfi_cursor c, uintptr_t pc)
{
	while (c.p < c.end && !c.bad && !m->bad) {
		uint8_t op = cfi_u8(&c);

		if (run_advance(m, &c, op)) {
			if (m->loc > pc)
				break;
		} else if (!run_cfa(m, &c, op) && !run_register(m, &c, op)) {
			run_other(m, &c, op);
			if (op == OP_SET_LOC && m->loc > pc)
				break;
		}
	}
	m->bad |= c.bad;
}

/**
 * struct fde - one that was read
 * @program: the instructions that come after the CIE's
 */
struct fde {
	struct cie cie;
	struct cfi_range range;
	struct cfi_cursor program;
};

/* Safety: bounds checked.  Return: whether an FDE is at @addr. */
static bool read_head(const struct cfi_section *section, uintptr_t addr,
		      struct fde *ret)
{
	struct cfi_cursor c = cfi_open(section, addr);
	uintptr_t cie, length;
	size_t offset_bytes;

	if (c.bad)
		return false;
	offset_bytes = enter_record(&c);
	cie = read_cie_place(section, &c, offset_bytes);
	if (c.bad || !cie || !read_cie(section, cie, &ret->cie))
		return false;
	ret->range.start =
	    cfi_encoded(section, &c, ret->cie.encoding) + section->bias;
	length = cfi_encoded(section, &c, ret->cie.encoding & 0x0f);
	ret->range.end = ret->range.start + length;
	if (ret->cie.has_augmentation_data)
		cfi_skip(&c, cfi_uleb(&c));
	ret->program = c;
	return !c.bad && ret->range.end >= ret->range.start;
}

enum cfi_status cfi_read_fde(const struct cfi_section *section, uintptr_t addr,
			     uintptr_t pc, struct cfi_row *ret)
{
	struct machine m = {.section = section};
	struct fde fde;

	if (!read_head(section, addr, &fde))
		return CFI_BAD;
	if (pc < fde.range.start || pc >= fde.range.end)
		return CFI_NONE;
	m.cie = &fde.cie;
	run(&m, fde.cie.program, UINTPTR_MAX);
	m.initial = m.row;
	m.loc = fde.range.start;
	run(&m, fde.program, pc);
	if (m.bad)
		return CFI_BAD;
	m.row.is_signal = fde.cie.is_signal;
	*ret = m.row;
	return CFI_FOUND;
}

bool cfi_next(const struct cfi_section *section, uintptr_t *addr,
	      struct cfi_range *ret)
{
	struct cfi_cursor c = cfi_open(section, *addr);
	struct fde fde;

	if (c.bad)
		return false;
	enter_record(&c);
	if (c.bad)
		return false;
	*ret = (struct cfi_range){0};
	if (read_head(section, *addr, &fde))
		*ret = fde.range;
	*addr = (uintptr_t)c.end;
	return true;
}

enum cfi_status cfi_scan(const struct cfi_section *section, uintptr_t addr,
			 uintptr_t pc, struct cfi_row *ret)
{
	struct cfi_range range;
	uintptr_t at = addr;

	while (cfi_next(section, &addr, &range)) {
		if (pc >= range.start && pc < range.end)
			return cfi_read_fde(section, at, pc, ret);
		at = addr;
	}
	return CFI_NONE;
}
