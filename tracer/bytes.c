/* SPDX-License-Identifier: MIT */
/*
 * The functions of <string.h> that the tracer, its compiler and its compressor
 * call, hidden in this library.
 *
 * A program may export some of its own, and those of the sanitizers crash when
 * they are called before the program is set up.  Neither the program's nor the
 * C library's are called, whatever is bound first.
 *
 * Safety (all of them): anywhere.  Allocates, locks, system calls: none.
 * errno: untouched.
 */
#undef _FORTIFY_SOURCE

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A loop that copies is not to become a call of the function that it is in;
   for clang -ffreestanding says so. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

enum {
	REPEAT_MIN = 1024, /* from here on one instruction does it best */
	WORD = 8,
	PAIR = 16,
};

/* Words that may lie anywhere, and be of any type. */
struct word {
	uint64_t value;
} __attribute__((packed, may_alias));
struct half {
	uint32_t value;
} __attribute__((packed, may_alias));
struct quarter {
	uint16_t value;
} __attribute__((packed, may_alias));
typedef uint64_t pair
    __attribute__((vector_size(PAIR), aligned(1), may_alias));

/* A word as C wants it to be aligned. */
typedef uint64_t whole __attribute__((may_alias));

/* Both ends are loaded before anything is stored.  Safety: @len < PAIR. */
static inline void move_few(uint8_t *to, const uint8_t *from, size_t len)
{
	if (len >= sizeof(struct word)) {
		const struct word first = *(const struct word *)from;
		const struct word last =
		    *(const struct word *)(from + len - sizeof(last));

		*(struct word *)to = first;
		*(struct word *)(to + len - sizeof(last)) = last;
	} else if (len >= sizeof(struct half)) {
		const struct half first = *(const struct half *)from;
		const struct half last =
		    *(const struct half *)(from + len - sizeof(last));

		*(struct half *)to = first;
		*(struct half *)(to + len - sizeof(last)) = last;
	} else if (len >= sizeof(struct quarter)) {
		const struct quarter first = *(const struct quarter *)from;
		const uint8_t last = from[len - 1];

		*(struct quarter *)to = first;
		to[len - 1] = last;
	} else if (len) {
		*to = *from;
	}
}

/* Safety: PAIR <= @len; @to is not within @len bytes behind @from. */
static inline void move_up(uint8_t *to, const uint8_t *from, size_t len)
{
	const pair last = *(const pair *)(from + len - PAIR);
	size_t done = 0;

#if defined(__x86_64__)
	if (len >= REPEAT_MIN && (uintptr_t)(to - from) >= len) {
		__asm__ volatile("rep movsb"
				 : "+D"(to), "+S"(from), "+c"(len)
				 :
				 : "memory");
		return;
	}
#endif
	for (; done + PAIR <= len; done += PAIR)
		*(pair *)(to + done) = *(const pair *)(from + done);
	*(pair *)(to + len - PAIR) = last;
}

/* Safety: PAIR <= @len. */
static inline void move_down(uint8_t *to, const uint8_t *from, size_t len)
{
	const pair first = *(const pair *)from;

	for (; len >= PAIR; len -= PAIR)
		*(pair *)(to + len - PAIR) =
		    *(const pair *)(from + len - PAIR);
	*(pair *)to = first;
}

void *memmove(void *to, const void *from, size_t len)
{
	if (len < PAIR)
		move_few(to, from, len);
	else if ((uintptr_t)to - (uintptr_t)from >= len)
		move_up(to, from, len);
	else
		move_down(to, from, len);
	return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
	if (len < PAIR)
		move_few(to, from, len);
	else
		move_up(to, from, len);
	return to;
}

void *memset(void *to, int byte, size_t len)
{
	const uint64_t value = (uint8_t)byte * UINT64_C(0x0101010101010101);
	uint8_t *p = to;

	if (len < WORD) {
		for (size_t i = 0; i < len; i++)
			p[i] = (uint8_t)byte;
		return to;
	}
#if defined(__x86_64__)
	if (len >= REPEAT_MIN) {
		__asm__ volatile("rep stosb"
				 : "+D"(p), "+c"(len)
				 : "a"(byte)
				 : "memory");
		return to;
	}
#endif
	for (size_t done = 0; done + WORD <= len; done += WORD)
		((struct word *)(p + done))->value = value;
	((struct word *)(p + len - WORD))->value = value;
	return to;
}

int memcmp(const void *one, const void *other, size_t len)
{
	const uint8_t *a = one, *b = other;
	size_t i = 0;

	while (i + WORD <= len && ((const struct word *)(a + i))->value ==
				      ((const struct word *)(b + i))->value)
		i += WORD;
	for (; i < len; i++)
		if (a[i] != b[i])
			return a[i] - b[i];
	return 0;
}

/* Safety: pure.  Return: not 0 if a byte of @word is 0; then the lowest bit set
   is that of the first such byte. */
static inline uint64_t find_zero(uint64_t word)
{
	return (word - UINT64_C(0x0101010101010101)) & ~word &
	       UINT64_C(0x8080808080808080);
}

void *memchr(const void *in, int byte, size_t len)
{
	uint64_t same = (uint8_t)byte * UINT64_C(0x0101010101010101);
	const uint8_t *p = in;
	size_t i = 0;

	for (; i + WORD <= len; i += WORD) {
		uint64_t found =
			find_zero(((const struct word *)(p + i))->value ^ same);

		if (found)
			return (void *)(uintptr_t)(p + i +
						   __builtin_ctzll(found) / 8);
	}
	for (; i < len; i++)
		if (p[i] == (uint8_t)byte)
			return (void *)(uintptr_t)(p + i);
	return NULL;
}

/* An aligned word does not reach into a page that may not be there. */
size_t strlen(const char *text)
{
	const char *p = text;

	for (; (uintptr_t)p % WORD; p++)
		if (!*p)
			return (size_t)(p - text);
	while (!find_zero(*(const whole *)(const void *)p))
		p += WORD;
	while (*p)
		p++;
	return (size_t)(p - text);
}

size_t strnlen(const char *text, size_t max)
{
	size_t len = 0;

	while (len < max && text[len])
		len++;
	return len;
}

int strncmp(const char *one, const char *other, size_t max)
{
	const uint8_t *a = (const uint8_t *)one, *b = (const uint8_t *)other;

	for (size_t i = 0; i < max; i++)
		if (a[i] != b[i] || !a[i])
			return a[i] - b[i];
	return 0;
}

int strcmp(const char *one, const char *other)
{
	return strncmp(one, other, SIZE_MAX);
}

char *strchr(const char *text, int letter)
{
	for (; *text != (char)letter; text++)
		if (!*text)
			return NULL;
	return (char *)(uintptr_t)text;
}

char *strrchr(const char *text, int letter)
{
	const char *last = NULL;

	do {
		if (*text == (char)letter)
			last = text;
	} while (*text++);
	return (char *)(uintptr_t)last;
}

/* Safety: pure.  Whether @set has @letter, which is not its end. */
static bool has_letter(const char *set, char letter)
{
	return letter && strchr(set, letter);
}

size_t strspn(const char *text, const char *set)
{
	size_t len = 0;

	while (has_letter(set, text[len]))
		len++;
	return len;
}

size_t strcspn(const char *text, const char *set)
{
	size_t len = 0;

	while (text[len] && !has_letter(set, text[len]))
		len++;
	return len;
}

char *strstr(const char *text, const char *part)
{
	size_t len = strlen(part);

	for (;; text++) {
		if (strncmp(text, part, len) == 0)
			return (char *)(uintptr_t)text;
		if (!*text)
			return NULL;
	}
}
