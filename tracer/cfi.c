/* SPDX-License-Identifier: MIT */
#include "tracer/cfi.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "tracer/cfi_cursor.h"

#pragma weak _dl_find_object

enum {
	REMEMBER_MAX = 8,    /* nesting of DW_CFA_remember_state */
	HEADER_BYTES = 4096, /* of a module's start that hold its headers */

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
	ENC_DATAREL = 0x30,
	ENC_INDIRECT = 0x80,
	ENC_OMIT = 0xff,
	ENC_TABLE = ENC_DATAREL | ENC_SDATA4, /* what all linkers write */
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
 * struct region - addresses of one segment that can be read
 */
struct region {
	uintptr_t start;
	uintptr_t end;
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
	const struct cie *cie;
	uintptr_t loc;
	struct cfi_row row;
	struct cfi_row initial;
	struct cfi_row remembered[REMEMBER_MAX];
	unsigned depth;
	bool bad;
};

bool cfi_available(void)
{
	return _dl_find_object != NULL;
}

/* Safety: pure.  A cursor over what @region has from @addr on. */
static struct cfi_cursor cursor_at(const struct region *region, uintptr_t addr)
{
	struct cfi_cursor c = {0};

	if (addr < region->start || addr >= region->end) {
		c.bad = true;
		return c;
	}
	c.p = (const uint8_t *)addr;
	c.end = (const uint8_t *)region->end;
	return c;
}

/**
 * struct headers - a module's program headers in memory
 */
struct headers {
	const ElfW(Phdr) * first;
	size_t count;
};

/*
 * The kernel says where the program's are; a library's follow the ELF header
 * at its start, if that is loaded.
 *
 * Safety: the module stays mapped.
 */
static struct headers find_headers(const struct dl_find_object *object)
{
	const struct link_map *map = object->dlfo_link_map;
	const ElfW(Ehdr) *ehdr = object->dlfo_map_start;
	struct headers headers = {0};
	size_t bytes = (size_t)((const char *)object->dlfo_map_end -
				(const char *)object->dlfo_map_start);

	if (!map->l_prev && !map->l_name[0]) {
		headers.first = (const void *)getauxval(AT_PHDR);
		headers.count = getauxval(AT_PHNUM);
	} else if (bytes >= HEADER_BYTES &&
		   memcmp(ehdr->e_ident, ELFMAG, SELFMAG) == 0 &&
		   ehdr->e_phentsize == sizeof(*headers.first) &&
		   ehdr->e_phoff < HEADER_BYTES &&
		   ehdr->e_phnum <= (HEADER_BYTES - ehdr->e_phoff) /
					sizeof(*headers.first)) {
		headers.first =
		    (const void *)((const char *)ehdr + ehdr->e_phoff);
		headers.count = ehdr->e_phnum;
	}
	return headers;
}

/*
 * The segment that holds @addr; without headers, what the loader's index says
 * of the module.
 *
 * Safety: the module stays mapped.
 */
static struct region find_segment(const struct dl_find_object *object,
				  uintptr_t addr)
{
	struct headers headers = find_headers(object);
	uintptr_t bias = object->dlfo_link_map->l_addr;

	if (!headers.first)
		return (struct region){(uintptr_t)object->dlfo_map_start,
				       (uintptr_t)object->dlfo_map_end};
	for (size_t i = 0; i < headers.count; i++) {
		const ElfW(Phdr) *ph = &headers.first[i];
		uintptr_t start = bias + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && addr >= start &&
		    addr - start < ph->p_memsz)
			return (struct region){start, start + ph->p_memsz};
	}
	return (struct region){0};
}

/* Safety: bounds checked.  Return: a pointer as @encoding says. */
static uintptr_t read_encoded(struct cfi_cursor *c, uint8_t encoding)
{
	uintptr_t here = (uintptr_t)c->p;
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

/* Safety: pure.  Narrows @c to the record it is at, after its length. */
static void enter_record(struct cfi_cursor *c)
{
	uint64_t len = cfi_unsigned(c, 4);

	if (len == UINT32_MAX)
		len = cfi_unsigned(c, 8);
	if (len < 4)
		c->bad = true;
	if (cfi_has(c, len))
		c->end = c->p + len;
}

/* Safety: bounds checked.  Reads the augmentation data @letters describe. */
static void read_augmentation(struct cie *cie, struct cfi_cursor *c,
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

			read_encoded(&data, encoding & 0x0f);
		} else if (*letters == 'S') {
			cie->is_signal = true;
		} else if (*letters != 'B') {
			c->bad = true;
		}
	}
	c->bad |= data.bad;
}

