/* SPDX-License-Identifier: MIT */
#include "tracer/code_move.h"

#include <stdbool.h>
#include <string.h>

enum {
	INSTRUCTION_MAX = 15,
	DECODE_BYTES = 32, /* more than is looked at for one */
	FAR_JUMP_BYTES = 14, /* jmp *0(%rip) and the address */
	REX_W = 8,
};

/* What follows an opcode. */
enum operands {
	BAD,         /* not understood */
	NONE,        /* nothing */
	BYTE,        /* one byte */
	WORD,        /* four bytes, two with the prefix 66 */
	LONG,        /* as WORD, but eight with REX.W */
	MODRM,       /* register or memory */
	MODRM_BYTE,  /* that and one byte */
	MODRM_WORD,  /* that and a WORD */
	MODRM_TEST,  /* that, and an immediate where it is a test */
	MODRM_GROUP, /* that: inc, dec, call, jmp or push */
	SHORT_JUMP,  /* relative, one byte */
	NEAR_JUMP,   /* relative, four bytes */
	CALL,        /* relative, four bytes */
	END,         /* nothing, and nothing comes after it */
};

/**
 * struct instruction - one, decoded
 * @len:      of it
 * @kind:     what its opcode takes
 * @opcode:   its last byte
 * @two_byte: 0F comes before that
 * @rip_off:  where its offset from the next instruction stands, or 0
 * @is_call:  it calls through memory or a register
 * @is_end:   nothing comes after it
 */
struct instruction {
	uint8_t len;
	enum operands kind;
	uint8_t opcode;
	bool two_byte;
	uint8_t rip_off;
	bool is_call;
	bool is_end;
};

/* Safety: pure.  Return: what the one-byte opcode @op takes. */
static enum operands get_operands(uint8_t op)
{
	if (op < 0x40) {
		static const uint8_t by_low_bits[8] = {
			MODRM, MODRM, MODRM, MODRM, BYTE, WORD, BAD, BAD};

		return (enum operands)by_low_bits[op & 7];
	}
	if (op >= 0x50 && op < 0x60)
		return NONE;
	if ((op & 0xf0) == 0x70)
		return SHORT_JUMP;
	if ((op & 0xf0) == 0xb0)
		return op < 0xb8 ? BYTE : LONG;
	switch (op) {
	case 0x63: /* movsxd */
	case 0x84: /* test, xchg, mov, lea */
	case 0x85:
	case 0x86:
	case 0x87:
	case 0x88:
	case 0x89:
	case 0x8a:
	case 0x8b:
	case 0x8d:
	case 0xd0: /* shifts */
	case 0xd1:
	case 0xd2:
	case 0xd3:
		return MODRM;
	case 0x6b: /* imul, arithmetic, shifts, mov */
	case 0x80:
	case 0x83:
	case 0xc0:
	case 0xc1:
	case 0xc6:
		return MODRM_BYTE;
	case 0x69:
	case 0x81:
	case 0xc7:
		return MODRM_WORD;
	case 0x68: /* push, test */
	case 0xa9:
		return WORD;
	case 0x6a:
	case 0xa8:
		return BYTE;
	case 0x90: /* nop, cdqe, cqo, leave */
	case 0x98:
	case 0x99:
	case 0xc9:
		return NONE;
	case 0xc3:
	case 0xcc:
	case 0xf4:
		return END;
	case 0xe8:
		return CALL;
	case 0xe9:
		return NEAR_JUMP;
	case 0xeb:
		return SHORT_JUMP;
	case 0xf6:
	case 0xf7:
		return MODRM_TEST;
	case 0xfe:
	case 0xff:
		return MODRM_GROUP;
	default:
		return BAD;
	}
}

/* Safety: pure.  Return: what the opcode 0F @op takes. */
static enum operands get_operands_0f(uint8_t op)
{
	if ((op & 0xf0) == 0x80)
		return NEAR_JUMP;
	if ((op >= 0x10 && op < 0x20) || (op >= 0x28 && op < 0x30) ||
	    (op >= 0x40 && op < 0x70) || (op >= 0x90 && op < 0xa0) ||
	    (op >= 0xd0 && op < 0xff))
		return MODRM;
	switch (op) {
	case 0x70: /* shuffles, shifts, compares, bt */
	case 0x71:
	case 0x72:
	case 0x73:
	case 0xa4:
	case 0xac:
	case 0xba:
	case 0xc2:
	case 0xc6:
		return MODRM_BYTE;
	case 0x74:
	case 0x75:
	case 0x76:
	case 0x7e:
	case 0x7f:
	case 0xa3:
	case 0xa5:
	case 0xab:
	case 0xad:
	case 0xaf: /* imul */
	case 0xb0: /* cmpxchg */
	case 0xb1:
	case 0xb3:
	case 0xb6: /* movzx */
	case 0xb7:
	case 0xb8: /* popcnt */
	case 0xbb:
	case 0xbc:
	case 0xbd:
	case 0xbe:
	case 0xbf:
	case 0xc0:
	case 0xc1:
		return MODRM;
	case 0x05: /* syscall, rdtsc, cpuid */
	case 0x31:
	case 0xa2:
		return NONE;
	case 0x0b: /* ud2 */
		return END;
	default:
		return BAD;
	}
}

