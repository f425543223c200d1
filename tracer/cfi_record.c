/* SPDX-License-Identifier: MIT */
#include "tracer/cfi_record.h"

#include "tracer/cfi_program.h"

/* Pointer encodings. */
enum {
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
			      struct cfi_cie *cie, struct cfi_cursor *c,
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
		     struct cfi_cie *ret)
{
	struct cfi_cursor c = cfi_open(section, addr);
	const char *letters;
	uint64_t return_register;
	size_t offset_bytes;
	uint8_t version;

	*ret = (struct cfi_cie){.encoding = ENC_ABSPTR};
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

/**
 * struct fde - one that was read
 * @program: the instructions that come after the CIE's
 */
struct fde {
	struct cfi_cie cie;
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
	struct fde fde;

	if (!read_head(section, addr, &fde))
		return CFI_BAD;
	if (pc < fde.range.start || pc >= fde.range.end)
		return CFI_NONE;
	if (!cfi_run(section, &fde.cie, fde.program, fde.range.start, pc, ret))
		return CFI_BAD;
	ret->is_signal = fde.cie.is_signal;
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