/* Safety: bounds checked.  Return: whether the CIE at @addr is readable. */
static bool read_cie(const struct region *region, uintptr_t addr,
		     struct cie *ret)
{
	struct cfi_cursor c = cursor_at(region, addr);
	const char *letters;
	uint64_t return_register;
	uint8_t version;

	*ret = (struct cie){.encoding = ENC_ABSPTR};
	if (c.bad)
		return false;
	enter_record(&c);
	if (cfi_unsigned(&c, 4) != 0)
		return false;
	version = cfi_u8(&c);
	letters = (const char *)c.p;
	while (cfi_u8(&c))
		;
	if (c.bad || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4)
		cfi_skip(&c, 2); /* sizes of addresses and segments */
	ret->code_align = cfi_uleb(&c);
	ret->data_align = cfi_sleb(&c);
	return_register = version == 1 ? cfi_u8(&c) : cfi_uleb(&c);
	if (*letters == 'z') {
		ret->has_augmentation_data = true;
		read_augmentation(ret, &c, letters + 1);
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
		set_saved(m, reg, CFI_OFFSET, -read_factored(m, c, false));
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
		m->loc = read_encoded(c, m->cie->encoding);
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

/* Safety: bounds checked.  Reads the FDE at @addr and runs it up to @pc. */
static enum cfi_status read_fde(const struct region *region, uintptr_t addr,
				uintptr_t pc, struct cfi_row *ret)
{
	struct cfi_cursor c = cursor_at(region, addr);
	struct machine m = {0};
	struct cie cie;
	uintptr_t here, start, range;
	uint64_t back;

	if (c.bad)
		return CFI_BAD;
	enter_record(&c);
	here = (uintptr_t)c.p;
	back = cfi_unsigned(&c, 4);
	if (c.bad || !back || !read_cie(region, here - back, &cie))
		return CFI_BAD;
	start = read_encoded(&c, cie.encoding);
	range = read_encoded(&c, cie.encoding & 0x0f);
	if (c.bad)
		return CFI_BAD;
	if (pc < start || pc - start >= range)
		return CFI_NONE;
	if (cie.has_augmentation_data)
		cfi_skip(&c, cfi_uleb(&c));
	m.cie = &cie;
	run(&m, cie.program, UINTPTR_MAX);
	m.initial = m.row;
	m.loc = start;
	run(&m, c, pc);
	if (m.bad || c.bad)
		return CFI_BAD;
	m.row.is_signal = cie.is_signal;
	*ret = m.row;
	return CFI_FOUND;
}

/*
 * The header's table is sorted by address: pairs of offsets from the header,
 * of a function and of its FDE.
 *
 * Safety: bounds checked.  Return: the FDE's address, or 0.
 */
static uintptr_t search_table(const struct region *region, uintptr_t header,
			      uintptr_t pc, enum cfi_status *ret_status)
{
	struct cfi_cursor c = cursor_at(region, header);
	uint8_t version = cfi_u8(&c);
	uint8_t frame_encoding = cfi_u8(&c);
	uint8_t count_encoding = cfi_u8(&c);
	uint8_t table_encoding = cfi_u8(&c);
	size_t low = 0, high;
	int32_t pair[2];

	*ret_status = CFI_BAD;
	if (c.bad || version != 1 || count_encoding == ENC_OMIT ||
	    table_encoding != ENC_TABLE)
		return 0;
	read_encoded(&c, frame_encoding);
	high = read_encoded(&c, count_encoding);
	if (c.bad || high > cfi_left(&c) / sizeof(pair))
		return 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		memcpy(pair, c.p + middle * sizeof(pair), sizeof(pair));
		if (header + (uintptr_t)(intptr_t)pair[0] <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_status = CFI_NONE;
	if (!low)
		return 0;
	memcpy(pair, c.p + (low - 1) * sizeof(pair), sizeof(pair));
	return header + (uintptr_t)(intptr_t)pair[1];
}

enum cfi_status cfi_find(uintptr_t pc, struct cfi_row *ret)
{
	struct dl_find_object object;
	enum cfi_status status;
	struct region region;
	uintptr_t header, fde;

	if (!_dl_find_object || _dl_find_object((void *)pc, &object) != 0 ||
	    !object.dlfo_eh_frame)
		return CFI_NONE;
	header = (uintptr_t)object.dlfo_eh_frame;
	region = find_segment(&object, header);
	fde = search_table(&region, header, pc, &status);
	if (!fde)
		return status;
	if (fde < region.start || fde >= region.end)
		region = find_segment(&object, fde);
	return read_fde(&region, fde, pc, ret);
}