/* Safety: pure; 7 bytes can be read.  Return: bytes of the operand at @p; sets
   *@ret_rip to where an offset from the next instruction is in it, else 0. */
static size_t get_modrm_bytes(const uint8_t *p, size_t *ret_rip)
{
	unsigned mod = *p >> 6, rm = *p & 7;
	size_t len = 1;

	*ret_rip = 0;
	if (mod == 3)
		return len;
	if (rm == 4) {
		len++;
		if (mod == 0 && (p[1] & 7) == 5)
			return len + 4;
	} else if (mod == 0 && rm == 5) {
		*ret_rip = len;
		return len + 4;
	}
	return len + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* Safety: pure.  Skips prefixes.  Return: their number. */
static size_t skip_prefixes(const uint8_t *p, bool *ret_short, uint8_t *ret_rex)
{
	size_t n = 0;

	*ret_short = false;
	*ret_rex = 0;
	while (n < 4 && (p[n] == 0x66 || p[n] == 0xf2 || p[n] == 0xf3 ||
			 p[n] == 0x64 || p[n] == 0x65 || p[n] == 0x2e ||
			 p[n] == 0x3e || p[n] == 0xf0))
		*ret_short |= p[n++] == 0x66;
	if ((p[n] & 0xf0) == 0x40)
		*ret_rex = p[n++];
	return n;
}

/* Safety: pure; DECODE_BYTES can be read at @p.  Return: whether the
   instruction there is understood. */
static bool decode_padded(const uint8_t *p, struct instruction *ret)
{
	size_t rip = 0, at;
	uint8_t rex, reg;
	bool is_short;

	*ret = (struct instruction){0};
	at = skip_prefixes(p, &is_short, &rex);
	ret->two_byte = p[at] == 0x0f;
	at += ret->two_byte;
	ret->opcode = p[at++];
	ret->kind = ret->two_byte ? get_operands_0f(ret->opcode)
				  : get_operands(ret->opcode);
	reg = (p[at] >> 3) & 7;
	if (ret->kind >= MODRM && ret->kind <= MODRM_GROUP) {
		size_t operand = get_modrm_bytes(p + at, &rip);

		if (rip)
			ret->rip_off = (uint8_t)(at + rip);
		at += operand;
	}
	switch (ret->kind) {
	case BAD:
		return false;
	case NONE:
	case MODRM:
		break;
	case BYTE:
	case MODRM_BYTE:
		at += 1;
		break;
	case LONG:
		at += rex & REX_W ? 8 : is_short ? 2 : 4;
		break;
	case WORD:
	case MODRM_WORD:
		at += is_short ? 2 : 4;
		break;
	case MODRM_TEST:
		if (reg < 2)
			at += !(ret->opcode & 1) ? 1 : is_short ? 2 : 4;
		break;
	case MODRM_GROUP:
		if (reg == 3 || reg == 5 || reg == 7)
			return false;
		ret->is_call = reg == 2;
		ret->is_end = reg == 4;
		break;
	case SHORT_JUMP:
		at += 1;
		ret->is_end = ret->opcode == 0xeb;
		break;
	case NEAR_JUMP:
		at += 4;
		ret->is_end = ret->opcode == 0xe9;
		break;
	case CALL:
		at += 4;
		ret->is_call = true;
		break;
	case END:
		ret->is_end = true;
		break;
	}
	ret->len = (uint8_t)at;
	return at <= INSTRUCTION_MAX;
}

/* Safety: pure; @avail bytes can be read.  Return: whether the instruction at
   @p is understood, and all there. */
static bool decode(const uint8_t *p, size_t avail, struct instruction *ret)
{
	uint8_t padded[DECODE_BYTES] = {0};

	if (avail >= sizeof(padded))
		return decode_padded(p, ret);
	memcpy(padded, p, avail);
	return decode_padded(padded, ret) && ret->len <= avail;
}

/* Safety: pure. */
static int32_t read_offset(const uint8_t *p)
{
	int32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* Safety: pure.  Writes @target relative to the byte after @p's four.
   Return: whether it is near enough. */
static bool put_offset(uint8_t *p, uintptr_t target)
{
	int64_t distance = (int64_t)(target - ((uintptr_t)p + 4));
	int32_t value = (int32_t)distance;

	memcpy(p, &value, sizeof(value));
	return distance >= INT32_MIN && distance <= INT32_MAX;
}

/* Safety: pure.  Return: where the relative jump at @p goes. */
static uintptr_t get_target(const uint8_t *p, const struct instruction *insn)
{
	const uint8_t *next = p + insn->len;
	int32_t offset = insn->kind == SHORT_JUMP ? (int8_t)next[-1]
						  : read_offset(next - 4);

	return (uintptr_t)next + (uintptr_t)(intptr_t)offset;
}

/*
 * Safety: pure.  Return: what the instruction at @p refers to, less what stands
 * between its offset and the next instruction.
 */
static uintptr_t get_rip_target(const uint8_t *p,
				const struct instruction *insn)
{
	const uint8_t *offset = p + insn->rip_off;

	return (uintptr_t)offset + 4 + (uintptr_t)(intptr_t)read_offset(offset);
}

/* Safety: pure.  Appends a jump to @target.  Return: its length. */
static size_t put_far_jump(uint8_t *to, uintptr_t target)
{
	static const uint8_t code[] = {0xff, 0x25, 0, 0, 0, 0};

	memcpy(to, code, sizeof(code));
	memcpy(to + sizeof(code), &target, sizeof(target));
	return FAR_JUMP_BYTES;
}

/*
 * A call pushes the return address that it had, where unwinders know the way;
 * so nothing can be copied behind it.
 *
 * Safety: pure.  Return: its new length.
 */
static size_t copy_call(const uint8_t *p, const struct instruction *insn,
			uint8_t *to)
{
	static const uint8_t push[] = {0x68};
	static const uint8_t set_high[] = {0xc7, 0x44, 0x24, 0x04};
	uintptr_t next = (uintptr_t)p + insn->len;
	uint8_t *out = to;

	memcpy(out, push, sizeof(push));
	out += sizeof(push);
	memcpy(out, &next, 4);
	out += 4;
	memcpy(out, set_high, sizeof(set_high));
	out += sizeof(set_high);
	memcpy(out, (uint8_t *)&next + 4, 4);
	out += 4;
	return (size_t)(out - to) + put_far_jump(out, get_target(p, insn));
}

/* Safety: pure.  Copies one instruction to @to.  Return: its new length, or 0.
 */
static size_t copy(const uint8_t *p, const struct instruction *insn,
		   uint8_t *to)
{
	uint8_t *start = to;

	if (insn->kind == CALL)
		return copy_call(p, insn, to);
	if (insn->kind != SHORT_JUMP && insn->kind != NEAR_JUMP) {
		memcpy(to, p, insn->len);
		if (insn->rip_off &&
		    !put_offset(to + insn->rip_off,
				get_rip_target(p, insn)))
			return 0;
		return insn->len;
	}
	if (insn->is_end) {
		*to++ = 0xe9;
	} else {
		*to++ = 0x0f;
		*to++ = 0x80 | (insn->opcode & 0x0f);
	}
	return put_offset(to, get_target(p, insn)) ? (size_t)(to + 4 - start)
						   : 0;
}

/* Safety: pure.  Whether a jump goes to what is overwritten. */
static bool is_inside(uintptr_t target, const uint8_t *start, size_t len)
{
	return target > (uintptr_t)start && target < (uintptr_t)start + len;
}

/* Safety: pure; @avail bytes can be read.  Return: the jump that may be at
   @p, or no instruction. */
static struct instruction guess_jump(const uint8_t *p, size_t avail)
{
	struct instruction insn = {0};

	if (p[0] == 0xeb || (p[0] & 0xf0) == 0x70) {
		insn.kind = SHORT_JUMP;
		insn.len = 2;
	} else if (p[0] == 0xe9 || p[0] == 0x0f) {
		insn.kind = NEAR_JUMP;
		insn.len = p[0] == 0x0f ? 6 : 5;
	}
	if (insn.len > avail)
		insn.kind = NONE;
	return insn;
}

/*
 * Whether something in the function jumps into [@start, @start + @len).  Where
 * the code is not understood any more, every byte may be such a jump.
 *
 * Safety: pure; all up to @end can be read.
 */
static bool has_jump_into(const uint8_t *start, size_t len, const uint8_t *end)
{
	bool understood = true;
	struct instruction insn;

	for (const uint8_t *p = start; p < end;) {
		understood = understood && decode(p, (size_t)(end - p), &insn);
		if (!understood)
			insn = guess_jump(p, (size_t)(end - p));
		if ((insn.kind == SHORT_JUMP || insn.kind == NEAR_JUMP) &&
		    is_inside(get_target(p, &insn), start, len))
			return true;
		p += understood ? insn.len : 1;
	}
	return false;
}

int code_move(const uint8_t *from, size_t len, uint8_t *to)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t skip = len > 4 && memcmp(from, endbr64, 4) == 0 ? 4 : 0;
	const uint8_t *start = from + skip;
	size_t done = 0, out = 0;

	while (done < CODE_JUMP_BYTES) {
		struct instruction insn;
		size_t n;

		if (!decode(start + done, len - skip - done, &insn) ||
		    (insn.is_call && insn.kind != CALL))
			return -1;
		n = copy(start + done, &insn, to + out);
		done += insn.len;
		out += n;
		if (!n || ((insn.is_end || insn.is_call) &&
			   done < CODE_JUMP_BYTES))
			return -1;
	}
	if (out + FAR_JUMP_BYTES > CODE_MOVED_MAX ||
	    has_jump_into(start, done, from + len))
		return -1;
	put_far_jump(to + out, (uintptr_t)start + done);
	return (int)skip;
}
