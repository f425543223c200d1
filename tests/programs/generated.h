/* SPDX-License-Identifier: MIT */
/*
 * A function made at run time, without a frame pointer, and the call frame
 * information of it.  It calls its first argument; rbp is 1 meanwhile.
 */
#ifndef TESTS_PROGRAMS_GENERATED_H
#define TESTS_PROGRAMS_GENERATED_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { GENERATED_BYTES = 4096 };

typedef void (*generated_function)(void (*call)(void));

/*
 * push rbp; sub rsp, frame_bytes; mov ebp, 1; call rdi;
 * add rsp, frame_bytes; pop rbp; ret
 */
static inline void generate_code(uint8_t *code, uint32_t frame_bytes)
{
	static const uint8_t bytes[] = { 0x55, 0x48, 0x81, 0xec, 0, 0, 0, 0,
					 0xbd, 1,    0,    0,    0, 0xff, 0xd7,
					 0x48, 0x81, 0xc4, 0,    0, 0,    0,
					 0x5d, 0xc3 };

	memcpy(code, bytes, sizeof(bytes));
	memcpy(code + 4, &frame_bytes, 4);
	memcpy(code + 18, &frame_bytes, 4);
}

/* A CIE and an FDE, then the end.  frame_bytes + 16 has two LEB digits. */
static inline void generate_frames(uint8_t *at, const uint8_t *code,
				   uint32_t frame_bytes)
{
	uint8_t low = (uint8_t)((frame_bytes + 16) & 0x7f) | 0x80;
	uint8_t high = (uint8_t)((frame_bytes + 16) >> 7);
	const uint8_t cie[] = { 20, 0,   0,   0, 0, 0,    0,  0, 1, 'z', 'R', 0,
				1,  0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1, 0, 0 };
	const uint8_t program[] = { 0,    0x41, 0x0e, 16, 0x86, 2,
				    0x47, 0x0e, low,  high, 0x4e, 0x0e,
				    16,   0x41, 0x0e, 8,  0,    0,
				    0,    0 };
	uint64_t start = (uintptr_t)code, length = 24;
	uint32_t len = 4 + 8 + 8 + sizeof(program), back = sizeof(cie) + 4;

	memcpy(at, cie, sizeof(cie));
	at += sizeof(cie);
	memcpy(at, &len, 4);
	memcpy(at + 4, &back, 4);
	memcpy(at + 8, &start, 8);
	memcpy(at + 16, &length, 8);
	memcpy(at + 24, program, sizeof(program));
	memset(at + 24 + sizeof(program), 0, 4);
}

static inline void *generate_map(int protection)
{
	return mmap(NULL, GENERATED_BYTES, protection,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

#endif /* TESTS_PROGRAMS_GENERATED_H */
